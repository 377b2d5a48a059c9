"""Series at hand: posterior and best segmentation against every segmentation of a few rows."""

import functools

import numpy as np
import pytest
from segment_cases import enumerate_segmentations, normal_evidence, regression_evidence

from sgevidence import BayesianGMM, EvidenceMonitor
from sgevidence.monitoring import NormalSegment, RegressionSegment, _filter, segment


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


@pytest.mark.parametrize("block", [3, 20])
def test_posterior_and_best_are_those_of_all_segmentations(block, rng, monkeypatch):
    monkeypatch.setattr(_filter, "PRUNED_ROWS", block)
    monkeypatch.setattr(_filter, "LOG_NEGLIGIBLE_RUN", -np.inf)
    assert len(check_normal(rng)) >= 2  # there is a path to trace back


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
