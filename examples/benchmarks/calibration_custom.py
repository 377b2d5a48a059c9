"""Cells of models that a user writes as three functions; references by quadrature in few dimensions."""

from collections.abc import Callable
from functools import partial

import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import gammaln
from calibration_cell import Cell, Data
from calibration_evidence import exactly, log_integral
from references import Reference
from scipy.special import log_ndtr

from sgevidence import BayesianModel

Rng = np.random.Generator
LOG_2PI = float(np.log(2 * np.pi))


def log_normal(x, std=1.0):
    return -0.5 * (x / std) ** 2 - anp.log(std) - 0.5 * LOG_2PI


def standard_draws(rng: Rng, size: int, d: int) -> np.ndarray:
    return rng.standard_normal((size, d))


def standard_density(theta):
    return anp.sum(log_normal(theta), axis=1)


# -- likelihoods, of theta (M, d): (M, n) --------------------------------------------------------------------


def squares(theta, X, y):
    """y_j ~ N(θ_j², 1) in each column: 2^d equal modes."""
    return sum(log_normal(X[:, j] - theta[:, j : j + 1] ** 2) for j in range(X.shape[1]))


def two_unequal(theta, X, y):
    """y ~ N((θ² − 1)(1 + θ/50), 1): modes near ±√(1 + y), one somewhat higher."""
    return log_normal(X[:, 0] - (theta**2 - 1) * (1 + theta / 50))


def bounded(theta, X, y):
    """y ~ U(0, e^θ): the support depends on θ."""
    return anp.where(X[:, 0] < anp.exp(theta), -theta + 0.0 * X[:, 0], -anp.inf)


def logistic(theta, X, y):
    return -anp.logaddexp(0.0, -(2 * y - 1) * (theta[:, :1] + theta[:, 1:] * X[:, 0]))


def location_scale(theta, X, y):
    """A Student t with three degrees of freedom, place θ_1 and scale e^θ_2."""
    z = (X[:, 0] - theta[:, :1]) * anp.exp(-theta[:, 1:])
    constant = gammaln(2.0) - gammaln(1.5) - 0.5 * np.log(3 * np.pi)
    return constant - theta[:, 1:] - 2.0 * anp.log1p(z**2 / 3)


def two_groups(theta, X, y):
    """A mixture written by hand, halves at θ_1 and θ_2."""
    return anp.logaddexp(log_normal(X[:, 0] - theta[:, :1]), log_normal(X[:, 0] - theta[:, 1:])) - np.log(2)


def spike(theta, X, y):
    """A hundred times as much in a spike of 0.02 as in a slab of 0.3 about one place: a phase transition."""
    u = theta - 0.1 * X[0, 0]
    narrow, wide = (anp.sum(log_normal(u, s), axis=1) for s in (0.02, 0.3))
    return anp.reshape(anp.logaddexp(np.log(100.0) + narrow, wide), (-1, 1)) + 0.0 * X[:, 0]


# -- references ----------------------------------------------------------------------------------------------


def integrated(data: Data, rng: Rng, likelihood, d: int) -> Reference:
    """The trapezoid rule; a grid twice as coarse must agree."""

    def log_joint(*theta):
        flat = np.column_stack([t.ravel() for t in theta])
        parts = np.array_split(flat, max(1, len(flat) * len(data.X) // 4_000_000))
        value = [likelihood(t, data.X, data.y).sum(axis=1) + standard_density(t) for t in parts]
        return np.concatenate(value).reshape(theta[0].shape)

    points = 4001 if d == 1 else 241
    return exactly(log_integral(log_joint, [(-8.0, 8.0)] * d, points), "quadrature")


def each_column(data: Data, rng: Rng) -> Reference:
    """Of :func:`squares`, whose columns are independent."""
    columns = [Data(data.X[:, j : j + 1]) for j in range(data.X.shape[1])]
    known = [integrated(column, rng, squares, 1).log_evidence for column in columns]
    return exactly(sum(known), "quadrature, column by column")


def of_bounded(data: Data, rng: Rng) -> Reference:
    """∫_{θ > log max y} N(θ; 0, 1) e^{−nθ} dθ = e^{n²/2} Φ(−n − log max y)."""
    n, least = len(data.X), np.log(data.X.max())
    return exactly(0.5 * n**2 + log_ndtr(-n - least), "closed form")


def of_spike(data: Data, rng: Rng, d: int) -> Reference:
    """Two Gaussian integrals."""
    c = 0.1 * data.X[0, 0]
    narrow, wide = (d * log_normal(c, np.sqrt(1 + s**2)) for s in (0.02, 0.3))
    return exactly(np.logaddexp(np.log(100.0) + narrow, wide), "closed form")


# -- cells ---------------------------------------------------------------------------------------------------


def squares_rows(rng: Rng, n: int, d: int = 1) -> Data:
    return Data(1 + rng.standard_normal((n, d)))


def normal_rows(rng: Rng, n: int, mean: float = 0.0) -> Data:
    return Data(mean + rng.standard_normal((n, 1)))


def uniform_rows(rng: Rng, n: int) -> Data:
    return Data(np.exp(rng.standard_normal()) * rng.random((n, 1)))


def labelled(rng: Rng, n: int) -> Data:
    X = rng.standard_normal((n, 1))
    return Data(X, (rng.random(n) < 1 / (1 + np.exp(-1 - 2 * X[:, 0]))).astype(float))


def with_outliers(rng: Rng, n: int) -> Data:
    return Data(rng.standard_normal((n, 1)) + 1000.0 * (rng.random((n, 1)) < 0.02))


def halves(rng: Rng, n: int) -> Data:
    return Data(rng.choice([-1.5, 1.0], size=(n, 1)) + rng.standard_normal((n, 1)))


def cell(
    model: str,
    d: int,
    n: int,
    likelihood: Callable,
    make: Callable,
    difficulty: str = "",
    calls: int | None = None,
    reference: Callable | None = None,
    slow: bool = False,
) -> Cell:
    """d is the number of parameters, all N(0, 1)."""
    draws = partial(standard_draws, d=d)
    return Cell(
        f"custom: {model}",
        d,
        n,
        partial(make, n=n),
        partial(BayesianModel, likelihood, sample_prior=draws, log_prior=standard_density),
        reference or partial(integrated, likelihood=likelihood, d=d),
        calls,
        difficulty,
        slow,
    )


TWO, FOUR = partial(squares_rows, d=1), partial(squares_rows, d=2)
CELLS = [
    cell("N(θ², 1)", 1, 50, squares, TWO, "two modes"),
    cell("N(θ², 1)", 1, 2000, squares, TWO, "two modes", slow=True),
    cell("N(θ², 1)", 1, 2000, squares, TWO, "two modes", 100),
    cell("N(θ², 1)", 2, 2000, squares, FOUR, "four modes", reference=each_column, slow=True),
    cell(
        "N((θ² − 1)(1 + θ/50), 1)", 1, 3000, two_unequal, partial(normal_rows, mean=0.0), "two unequal modes"
    ),
    cell("U(0, e^θ)", 1, 100, bounded, uniform_rows, "bounded support", reference=of_bounded),
    cell("U(0, e^θ)", 1, 50, bounded, uniform_rows, "bounded support", 1, of_bounded),
    cell("logistic", 2, 100, logistic, labelled),
    cell("logistic", 2, 100, logistic, labelled, calls=7),
    cell("t, place and scale", 2, 100, location_scale, with_outliers, "2 % outliers at 1000"),
    cell("two groups", 2, 200, two_groups, halves, "written by hand"),
    cell("spike and slab", 2, 1, spike, normal_rows, "phase transition", reference=partial(of_spike, d=2)),
    cell("spike and slab", 8, 1, spike, normal_rows, "phase transition", reference=partial(of_spike, d=8)),
    cell(
        "spike and slab",
        8,
        1,
        spike,
        partial(normal_rows, mean=8.0),
        "the prior moves the slab from its spike",
        reference=partial(of_spike, d=8),
    ),
]
