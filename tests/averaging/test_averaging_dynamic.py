"""Dynamic model averaging: its recursion, its score and the error of that against direct evaluation."""

from itertools import pairwise

import numpy as np
import pytest
from forecasters import constants, gains, stream
from scipy.special import log_softmax, logsumexp, softmax

from sgevidence.averaging._learning import Prequential

MEANS, ERRORS = (0.0, 0.4, -1.0), (0.02, 0.05, 0.01)


def same(a, b, **tolerance):
    np.testing.assert_allclose(a.weights_, b.weights_, **tolerance)
    np.testing.assert_allclose(a.log_evidence_, b.log_evidence_, **tolerance)
    np.testing.assert_allclose(a.log_evidence_std_, b.log_evidence_std_, **tolerance)
    np.testing.assert_allclose(a.weights_interval_, b.weights_interval_, **tolerance)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_without_forgetting_it_is_the_posterior(size, rng):
    y = rng.normal(0.2, 1.0, 60)
    params = dict(errors=ERRORS, model_prior=[1, 2, 3])
    bma = stream(constants(*MEANS, **params), y, size)
    dynamic = stream(constants(*MEANS, **params, method="dynamic", forgetting=1.0), y, size)
    same(bma, dynamic, rtol=1e-12, atol=1e-12)


def score_by_hand(ell, log_prior, memory):
    """Σ_t log Σ_k π_kt e^{ℓ_kt} and the last log weights, by the two lines of the paper."""
    total, log_w = 0.0, log_prior
    for t, row in enumerate(ell):
        log_pi = log_softmax((1.0 if t == 0 else memory[t]) * log_w)
        total += logsumexp(log_pi + row)
        log_w = log_softmax(log_pi + row)
    return total, log_w


def check_recursion(rng, sizes=(1, 1, 4, 2, 1, 9)):
    y, alpha = rng.normal(0.0, 1.0, sum(sizes)), 0.8
    average = constants(*MEANS, model_prior=[2, 1, 1], method="dynamic", forgetting=alpha)
    cuts = np.r_[0, np.cumsum(sizes)]
    ell = np.array([gains(average, y[a:b]).sum(axis=0) for a, b in pairwise(cuts)])
    for a, b in pairwise(cuts):
        average.partial_fit(np.zeros((b - a, 1)), y[a:b])
    total, log_w = score_by_hand(ell, np.log([0.5, 0.25, 0.25]), alpha ** np.array(sizes))
    assert average.log_evidence_ == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(average.weights_, np.exp(log_w), rtol=1e-10)
    # and by the sum of what fades
    age = np.array([sum(sizes[t + 1 :]) for t in range(len(sizes))])
    faded = alpha ** (len(y) - sizes[0]) * np.log([2, 1, 1]) + alpha**age @ ell
    np.testing.assert_allclose(average.weights_, softmax(faded), rtol=1e-10)


def test_weights_and_score_are_those_of_the_paper(rng):
    check_recursion(rng)


def check_error(rng, T=6):
    """The standard error against the gradient by finite differences."""
    ell, v = rng.normal(size=(T, 3)), rng.uniform(0.5, 1.0, (T, 3)) ** 2
    memory, log_prior = rng.uniform(0.3, 1.0, T), log_softmax(rng.normal(size=3))
    score, log_w = Prequential.start(3), log_prior
    for t in range(T):
        log_pi = log_softmax((1.0 if t == 0 else memory[t]) * log_w)
        score, log_w = score.after(
            ell[: t + 1].sum(axis=0), np.sqrt(v[: t + 1].sum(axis=0)), log_pi, memory[t]
        )
    gradient, h = np.empty((T, 3)), 1e-5
    for place in np.ndindex(T, 3):
        ends = []
        for sign in (1, -1):
            moved = ell.copy()
            moved[place] += sign * h
            ends.append(score_by_hand(moved, log_prior, memory)[0])
        gradient[place] = (ends[0] - ends[1]) / (2 * h)
    assert score.std == pytest.approx(np.sqrt(np.sum(gradient**2 * v)), rel=1e-6)


def test_the_error_of_the_score_is_that_of_the_delta_method(rng):
    check_error(rng)


def test_the_interval_is_that_of_the_faded_evidences(rng):
    y = rng.normal(0.0, 1.0, 30)
    average = stream(constants(*MEANS, errors=ERRORS, method="dynamic", forgetting=0.9), y)
    faded = np.sqrt(np.sum(0.9 ** (2 * np.arange(30)))) * np.array(ERRORS)
    draws = softmax(np.log(average.weights_) + faded * rng.standard_normal((200_000, 3)), axis=1)
    np.testing.assert_allclose(average.weights_interval_, np.quantile(draws, [0.05, 0.95], axis=0), atol=2e-3)


def test_an_old_model_is_forgotten_after_log_two_over_minus_log_alpha_rows():
    """Each row speaks by 2 nats for one model, then for the other: α^t = 1/2 when they are level."""
    alpha, n = 0.99, 700
    average = constants(1.0, -1.0, method="dynamic", forgetting=alpha)
    path = stream(average, [1.0] * n + [-1.0] * 100).weights_path_
    crossed = np.flatnonzero((path["weights"][:, 1] > 0.5) & (path["n_samples"] > n))[0]
    assert path["n_samples"][crossed] == n + np.ceil(np.log(2) / -np.log(alpha))  # 69 rows
