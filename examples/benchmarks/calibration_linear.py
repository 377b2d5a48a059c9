"""Cells of linear regression, noise known and unknown; references by closed form and quadrature."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from calibration_cell import Cell, Data
from calibration_evidence import linear

from sgevidence import SGAIS, BayesianLinearRegression

Rng = np.random.Generator


# -- columns -------------------------------------------------------------------------------------------------


def independent(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def collinear(rng: Rng, n: int, d: int) -> np.ndarray:
    """The second half of the columns repeats the first to one part in a million."""
    X = rng.standard_normal((n, d))
    X[:, d // 2 :] = X[:, : d - d // 2] + 1e-6 * X[:, d // 2 :]
    return X


def uncentred(rng: Rng, n: int, d: int) -> np.ndarray:
    return 100 + rng.standard_normal((n, d))


def with_constants(rng: Rng, n: int, d: int) -> np.ndarray:
    """One column of zeros, one of ones beside the intercept."""
    X = rng.standard_normal((n, d))
    X[:, 0], X[:, 1] = 0.0, 1.0
    return X


def heavy_columns(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_t(1.5, (n, d))


# -- noise ---------------------------------------------------------------------------------------------------


def gaussian(rng: Rng, n: int) -> np.ndarray:
    return rng.standard_normal(n)


def heavy_tails(rng: Rng, n: int) -> np.ndarray:
    return rng.standard_t(1.5, n)


def outliers(rng: Rng, n: int) -> np.ndarray:
    """One row in a hundred is wrong by thirty."""
    return rng.standard_normal(n) + 30 * (rng.random(n) < 0.01)


def hardly_any(rng: Rng, n: int) -> np.ndarray:
    return 0.01 * rng.standard_normal(n)


# -- what happens to the rows --------------------------------------------------------------------------------


def sorted_by_y(X: np.ndarray, y: np.ndarray) -> tuple:
    return X[order := np.argsort(y)], y[order]


def shifted(X: np.ndarray, y: np.ndarray) -> tuple:
    """y moves by one half-way."""
    return X, y + (np.arange(len(y)) >= len(y) // 2)


def columns_shifted(X: np.ndarray, y: np.ndarray) -> tuple:
    """The columns move by two half-way, y does not follow."""
    return X + 2.0 * (np.arange(len(y)) >= len(y) // 2)[:, None], y


def repeated(X: np.ndarray, y: np.ndarray) -> tuple:
    """Every row twenty times."""
    n = len(y) // 20
    return np.tile(X[:n], (20, 1)), np.tile(y[:n], 20)


def far_away(X: np.ndarray, y: np.ndarray) -> tuple:
    """A hundred prior widths of the intercept."""
    return X, y + 100


def as_drawn(X: np.ndarray, y: np.ndarray) -> tuple:
    return X, y


def rows(
    rng: Rng,
    n: int,
    d: int,
    columns: Callable = independent,
    noise: Callable = gaussian,
    then: Callable = as_drawn,
) -> Data:
    """y = w·x + b + noise with w, b from the prior."""
    X = columns(rng, n, d)
    return Data(*then(X, X @ rng.standard_normal(d) + rng.standard_normal() + noise(rng, n)))


def cell(
    d: int,
    n: int,
    difficulty: str = "",
    noise_std: float | None = None,
    calls: int | None = None,
    sampler: SGAIS | None = None,
    slow: bool = False,
    **how: Any,
) -> Cell:
    """With ``how`` as in :func:`rows`."""
    return Cell(
        "linear" if noise_std is None else "linear, known noise",
        d,
        n,
        partial(rows, n=n, d=d, **how),
        partial(BayesianLinearRegression, noise_std, sampler=sampler, standardize=False),
        lambda data, rng: linear(data.X, data.y, noise_std),
        calls,
        difficulty,
        slow,
    )


CELLS = [
    cell(1, 5),
    cell(5, 20),
    cell(5, 1000),
    cell(5, 100_000),
    cell(15, 20),
    cell(15, 100),
    cell(15, 1000),
    cell(50, 20, "n < d"),
    cell(50, 100),
    cell(50, 1000),
    cell(150, 40, "n < d"),
    cell(150, 1000, slow=True),
    cell(10, 200, "collinear", columns=collinear),
    cell(5, 200, "columns at 100 ± 1", columns=uncentred),
    cell(5, 200, "constant columns", columns=with_constants),
    cell(5, 200, "heavy-tailed columns", columns=heavy_columns),
    cell(5, 200, "heavy-tailed noise", noise=heavy_tails),
    cell(5, 1000, "1 % outliers", noise=outliers),
    cell(5, 200, "noise of 0.01", noise=hardly_any),
    cell(5, 400, "each row 20 times", then=repeated),
    cell(5, 200, "y 100 prior widths off", then=far_away),
    cell(5, 500, calls=7),
    cell(15, 10_000, calls=500),
    cell(5, 1000, "sorted by y", calls=50, then=sorted_by_y),
    cell(5, 20_000, "shift half-way", calls=500, then=shifted),
    cell(5, 20_000, "reservoir of 300", calls=500, sampler=SGAIS(reservoir_size=300)),
    cell(5, 20_000, "reservoir of 300, one fit", sampler=SGAIS(reservoir_size=300)),
    cell(5, 20_000, "shift, reservoir of 2000", calls=500, sampler=SGAIS(reservoir_size=2000), then=shifted),
    cell(
        5,
        20_000,
        "columns shift, reservoir of 2000",
        calls=500,
        sampler=SGAIS(reservoir_size=2000),
        then=columns_shifted,
    ),
    cell(1, 5, noise_std=1.0),
    cell(5, 1000, noise_std=1.0),
    cell(5, 100_000, noise_std=1.0),
    cell(50, 100, noise_std=1.0),
    cell(150, 40, "n < d", noise_std=1.0),
    cell(100, 1000, noise_std=1.0),
    cell(5, 500, "noise taken for a third", noise_std=0.3),
    cell(5, 200, "y 100 prior widths off", noise_std=1.0, then=far_away),
    cell(5, 500, noise_std=1.0, calls=7),
    cell(5, 20_000, "shift, reservoir of 2000", 1.0, 500, SGAIS(reservoir_size=2000), then=shifted),
]
