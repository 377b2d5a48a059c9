"""Survival that a regression predicts, beside that of the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from ..estimators import has_times
from ..model_selection import transformed
from ._drawn import drawn
from ._kaplan_meier import KaplanMeier
from ._style import BAND, COLORS, axes, legend, line_style

#: Times of a curve.
N_TIMES = 200


class SurvivalDisplay:
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

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    def __init__(
        self, *, times: np.ndarray, survival: Sequence[Any], observed: Sequence[Any], names: Sequence[str]
    ):
        self.times, self.survival, self.observed, self.names = times, survival, observed, names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        event: Any = None,
        groups: Any = None,
        offset: Any = None,
        ax: Any = None,
    ) -> "SurvivalDisplay":
        """Draw predictions for rows, and what became of them.

        Parameters
        ----------
        estimator : fitted BayesianGLM of times
            At the end of a pipeline, too, whose ``predict_survival`` takes X.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Times.
        event : array-like of shape (n_samples,), optional
            False where a time is censored; by default all are of events.
        groups : array-like of shape (n_samples,), optional
            Label of the group of each row; by default there is one.
        offset : float or array-like of shape (n_samples,), optional
        ax : matplotlib Axes, optional

        Returns
        -------
        SurvivalDisplay

        Raises
        ------
        TypeError
            If it predicts no survival.
        ValueError
            If lengths differ.
        """
        model = drawn(cls, estimator, "predict_survival")
        if not has_times(model):
            raise TypeError(f"{model!r} predicts no survival: its family is not one of times")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        event = np.ones(len(y), dtype=bool) if event is None else np.asarray(event).astype(bool)
        groups = np.full(len(y), "all rows") if groups is None else np.asarray(groups)
        check_consistent_length(X, y, event, groups)
        times = np.linspace(0.0, y.max(), N_TIMES)
        each = model.predict_survival(transformed(estimator, X), times, offset)
        labels = np.unique(groups)
        parts = [groups == label for label in labels]
        return cls(
            times=times,
            survival=[each[part].mean(axis=0) for part in parts],
            observed=[KaplanMeier.of(y[part], event[part]) for part in parts],
            names=[str(label) for label in labels],
        ).plot(ax)

    def plot(self, ax: Any = None) -> "SurvivalDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.

        Returns
        -------
        SurvivalDisplay
        """
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
            xlabel="time", ylabel="probability that the event comes later", ylim=(0.0, 1.02), xlim=(0.0, None)
        )
        legend(ax, len(self.names))
        return self
