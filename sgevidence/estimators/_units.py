r"""``standardize=True``: the prior is stated in units that the first call's rows have.

The model sees

    x' = (x − c) / s,        y' = (y − m) / t        (y of a linear regression only),

c, m the means and s, t the standard deviations of the rows of the first call, each as often as it counts.
Without an intercept nothing is centred, and s, t are root mean squares.  Constant columns have s = 1.  The
constants stay for the whole stream, so that the evidence is that of one prior, which the first rows shaped.
Reports are of the data as given: the density of a row is that of the model divided by the product of
the units of what the model is a density of,

    log p(y | X) = log p(y' | X') − n log t,        log p(X) = log p(X') − n Σ_j log s_j.
"""

from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np

from ..history import Rows
from ._input import refuse_extreme


class Units(NamedTuple):
    """Constants c, s, m, t, and the logarithm of the unit of a row's density."""

    center: np.ndarray  #: c, (p,)
    scale: np.ndarray  #: s, (p,)
    y_center: float  #: m
    y_scale: float  #: t
    log_unit: float  #: log t, Σ_j log s_j, or 0 where y are classes or counts

    @classmethod
    def of_inputs(cls, rows: Rows, n_columns: int, centred: bool) -> "Units":
        """Units of the first columns of X, where y has no unit."""
        X = rows.X[:, :n_columns]
        if n_columns and not np.any(X != X[:1]):
            raise no_units(rows, "rows of X")
        center, scale = center_and_scale(X, rows.weight, centred)
        return cls(center, scale, 0.0, 1.0, 0.0)

    @classmethod
    def of_regression(cls, rows: Rows, centred: bool) -> "Units":
        """Units of X, and of y, whose density the evidence is."""
        assert rows.y is not None
        if not np.any(rows.y != (rows.y[:1] if centred else 0.0)):
            raise no_units(rows, "values of y")
        center, scale = center_and_scale(rows.X, rows.weight, centred)
        y_center, y_scale = center_and_scale(rows.y[:, None], rows.weight, centred)
        return cls(center, scale, float(y_center[0]), float(y_scale[0]), float(np.log(y_scale[0])))

    @classmethod
    def of_density(cls, rows: Rows) -> "Units":
        """Units of X, whose density the evidence is."""
        found = cls.of_inputs(rows, rows.X.shape[1], centred=True)
        return found._replace(log_unit=float(np.sum(np.log(found.scale))))

    def X(self, X: np.ndarray) -> np.ndarray:
        """Columns in these units; what follows them, an offset, as it is."""
        p = len(self.scale)
        with np.errstate(over="ignore"):
            out = np.ascontiguousarray((X[:, :p] - self.center) / self.scale)
        refuse_extreme(X=out)
        return out if X.shape[1] == p else np.column_stack([out, X[:, p:]])

    def rows(self, rows: Rows) -> Rows:
        """Rows in these units."""
        if rows.y is None or (self.y_center, self.y_scale) == (0.0, 1.0):  # or they are classes or counts
            return replace(rows, X=self.X(rows.X))
        with np.errstate(over="ignore"):
            y = (rows.y - self.y_center) / self.y_scale
        refuse_extreme(y=y)
        return replace(rows, X=self.X(rows.X), y=y)

    def restored_rows(self, rows: Rows) -> Rows:
        """Rows of the model in the data's units, up to rounding."""
        p = len(self.scale)
        X = np.column_stack([self.restored_X(rows.X[:, :p]), rows.X[:, p:]])
        return replace(rows, X=X, y=None if rows.y is None else self.restored_y(rows.y))

    def restored_X(self, X: np.ndarray) -> np.ndarray:
        """Rows of X in the data's units."""
        return X * self.scale + self.center

    def restored_y(self, y: np.ndarray) -> np.ndarray:
        """Targets in the data's units."""
        return y * self.y_scale + self.y_center

    def restored(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Named parameters, each with a leading axis of draws, in the data's units."""
        out = dict(named)
        if "coef" in named:
            out["coef"] = named["coef"] * (self.y_scale / self.scale)
        if "intercept" in named:
            at_zero = out["coef"] @ self.center
            out["intercept"] = self.restored_y(named["intercept"]) - at_zero
        if "noise_std" in named:
            out["noise_std"] = named["noise_std"] * self.y_scale
        if "means" in named:
            out["means"] = self.restored_X(named["means"])
            with np.errstate(over="ignore"):
                out["covariances"] = self._restored_covariances(named["covariances"])
        return out

    def _restored_covariances(self, covariances: np.ndarray) -> np.ndarray:
        """Variances (M, K, p), one for all columns (M, K), which becomes these, or matrices (M, K, p, p)."""
        if covariances.ndim == 4:
            return covariances * self.scale * self.scale[:, None]
        if covariances.ndim == 2:
            covariances = covariances[..., None]
        return covariances * self.scale * self.scale

    def restored_path(self, path: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """An evidence path, of the data as given."""
        weight = path["total_weight"]
        return path | {
            "log_evidence": path["log_evidence"] - self.log_unit * weight,
            "log_predictive": path["log_predictive"] - self.log_unit * np.diff(weight, prepend=0.0),
        }


def center_and_scale(X: np.ndarray, weight: np.ndarray, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of columns, (p,) each; or 0 and root mean squares.

    Columns are brought to a size of one by powers of two first, which rounds nothing: neither the squares of
    10⁻²⁰⁰ nor those of 10²⁰⁰ are floating-point numbers.
    """
    if not X.shape[1]:
        return np.zeros(0), np.ones(0)
    exponent = np.frexp(np.abs(X).max(axis=0))[1]
    Z = np.ldexp(X, -exponent)
    center = average(Z, weight) if centred else np.zeros(X.shape[1])
    scale = np.sqrt(average((Z - center) ** 2, weight))
    varies = np.any(X != (X[0] if centred else 0.0), axis=0) & (scale > 0)
    center = np.where(varies | (not centred), np.ldexp(center, exponent), X[0])
    return center, np.where(varies, np.ldexp(scale, exponent), 1.0)


def average(Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted means of columns, (p,), the same to the last digit for a weight of two and for a row twice.

    Sums are rounded once, and products with whole numbers to 2²⁴ not at all: the factor is cut in two.
    """
    if np.all(weight == weight[0]):
        return np.array([fsum(z.tolist()) for z in Z.T]) / len(Z)
    high = Z.astype(np.float32).astype(float)
    parts = np.concatenate([weight[:, None] * high, weight[:, None] * (Z - high)])
    return np.array([fsum(z.tolist()) for z in parts.T]) / fsum(weight.tolist())


def no_units(rows: Rows, what: str) -> ValueError:
    """The error of a first call that has no standard deviation."""
    return ValueError(
        "standardize=True takes units from the rows of the first call, which have fewer than two distinct "
        f"{what} (n_samples={len(rows)}): give more, or standardize=False and priors in the data's units"
    )
