"""Bars with names: weights of models or components with intervals, and probabilities of columns."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._style import COLORS, Picture, drawn, feature_names, named_rows


class InclusionProbabilitiesDisplay(Picture):
    """Posterior probability of each column to be in the model, as a bar; those that are selected are filled.

    Parameters
    ----------
    probabilities : ndarray of shape (n_features,)
    selected : ndarray of shape (n_features,)
        Which columns are selected, bool.
    names : sequence of str

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import EvidenceFeatureSelector
    >>> from sgevidence.displays import InclusionProbabilitiesDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = EvidenceFeatureSelector(standardize=True).fit(X, y)
    >>> display = InclusionProbabilitiesDisplay.from_estimator(selector)
    >>> display.ax_.get_yticklabels()[2].get_text()
    'bmi'
    """

    probabilities: np.ndarray
    selected: np.ndarray
    names: Sequence[str]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the columns of a fitted selector, in their order.

        Parameters
        ----------
        estimator : EvidenceFeatureSelector
            Fitted, alone, frozen or at the end of a pipeline.
        """
        model = drawn(cls, estimator, "inclusion_probabilities_")
        check_is_fitted(model)
        shown = cls(
            probabilities=model.inclusion_probabilities_,
            selected=model.get_support(),
            names=feature_names(estimator, model, model.n_features_in_),
        )
        return shown.plot(ax)

    def plot(self, ax: Any = None, **bar_params: Any) -> Self:
        ax = named_rows(self, ax, self.names, line=0.5)
        colors = [COLORS[0] if chosen else "white" for chosen in self.selected]
        style = dict(color=colors, edgecolor=COLORS[0], height=0.6) | bar_params
        ax.barh(np.arange(len(self.names)), self.probabilities, **style)
        ax.set(xlabel="probability of being in the model", xlim=(0, 1.02))
        return self


class WeightsDisplay(Picture):
    """Each weight as a bar, with the interval that it is known to.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    low, high : ndarray of shape (n,)
        Bounds of the 90 % intervals.
    names : sequence of str
    label : str, default="weight"
        Label of the axis: what the weights belong to.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM
    >>> from sgevidence.displays import WeightsDisplay
    >>> X = scale(load_iris().data[:, 2:])
    >>> display = WeightsDisplay.from_estimator(BayesianGMM(2, random_state=0).fit(X))
    >>> display.weights.shape
    (2,)
    """

    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: Sequence[str]
    label: str = "weight"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted averager's or mixture's weights.

        Parameters
        ----------
        estimator : EvidenceModelAverager or BayesianGMM
            An averager shows its models' weights and their ``weights_interval_``; a mixture shows its
            components' shares and their posterior.

        Raises
        ------
        ValueError
            If it has no weights.
        """
        model = drawn(cls, estimator, "posterior_samples", "named_estimators_")
        if hasattr(model, "named_estimators_"):
            names = list(model.named_estimators_)
            low, high = model.weights_interval_
            label = "model weight (90 % interval of its error)"
            return cls(weights=model.weights_, low=low, high=high, names=names, label=label).plot(ax)
        named = model.posterior_samples()
        if "weights" not in named:
            raise ValueError(f"{type(model).__name__} has no weights, only {sorted(named)}")
        low, high = np.quantile(named["weights"], [0.05, 0.95], axis=0)
        names = [f"component {k}" for k in range(len(low))]
        label = "share of the rows (90 % interval)"
        return cls(weights=model.weights_, low=low, high=high, names=names, label=label).plot(ax)

    def plot(self, ax: Any = None, **bar_params: Any) -> Self:
        ax = named_rows(self, ax, self.names, each=0.4, line=None)
        rows = np.arange(len(self.names))
        ax.barh(rows, self.weights, **(dict(color=COLORS[5], height=0.6) | bar_params))
        ax.hlines(rows, self.low, self.high, color="black", linewidth=1.6)
        ax.set(xlabel=self.label, xlim=(0, 1 if np.max(self.high) > 0.5 else None))
        return self
