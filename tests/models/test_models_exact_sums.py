"""Sums without rounding, against fractions."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from mutants import broken

from sgevidence.models import ExactSums, _exact_sums


def values(rng, n=30):
    far = 1.7e18 + 3e13 * rng.random(n)
    wide = rng.standard_normal(n) * 10.0 ** rng.uniform(-60, 60, n)
    return np.column_stack([np.ones(n), rng.standard_normal(n), far, wide, np.zeros(n), np.round(far)])


WEIGHTS = {
    "equal": lambda rng: np.full(30, 0.1),
    "counts": lambda rng: rng.integers(0, 9000, 30).astype(float),
    "fractions": lambda rng: rng.uniform(0.01, 3.0, 30),
}


def check(rng, weights, of=ExactSums.of):
    v, w = values(rng), WEIGHTS[weights](rng)
    cut = of(v[:11], w[:11]).plus(of(v[:0], w[:0])).plus(of(v[11:], w[11:]))
    by_rows = reduce(ExactSums.plus, [of(v[r : r + 1], w[r : r + 1]) for r in range(30)])
    for sums in (of(v, w), cut, by_rows):
        for i in range(6):
            for j in range(6):
                expected = sum(Fraction(w[r]) * Fraction(v[r, i]) * Fraction(v[r, j]) for r in range(30))
                assert sums.value(i, j) == expected
        assert sums.total_weight == float(sum(map(Fraction, w)))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("block", [4096, 7])
def test_nothing_is_rounded(rng, monkeypatch, weights, block):
    monkeypatch.setattr(_exact_sums, "ROWS_OF_BLOCK", block)
    monkeypatch.setattr(_exact_sums, "BEFORE_CARRY", 20)
    check(rng, weights)


@pytest.mark.parametrize("weights", ["equal", "counts"])
def test_full_blocks_of_large_slices(weights):
    """The largest products that a block can hold."""
    v = np.full((4096, 1), np.nextafter(1.0, 0.0))
    w = np.ones(4096) if weights == "equal" else np.r_[np.full(4095, np.nextafter(8.0, 0.0)), 1.0]
    expected = sum(map(Fraction, w)) * Fraction(v[0, 0]) ** 2
    assert ExactSums.of(v, w).value(0, 0) == expected


MUTANTS = [
    ("fractions", "k = left + right + a", "k = left + right"),
    ("equal", "int(exponent) - 53", "int(exponent) - 52"),
]


@pytest.mark.parametrize("weights, right, wrong", MUTANTS)
def test_power(rng, weights, right, wrong):
    with pytest.raises(AssertionError):
        check(rng, weights, classmethod(broken(ExactSums.of.__func__, right, wrong)).__get__(None, ExactSums))


def test_a_broken_sum_of_one_row_is_caught(rng, monkeypatch):
    mutant = broken(
        ExactSums._of_row.__func__, "exponents[:-1].astype(int) - 53", "exponents[:-1].astype(int) - 52"
    )
    monkeypatch.setattr(ExactSums, "_of_row", classmethod(mutant))
    with pytest.raises(AssertionError):
        check(rng, "fractions")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_has_no_sum(value):
    """Slices of it would never end."""
    v, w = np.ones((5, 2)), np.ones(5)
    v[3, 1] = value
    for rows in (slice(None), slice(3, 4)):
        with pytest.raises(ValueError, match="not finite"):
            ExactSums.of(v[rows], w[rows])
