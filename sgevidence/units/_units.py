r"""``standardize=True``: priors are stated in units that the rows of the first call have.

All candidates share the location and the unit of y, of each column and of the exposure, so these are taken
from the rows; effects have proper priors in these units (Jeffreys; Rouder et al. 2012; Gelman et al. 2008).
 The model sees

    x' = (x − c) / s,        y' = (y − o − m) / t,        o' = o / t        (y and offset o of a
    location-scale family),

and measures its intercept from b₀.

=====  ==================  ================================================================================
c, s   ``center, scale``   mean and standard deviation of a column; of two values, their distance; (p,)
m, t   ``y_center`` …      mean and standard deviation of y − o; 0 and 1 where y are counts or classes
b₀     ``intercept_…``     link of the mean, half a count added; 0 where y has a location
=====  ==================  ================================================================================

Without an intercept nothing is centred, and units are root mean squares.  A column that does not vary has
no unit yet: c is its value, so that its coefficient meets no likelihood, and s comes with the first rows in
which it varies. Reports are of the data as given,

    log p(y | X) = log p(y' | X') − n log t,        log p(X) = log p(X') − n Σ_j log s_j.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..history import Rows
from ..rows import refuse_extreme
from ._moments import moments

#: Rows of positive weight of which units are taken, at least: from ten a log Bayes factor scatters by 0.7
#: nats.
MIN_ROWS = 10

#: Rows that are held until their units are known, at most.
MOST_HELD = 1000

Fold = Callable[[Callable[[Rows], Any]], Any]  # Σ of a function over blocks of rows


class UnitsUnknown(ValueError):
    """The rows have no units yet."""


class Units(NamedTuple):
    """Units of columns and y, a value that other estimators of the same rows take as ``units=``.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression
    >>> years = np.arange(1990.0, 2020.0)[:, None]
    >>> BayesianLinearRegression().fit(years, 0.1 * years[:, 0]).units_.center
    array([2004.5])
    """

    center: np.ndarray  #: c, (p,)
    scale: np.ndarray  #: s, (p,)
    y_center: float  #: m
    y_scale: float  #: t
    log_unit: float  #: of a row's density: log t, Σ_j log s_j, or 0 where y are classes or counts
    intercept_center: float | tuple[float, ...] = 0.0  #: b₀, one for each class of a softmax
    spread: np.ndarray | None = None  #: sd of each column in s; 0: it did not vary, nan: two values; (p,)
    kind: str = "inputs"  #: what y is: units of one kind do not fit another
    columns: tuple[int, ...] | None = None  #: numbers of the columns in X
    response: Any = None  #: g where the model is one of g(y), with ``made``, ``restored`` and ``log_slope``
    names: tuple[str, ...] | None = None  #: of the columns, where they have any

    # -- taken from rows ------------------------------------------------------------------------

    @classmethod
    def of_inputs(cls, rows: Rows, n_columns: int, centred: bool, fold: Fold | None = None) -> "Units":
        """Units of the first columns of X, where y has no unit."""
        refuse_few(rows)
        found = moments(rows, partial(_inputs, n_columns), centred, fold)
        return cls(*found.units(), 0.0, 1.0, 0.0, spread=found.spread)

    @classmethod
    def of_regression(
        cls,
        rows: Rows,
        centred: bool,
        n_columns: int | None = None,
        fold: Fold | None = None,
        response: Any = None,
    ) -> "Units":
        """Units of X, and of y less the offset that follows the columns, whose density the evidence is."""
        refuse_few(rows)
        p = rows.X.shape[1] if n_columns is None else n_columns
        found = moments(rows, partial(_inputs_and_target, p, response), centred, fold)
        center, scale = found.units()
        if not found.varies[p]:
            raise no_units(rows, "values of y")
        y_scale = float(found.sd[p])  # of two values, too: their distance says nothing of the noise
        log_unit = float(np.log(y_scale))
        return cls(
            center[:p],
            scale[:p],
            float(center[p]),
            y_scale,
            log_unit,
            0.0,
            found.spread[:p],
            "numbers",
            response=response,
        )

    @classmethod
    def of_density(cls, rows: Rows, one_unit: bool = False, fold: Fold | None = None) -> "Units":
        """Units of X, whose density the evidence is; ``one_unit``: the root of the mean variance for all."""
        refuse_few(rows)
        found = moments(rows, _all_inputs, True, fold)
        if (empty := np.flatnonzero(np.isnan(found.low))).size:
            raise UnitsUnknown(f"column {empty[0]} of X has no value, and so no unit: leave it out")
        if not found.varies.any():
            raise no_units(rows, "rows of X")
        center, scale = found.units()
        spread = found.spread
        if one_unit:
            size = scale.max()
            scale = np.full(
                len(scale), size * np.sqrt(np.mean((np.where(found.varies, found.sd, 0.0) / size) ** 2))
            )
            spread = np.where(found.varies, found.sd, 1.0) / scale
        spread = np.where(found.varies, spread, 1.0)  # a column of a density has met its likelihood
        log_unit, kind = float(np.sum(np.log(scale))), "rows, one unit" if one_unit else "rows"
        return cls(center, scale, 0.0, 1.0, log_unit, 0.0, spread, kind)

    def with_late_columns(self, rows: Rows, weight_before: float, centred: bool) -> "Units":
        """Units also of columns that vary for the first time in these rows, of all rows so far."""
        waits = self.waits
        if not waits.any() or not np.any(rows.X[:, : len(self.scale)][:, waits] != self.center[waits]):
            return self
        before = np.zeros((1, rows.X.shape[1]))
        before[0, : len(self.scale)] = self.center
        y = None if rows.y is None else rows.y[:1]
        so_far = Rows(before, y, np.array([weight_before])).join(rows)
        found = moments(so_far, partial(_inputs, len(self.scale)), centred, None)
        new = waits & found.varies  # the constant stays the centre
        scale = np.where(new, found.units()[1], self.scale)
        return self._replace(
            scale=scale, spread=np.where(new, found.spread, 0.0 if self.spread is None else self.spread)
        )

    @property
    def waits(self) -> np.ndarray:
        """Columns that have not varied, (p,)."""
        return np.zeros(len(self.scale), dtype=bool) if self.spread is None else self.spread == 0

    def selected(self, columns: Sequence[int], kind: str, names: tuple[str, ...] | None = None) -> "Units":
        """These of some columns, for an estimator of one kind of y; by name where both have names.

        Raises
        ------
        ValueError
            If they are of other columns, or of another kind.
        """
        if kind != self.kind:
            raise ValueError(f"units= are those of a model of {self.kind}, and this is a model of {kind}")
        by_name = names is not None and self.names is not None
        asked: Sequence = names if by_name else columns  # type: ignore[assignment]
        known: Sequence = tuple(range(len(self.scale))) if self.columns is None else self.columns
        known = self.names if by_name else known  # type: ignore[assignment]
        if missing := [one for one in asked if one not in known]:
            raise ValueError(f"units= are of the columns {list(known)}, and not of {missing[:5]}")
        at = [known.index(one) for one in asked]
        spread = None if self.spread is None else self.spread[at]
        return self._replace(
            center=self.center[at],
            scale=self.scale[at],
            spread=spread,
            columns=tuple(int(j) for j in columns),
            names=names,
        )

    # -- there and back -------------------------------------------------------------------------

    def X(self, X: np.ndarray) -> np.ndarray:
        """Columns in these units; an offset that follows them is in the unit of y, and trials have none."""
        p = len(self.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            out = X[:, :p] - self.center
            out /= self.scale
        refuse_extreme(X=out)
        return (
            np.ascontiguousarray(out) if X.shape[1] == p else np.column_stack([out, X[:, p:] / self.y_scale])
        )

    def rows(self, rows: Rows) -> Rows:
        """Rows in these units."""
        y = rows.y
        if y is not None and self.response is not None:
            y = self.response.made(y)
        if y is None or (self.y_center, self.y_scale) == (0.0, 1.0):  # or they are classes or counts
            return replace(rows, X=self.X(rows.X), y=y)
        with np.errstate(over="ignore"):
            y = (y - self.y_center) / self.y_scale
        refuse_extreme(y=y)
        return replace(rows, X=self.X(rows.X), y=y)

    def restored_rows(self, rows: Rows) -> Rows:
        """Rows of the model in the data's units, up to rounding."""
        p = len(self.scale)
        X = np.column_stack([self.restored_X(rows.X[:, :p]), rows.X[:, p:] * self.y_scale])
        return replace(rows, X=X, y=None if rows.y is None else self.restored_y(rows.y))

    def restored_X(self, X: np.ndarray) -> np.ndarray:
        """Rows of X in the data's units."""
        return X * self.scale + self.center

    def restored_y(self, y: np.ndarray) -> np.ndarray:
        """Targets in the data's units."""
        y = self.restored_numbers(y)
        return y if self.response is None else self.response.restored(y)

    def restored_numbers(self, y: np.ndarray) -> np.ndarray:
        """Values of y, or of g(y) where the model is one of it, in their unit."""
        return y if (self.y_center, self.y_scale) == (0.0, 1.0) else y * self.y_scale + self.y_center

    def restored(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Named parameters, each with a leading axis of draws, in the data's units."""
        out = dict(named)
        if "coef" in named:
            out["coef"] = named["coef"] * (self.y_scale / self.scale)
        if "intercept" in named:
            at_zero = out["coef"] @ self.center
            out["intercept"] = self.restored_numbers(named["intercept"]) - at_zero
        if "thresholds" in named:
            out["thresholds"] = named["thresholds"] + (out["coef"] @ self.center)[:, None]
        if "noise_std" in named:
            out["noise_std"] = named["noise_std"] * self.y_scale
        if "means" in named:
            out["means"] = self.restored_X(named["means"])
            with np.errstate(over="ignore"):
                out["covariances"] = self._restored_covariances(named["covariances"])
        return out

    def _restored_covariances(self, covariances: np.ndarray) -> np.ndarray:
        """Variances (M, K, p), one for all columns (M, K), or matrices (M, K, p, p)."""
        if covariances.ndim == 4:
            return covariances * self.scale * self.scale[:, None]
        return covariances * (self.scale[0] ** 2 if covariances.ndim == 2 else self.scale * self.scale)

    def restored_path(self, path: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """An evidence path, of the data as given."""
        weight = path["total_weight"]
        return path | {
            "log_evidence": path["log_evidence"] - self.log_unit * weight,
            "log_predictive": path["log_predictive"] - self.log_unit * np.diff(weight, prepend=0.0),
        }


def refuse_few(rows: Rows) -> None:
    """One row has no units: UnitsUnknown."""
    if len(rows) < 2:
        raise no_units(rows, "rows")


def no_units(rows: Rows, what: str) -> UnitsUnknown:
    """The error of a first call that has no standard deviation."""
    return UnitsUnknown(
        "standardize=True, the default, takes units from the rows of the first call, which have fewer than "
        f"two distinct {what} (n_samples={len(rows)}): give more, or standardize=False and priors in the "
        "data's units"
    )


def _inputs(n_columns: int, rows: Rows) -> np.ndarray:
    return rows.X[:, :n_columns]


def _all_inputs(rows: Rows) -> np.ndarray:
    return rows.X


def log_slopes(units: Any, rows: Rows) -> np.ndarray:
    """log |g'(y)| of rows in units whose model is one of g(y), (n,)."""
    return units.response.log_slope(units.restored_y(rows.y))


def sum_of_slopes(units: Any, rows: Rows) -> float:
    """Σ log |g'(y)| of rows in units, by their weights."""
    return float(rows.weight @ log_slopes(units, rows))


def _inputs_and_target(n_columns: int, response: Any, rows: Rows) -> np.ndarray:
    X, y = rows.X, rows.y
    assert y is not None
    y = y if response is None else response.made(y)
    offset = X[:, n_columns] if X.shape[1] > n_columns else 0.0
    return np.column_stack([X[:, :n_columns], y - offset])
