"""Inclusion probabilities of the columns of a feature selection."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._drawn import drawn, feature_names
from ._style import COLORS, GREY, axes, name_rows


class InclusionProbabilitiesDisplay:
    """Posterior probability of each column to be in the model, as a bar; those that are selected are filled.

    Parameters
    ----------
    probabilities : ndarray of shape (n_features,)
    selected : ndarray of shape (n_features,)
        Which columns are selected, bool.
    names : sequence of str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    def __init__(self, *, probabilities: np.ndarray, selected: np.ndarray, names: Sequence[str]):
        self.probabilities, self.selected, self.names = probabilities, selected, names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "InclusionProbabilitiesDisplay":
        """Draw the columns of a fitted selector, in their order.

        Parameters
        ----------
        estimator : EvidenceFeatureSelector
            Fitted, alone, frozen or at the end of a pipeline.
        ax : matplotlib Axes, optional

        Returns
        -------
        InclusionProbabilitiesDisplay
        """
        model = drawn(cls, estimator, "inclusion_probabilities_")
        check_is_fitted(model)
        shown = cls(
            probabilities=model.inclusion_probabilities_,
            selected=model.get_support(),
            names=feature_names(estimator, model, model.n_features_in_),
        )
        return shown.plot(ax)

    def plot(self, ax: Any = None, **bar_params: Any) -> "InclusionProbabilitiesDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.
        **bar_params : dict
            For ``Axes.barh``.

        Returns
        -------
        InclusionProbabilitiesDisplay
        """
        ax = axes(self, ax, figsize=(6.0, 1.0 + 0.3 * len(self.names)))
        colors = [COLORS[0] if chosen else "white" for chosen in self.selected]
        style = dict(color=colors, edgecolor=COLORS[0], height=0.6) | bar_params
        ax.barh(np.arange(len(self.names)), self.probabilities, **style)
        ax.axvline(0.5, color=GREY, linewidth=0.8, linestyle=":")
        name_rows(ax, self.names)
        ax.set(xlabel="probability of being in the model", xlim=(0, 1.02))
        return self
