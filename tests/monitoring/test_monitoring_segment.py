"""Series at hand: posterior and best segmentation against every segmentation of a few rows."""

import functools
import warnings

import numpy as np
import pytest
from segment_cases import enumerate_segmentations, normal_evidence, regression_evidence

from sgevidence import BayesianGMM, EvidenceMonitor
from sgevidence.monitoring import NormalSegment, RegressionSegment, segment


def check_normal(rng, height=4.0, hazard=0.4):
    X = (0.3 * rng.normal(size=10) + height * np.repeat([0.0, 1.0, -1.0], [4, 3, 3]))[:, None]

    @functools.cache
    def evidence(s, t):
        return normal_evidence(X[s:t])

    log_Z, _, p, best = enumerate_segmentations(10, hazard, evidence)
    found = segment(X, model=NormalSegment(), hazard=hazard)
    np.testing.assert_allclose(found.log_evidence, log_Z, atol=1e-8)
    np.testing.assert_allclose(found.probability, p, atol=1e-8)
    np.testing.assert_array_equal(found.change_points, best)
    return best


def test_posterior_and_best_are_those_of_all_segmentations(rng):
    assert len(check_normal(rng)) >= 2  # there is a path to trace back


def by_recursion(n, hazard, evidence):
    """As by enumeration, O(n²): sums and the best segmentation of the rows before and after each row."""

    def ends(evidence):
        total, best = np.zeros(n + 1), [(0.0, ())]
        for t in range(1, n + 1):
            prior = [(np.log(hazard) if s else 0.0) + (t - s - 1) * np.log1p(-hazard) for s in range(t)]
            terms = [prior[s] + evidence(s, t) for s in range(t)]
            total[t] = np.logaddexp.reduce(total[:t] + terms)
            best.append(max((best[s][0] + terms[s], (*best[s][1], s)) for s in range(t)))
        return total, best[n][1][1:]

    before, best = ends(evidence)
    after, _ = ends(lambda s, t: evidence(n - t, n - s))
    p = np.exp(before + np.log(hazard) + after[::-1] - before[n])[:n]
    p[0] = 0.0
    return before[n], p, best


def test_posterior_and_best_of_more_rows_than_one_block(rng):
    """The filter prunes after twenty rows, and goes on."""
    n, hazard = 65, 0.1
    X = (rng.normal(size=n) + 4.0 * np.repeat([0.0, 1.0, -1.0], [19, 23, 23]))[:, None]
    evidence = functools.cache(lambda s, t: normal_evidence(X[s:t]))
    for few in (9, n):
        log_Z, p, best = by_recursion(few, hazard, evidence)
        if few == 9:
            exact = enumerate_segmentations(few, hazard, evidence)
            np.testing.assert_allclose((log_Z, *p), (exact[0], *exact[2]), atol=1e-10)
            assert best == exact[3]
    found = segment(X, model=NormalSegment(), hazard=hazard)
    np.testing.assert_allclose(found.log_evidence, log_Z, atol=1e-8)
    np.testing.assert_allclose(found.probability, p, atol=1e-7)
    np.testing.assert_array_equal(found.change_points, best)
    assert len(best) >= 2


def test_regression(rng):
    X = rng.normal(size=(8, 1))
    y = np.where(np.arange(8) < 4, 2.0, -2.0) * X[:, 0] + 0.1 * rng.normal(size=8)
    log_Z, _, p, best = enumerate_segmentations(8, 0.1, lambda s, t: regression_evidence(X[s:t], y[s:t]))
    found = segment(X, y, RegressionSegment(noise_prior=(1.0, 1.0)), hazard=0.1)
    np.testing.assert_allclose((found.log_evidence, *found.probability), (log_Z, *p), atol=1e-8)
    np.testing.assert_array_equal(found.change_points, best)


def test_few_runs_are_enough(rng):
    X = rng.normal(size=(500, 1)) + np.repeat([0.0, 5.0, 0.0, 3.0], 125)[:, None]
    full, few = (segment(X, model=NormalSegment(), max_runs=m) for m in (500, 60))
    np.testing.assert_array_equal(few.change_points, full.change_points)
    np.testing.assert_allclose(few.probability, full.probability, atol=0.01)
    assert few.log_evidence <= full.log_evidence + 1e-8


def test_the_default_is_that_of_the_monitor(rng):
    X = rng.normal(size=(120, 1))
    assert segment(X, max_runs=50).log_evidence == pytest.approx(EvidenceMonitor().fit(X).log_evidence_)


def test_what_cannot_be_segmented():
    with pytest.raises(ValueError, match="closed form"):
        segment([[0.0], [1.0]], model=BayesianGMM())
    with pytest.raises(ValueError, match="NaN"):
        segment([[0.0], [np.nan]])


def test_one_row_is_segmented_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = segment([[3.25]])
    assert found.change_points.size == 0 and np.isfinite(found.log_evidence)
