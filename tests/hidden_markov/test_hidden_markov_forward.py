"""Filter, smoother, paths and draws of states against sums over all sequences of states."""

from itertools import product

import numpy as np
import pytest
from mutants import broken

from sgevidence.hidden_markov import _forward, filtered, sample_states
from sgevidence.hidden_markov._forward import Dynamics, most_probable_path, smoothed

pytestmark = pytest.mark.usefixtures("double_precision")

N, K, M = 8, 3, 4
STARTS = np.isin(np.arange(N), [0, 5])  # two sequences


def problem(rng):
    log_e = 2 * rng.normal(size=(N, K, M))
    log_A, log_initial = np.log(rng.dirichlet(np.ones(K), (K, M))), np.log(rng.dirichlet(np.ones(K), M)).T
    return log_e, log_A, log_initial


def by_sequences(log_e, log_A, log_initial, m):
    """All sequences of states, and log p(y, z) of each."""
    z = np.array(list(product(range(K), repeat=N)))
    log_p = log_e[np.arange(N), z, m].sum(axis=1) + log_initial[z[:, STARTS], m].sum(axis=1)
    for t in np.flatnonzero(~STARTS):
        log_p += log_A[z[:, t - 1], m, z[:, t]]
    return z, log_p


def check_passes(rng):
    log_e, log_A, log_initial = problem(rng)
    chain = Dynamics.of(log_A, log_initial)
    alpha, log_p = filtered(log_e, chain, STARTS)
    smooth = smoothed(alpha, chain, STARTS)
    for m in range(M):
        z, each = by_sequences(log_e, log_A, log_initial, m)
        log_Z = np.logaddexp.reduce(each)
        assert log_p[:, m].sum() == pytest.approx(log_Z, abs=1e-10)
        p = np.exp(each - log_Z)
        expected = np.array([[p[z[:, t] == k].sum() for k in range(K)] for t in range(N)])
        np.testing.assert_allclose(smooth[:, :, m], expected, atol=1e-10)
        np.testing.assert_allclose(alpha[-1, :, m], expected[-1], atol=1e-10)
        path, value = most_probable_path(log_e[:, :, m], log_A[:, m], log_initial[:, m], STARTS)
        assert path.tolist() == z[np.argmax(each)].tolist()
        assert value == pytest.approx(each.max())


@pytest.fixture(params=[1, 5], ids=["rows", "blocks"])
def n_blocks(request, monkeypatch):
    """Blocks of two rows: the last one is empty, and a sequence starts inside of another."""
    monkeypatch.setattr(_forward, "n_blocks", lambda *sizes: request.param)


def test_filter_smoother_and_path(rng, n_blocks):
    check_passes(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("before * weights[:, b]", "before"),
        ("starts[:, None]", "starts[:, None] & False"),
        ("in_blocks(e, B, 1.0)", "in_blocks(e[::-1], B, 1.0)"),
    ],
)
@pytest.mark.parametrize("n_blocks", [5], indirect=True)
def test_wrong_blocks_are_seen(right, wrong, rng, n_blocks, install_broken):
    install_broken(_forward, "_filtered_by_blocks", right, wrong)
    with pytest.raises(AssertionError):
        check_passes(rng)


def test_a_filter_continues_where_rows_were_cut(rng):
    log_e, log_A, log_initial = problem(rng)
    chain = Dynamics.of(log_A, log_initial)
    alpha, log_p = filtered(log_e, chain, STARTS)
    first, one = filtered(log_e[:3], chain, STARTS[:3])
    last, two = filtered(log_e[3:], chain, STARTS[3:], first[-1])
    np.testing.assert_allclose(np.concatenate([one, two]), log_p)
    np.testing.assert_allclose(last[-1], alpha[-1])


def check_draws(rng, size=40_000):
    log_e, log_A, log_initial = problem(rng)
    many = np.zeros(size, dtype=int)
    chain = Dynamics.of(log_A[:, many], log_initial[:, many])
    drawn, log_p = sample_states(log_e[:, :, many], chain, STARTS, rng)
    z, each = by_sequences(log_e, log_A, log_initial, 0)
    p = np.exp(each - np.logaddexp.reduce(each))
    powers = K ** np.arange(N)
    found = np.bincount(powers @ drawn, minlength=K**N)[z @ powers]
    usual = p * size > 5
    chi2 = np.sum((found - size * p)[usual] ** 2 / (size * p)[usual])
    assert log_p == pytest.approx(np.logaddexp.reduce(each), abs=1e-9)
    assert chi2 < usual.sum() + 5 * np.sqrt(2 * usual.sum())


def test_draws_of_states(rng, n_blocks):
    check_draws(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("alpha[:-1, i] * A[:, i, j]", "alpha[:-1, i] * A[:, j, i]"),
        ("below_end[:, :-1] <= edge[:, None]", "below_end[:, 1:] <= edge[:, None]"),
    ],
)
def test_wrong_draws_are_seen(right, wrong, rng, install_broken):
    install_broken(_forward, "_states_before", right, wrong)
    with pytest.raises(AssertionError):
        for _ in range(4):
            check_draws(rng)


@pytest.mark.parametrize("n_blocks", [5], indirect=True)
def test_draws_that_forget_the_end_of_a_block_are_seen(rng, n_blocks, install_broken):
    install_broken(_forward, "_followed", "z[0, ends[b + 1], b + 1, m]", "z[0, ends[b], b + 1, m]")
    with pytest.raises(AssertionError):
        for _ in range(4):
            check_draws(rng)


def test_a_filter_that_does_not_start_anew_is_seen(rng, monkeypatch):
    wrong = broken(filtered, "starts[:, None]", "np.arange(len(starts))[:, None] == 0")
    monkeypatch.setitem(globals(), "filtered", wrong)
    with pytest.raises(AssertionError):
        check_passes(rng)
