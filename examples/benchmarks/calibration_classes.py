"""Cells of softmax and Poisson regression; references by importance sampling."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from calibration_cell import Cell, Data
from calibration_evidence import poisson, softmax
from calibration_linear import collinear, independent, repeated, uncentred

from sgevidence import SGAIS, BayesianGLM, BayesianSoftmaxRegression

Rng = np.random.Generator


# -- what happens to the rows --------------------------------------------------------------------------------


def as_drawn(X: np.ndarray, y: np.ndarray, rng: Rng) -> tuple:
    return X, y


def sorted_by_y(X: np.ndarray, y: np.ndarray, rng: Rng) -> tuple:
    return X[order := np.argsort(y, kind="stable")], y[order]


def wrong_labels(X: np.ndarray, y: np.ndarray, rng: Rng) -> tuple:
    """One row in twenty is ten times as far out, with another label."""
    wrong = rng.random(len(y)) < 0.05
    return np.where(wrong[:, None], 10 * X, X), np.where(wrong, (y + 1) % (y.max() + 1), y)


def columns_shifted(X: np.ndarray, y: np.ndarray, rng: Rng) -> tuple:
    """The columns move by two half-way, y does not follow."""
    return X + 2.0 * (np.arange(len(y)) >= len(y) // 2)[:, None], y


def twenty_times(X: np.ndarray, y: np.ndarray, rng: Rng) -> tuple:
    return repeated(X, y)


def rare(rng: Rng, n: int, d: int) -> np.ndarray:
    """The last column is an indicator that ten rows have."""
    X = independent(rng, n, d)
    X[:, -1] = 0.0
    X[rng.choice(n, 10, replace=False), -1] = 1.0
    return X


def told_by_the_last(X: np.ndarray, y: np.ndarray, rng: Rng) -> tuple:
    """All rows that have the last column are of one class."""
    return X, np.where(X[:, -1] == 1.0, 1.0, y)


# -- softmax -------------------------------------------------------------------------------------------------


def labels(
    rng: Rng,
    n: int,
    d: int,
    K: int,
    steep: float = 1.0,
    common: float = 0.0,
    columns: Callable = independent,
    then: Callable = as_drawn,
) -> Data:
    """Classes by the model, its weights ``steep`` times those of the prior, the first class more common."""
    X = columns(rng, n, d)
    eta = steep * (X @ rng.standard_normal((d, K)) + rng.standard_normal(K)) + common * (np.arange(K) == 0)
    X, y = then(X, np.argmax(eta + rng.gumbel(size=eta.shape), axis=1).astype(float), rng)
    y[:K] = np.arange(K)[: len(y)] if len(np.unique(y)) < K else y[:K]  # each class at least once
    return Data(X, y)


def softmax_cell(
    K: int,
    d: int,
    n: int,
    difficulty: str = "",
    calls: int | None = None,
    sampler: SGAIS | None = None,
    slow: bool = False,
    **how: Any,
) -> Cell:
    """With ``how`` as in :func:`labels`."""
    return Cell(
        f"softmax K={K}",
        d,
        n,
        partial(labels, n=n, d=d, K=K, **how),
        partial(BayesianSoftmaxRegression, sampler=sampler, standardize=False),
        lambda data, rng: softmax(data.X, data.y, K, rng),
        calls,
        difficulty,
        slow,
        n_classes=K,
    )


# -- Poisson -------------------------------------------------------------------------------------------------


def counts(
    rng: Rng,
    n: int,
    d: int,
    intercept: float = 0.0,
    excess: float = 0.0,
    columns: Callable = independent,
    then: Callable = as_drawn,
) -> Data:
    """Rates by the model; with ``excess`` each has a gamma factor of that variance."""
    X = columns(rng, n, d)
    rate = np.exp(X @ rng.standard_normal(d) / np.sqrt(d) + intercept)
    if excess:
        rate *= rng.gamma(1 / excess, excess, n)
    return Data(*then(X, rng.poisson(rate).astype(float), rng))


def poisson_cell(
    d: int,
    n: int,
    difficulty: str = "",
    calls: int | None = None,
    sampler: SGAIS | None = None,
    **how: Any,
) -> Cell:
    """With ``how`` as in :func:`counts`."""
    return Cell(
        "Poisson",
        d,
        n,
        partial(counts, n=n, d=d, **how),
        partial(BayesianGLM, sampler=sampler, standardize=False),
        lambda data, rng: poisson(data.X, data.y, rng),
        calls,
        difficulty,
    )


CELLS = [
    softmax_cell(2, 1, 5),
    softmax_cell(2, 5, 100),
    softmax_cell(2, 20, 15, "n < d"),
    softmax_cell(2, 50, 100, "separable", slow=True),
    softmax_cell(4, 3, 200),
    softmax_cell(4, 10, 1000),
    softmax_cell(10, 5, 1000, slow=True),
    softmax_cell(2, 3, 100, "separable", steep=100.0),
    softmax_cell(4, 3, 100, "separable", steep=100.0),
    softmax_cell(2, 3, 1000, "1 % minority", common=6.0),
    softmax_cell(4, 3, 500, "unbalanced", common=4.0),
    softmax_cell(2, 6, 200, "collinear", columns=collinear),
    softmax_cell(2, 3, 200, "columns at 100 ± 1", columns=uncentred),
    softmax_cell(2, 5, 400, "each row 20 times", then=twenty_times),
    softmax_cell(2, 3, 500, "5 % wrong and far out", then=wrong_labels),
    softmax_cell(2, 5, 500, calls=7),
    softmax_cell(4, 3, 500, "sorted by class", calls=50, then=sorted_by_y),
    softmax_cell(4, 3, 10_000, calls=500),
    softmax_cell(2, 5, 100_000, slow=True),
    softmax_cell(4, 3, 10_000, "reservoir of 500", calls=500, sampler=SGAIS(reservoir_size=500)),
    softmax_cell(
        2,
        5,
        20_000,
        "columns shift, reservoir of 2000",
        500,
        SGAIS(reservoir_size=2000),
        then=columns_shifted,
    ),
    softmax_cell(2, 2, 60_000, "ten rows have a column", columns=rare, then=told_by_the_last),
    softmax_cell(
        2,
        2,
        20_000,
        "ten rows have a column, reservoir of 2000",
        500,
        SGAIS(reservoir_size=2000),
        columns=rare,
        then=told_by_the_last,
    ),
    poisson_cell(1, 5),
    poisson_cell(5, 200),
    poisson_cell(20, 15, "n < d"),
    poisson_cell(20, 100),
    poisson_cell(3, 200, "counts of some thousands", intercept=8.0),
    poisson_cell(3, 200, "nearly all zero", intercept=-5.0),
    poisson_cell(3, 200, "overdispersed", excess=3.0),
    poisson_cell(6, 200, "collinear", columns=collinear),
    poisson_cell(5, 500, calls=7),
    poisson_cell(5, 20_000, calls=500),
    poisson_cell(
        2, 20_000, "ten rows have a column, reservoir of 2000", 500, SGAIS(reservoir_size=2000), columns=rare
    ),
    poisson_cell(
        3, 20_000, "columns shift, reservoir of 2000", 500, SGAIS(reservoir_size=2000), then=columns_shifted
    ),
]
