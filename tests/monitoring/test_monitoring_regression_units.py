"""A regression segment by default: units of the rows before, a mixture of noises, the same in any units."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from sgevidence.monitoring import RegressionSegment, segment


def bent(rng, n=200, noise=0.1, slopes=(1.0, -1.5, 0.5, 2.0)):
    """A line of several slopes, R² of 0.99."""
    y = np.cumsum(np.repeat(slopes, n // len(slopes)))
    return np.arange(n)[:, None] * 1.0, y + noise * y.std() * rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(4))
def test_bent_lines_are_found(seed):
    rng = np.random.default_rng([seed, 77])
    slopes = rng.choice([-2.0, -1.0, 1.0, 2.0, 0.0], 4, replace=False)
    X, y = bent(rng, slopes=slopes)
    found = segment(X, y, RegressionSegment()).change_points
    assert len(found) == 3 and np.abs(found - [50, 100, 150]).max() < 15


def check_evidence(rng):
    """Without a change it is the mixture of three multivariate t, in units of the first ten rows."""
    X = np.column_stack([rng.normal(1e5, 3.0, 25), rng.integers(0, 2, 25)])
    X[:2, 1] = 0, 1
    y = X[:, 0] - 1e5 + 4.0 * X[:, 1] + 0.2 * rng.standard_normal(25)
    found = segment(X, y, RegressionSegment(coef_scale=1.3, intercept_scale=0.7), hazard=1e-12)
    first = slice(0, 10)
    centre, unit = X[first].mean(0), X[first].std(0) * [1, 0] + [0, 1]
    z, target = (X - centre) / unit, (y - y[first].mean()) / y[first].std()
    Phi = np.column_stack([z, np.ones(25)])
    scale = np.array([1.3, 1.3, 0.7])
    parts = [
        multivariate_t.logpdf(target, np.zeros(25), s**2 * np.eye(25) + (Phi * scale**2) @ Phi.T, df=2)
        for s in (1.0, 0.2, 0.04)
    ]
    exact = np.logaddexp.reduce(parts) - np.log(3) - 25 * np.log(y[first].std())
    assert found.log_evidence == pytest.approx(exact, abs=1e-6)


def test_evidence_of_one_segment(rng):
    check_evidence(rng)


def log_evidences(X, y, **params):
    found = segment(X, y, RegressionSegment(**params), hazard=0.05)
    return found.log_evidence, found.probability


def check_invariance(rng, intercept=True):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    X[:, 2] = rng.random(40) < 0.5
    X[:15, 1] = 0.25  # constant in the first rows
    y = y + X @ [1.0, 2.0, 1.0] * np.repeat([1.0, -1.0], 20)
    before = log_evidences(X, y, fit_intercept=intercept)
    for _ in range(3):
        unit, y_unit = 10.0 ** rng.uniform(-6, 6, 3), 10.0 ** rng.uniform(-6, 6)
        origin, y_origin = (rng.normal(size=3) * unit * 1e4, 1e4 * y_unit) if intercept else (0.0, 0.0)
        after = log_evidences(origin + X * unit * [1, -1, 1], y_origin + y * y_unit, fit_intercept=intercept)
        assert after[0] + 40 * np.log(y_unit) == pytest.approx(before[0], abs=1e-6)
        np.testing.assert_allclose(after[1], before[1], atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_changes_are_the_same_in_any_units(rng, intercept):
    check_invariance(rng, intercept)


def test_constant_y_and_far_rows():
    """A constant y has its size as the unit; what has no square is refused."""
    X = np.random.default_rng(0).standard_normal((30, 1))
    y = np.repeat([5.0, 6.0], 15)
    assert abs(segment(X, y, RegressionSegment()).change_points[0] - 15) < 3
    for spoil in (X * 1e200, X):
        with pytest.raises(ValueError, match="too far from the others"):
            segment(spoil, y * 1e200, RegressionSegment())
