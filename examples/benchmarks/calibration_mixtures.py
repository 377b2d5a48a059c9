"""Cells of Gaussian mixtures; references by closed form, all allocations, and sequential runs on allocations.

Of thousands of rows, where components are far apart: importance sampling at the mode (``references.py``).  Of
many columns in which groups overlap: chains that start at the truth (``calibration_wide.py``).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from bench import mixture_theta
from calibration_cell import Cell, Data
from calibration_evidence import one_gaussian
from calibration_mixture_evidence import mixture, sequential
from calibration_wide import from_the_truth
from references import Reference, importance
from sklearn.datasets import load_iris, load_wine

from sgevidence import SGAIS, BayesianGMM
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel

Rng = np.random.Generator
CENTRES = np.array([[0.0, 0.0], [4, 4], [-4, 4], [4, -4], [-4, -4]])  #: as many as there are groups
CLOSE = CENTRES * 0.4
LINE = CLOSE[:3, :1]  #: 0, 1.6, −1.6


# -- rows ----------------------------------------------------------------------------------------------------


def groups(rng: Rng, n: int, k: int, at: np.ndarray = CENTRES, new_half_way: bool = False) -> Data:
    """k groups of unit variance; with ``new_half_way`` the last one is met in the second half only."""
    labels = rng.integers(k, size=n)
    if new_half_way:
        labels[: n // 2] = rng.integers(k - 1, size=n // 2)
    truth = mixture_theta(np.full(k, 1 / k), at[:k], np.ones_like(at[:k]))
    return Data(at[labels] + rng.standard_normal((n, at.shape[1])), None, truth)


def many_columns(rng: Rng, n: int, k: int, d: int, at: float = 0.6) -> Data:
    """k groups whose means differ by at √2 in each column; where chains start is how rows came about."""
    labels = rng.integers(k, size=n)
    X = rng.normal(0, at, (k, d))[labels] + rng.standard_normal((n, d))
    return Data((X - X.mean(axis=0)) / X.std(axis=0), None, labels)


def in_order_of_group(rng: Rng, n: int, k: int, at: np.ndarray = CENTRES) -> Data:
    return Data(at[np.sort(rng.integers(k, size=n))] + rng.standard_normal((n, 2)))


def gaussian(rng: Rng, n: int, d: int, mean: float = 0.0, jump: float = 0.0, std: float = 1.0) -> Data:
    """One group; the mean jumps half-way."""
    X = mean + std * rng.standard_normal((n, d))
    return Data(X + jump * (np.arange(n) >= n // 2)[:, None])


def minority(rng: Rng, n: int, share: float = 0.01) -> Data:
    """A second group of one row in a hundred, four standard deviations out."""
    return Data(rng.standard_normal((n, 2)) + 4 * (rng.random((n, 1)) < share))


def one_far(rng: Rng, n: int, d: int) -> Data:
    """A row that nobody scaled."""
    X = rng.standard_normal((n, d))
    X[n // 2] += 1000.0
    return Data(X)


def heavy_tails(rng: Rng, n: int, d: int = 2, freedom: float = 2.0) -> Data:
    return Data(rng.standard_t(freedom, (n, d)))


def outliers(rng: Rng, n: int) -> Data:
    """Two groups, and one row in a hundred a hundred standard deviations away."""
    X = groups(rng, n, 2).X
    return Data(X + 100 * (rng.random((n, 1)) < 0.01))


def repeated(rng: Rng, n: int) -> Data:
    return Data(np.tile(groups(rng, n // 10, 2, CLOSE).X, (10, 1)))


def correlated(rng: Rng, n: int) -> Data:
    """Two groups whose covariances are not diagonal."""
    sign = rng.choice([-1.0, 1.0], size=n)
    x = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=n)
    return Data(np.column_stack([x[:, 0] + 2 * sign, sign * x[:, 1]]))


def some_of(rng: Rng, n: int, load: Callable, scaled: bool = True) -> Data:
    """Rows of real data, standardised or as they come, each at most once."""
    X = load().data
    X = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
    return Data(X[rng.permutation(len(X))[:n]])


def unscaled(rng: Rng, n: int, make: Callable, times: float, at: float = 0.0) -> Data:
    """Rows in a unit that the prior does not know."""
    return Data(at + times * make(rng, n).X)


# -- cells ---------------------------------------------------------------------------------------------------


def at_the_mode(data: Data, rng: Rng, K: int) -> Reference:
    return importance(MixtureModel(K, data.X.shape[1]), Rows.of(data.X), data.start, rng, draws=1000)


def cell(
    K: int,
    d: int,
    n: int,
    make: Callable,
    difficulty: str = "",
    calls: int | None = None,
    sampler: SGAIS | None = None,
    slow: bool = False,
    reference: Callable[..., Reference] = mixture,
    **work: int,
) -> Cell:
    """With ``work`` for the reference; that of a single component has none."""
    return Cell(
        f"mixture K={K}",
        d,
        n,
        partial(make, n=n),
        partial(BayesianGMM, K, sampler=sampler, standardize=False),
        lambda data, rng: one_gaussian(data.X) if K == 1 else reference(data.X, K, rng, **work),
        calls,
        difficulty,
        slow,
    )


def overlapping(
    K: int, d: int, n: int, make: Callable, difficulty: str = "overlapping", calls: int | None = None
) -> Cell:
    """Hundreds of rows of which many may belong to either component: sequential runs, and nothing else."""
    return cell(K, d, n, make, difficulty, calls, slow=True, reference=sequential, runs=8, particles=1000)


def large(
    K: int, n: int, make: Callable, difficulty: str = "", calls: int | None = None, sampler=None
) -> Cell:
    """Components as many as groups, and far apart."""
    reference = partial(at_the_mode, K=K)
    return cell(K, 2, n, make, difficulty, calls, sampler, slow=True)._replace(reference=reference)


def wide(K: int, k: int, d: int, n: int, difficulty: str) -> Cell:
    """K components for k groups that overlap in many columns."""
    return cell(K, d, n, partial(many_columns, k=k, d=d), difficulty, slow=True)._replace(
        reference=lambda data, rng: from_the_truth(data.X, data.start, K - k, rng)
    )


THREE, FIVE = partial(groups, k=3), partial(groups, k=5)
CELLS = [
    cell(1, 1, 5, partial(gaussian, d=1)),
    cell(1, 2, 100, partial(gaussian, d=2)),
    cell(1, 30, 100, partial(gaussian, d=30)),
    cell(1, 60, 40, partial(gaussian, d=60), "n < d"),
    cell(1, 1, 200, partial(gaussian, d=1, mean=2024.0), "at 2024 ± 1"),
    cell(1, 2, 100_000, partial(gaussian, d=2)),
    cell(1, 2, 500, partial(gaussian, d=2), calls=7),
    cell(1, 2, 20_000, partial(gaussian, d=2, jump=1.0), "shift half-way", 500),
    cell(
        1,
        2,
        20_000,
        partial(gaussian, d=2, jump=1.0),
        "shift, reservoir of 2000",
        500,
        SGAIS(reservoir_size=2000),
    ),
    cell(2, 1, 8, partial(gaussian, d=1, std=2.0), "few rows"),
    cell(3, 1, 8, partial(gaussian, d=1, std=2.0), "few rows"),
    cell(5, 2, 5, partial(gaussian, d=2, std=2.0), "as few rows as components"),
    cell(2, 1, 10, partial(one_far, d=1), "one row at 1000"),
    cell(3, 2, 8, partial(gaussian, d=2, mean=1000.0), "at 1000 ± 1"),
    cell(2, 2, 200, partial(groups, k=2)),
    cell(2, 2, 200, partial(groups, k=2, at=CLOSE), "overlapping"),
    cell(2, 2, 500, minority, "1 % minority"),
    cell(2, 2, 300, heavy_tails, "heavy tails"),
    cell(3, 2, 300, outliers, "1 % outliers at 100"),
    cell(2, 2, 400, repeated, "each row 10 times"),
    cell(3, 2, 200, THREE),
    cell(3, 4, 120, partial(some_of, load=load_iris), "iris"),
    cell(3, 4, 120, partial(some_of, load=load_iris, scaled=False), "iris, not scaled"),
    cell(3, 2, 200, partial(unscaled, make=THREE, times=100.0), "times 100"),
    cell(3, 13, 120, partial(some_of, load=load_wine), "wine", slow=True, runs=3, particles=60),
    cell(4, 13, 120, partial(some_of, load=load_wine), "wine", slow=True, runs=3, particles=60),
    cell(3, 2, 200, FIVE, "underfitted: 5 groups", slow=True),
    cell(2, 2, 200, FIVE, "underfitted: 5 groups", slow=True),
    cell(3, 2, 200, partial(groups, k=5, at=CLOSE), "5 overlapping groups", slow=True, runs=6, particles=250),
    cell(4, 2, 200, THREE, "overfitted: 3 groups", slow=True, particles=200),
    cell(6, 2, 200, THREE, "overfitted: 3 groups", slow=True, particles=300),
    cell(4, 2, 300, correlated, "correlated groups", slow=True, particles=200),
    cell(5, 2, 1000, FIVE, slow=True, runs=3),
    cell(3, 2, 300, THREE, calls=7, slow=True),
    cell(3, 2, 600, partial(in_order_of_group, k=3), "sorted by group", 50, slow=True),
    cell(2, 2, 600, partial(in_order_of_group, k=2, at=CLOSE), "sorted by group, overlapping", 50, slow=True),
    overlapping(2, 1, 550, partial(groups, k=2, at=LINE)),
    overlapping(2, 1, 550, partial(gaussian, d=1), "one group"),
    overlapping(3, 1, 500, partial(groups, k=3, at=LINE)),
    overlapping(3, 1, 500, partial(groups, k=3, at=LINE), calls=50),
    overlapping(4, 1, 300, partial(heavy_tails, d=1, freedom=4.0), "heavy tails"),
    overlapping(3, 2, 1000, partial(groups, k=3, at=CLOSE)),
    overlapping(
        2,
        2,
        600,
        partial(unscaled, make=partial(groups, k=2, at=CLOSE), times=1000.0, at=5e4),
        "overlapping, at 50 000 ± 1500",
    ),
    wide(5, 5, 20, 500, "overlapping in many columns"),
    wide(7, 5, 20, 500, "5 groups that overlap in many columns"),
    large(3, 5000, THREE, calls=500),
    large(5, 5000, FIVE),
    large(3, 5000, partial(groups, k=3, new_half_way=True), "third group from half-way on", 500),
    large(3, 5000, THREE, "reservoir of 300", 500, SGAIS(reservoir_size=300)),
    large(3, 100_000, THREE, calls=5000),
]
