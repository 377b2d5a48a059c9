r"""Survival that a regression predicts, beside that of the rows, with censored times (Kaplan and Meier 1958).

    S(t) = Π_{t_j ≤ t} (1 − d_j / n_j)

The interval is Greenwood's, of log(−log S).

Symbols: ``events`` = d, at a time; ``at_risk`` = n, just before it.

References
----------
E. L. Kaplan, P. Meier (1958), Nonparametric estimation from incomplete observations, JASA 53, 457;
J. D. Kalbfleisch, R. L. Prentice (2002), The Statistical Analysis of Failure Time Data, section 1.4.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_array, check_consistent_length

from ..effects import response_of
from ..estimators import has_times, response_in
from ..model_selection import behind_transformers
from ..rows import bounds_of, has_bounds, parted, with_known
from ._style import BAND, COLORS, Picture, axes, drawn, legend, line_style


class KaplanMeier(NamedTuple):
    """Steps of the estimate, from time zero."""

    times: np.ndarray  #: 0 and those of events, (k,)
    survival: np.ndarray  #: from each of them on, (k,)
    low: np.ndarray  #: of a pointwise interval, nan where there is none, (k,)
    high: np.ndarray
    censored: np.ndarray  #: times that are censored

    @classmethod
    def of(cls, y: np.ndarray, event: np.ndarray, level: float = 0.9) -> "KaplanMeier":
        """From times (n,) and whether each is of an event (n,)."""
        times = np.unique(y[event])
        at_risk = np.array([np.sum(y >= t) for t in times], dtype=float)
        events = np.array([np.sum(event & (y == t)) for t in times], dtype=float)
        survival = np.cumprod(1 - events / at_risk)
        with np.errstate(divide="ignore", invalid="ignore"):
            greenwood = np.cumsum(events / (at_risk * (at_risk - events)))
            spread = norm.isf((1 - level) / 2) * np.sqrt(greenwood) / np.abs(np.log(survival))
            low, high = survival ** np.exp(spread), survival ** np.exp(-spread)
        start = np.ones(1)
        return cls(
            np.r_[0.0, times],
            np.r_[start, survival],
            np.r_[start, np.where(survival > 0, low, np.nan)],
            np.r_[start, np.where(survival > 0, high, np.nan)],
            np.sort(y[~event]),
        )

    def at(self, t: np.ndarray) -> np.ndarray:
        """S at times."""
        return self.survival[np.searchsorted(self.times, t, side="right") - 1]


def times_and_events(model: Any, X: Any, y: Any, event: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,), and whether the event came then, by ``event`` or as y or the model's formula says."""
    y = response_in(model, X, y)
    if model._bounds_given and event is None and not has_bounds(y):
        raise ValueError("the model has learnt from rows with an event or bounds: give those of these rows")
    known, y = parted(with_known(X, event=event), y)
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    bounds = bounds_of(y, known, X, is_positive=True, is_whole=False)
    is_event = bounds.lower == bounds.upper
    is_late = known.entry is not None and np.any(np.asarray(known.entry) > -np.inf)
    if is_late or np.any(~is_event & (bounds.upper < np.inf)):
        raise ValueError("Kaplan-Meier's estimate is of times that are exact or censored on the right")
    return bounds.lower, is_event


class SurvivalDisplay(Picture):
    """Predicted survival of groups of rows, and the Kaplan–Meier estimate of each with its 90 % band.

    A line is the posterior predictive probability that the event comes later, averaged over the rows of its
    group; steps are the share whose event has not come, with a tick at each censored time.  A line that
    leaves its band says that the family, or a linear effect, is not that of the rows.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
    survival : sequence of ndarray of shape (n_times,)
        Predictions for each group.
    observed : sequence of KaplanMeier
        Estimates of each group.
    names : sequence of str
        Names of the groups.
    time : str, default="time"
        Name of the axis of times.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGLM
    >>> from sgevidence.displays import SurvivalDisplay
    >>> rng = np.random.default_rng(0)
    >>> drug = np.repeat([0, 1], 40)
    >>> weeks = np.exp(1 + drug) * rng.exponential(size=80)
    >>> event = weeks < 8
    >>> X, weeks = drug[:, None], np.minimum(weeks, 8)
    >>> model = BayesianGLM("weibull", random_state=0).fit(X, weeks, event=event)
    >>> display = SurvivalDisplay.from_estimator(model, X, weeks, event=event, groups=drug)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['0', '1']
    """

    times: np.ndarray
    survival: Sequence[Any]
    observed: Sequence[Any]
    names: Sequence[str]
    time: str = "time"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        event: Any = None,
        groups: Any = None,
        offset: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw predictions for rows, and what became of them.

        Parameters
        ----------
        estimator : fitted BayesianGLM of times
            At the end of a pipeline, too, whose ``predict_survival`` takes X.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or as ``fit`` takes it, optional
            Times; by default those that the model's formula names, with their events.
        event : str or array-like of shape (n_samples,), optional
            True where the event was observed, False where the time is censored, or a column of X; by default
            what ``Surv(…)`` of the formula says, or all events were observed.
        groups : str or array-like of shape (n_samples,), optional
            Label of the group of each row, or a column of X; by default there is one group.
        offset : float or array-like of shape (n_samples,), optional

        Raises
        ------
        TypeError
            If it predicts no survival.
        ValueError
            If lengths differ, ``event`` has other values than 1 and 0, or is missing where the model has
            learnt from events; if times are known by intervals or from a late entry on.
        """
        model = drawn(cls, estimator, "predict_survival")
        if not has_times(model):
            raise TypeError(f"{model!r} predicts no survival: its family is not one of times")
        formula = getattr(model, "formula", None)
        name = getattr(y, "name", None) or (formula and response_of(formula).name)
        event, groups = (X[one] if isinstance(one, str) else one for one in (event, groups))
        _, rows = behind_transformers(estimator, X)
        y, event = times_and_events(model, rows, y, event)
        groups = np.full(len(y), "all rows") if groups is None else np.asarray(groups)
        check_consistent_length(X, y, event, groups)
        times = np.linspace(0.0, y.max(), 200)  # times of a curve
        each = model.predict_survival(rows, times, offset)
        labels = np.unique(groups)
        parts = [groups == label for label in labels]
        return cls(
            times=times,
            survival=[each[part].mean(axis=0) for part in parts],
            observed=[KaplanMeier.of(y[part], event[part]) for part in parts],
            names=[str(label) for label in labels],
            time="time" if name is None else str(name),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        ax = axes(self, ax, figsize=(6.0, 4.0))
        for k, (name, line, steps) in enumerate(zip(self.names, self.survival, self.observed)):
            color = COLORS[k % len(COLORS)]
            t = np.r_[steps.times, max(self.times[-1], steps.times[-1])]
            low, high, share = (np.r_[v, v[-1]] for v in (steps.low, steps.high, steps.survival))
            ax.fill_between(t, low, high, step="post", color=color, **BAND)
            ax.step(t, share, where="post", color=color, linewidth=0.9)
            ax.plot(steps.censored, steps.at(steps.censored), "|", color=color, markersize=7)
            ax.plot(self.times, line, label=name, **line_style(k))
        ax.set(
            xlabel=self.time,
            ylabel="probability that the event comes later",
            ylim=(0.0, 1.02),
            xlim=(0.0, None),
        )
        legend(ax, len(self.names))
        return self
