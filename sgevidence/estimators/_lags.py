"""Rows of an autoregression: each value with the values before it, missing ones integrated out.

Row t = 1, 2, … of the series y with order p, exogenous columns x_t and a linear trend is

    (y_{t−1}, …, y_{t−p}, t, x_t)  →  y_t,

which exists where p values come before it.  What a next call needs of those before is their last p values
and their number.

Missing values z of a stretch are integrated out.  Its m rows, those whose value or lags are missing, have the
residuals e = e₀ + B z, where e₀ has zeros in the place of z, and given the parameters

    ∫ Π N(e; 0, σ²) dz = (2πσ²)^{−(m−g)/2} |BᵀB|^{−½} exp(−min_z |e₀ + B z|² / 2σ²)

for g missing values.  What is left is an integral over the parameters.

Symbols: ``W`` = (φ, δ, w, b) (M, d), ``s`` = log σ², ``B`` (M, m, g), ``z`` = minus the best z.
"""

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_array

from ..effects import doubt_of_integral, integrate
from ..exceptions import DivergenceError
from ..history import Rows
from ..particles import Weights, systematic
from ..rows import missing_in, places_in_time
from ..samplers import EvidenceResult, Progress, Sampler, answer


class Past(NamedTuple):
    """The end of a series; a value, never changed in place."""

    values: np.ndarray  #: the last values, as many as the order or as there are
    n_rows: int  #: values so far

    @classmethod
    def none(cls) -> "Past":
        """Before the first value."""
        return cls(np.empty(0), 0)

    def complete(self, order: int) -> Self:
        """Itself; ValueError if there are not as many values as the order."""
        if len(self.values) < order:
            raise ValueError(
                f"a prediction needs the {order} values before it, and only {len(self.values)} have been seen"
            )
        if np.isnan(self.lags(order)).any():
            raise ValueError(
                f"a prediction needs the {order} values before it, of which some are missing: the series must"
                " end with values"
            )
        return self

    def lags(self, order: int) -> np.ndarray:
        """The last values, the latest first, (order,)."""
        return self.values[::-1][:order]

    def times(self, n: int) -> np.ndarray:
        """Numbers t of the next n rows, the first of the series being 1, (n,)."""
        return np.arange(self.n_rows + 1, self.n_rows + n + 1, dtype=float)

    def rows(
        self, y: np.ndarray, X: np.ndarray | None, order: int, with_time: bool, first: int
    ) -> tuple[Rows, Self]:
        """Rows of the next values, but for the ``first`` of the series; and the new end."""
        start = max(first - self.n_rows, 0)
        known = np.concatenate([self.values, y])
        n = max(len(y) - start, 0)
        lags = np.empty((n, order))
        for lag in range(1, order + 1):  # y_{t−lag} of the rows that are kept
            end = len(known) - lag
            lags[:, lag - 1] = known[end - n : end] if n else 0.0
        columns = [lags]
        if with_time:
            columns.append(self.times(len(y))[start:, None])
        if X is not None:
            columns.append(X[start:])
        after = type(self)(known[len(known) - min(order, len(known)) :].copy(), self.n_rows + len(y))
        return Rows.of(np.concatenate(columns, axis=1), y[start:].copy()), after


def series_and_columns(X: Any, y: Any) -> tuple[Any, Any]:
    """(X, y) of two arguments; the first alone is the series."""
    return (None, X) if y is None else (X, y)


def check_series(y: Any, takes_gaps: bool = False) -> np.ndarray:
    """A series of numbers, (n,); ValueError for several columns, or a missing value."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(
            f"a series has one column, got shape {tuple(shape)}: an autoregression with exogenous columns X "
            "requires y to be passed, but the target y is None"
        )
    values = check_array(
        y, ensure_2d=False, dtype=None, ensure_all_finite="allow-nan", input_name="y"
    ).ravel()
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"y must be numbers, got {values.dtype.name}, such as {values[0]!r}") from None
    values = values.astype(np.float64)
    if not takes_gaps:
        refuse_gaps(values)
    return check_array(values, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")


def with_missing_times(X: Any, y: Any) -> tuple[Any, Any, str | None]:
    """The arguments of ``fit`` with a missing value at each time that a regular index lacks, and a doubt.

    ValueError where exogenous columns would be missing, too.
    """
    columns, series = series_and_columns(X, y)
    indexed = next((one for one in (series, columns) if hasattr(one, "index")), None)
    if indexed is None or (places := places_in_time(indexed)) is None:
        return X, y, None
    n = int(places[-1]) + 1 - len(places)
    if columns is not None:
        raise ValueError(
            f"the index lacks times ({n}), whose exogenous columns nobody knows: give rows of these times "
            "with y missing, or arrays if rows follow one another"
        )
    source = np.full(int(places[-1]) + 1, -1)
    source[places] = np.arange(len(places))
    values = np.append(check_series(series, takes_gaps=True), np.nan)[source]
    words = (
        f"the index lacks times ({n}), at which y counts as missing: give an array if rows follow one another"
    )
    index = series.index.take(source, allow_fill=True, fill_value=None)  # NaT where a time is missing
    return None, type(series)(values, index=index), words


def refuse_gaps(y: Any) -> None:
    """Each value is explained by those before it: ValueError names the first that is missing."""
    gaps = missing_in(np.asarray(y).ravel())
    if gaps.any():
        raise ValueError(
            f"y contains NaN: {int(gaps.sum())} rows have no value, the first is row {int(np.argmax(gaps))}, "
            "and each value is explained by those before it: fit(y) of the whole series takes them"
        )


#: Missing values of a stretch that are integrated at once: beyond, matrices of all points would fill memory.
MAX_MISSING_OF_STRETCH = 150
#: Points of the integral over the parameters, draws of the posterior, and numbers of a block of matrices.
N_GAP_POINTS, N_GAP_DRAWS, MAX_MATRIX_NUMBERS = 4096, 2000, 2_000_000
#: Factor to the widths of the posterior of the filled series, in which its coordinates are measured.
FILLED_WIDTHS = 2.0


class Stretch(NamedTuple):
    """Rows one after the other whose value or lags are missing; with zeros in their place."""

    y: np.ndarray  #: (m,)
    Phi: np.ndarray  #: columns, (m, d)
    missing: np.ndarray  #: numbers of the missing values among the rows, (g,)
    lags: np.ndarray  #: which of them a lag is, −1 of one that is there, (m, p)

    @classmethod
    def all_of(cls, rows: Rows, order: int, has_intercept: bool) -> list[Self]:
        """The stretches of rows that are in the order of time."""
        edges = np.flatnonzero(np.diff(np.r_[False, ~is_complete(rows), False]))
        found = []
        for start, stop in zip(edges[::2], edges[1::2]):
            X, y = rows.X[start:stop], rows.y[start:stop]  # type: ignore[index]
            missing = np.flatnonzero(np.isnan(y))
            if len(missing) > MAX_MISSING_OF_STRETCH:
                raise ValueError(
                    f"{len(missing)} values of y are missing without {order} in a row between them, and "
                    f"{MAX_MISSING_OF_STRETCH} at most are integrated at once: fit a part, or a lower order"
                )
            number = np.full(len(y), -1)
            number[missing] = np.arange(len(missing))
            place = np.arange(len(y))[:, None] - np.arange(1, order + 1)
            lags = np.where(np.isnan(X[:, :order]), number[np.maximum(place, 0)], -1)
            Phi = np.column_stack([np.nan_to_num(X), *([np.ones(len(y))] if has_intercept else [])])
            found.append(cls(np.nan_to_num(y), Phi, missing, lags))
        return found

    def log_density(self, W: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Log density of the values that are there, (M,)."""
        g, size = len(self.missing), max(1, MAX_MATRIX_NUMBERS // (len(self.y) * (len(self.missing) + 1)))
        found = np.empty(len(W))
        for part in (slice(k, k + size) for k in range(0, len(W), size)):
            B = np.zeros((len(W[part]), len(self.y), g))
            B[:, self.missing, np.arange(g)] = 1.0
            for lag, which in enumerate(self.lags.T):
                at = np.flatnonzero(which >= 0)
                B[:, at, which[at]] -= W[part, None, lag]
            e = self.y - W[part] @ self.Phi.T
            squares = B.swapaxes(1, 2) @ B
            z = np.linalg.solve(squares, (B.swapaxes(1, 2) @ e[:, :, None]))
            rest = np.sum((e - (B @ z)[:, :, 0]) ** 2, axis=1)
            log_det = np.linalg.slogdet(squares)[1]
            n = len(self.y) - g
            v = s[part]
            found[part] = -0.5 * (n * (np.log(2 * np.pi) + v) + log_det + rest * np.exp(-v))
        return found


class GapEvidence(Sampler):
    """Evidence of a linear model of a series with missing values."""

    _parameter_constraints: dict = {"order": [Integral]}

    def __init__(self, order: int) -> None:
        self.order = order

    def _run(
        self, model: Any, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        """Points about the posterior of the series with lines in its gaps, in whose widths they are."""
        stretches = Stretch.all_of(rows, self.order, model.fit_intercept)
        complete = rows.take(np.flatnonzero(is_complete(rows)))
        drawn = model.exact_posterior(filled(rows, self.order), rng, 4 * N_GAP_DRAWS)
        middle = drawn.mean(axis=0)
        L = FILLED_WIDTHS * np.linalg.cholesky(np.atleast_2d(np.cov(drawn.T)))
        log_volume = float(np.sum(np.log(np.diag(L))))

        def log_f(x: np.ndarray) -> np.ndarray:
            theta = middle + x @ L.T
            W, s = model._split(theta)
            s = np.broadcast_to(s, len(theta))
            with np.errstate(all="ignore"):
                found = model.log_prior(theta) + log_volume
                if len(complete):
                    found = found + model.sum_log_likelihood(theta, complete)
                return found + sum(one.log_density(W, s) for one in stretches)

        found = integrate(log_f, np.zeros(len(middle)), rng, N_GAP_POINTS)
        if found is None:
            raise DivergenceError("the posterior of a series with these missing values has no maximum")
        weights = Weights(found.log_w)
        theta = (middle + found.x @ L.T)[systematic(weights.W, rng, N_GAP_DRAWS)]
        result = answer(found.log_Z, found.std, theta, Weights.ones(len(theta)), rows, start)
        words = doubt_of_integral(found)
        return result if words is None else result.doubted([f"values of y are missing, and {words}"])


def is_complete(rows: Rows) -> np.ndarray:
    """Which rows have their value and all lags, (n,)."""
    assert rows.y is not None
    return ~np.isnan(rows.y) & ~np.isnan(rows.X).any(axis=1)


def filled(rows: Rows, order: int) -> Rows:
    """All rows, with lines through the gaps of the series."""
    n = len(rows)
    values = np.concatenate([rows.X[0, :order][::-1], rows.y])  # type: ignore[list-item]
    places = np.arange(len(values))
    there = ~np.isnan(values)
    values = np.interp(places, places[there], values[there])
    X = rows.X.copy()
    for lag in range(1, order + 1):
        X[:, lag - 1] = values[order - lag : order - lag + n]
    return Rows.of(X, values[order:])
