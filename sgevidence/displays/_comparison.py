"""The table of a comparison as a picture."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..model_selection import compare, printed_names
from ._style import COLORS, GREY, OUT_OF_RACE_NATS, Picture, is_thin, name_right, named_rows, number


class ComparisonDisplay(Picture):
    """Differences in log evidence to the best model with error bars, and the models' probabilities.

    Parameters
    ----------
    table : DataFrame or Table
        As :func:`compare` makes it.

    See Also
    --------
    compare : The numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.displays import ComparisonDisplay
    >>> from sgevidence.samplers import Exact
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> fits = {str(p): BayesianLinearRegression(0.7, sampler=Exact()).fit(X[:, :p], y) for p in (3, 4, 9)}
    >>> display = ComparisonDisplay.from_estimators(fits)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['9', '4', '3']
    """

    table: Any

    @classmethod
    def from_estimators(
        cls,
        estimators: Any,
        *,
        model_prior: ArrayLike | Mapping[str, float] | None = None,
        ax: Any = None,
        n_std: float = 2.0,
    ) -> Self:
        """Compare models and draw the result.

        Parameters
        ----------
        estimators : mapping, sequence, EvidenceModelAverager, GridSearchCV or its ``cv_results_``
            As for :func:`compare`.
        model_prior : array-like of shape (n_models,), dict or None, default=None
            As for :func:`compare`.
        n_std : float, default=2.0
            Half the length of the error bars, in standard errors of the difference.
        """
        return cls(table=compare(estimators, model_prior=model_prior)).plot(ax, n_std=n_std)

    def plot(self, ax: Any = None, *, n_std: float = 2.0) -> Self:
        """Draw; models more than 20 nats behind are arrows with their number.

        Parameters
        ----------
        n_std : float, default=2.0
            Half the length of the error bars, in standard errors of the difference.
        """
        names = printed_names(self.table.index)
        ax = named_rows(self, ax, names, each=0.4, wide=True)
        rows, difference = np.arange(len(names)), np.asarray(self.table["difference"])
        bars = n_std * np.asarray(self.table["difference_std"])
        near = difference >= -OUT_OF_RACE_NATS
        style: dict[str, Any] = dict(color=COLORS[0], markersize=6, capsize=3, elinewidth=1.4)
        ax.errorbar(difference[near], rows[near], xerr=bars[near], fmt="o", **style)
        self._draw_far(ax, rows[~near], difference[~near])
        probabilities = [self._probability(k) for k in range(len(names))]
        ranges = any(" to " in words for words in probabilities)
        name_right(ax, probabilities, "probability" + "\n(interval of its error)" * ranges)
        thin = is_thin(ax, bars[near], style["markersize"], axis=0)
        hidden = ", shorter than the marks" * thin
        ax.set_xlabel(f"log evidence minus that of the best\n(nats, ± {n_std:g} standard errors{hidden})")
        return self

    @staticmethod
    def _draw_far(ax: Any, rows: np.ndarray, difference: np.ndarray) -> None:
        """Models that are out of the race, as arrows at the left edge, so that the others have room."""
        if not len(rows):
            return
        ax.set_xlim(left=min(1.25 * ax.get_xlim()[0], -1.0))
        edge = dict(transform=ax.get_yaxis_transform(), color=GREY)
        ax.plot(np.full(len(rows), 0.02), rows, "<", markersize=7, **edge)
        for row, value in zip(rows, difference):
            ax.text(0.06, row, number(value), va="center", **edge)

    def _probability(self, k: int) -> str:
        """Probability of row ``k`` in words, with the interval that its error leaves."""
        p, low, high = (
            np.asarray(self.table[key])[k] for key in ("probability", "probability_low", "probability_high")
        )
        if high < 0.005:
            return "< 0.005"
        return f"{p:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{p:.2f} ({low:.2f} to {high:.2f})"
