"""Nested sampling with Bayesian updating: predictive evidences that add up, and a fair reservoir."""

import numpy as np
import pytest
from error_bars import check_normal, z_scores
from mutants import broken

from sgevidence.history import Rows
from sgevidence.models import LinearModel
from sgevidence.published import SequentialNestedSampling
from sgevidence.published._sequential_nested import weighted_reservoir

MODEL = LinearModel(2, noise_std=1.0)


def data(n, rng):
    X = rng.standard_normal((n, 2))
    return Rows.of(X, X @ [1.0, -1.0] + rng.standard_normal(n))


@pytest.mark.slow
def test_reported_error_covers(rng):
    sampler = SequentialNestedSampling(n_live=50, chunk_size=40)
    rows = data(80, rng)
    check_normal(z_scores(sampler, MODEL, rows, MODEL.exact_log_evidence(rows), rng, 16))


def check_reservoir(reservoir, rng):
    """Chao's property: of what has come, item i is expected M w_i/W times, in whatever batches it came."""
    w, M, n_runs = rng.gamma(1.0, size=40), 10, 3000
    count = np.zeros(40)
    for g in rng.spawn(n_runs):
        kept, log_W = np.full((M, 1), -1.0), -np.inf
        for batch in np.split(np.arange(40), [5, 6, 20]):
            kept, log_W = reservoir(kept, log_W, batch[:, None].astype(float), np.log(w[batch]), g)
        count += np.bincount(kept[:, 0].astype(int), minlength=40)
    assert log_W == pytest.approx(np.log(w.sum()))
    expected = M * w / w.sum()
    z = (count / n_runs - expected) / np.sqrt(np.maximum(expected, 0.02) / n_runs)
    assert np.all(np.abs(z) < 5), f"counts off by {z}"


def test_reservoir_keeps_in_proportion_to_weight(rng):
    check_reservoir(weighted_reservoir, rng)


MUTANTS = {
    "weights of the new forgotten": (
        "[np.full(M, log_W - np.log(M)), log_w]",
        "[np.full(M, log_W - np.log(M)), np.full(len(log_w), log_sum_exp(log_w) - np.log(len(log_w)))]",
    ),
    "each place weighs as much as all": ("np.full(M, log_W - np.log(M))", "np.full(M, log_W)"),
}


@pytest.mark.parametrize("right, wrong", MUTANTS.values(), ids=MUTANTS)
def test_broken_reservoir_is_caught(rng, right, wrong):
    with pytest.raises(AssertionError, match="counts off"):
        check_reservoir(broken(weighted_reservoir, right, wrong), rng)


def test_update_leaves_the_state_and_goes_on(rng):
    sampler, rows = SequentialNestedSampling(n_live=100, chunk_size=40), data(80, rng)
    first, _ = sampler.update(sampler.init(MODEL, rng), MODEL, rows[:40], rng)
    theta, log_Z = first.theta.copy(), first.log_evidence
    second, records = sampler.update(first, MODEL, rows[40:], rng)
    np.testing.assert_array_equal(first.theta, theta)
    assert (first.log_evidence, first.n_rows, second.n_rows) == (log_Z, 40, 80)
    assert records[-1].log_predictive == pytest.approx(second.log_evidence - log_Z)
    assert abs(second.log_evidence - MODEL.exact_log_evidence(rows)) < 4.5 * second.log_evidence_std


def test_mini_batches(rng):
    """As in the thesis: near the exact answer, and a gradient that does not grow with the rows."""
    sampler, rows = (
        SequentialNestedSampling(n_live=100, chunk_size=50, batch_size=50),
        data(200, rng),
    )
    result = sampler.run(MODEL, rows, rng)
    assert abs(result.log_evidence - MODEL.exact_log_evidence(rows)) < 3.0
