"""Tables of large counts: every plan against decimals and integers of any size, and without memory."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from sgevidence.hypothesis_tests import contingency

mp = pytest.importorskip("mpmath")


def by_decimals(y, fixed, a):
    """The formulas of Gunel and Dickey with sixty digits."""
    with mp.workdps(60):
        y = np.array(y, dtype=object)
        y = y.T if fixed == "columns" else y
        (I, J), a, n = y.shape, mp.mpf(a), int(y.sum())
        rows, columns = y.sum(axis=1), y.sum(axis=0)

        def log_D(values):
            values = [mp.mpf(value) for value in values]
            return mp.fsum(map(mp.loggamma, values)) - mp.loggamma(mp.fsum(values))

        prior_r, prior_c, A, free = J * a - (J - 1), I * a - (I - 1), I * J * a, (I - 1) * (J - 1)
        value = log_D([v + a for v in y.ravel()]) - log_D([a] * I * J)
        value -= log_D([c + prior_c for c in columns]) - log_D([prior_c] * J)
        of_rows = J * a if fixed in ("rows", "columns") else prior_r
        value -= log_D([r + of_rows for r in rows]) - log_D([of_rows] * I)
        if fixed == "none":
            value += mp.loggamma(n + A) - mp.loggamma(A) - mp.loggamma(n + A - free) + mp.loggamma(A - free)
            value -= free * mp.log1p(n / A)
        return float(value)


def tables(rng):
    for size in (10, 10**5, 10**8, 10**12, 10**15):
        yield rng.integers(size // 2, size, (2, 2)).tolist()
        yield rng.integers(0, size, (3, 4)).tolist()
        yield [[size, 3], [0, size // 7]]


def test_counts_of_any_size(rng):
    for y, fixed, a in product(tables(rng), ["none", "total", "rows", "columns"], [1.0, 2.5]):
        exact = by_decimals(y, fixed, a)
        found = contingency(y, fixed=fixed, concentration=a).log_bayes_factor
        assert found == pytest.approx(exact, abs=1e-8, rel=1e-12)


@pytest.mark.parametrize(
    "y", [[[3, 5], [9, 1]], [[40, 60_000], [300, 400_000]], [[250_000] * 2, [250_900] * 2]]
)
def test_both_margins_fixed_are_a_sum_over_tables(y):
    (first, second), column = np.sum(y, axis=1), np.sum(y, axis=0)[0]
    k = np.arange(max(0, column - second), min(first, column) + 1)
    cells = np.array([k, first - k, column - k, second - column + k])
    log_tables = -gammaln(cells + 1).sum(axis=0)
    for a in (1.0, 1.5, 30.0):
        log_prior = gammaln(cells + a).sum(axis=0)
        exact = log_prior[k == y[0][0]][0] - logsumexp(log_tables + log_prior) + logsumexp(log_tables)
        found = contingency(y, fixed="margins", concentration=a).log_bayes_factor
        assert found == pytest.approx(exact, abs=1e-6)


def test_both_margins_of_many_counts_take_little_memory_and_follow_the_limit():
    """With a uniform prior: N tables of one probability, and a Gaussian number of each; 2.3 GB once."""
    for size in (10**7, 10**12, 10**15):
        tracemalloc.start()
        found = contingency([[size // 4] * 2] * 2, fixed="margins").log_bayes_factor
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        limit = 0.5 * np.log(2 * np.pi * size / 16) - np.log(size / 2)
        assert peak < 2e7 and found == pytest.approx(limit, abs=2e-6)
