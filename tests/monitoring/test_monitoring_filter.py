"""The filter against every segmentation of a few rows, one by one, and the segments against closed forms."""

import numpy as np
import pytest
from segment_cases import (
    category_evidence,
    count_evidence,
    enumerate_segmentations,
    normal_evidence,
    regression_evidence,
)

from sgevidence import BayesianGMM, EvidenceMonitor
from sgevidence.monitoring import CategorySegment, CountSegment, NormalSegment, RegressionSegment
from sgevidence.samplers import Exact

HAZARD = 0.13


def normal_case(rng, n=9):
    X = rng.normal(size=(n, 2))
    X[n // 2 :] += 3.0
    return NormalSegment(1.5, (2.0, 0.7)), X, None, lambda s, t: normal_evidence(X[s:t], 1.5, 2.0, 0.7)


def regression_case(rng, n=9):
    X = rng.normal(size=(n, 2))
    y = X @ [1.0, -2.0] + 0.5 * rng.normal(size=n)
    y[n // 2 :] += 4.0
    model = RegressionSegment(coef_scale=1.3, intercept_scale=2.0, noise_prior=(1.5, 0.4))
    return model, X, y, lambda s, t: regression_evidence(X[s:t], y[s:t], 1.3, 2.0, 1.5, 0.4)


def category_case(rng, n=9):
    """The first column changes from mostly zeros to twos; the second has zeros and ones throughout."""
    X = np.column_stack([rng.binomial(2, np.where(np.arange(n) < n // 2, 0.1, 0.9)), rng.integers(2, size=n)])
    X = X.astype(float)
    return CategorySegment(3, 0.7), X, None, lambda s, t: category_evidence(X, s, t, 3, 0.7)


def count_case(rng, n=9):
    X = rng.poisson(np.where(np.arange(n) < n // 2, [[2.0], [30.0]], [[9.0], [30.0]]).T).astype(float)
    return CountSegment(mean=4.0, shape=0.8), X, None, lambda s, t: count_evidence(X[s:t], 4.0, 0.8)


CASES = {
    "normal": normal_case,
    "regression": regression_case,
    "categories": category_case,
    "counts": count_case,
}


def check_against_enumeration(model, X, y, evidence):
    log_Z, last, _, _ = enumerate_segmentations(len(X), HAZARD, evidence)
    monitor = EvidenceMonitor(model, hazard=HAZARD, threshold=1 - 1e-12)  # nothing is declared
    log_p = []
    for rows in (slice(0, 1), slice(1, 6), slice(6, 8), slice(8, None)):
        monitor.partial_fit(X[rows], None if y is None else y[rows])
        log_p.extend(monitor.log_predictive_)
    posterior = monitor.run_length_posterior_
    np.testing.assert_allclose(monitor.log_evidence_, log_Z, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.sum(log_p), log_Z, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(posterior["start"], np.arange(len(X)))
    np.testing.assert_array_equal(posterior["run_length"], len(X) - np.arange(len(X)))
    np.testing.assert_allclose(posterior["probability"], last, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(monitor.change_probability_[-1], last[1:].sum(), rtol=1e-7)


@pytest.mark.parametrize("kind", CASES)
def test_evidence_and_posterior_are_those_of_all_segmentations(kind, rng):
    check_against_enumeration(*CASES[kind](rng))


@pytest.mark.parametrize("kind", CASES)
def test_more_rows_than_can_be_enumerated(kind, rng):
    """The sums over segmentations as a recursion over closed forms of all segments, O(n²)."""
    n = 50
    model, X, y, evidence = CASES[kind](rng, n)
    log_Z = np.zeros(n + 1)
    for t in range(1, n + 1):
        terms = [
            log_Z[s] + (np.log(HAZARD) if s else 0.0) + (t - s - 1) * np.log1p(-HAZARD) + evidence(s, t)
            for s in range(t)
        ]
        log_Z[t] = np.logaddexp.reduce(terms)
    monitor = EvidenceMonitor(model, hazard=HAZARD, max_runs=n).fit(X, y)
    np.testing.assert_allclose(monitor.log_evidence_, log_Z[n], rtol=1e-9)
    np.testing.assert_allclose(np.cumsum(monitor.log_predictive_), log_Z[1:], rtol=1e-8, atol=1e-8)


def test_a_segment_without_changes_has_the_evidence_of_one_gaussian(rng):
    X = rng.normal(size=(50, 2))
    exact = BayesianGMM(1, sampler=Exact(), standardize=False).fit(X).log_evidence_
    monitor = EvidenceMonitor(NormalSegment(), hazard=1e-15).fit(X)
    np.testing.assert_allclose(monitor.log_evidence_, exact, atol=1e-8)


@pytest.mark.parametrize("kind, reaction", [("normal", "none"), *((kind, "restart") for kind in CASES)])
def test_chunks_do_not_matter(kind, reaction, rng):
    model, X, y, _ = CASES[kind](rng, 150)
    whole = EvidenceMonitor(model, max_runs=15, reaction=reaction).fit(X, y)
    assert len(whole.detections_) == 1 and whole.pruned_mass_ > 0
    for size in (1, 64):
        cut = EvidenceMonitor(model, max_runs=15, reaction=reaction)
        for i in range(0, 150, size):
            cut.partial_fit(X[i : i + size], None if y is None else y[i : i + size])
        np.testing.assert_allclose(cut.log_evidence_, whole.log_evidence_, rtol=1e-10)
        np.testing.assert_array_equal(cut.change_points_, whole.change_points_)
        np.testing.assert_allclose(cut.detections_[0][:4], whole.detections_[0][:4], rtol=1e-8)
        for name, value in whole.run_length_posterior_.items():
            np.testing.assert_allclose(cut.run_length_posterior_[name], value, rtol=1e-7, atol=1e-12)


def stream_of_the_model(rng, n, hazard):
    """Rows drawn from NormalSegment's own prior."""
    X = np.empty((n, 1))
    for t in range(n):
        if t == 0 or rng.random() < hazard:
            sigma = 1 / np.sqrt(rng.gamma(1.0))
            mu = 2.0 * sigma * rng.normal()
        X[t] = mu + sigma * rng.normal()
    return X


def test_pruning_loses_no_more_than_it_says(rng):
    """E[1 - Z_pruned / Z] is at most E[pruned_mass_] under the model."""
    lost, said = [], []
    for _ in range(25):
        X = stream_of_the_model(rng, 300, 0.02)
        exact = EvidenceMonitor(NormalSegment(), hazard=0.02, max_runs=300).fit(X)
        pruned = EvidenceMonitor(NormalSegment(), hazard=0.02, max_runs=20).fit(X)
        assert len(pruned.run_length_posterior_["start"]) <= 20
        assert pruned.log_evidence_ <= exact.log_evidence_ + 1e-8
        lost.append(-np.expm1(pruned.log_evidence_ - exact.log_evidence_))
        said.append(pruned.pruned_mass_)
    assert np.mean(lost) > 1e-6  # there was something to lose
    assert np.mean(lost) <= np.mean(said) + 3 * np.std(lost) / 5
