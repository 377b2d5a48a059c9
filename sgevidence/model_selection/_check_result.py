"""The result of a predictive check: a table of statistics, and a sentence on those not reproduced."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from ..estimators import percent
from ..tables import LINE_WIDTH, Table, in_lines, to_digits
from ._discrepancies import AUTOCORRELATION

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
        return Table(cells, self.table.index)

    def __repr__(self) -> str:
        return "\n".join([self._printed().to_string(), *in_lines(self.doubt or "", LINE_WIDTH)])

    def _repr_html_(self) -> str:
        return self._printed()._repr_html_() + (f"<p>{escape(self.doubt)}</p>" if self.doubt else "")
