"""A predictive check as a picture."""

from typing import Any, Self

import numpy as np

from ..model_selection import PredictiveCheck, predictive_check, replicated_check
from ..tables import to_digits
from ._style import COLORS, GREY, MARKERS, Picture, intervals, name_right, named_rows


class PredictiveCheckDisplay(Picture):
    """Statistics of observed rows among those of rows that a model replicates.

    Each statistic is in units of its own replicates: zero is their median, and the thin line, from −1 to 1 if
    they are symmetric, holds 90 % of them, the thick line one half.

    Parameters
    ----------
    check : PredictiveCheck
        As :func:`predictive_check` makes it.

    See Also
    --------
    predictive_check : The numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGLM
    >>> from sgevidence.displays import PredictiveCheckDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, counts = rng.standard_normal((100, 1)), rng.negative_binomial(1, 0.2, 100)
    >>> model = BayesianGLM("poisson", random_state=0).fit(X, counts)
    >>> display = PredictiveCheckDisplay.from_estimator(model, X, counts, random_state=0)
    >>> display.check.misfits[0]
    'variance'
    """

    check: PredictiveCheck

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **check_params: Any
    ) -> Self:
        """Check a fitted model and draw the result.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        **check_params : dict
            For :func:`predictive_check`.
        """
        return cls(check=predictive_check(estimator, X, y, **check_params)).plot(ax)

    @classmethod
    def from_predictions(cls, y: Any, replicated: Any, *, statistics: Any = None, ax: Any = None) -> Self:
        """Draw the check of targets that a model of any program has replicated.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Observed numbers or counts.
        replicated : array-like of shape (n_draws, n_samples)
            Replicates, all values of one from one draw of the parameters.
        statistics : sequence or mapping, optional
            As for :func:`predictive_check`.
        """
        return cls(check=replicated_check(y, replicated, statistics=statistics)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw; the observed value is a dot, or an arrow where it is far from all replicates."""
        max_spreads = 6.0  # widths of a statistic's replicates beyond which the observed value is an arrow
        check, names = self.check, self.check.table.index
        ax = named_rows(self, ax, names, each=0.35, wide=True)
        rows = np.arange(len(names))
        low, middle, high = np.nanquantile(check.replicated, [0.05, 0.5, 0.95], axis=0)
        width = np.where(high > low, (high - low) / 2, np.maximum(np.abs(middle), 1.0))
        replicates = np.nan_to_num((check.replicated - middle) / width)
        intervals(ax, replicates, rows, "replicated", color=GREY, marker="|")
        observed = (check.table["observed"] - middle) / width
        for k, x in enumerate(observed):
            color = COLORS[1] if names[k] in check.misfits else COLORS[0]
            marker = MARKERS[0] if abs(x) <= max_spreads else "><"[int(x < 0)]
            ax.plot(
                np.clip(x, -max_spreads, max_spreads), rows[k], marker, color=color, markersize=7, zorder=3
            )
        values = zip(check.table["observed"], width / 2)
        name_right(ax, [to_digits(value, spread) for value, spread in values], "observed")
        ax.set_xlabel("observed minus replicated (half of the replicates' 90 % interval)")
        return self
