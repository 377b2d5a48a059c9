"""Results as pictures: a comparison, a Bayes factor over its prior or the rows, a predictive check."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..model_selection import PredictiveCheck, compare, predictive_check, printed_names, replicated_check
from ..tables import to_digits
from ._style import (
    BAND,
    COLORS,
    GREY,
    MARKERS,
    OUT_OF_RACE_NATS,
    Picture,
    axes,
    intervals,
    is_thin,
    name_right,
    named_rows,
    number,
)


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


class BayesFactorDisplay(Picture):
    """A log Bayes factor of a test as a line; dotted where evidence becomes positive and strong.

    Parameters
    ----------
    places : ndarray of shape (n,)
        Scales of the prior, or numbers of rows.
    log_bayes_factor, log_bayes_factor_std : ndarray of shape (n,)
        Nats; positive speaks for the alternative.
    label : str
        Name of the places.
    marked : float, optional
        The place that is marked by a point.

    Examples
    --------
    >>> from sgevidence.displays import BayesFactorDisplay
    >>> from sgevidence.hypothesis_tests import ttest
    >>> result = ttest([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    >>> display = BayesFactorDisplay.over_rscale(result)
    >>> display.ax_.get_xlabel()
    'rscale'
    """

    places: np.ndarray
    log_bayes_factor: np.ndarray
    log_bayes_factor_std: np.ndarray
    label: str
    marked: float | None = None

    def __post_init__(self) -> None:
        self.places = np.asarray(self.places, dtype=float)
        self.log_bayes_factor = np.asarray(self.log_bayes_factor)
        self.log_bayes_factor_std = np.asarray(self.log_bayes_factor_std)

    @classmethod
    def over_rscale(
        cls, result: Any, rscales: ArrayLike | None = None, *, ax: Any = None, **line_params: Any
    ) -> Self:
        """Draw how much of an answer is the prior's scale.

        Parameters
        ----------
        result : BayesFactorResult
            Result of a test whose prior has an ``rscale``.
        rscales : array-like of shape (n,), optional
            By default from a tenth of the result's own to five times it.
        """
        own = result.rscale
        if own is None:
            result.with_rscale(1.0)  # says why there is none
        scales = own * np.geomspace(0.1, 5.0, 60) if rscales is None else rscales
        found = [result.with_rscale(float(scale)) for scale in np.asarray(scales, dtype=float)]
        return cls(
            places=np.asarray(scales, dtype=float),
            log_bayes_factor=np.array([one.log_bayes_factor for one in found]),
            log_bayes_factor_std=np.array([one.log_bayes_factor_std for one in found]),
            label="rscale",
            marked=own,
        ).plot(ax, **line_params)

    @classmethod
    def over_rows(cls, result: Any, *, ax: Any = None, **line_params: Any) -> Self:
        """Draw how the answer has come about, update by update.

        Parameters
        ----------
        result : BayesFactorResult
            After calls of ``update``.
        """
        path = result.path
        values = {name: path[name] for name in ("log_bayes_factor", "log_bayes_factor_std")}
        return cls(places=path["n_samples"], label="rows", **values).plot(ax, **line_params)

    def plot(self, ax: Any = None, **line_params: Any) -> Self:
        ax = axes(self, ax, figsize=(6.0, 3.6))
        value, std = self.log_bayes_factor, 2 * self.log_bayes_factor_std
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.plot(self.places, value, **(dict(color=COLORS[0], linewidth=1.6) | line_params))
        ax.fill_between(self.places, value - std, value + std, color=COLORS[0], **BAND)
        low, high = ax.get_ylim()
        # evidence becomes positive and strong at 2 log B = 2 and 6 (Kass and Raftery 1995)
        for limit in (-3.0, -1.0, 1.0, 3.0):
            if low < limit < high:
                ax.axhline(limit, color=GREY, linewidth=0.8, linestyle=":")
        if self.marked is not None:
            ax.plot(self.marked, np.interp(self.marked, self.places, value), "o", color=COLORS[0])
        ax.set(xlabel=self.label, ylabel="log Bayes factor (nats)")
        return self


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
