"""Statistics by which a predictive check compares rows with replicated rows, and its result.

Some of them measure rows against one θ, and have a value for each draw from the posterior: with residuals
e_r = (y_r − E[y_r | θ]) / sd(y_r | θ), of classes the vector e_rk = [y_r = k] − p_rk,

    dispersion = Σ_r e_r² / n,        autocorrelation = Σ_r e_r·e_{r+1} / Σ_r e_r²     (e less its mean),
    calibration = Σ_k Σ_g (O_kg − E_kg)² / max(V_kg, 1),

O_kg the rows of class k in group g, E_kg and V_kg their mean and variance under θ; the ten groups have rows
of like p_rk (Hosmer and Lemeshow 1980).
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..estimators import percent
from ..tables import Table, to_digits

#: Columns to which each pair of them has its correlation in the table; beyond, only the largest is there.
PAIRED_COLUMNS = 4


class RowsAndTheta(NamedTuple):
    """Observed or replicated rows, and what one θ says of them."""

    y: np.ndarray  #: (n,) numbers or indices of classes, (n, d) rows of a density
    has_theta: bool = False
    mean: np.ndarray | None = None  #: E[y | θ] (n,), or probabilities of classes (n, K)
    std: np.ndarray | None = None  #: (n,)

    @property
    def residuals(self) -> np.ndarray:
        """(n,) or (n, K); y itself where the mean is not known, not divided where there is no variance."""
        if self.mean is None:
            return self.y
        if self.mean.ndim == 2:
            return (self.y[:, None] == np.arange(self.mean.shape[1])) - self.mean
        e = self.y - self.mean
        if self.std is None or not np.all(np.isfinite(self.std)):
            return e
        return np.divide(e, self.std, out=np.zeros_like(e), where=self.std > 0)


class Statistic(NamedTuple):
    """A function of rows, and perhaps of θ."""

    name: str
    value: Callable[[RowsAndTheta], float]
    asks_theta: bool = False


def skewness(y: np.ndarray) -> float:
    """Third central moment over the cube of the standard deviation; 0 of a constant."""
    c = y - y.mean()
    variance = np.mean(c**2)
    return float(np.mean(c**3) / variance**1.5) if variance > 0 else 0.0


def autocorrelation(rows: RowsAndTheta) -> float:
    """Correlation of neighbouring residuals, in the order of the rows; 0 of a constant."""
    c = rows.residuals - rows.residuals.mean(axis=0)
    squares = np.sum(c**2)
    return float(np.sum(c[1:] * c[:-1]) / squares) if squares > 0 else 0.0


def dispersion(rows: RowsAndTheta) -> float:
    """Mean square of the residuals."""
    return float(np.mean(rows.residuals**2))


def calibration(rows: RowsAndTheta) -> float:
    """χ² of the classes in groups of rows of like probability."""
    n_groups = 10  # groups of rows of like probability
    assert rows.mean is not None
    P, e = (v[:, int(v.shape[1] == 2) :] for v in (rows.mean, rows.residuals))  # of two classes the second
    order = np.argsort(P, axis=0, kind="stable")
    starts = np.arange(n_groups) * len(P) // n_groups if len(P) > n_groups else np.arange(len(P))
    variance, gap = (
        np.add.reduceat(np.take_along_axis(v, order, axis=0), starts, axis=0) for v in (P * (1 - P), e)
    )
    return float(np.sum(gap**2 / np.maximum(variance, 1.0)))


MEAN = Statistic("mean", lambda rows: float(rows.y.mean()))
VARIANCE = Statistic("variance", lambda rows: float(rows.y.var()))
MINIMUM = Statistic("minimum", lambda rows: float(rows.y.min()))
MAXIMUM = Statistic("maximum", lambda rows: float(rows.y.max()))
DISPERSION = Statistic("dispersion", dispersion, True)
AUTOCORRELATION = Statistic("autocorrelation", autocorrelation, True)
CALIBRATION = Statistic("calibration", calibration, True)

OF_NUMBERS = [MEAN, VARIANCE, Statistic("skewness", lambda rows: skewness(rows.y)), MINIMUM, MAXIMUM]
OF_COUNTS = [MEAN, VARIANCE, Statistic("zeros", lambda rows: float(np.mean(rows.y == 0))), MINIMUM, MAXIMUM]


def of_values(y: np.ndarray) -> list[Statistic]:
    """Statistics of numbers, or of counts if all are whole and none is negative."""
    return OF_COUNTS if np.all((y >= 0) & (y == np.round(y))) else OF_NUMBERS


def of_classes(classes: Any) -> list[Statistic]:
    """Shares of the classes (of two, of the second), and how well their probabilities are calibrated."""

    def share(k: int) -> Callable[[RowsAndTheta], float]:
        return lambda rows: float(np.mean(rows.y == k))

    chosen = list(enumerate(classes))[int(len(classes) == 2) :]
    return [*(Statistic(f"share of {c}", share(k)) for k, c in chosen), CALIBRATION]


def of_groups(labels: np.ndarray) -> list[Statistic]:
    """Means of y in groups of rows, (n,), and how much they differ."""
    levels, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes)

    def means(rows: RowsAndTheta) -> np.ndarray:
        return np.bincount(codes, rows.y) / counts

    def mean_of(k: int) -> Callable[[RowsAndTheta], float]:
        return lambda rows: float(means(rows)[k])

    spread = Statistic("sd of group means", lambda rows: float(np.std(means(rows))))
    # levels of groups to which each has its mean in the table; beyond, only the extremes are there
    if len(levels) <= 20:
        return [spread, *(Statistic(f"mean[{level}]", mean_of(k)) for k, level in enumerate(levels))]
    lowest = Statistic("lowest group mean", lambda rows: float(np.min(means(rows))))
    return [spread, lowest, Statistic("highest group mean", lambda rows: float(np.max(means(rows))))]


def of_columns(names: list[str]) -> list[Statistic]:
    """Moments of each column of a density, and correlations of columns."""

    def of_column(function: Callable[[np.ndarray], Any], j: int) -> Callable[[RowsAndTheta], float]:
        return lambda rows: float(function(rows.y[:, j][~np.isnan(rows.y[:, j])]))

    def of_pair(i: int, j: int) -> Callable[[RowsAndTheta], float]:
        return lambda rows: float(correlations(rows.y)[i, j])

    found = [
        Statistic(f"{name}[{column}]", of_column(function, j))
        for j, column in enumerate(names)
        for name, function in (("mean", np.mean), ("variance", np.var), ("skewness", skewness))
    ]
    if len(names) <= PAIRED_COLUMNS:
        pairs = combinations(range(len(names)), 2)
        return found + [Statistic(f"correlation[{names[i]}, {names[j]}]", of_pair(i, j)) for i, j in pairs]
    return [*found, Statistic("largest correlation", largest_correlation)]


def largest_correlation(rows: RowsAndTheta) -> float:
    """Largest absolute value of the correlations of two columns."""
    return float(np.max(np.abs(np.triu(correlations(rows.y), 1))))


def correlations(X: np.ndarray) -> np.ndarray:
    """Correlations of columns, (d, d); 0 where one is constant; missing cells are at the mean."""
    there = ~np.isnan(X)
    c = np.where(there, X, 0.0)
    c = np.where(there, c - c.sum(axis=0) / np.maximum(there.sum(axis=0), 1), 0.0)
    norm = np.sqrt(np.sum(c**2, axis=0))
    c = np.divide(c, norm, out=np.zeros_like(c), where=norm > 0)
    return c.T @ c


def of_levels(names: list[str]) -> list[Statistic]:
    """Associations of categorical columns, and the number of distinct rows."""

    def of_pair(i: int, j: int) -> Callable[[RowsAndTheta], float]:
        return lambda rows: association(rows.y[:, i], rows.y[:, j])

    pairs = list(combinations(range(len(names)), 2))
    if len(names) <= PAIRED_COLUMNS:
        found = [Statistic(f"association[{names[i]}, {names[j]}]", of_pair(i, j)) for i, j in pairs]
    else:
        found = [Statistic("largest association", lambda rows: max(of_pair(i, j)(rows) for i, j in pairs))]
    return [*found, Statistic("distinct rows", lambda rows: float(len(np.unique(rows.y, axis=0))))]


def of_series(names: list[str], has_levels: bool) -> list[Statistic]:
    """Autocorrelation of each column of a sequence, or the share of rows that repeat the level before."""

    def of_column(j: int) -> Callable[[RowsAndTheta], float]:
        if has_levels:
            return lambda rows: float(np.mean(rows.y[1:, j] == rows.y[:-1, j])) if len(rows.y) > 1 else 0.0
        return lambda rows: autocorrelation(RowsAndTheta(rows.y[:, j]))

    name = "repeats" if has_levels else "autocorrelation"
    return [Statistic(f"{name}[{column}]", of_column(j)) for j, column in enumerate(names)]


def association(a: np.ndarray, b: np.ndarray) -> float:
    """Cramér's V of two columns of codes, of the rows in which neither is −1: missing."""
    a, b = (column[(a >= 0) & (b >= 0)].astype(int) for column in (a, b))
    if not len(a):
        return 0.0
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    least = min(table.shape) - 1
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(a)
    return float(np.sqrt(np.sum((table - expected) ** 2 / expected) / (len(a) * least))) if least else 0.0


#: Most probability that some statistic of a true model is doubted, shared by the statistics of a check.
FALSE_ALARMS = 0.05
#: Meaning of autocorrelation, in words.
OF_ORDER = "rows beside each other are alike, as those of a series or of a group"
OF_ALTERNATION = "rows beside each other are unlike, as those of kinds that take turns"


@dataclass(frozen=True, repr=False)
class PredictiveCheck:
    """Statistics of observed and of replicated rows.

    Parameters
    ----------
    table : Table
        One row per statistic: ``observed``, ``predicted`` (the median of the replicates), the bounds of the
        replicates' interval (``5%``, ``95%``), and the two-sided ``p``.
    observed, replicated : ndarray of shape (n_draws, n_statistics)
        Values of the statistics; ``observed`` varies where a statistic depends on the draw of θ.
    misfits : list of str
        Statistics whose p is below 5 % divided by the number of statistics.
    """

    table: Table
    observed: np.ndarray
    replicated: np.ndarray
    misfits: list[str]

    @classmethod
    def of(
        cls, observed: np.ndarray, replicated: np.ndarray, names: Sequence[str], q: Sequence[float]
    ) -> "PredictiveCheck":
        """From values of statistics, (n_draws, n_statistics) each, and the ends of the interval.

        Raises
        ------
        ValueError
            If a statistic of the observed rows is no number.
        """
        for name, known in zip(names, np.isfinite(observed).any(axis=0)):
            if not known:
                raise ValueError(f"the statistic {name!r} of the observed rows is not a finite number")
        with np.errstate(all="ignore"):
            # relative difference of two values of a statistic that are the same but for rounding
            rounding = 1e-10 * np.abs(observed)
            above = ~(replicated < observed - rounding)  # a value that is no number says nothing
            below = ~(replicated > observed + rounding)
        n = len(observed)
        p = np.minimum(2 * (1 + np.minimum(above.sum(axis=0), below.sum(axis=0))) / (n + 1), 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without a number
            low, middle, high = np.nanquantile(replicated, [q[0], 0.5, q[1]], axis=0)
        bounds = {percent(q[0]): low, percent(q[1]): high}
        columns = {"observed": np.nanmedian(observed, axis=0), "predicted": middle} | bounds | {"p": p}
        misfits = [name for name, value in zip(names, p) if value < FALSE_ALARMS / len(names)]
        return cls(Table(columns, names), observed, replicated, misfits)

    @property
    def doubt(self) -> str | None:
        """A sentence on what the model does not reproduce; None if nothing is found."""
        if not self.misfits:
            return None
        low, high = self.table.columns[2:4]
        cells, parts = self._cells(), []
        for k in (self.table.index.index(name) for name in self.misfits):
            interval = f"{cells[low][k]} to {cells[high][k]}"
            parts.append(f"{self.table.index[k]} (observed {cells['observed'][k]}, predicted {interval})")
        order = ""
        if AUTOCORRELATION.name in self.misfits:
            found = self.table["observed"][self.table.index.index(AUTOCORRELATION.name)]
            order = f"; {OF_ORDER if found > 0 else OF_ALTERNATION}"
        return f"the model does not reproduce the rows' {', '.join(parts)}{order}"

    def _cells(self) -> dict[str, list[str]]:
        """Numbers of a row to the second digit of the replicates' spread."""
        low, high = (self.table[name] for name in self.table.columns[2:4])
        spread = (high - low) / 4
        scaled = {
            name: [to_digits(value, s) for value, s in zip(self.table[name], spread)]
            for name in self.table.columns[:4]
        }
        return scaled | {"p": [f"{p:.3f}" for p in self.table["p"]]}

    def _printed(self) -> Table:
        cells = self._cells()
        if self.misfits:
            cells["doubt"] = ["misfit" if name in self.misfits else "" for name in self.table.index]
        return Table(cells, self.table.index, notes=[self.doubt] if self.doubt else [])

    def __repr__(self) -> str:
        return self._printed().to_string()

    def _repr_html_(self) -> str:
        return self._printed()._repr_html_()
