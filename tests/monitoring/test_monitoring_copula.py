"""Rows of any density that take after the one before: against leaves written out, and alarms prevented."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import multivariate_normal, norm, t

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import SeriesSegment, _series, _series_runs, _shape
from sgevidence.monitoring._shape import CELLS, HALF_ROWS, LEVELS, RHO, learn_shape, log_copula, normal_score


def leaves(z):
    """Predictive probability of each leaf after rows z: shares of nodes, multiplied from the root."""
    mass = np.ones(1)
    for level, alpha in enumerate(HALF_ROWS, start=1):
        n = np.bincount(np.minimum(t.cdf(z, 2) * 2**level, 2**level - 1).astype(int), minlength=2**level)
        share = (alpha + n) / np.repeat(2 * alpha + n[::2] + n[1::2], 2)
        mass = np.repeat(mass, 2) * share
    return mass


def distribution(z, seen):
    """Probability of less than z after the rows ``seen``."""
    mass, leaf = leaves(seen), t.cdf(z, 2) * 2**LEVELS
    cell = min(int(leaf), 2**LEVELS - 1)
    return mass[:cell].sum() + mass[cell] * (leaf - cell)


def evidence(z, before=None, grid=None):
    """log p of rows by ρ, the one before the first given; from leaves and a Gaussian in two dimensions.

    Where there is a grid, of such a width at each row, no row tells more than its cell.
    """
    total, before = np.zeros(len(RHO)), [before, *z[:-1]]
    for i, (value, last) in enumerate(zip(z, before)):
        mass, cell = leaves(z[:i]), min(int(t.cdf(value, 2) * 2**LEVELS), 2**LEVELS - 1)
        log_p = np.log(mass[cell] * 2**LEVELS) + t.logpdf(value, 2) + np.zeros(len(RHO))
        if last is not None:
            q = [norm.ppf(distribution(v, z[:i])) for v in (last, value)]
            log_p += [multivariate_normal.logpdf(q, cov=[[1, r], [r, 1]]) - norm.logpdf(q).sum() for r in RHO]
        total += log_p if grid is None else -np.log(np.exp(-log_p) + grid[i])
    return total


def check_score(rng):
    counts, z = np.zeros((1, CELLS)), rng.gamma(2.0, size=60)
    for i, value in enumerate(z):
        for x in (value, -0.3, 40.0):
            found = normal_score(counts, np.array([x]))[0]
            assert found == pytest.approx(norm.ppf(distribution(x, z[:i])), abs=1e-8)
        learn_shape(counts, np.array([value]))


def test_scores_are_those_of_the_leaves(rng):
    check_score(rng)
    far = normal_score(np.zeros((1, CELLS)), np.array([1e200, -1e200]))
    assert np.isfinite(far).all() and far[0] > 6 > -6 > far[1]


def check_integral(rng):
    """∫ f(z) c(F(z), F(z')) dz = 1 for each ρ, after some rows."""
    counts = np.zeros((1, CELLS))
    for value in rng.gamma(2.0, size=100):
        learn_shape(counts, np.array([value]))
    z = t.ppf(np.linspace(0, 1, 400_002)[1:-1], 2)  # equally likely by F'
    trees, before = np.broadcast_to(counts, (len(z), CELLS)), normal_score(counts, np.array([1.3]))
    log_f = np.concatenate(
        [learn_shape(part.copy(), x) for part, x in zip(np.split(trees, 20), np.split(z, 20))]
    )
    log_p = (log_f - t.logpdf(z, 2))[:, None] + log_copula(
        normal_score(trees, z), np.broadcast_to(before, z.shape)
    )
    np.testing.assert_allclose(np.exp(log_p).mean(axis=0), 1.0, atol=2e-3)


def test_a_density_of_the_row(rng):
    check_integral(rng)


def test_the_density_is_that_of_two_normal_numbers_over_that_of_one():
    q = norm.ppf(t.cdf(np.array([0.3, 1.2]), 2))
    expected = [multivariate_normal.logpdf(q, cov=[[1, r], [r, 1]]) for r in RHO]
    np.testing.assert_allclose(log_copula(q[1], q[0]), expected - norm.logpdf(q).sum())


def series(rng, rho, n=1000):
    e = rng.normal(size=n + 100)
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], e)[100:, None]


@pytest.mark.slow
def test_rows_that_remember_are_better_explained(rng, monkeypatch):
    """By the entropy that is in the row before, and next to nothing is lost where there is none."""

    def log_evidence(X):
        return EvidenceMonitor(SeriesSegment(("shape",)), hazard=1e-12).fit(X).log_evidence_

    rows = {rho: np.exp(series(rng, rho, 500)) for rho in (0.0, 0.7)}
    with_memory = {rho: log_evidence(X) for rho, X in rows.items()}
    for module in (_shape, _series, _series_runs):
        monkeypatch.setattr(module, "RHO", RHO[:1])
    gain = {rho: with_memory[rho] - log_evidence(X) for rho, X in rows.items()}
    assert gain[0.7] > 0.8 * 500 * -0.5 * np.log(1 - 0.7**2) and -2.0 < gain[0.0] < 3.0
    assert _shape.LEVELS == LEVELS


@pytest.mark.slow
def test_an_exponential_of_an_autoregression_is_no_string_of_changes(rng):
    """It had an alarm in sixty to a hundred and fifty rows."""
    alarms = sum(len(EvidenceMonitor().fit(np.exp(series(rng, 0.5))).change_points_) for _ in range(4))
    assert alarms <= 8
