"""Rows of any shape: against Beta functions of all cells at once, and the alarms it is there to prevent."""

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import t

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import SeriesSegment
from sgevidence.monitoring._shape import CELLS, HALF_ROWS, LEVELS, learn_shape


def closed_form(z):
    """log p of all rows: of each node the share that goes to the left is integrated out."""
    total, share = t.logpdf(z, 2).sum(), t.cdf(z, 2)
    for level, alpha in enumerate(HALF_ROWS, start=1):
        n = np.bincount(np.minimum(share * 2**level, 2**level - 1).astype(int), minlength=2**level)
        total += np.sum(betaln(alpha + n[::2], alpha + n[1::2]) - betaln(alpha, alpha)) + len(z) * np.log(2)
    return total


def row_by_row(z):
    counts = np.zeros((2, CELLS))
    return sum(learn_shape(counts, np.array([value, 7.0]))[0] for value in z)


def test_rows_have_the_evidence_of_a_tree(rng):
    for z in (rng.normal(size=300), rng.exponential(size=300), rng.standard_cauchy(300)):
        assert row_by_row(z) == pytest.approx(closed_form(z), abs=1e-8)

    assert np.isfinite(row_by_row(np.array([0.0, 1e200, -1e200, 1e200])))


@pytest.mark.slow
def test_a_density_that_integrates_to_one(rng):
    counts = np.zeros(CELLS)
    for z in rng.gamma(2.0, size=200):
        learn_shape(counts[None], np.array([z]))
    edges = np.clip(t.ppf(np.linspace(0, 1, 2**LEVELS + 1), 2), -1e6, 1e6)
    grid = edges[:-1, None] + np.diff(edges)[:, None] * np.linspace(1e-9, 1 - 1e-9, 1001)
    grid[[0, -1]] = -np.geomspace(1e6, -edges[1] * (1 + 1e-9), 1001), np.geomspace(edges[-2], 1e6, 1001)
    p = np.exp([[learn_shape(counts[None].copy(), np.array([z]))[0] for z in cell] for cell in grid])
    assert np.trapezoid(p, grid).sum() == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_two_peaks_and_hard_edges_are_better_explained(rng):
    """By a nat in ten rows or more; and next to nothing is lost where the family has the noise."""
    rows = {
        "two peaks": rng.normal(size=(600, 1)) + 5.0 * rng.integers(0, 2, (600, 1)),
        "hard edge": np.exp(rng.normal(size=(600, 1))),
        "Gaussian": rng.normal(size=(600, 1)),
    }

    def log_evidence(X, **keywords):
        return EvidenceMonitor(SeriesSegment(**keywords), hazard=1e-12).fit(X).log_evidence_

    structures = ("level", "trend", "autoregression", "walk", "momentum")
    gain = {name: log_evidence(X) - log_evidence(X, models=structures) for name, X in rows.items()}
    assert gain["two peaks"] > 30 and gain["hard edge"] > 10 and abs(gain["Gaussian"]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["two peaks", "log-normal", "exponential", "gamma"])
def test_rows_of_another_shape_are_no_changes(shape, rng):
    """2.9 alarms in 20 000 rows are said, one and a half times as many wanted.

    Two peaks had 15 before any shape was learnt, log-normal rows 15 and with noise of one shape 66.
    """
    draw = {
        "two peaks": lambda: rng.normal(size=(1000, 1)) + 4.0 * rng.integers(0, 2, (1000, 1)),
        "log-normal": lambda: np.exp(rng.normal(size=(1000, 1))),
        "exponential": lambda: rng.exponential(size=(1000, 1)),
        "gamma": lambda: rng.gamma(3.0, size=(1000, 1)),
    }[shape]
    alarms = sum(len(EvidenceMonitor().fit(draw()).change_points_) for _ in range(8))
    assert alarms <= 6  # where 1.7 are due more than six are one in 300
