"""Stacking: the optimum against closed forms and another optimiser, and a memory that is bounded."""

import numpy as np
import pytest
from forecasters import Coin, constants, stream
from scipy.optimize import minimize
from scipy.stats import kstest

from sgevidence import EvidenceModelAverager
from sgevidence.averaging._stacking import RowScores, stacking_weights


def value(w, log_p, v):
    return v @ np.log(np.exp(log_p) @ w) / v.sum()


def by_scipy(log_p, v):
    K = log_p.shape[1]
    found = minimize(
        lambda w: -value(w, log_p, v),
        np.full(K, 1 / K),
        bounds=[(1e-12, 1)] * K,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options=dict(ftol=1e-14, maxiter=1000),
    )
    return found.x


def problems(rng):
    """Scores of rows with models that are good, hopeless, equal or complementary."""
    for K in (1, 2, 3, 6):
        yield rng.normal(0.0, 1.0, (200, K)) - np.linspace(0.0, 0.6, K), rng.uniform(0.2, 3.0, 200)
    twins = rng.normal(0.0, 1.0, (100, 2))
    yield twins[:, [0, 1, 1]], np.ones(100)
    yield np.where(rng.random((80, 1)) < 0.3, [0.0, -30.0], [-30.0, 0.0]), np.ones(80)
    yield np.column_stack([np.zeros(50), np.full(50, -900.0)]), np.ones(50)


def test_the_optimum_is_that_of_another_optimiser(rng):
    for log_p, v in problems(rng):
        w = stacking_weights(log_p, v, np.full(log_p.shape[1], 1 / log_p.shape[1]))
        assert w.min() >= 0 and w.sum() == pytest.approx(1.0)
        other = by_scipy(log_p, v)
        assert value(w, log_p, v) >= value(other, log_p, v) - 1e-8
        if np.linalg.matrix_rank(log_p) == log_p.shape[1]:  # the optimum is one point
            np.testing.assert_allclose(w, other, atol=2e-3)


def test_two_coins_of_known_optimum():
    """The mixture of p = 0.9 and 0.2 says what was seen, p = 0.55: half of each."""
    y = np.array([0, 1] * 10 + ([1] * 11 + [0] * 9) * 20)  # the first twenty rows in two chunks
    average = EvidenceModelAverager([("bold", Coin(0.9)), ("shy", Coin(0.2))], method="stacking")
    average.fit(np.zeros((len(y), 1)), y)
    share = np.mean(y[10:])  # nothing is said of the first chunk
    np.testing.assert_allclose(average.weights_, [(share - 0.2) / 0.7, (0.9 - share) / 0.7], atol=1e-4)
    bma = EvidenceModelAverager(average.estimators).fit(np.zeros((len(y), 1)), y)
    assert bma.weights_.max() > 0.999


def test_rows_count_as_often_as_their_weight(rng):
    y, weight = rng.integers(0, 2, 60), rng.integers(0, 4, 60)
    models = [("bold", Coin(0.9)), ("shy", Coin(0.2))]
    average = EvidenceModelAverager(models, method="stacking").fit(np.zeros((60, 1)), y, sample_weight=weight)
    kept_y, kept = y[weight > 0], weight[weight > 0]
    share = np.average(kept_y[10:], weights=kept[10:])
    assert average.weights_[0] == pytest.approx(np.clip((share - 0.2) / 0.7, 0, 1), abs=1e-4)
    assert average.n_samples_seen_ == len(kept)


@pytest.mark.parametrize("size", [1, 5, 10])
def test_the_score_is_that_of_the_mixture_with_the_weights_before_each_chunk(size, rng):
    y = rng.normal(0.3, 1.5, 40)
    average = stream(constants(-1.0, 1.5, errors=(0.1, 0.2), method="stacking"), y, size)
    path = average.weights_path_
    log_p = np.column_stack([model.score_samples(None, y) for model in average.estimators_])
    first = 0.5 * np.exp(log_p[:size].sum(axis=0))
    before = np.repeat(path["weights"][:-1], size, axis=0)
    joint = before * np.exp(log_p[size:])
    score = np.log(first.sum()) + np.sum(np.log(joint.sum(axis=1)))
    assert average.log_evidence_ == pytest.approx(score)
    shares = (joint / joint.sum(axis=1, keepdims=True)).reshape(-1, size, 2).mean(axis=1)
    shares = np.vstack([first / first.sum(), shares])
    assert average.log_evidence_std_ == pytest.approx(np.sqrt(size * np.sum(shares**2 * [0.01, 0.04])))
    weights = stacking_weights(log_p[size:], np.ones(40 - size), np.array([0.5, 0.5]))
    np.testing.assert_allclose(path["weights"][-1], weights, atol=1e-5)


@pytest.mark.slow
def test_the_interval_covers_the_best_weight(rng):
    """That of infinitely many rows lies within in about nine of ten samples of 120."""
    models = [("bold", Coin(0.9)), ("shy", Coin(0.2))]
    inside = []
    for _ in range(12):
        y = (rng.random(130) < 0.55).astype(int)
        average = EvidenceModelAverager(models, method="stacking").fit(np.zeros((130, 1)), y)
        low, high = average.weights_interval_[:, 0]
        inside.append(low <= 0.5 <= high)
    assert 0.9 - 4 * np.sqrt(0.09 / 12) < np.mean(inside)


def test_the_kept_rows_are_a_uniform_sample_of_bounded_size():
    rows = None
    for start in range(0, 40_000, 1000):
        place = np.arange(start, start + 1000.0)
        new = RowScores.of(np.column_stack([place, -place]), np.ones(1000), start)
        rows = new if rows is None else rows.join(new)
        assert len(rows.key) <= 4096
    assert kstest(rows.log_p[:, 0] / 40_000, "uniform").pvalue > 1e-3


def test_a_sample_is_enough(rng):
    """The price that the documentation names: (K−1)/(2·SCORED_ROWS) nats a row on average."""
    log_p = rng.normal(0.0, 1.0, (40_000, 5))
    everything = stacking_weights(log_p, np.ones(len(log_p)), np.full(5, 0.2))
    kept = log_p[rng.choice(len(log_p), 4096, replace=False)]
    sampled = stacking_weights(kept, np.ones(4096), np.full(5, 0.2))
    loss = value(everything, log_p, np.ones(len(log_p))) - value(sampled, log_p, np.ones(len(log_p)))
    assert 0 <= loss < 5 * 4 / (2 * 4096)


def test_rows_that_no_model_thinks_possible_tell_nothing():
    scores = RowScores.of(
        np.array([[-np.inf, -np.inf], [-1.0, -np.inf], [-1.0, -1.0]]), np.array([1.0, 1, 0]), 0
    )
    assert scores.log_p.tolist() == [[-1.0, -np.inf]]
    assert stacking_weights(scores.log_p, scores.weight, np.array([0.5, 0.5]))[0] == pytest.approx(1.0)
