"""Posterior probabilities of an averager's models while rows arrive."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._style import axes, drawn, line_style


class ModelProbabilitiesDisplay:
    """Weights of an averager's models against the rows seen.

    Parameters
    ----------
    n_samples : ndarray of shape (n_calls,)
        Rows seen.
    weights : ndarray of shape (n_calls, n_models)
        Weights after these rows.
    names : sequence of str
    quantity : str, default="model probability"
        Name of the weights on the axis: the weights of stacking are no probabilities.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGMM, EvidenceModelAverager
    >>> from sgevidence.displays import ModelProbabilitiesDisplay
    >>> X = np.random.default_rng(0).standard_normal((60, 1))
    >>> averager = EvidenceModelAverager([("one", BayesianGMM(1)), ("two", BayesianGMM(2))], random_state=0)
    >>> for start in range(0, 60, 20):
    ...     averager = averager.partial_fit(X[start : start + 20])
    >>> ModelProbabilitiesDisplay.from_estimator(averager).ax_.get_ylabel()
    'model probability'
    """

    def __init__(
        self,
        *,
        n_samples: np.ndarray,
        weights: np.ndarray,
        names: Sequence[str],
        quantity: str = "model probability",
    ):
        self.n_samples, self.weights, self.names, self.quantity = n_samples, weights, names, quantity

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, stacked: bool = False
    ) -> "ModelProbabilitiesDisplay":
        """Draw a fitted averager's weights.

        Parameters
        ----------
        estimator : EvidenceModelAverager
            Fitted, best by several calls of ``partial_fit``.
        ax : matplotlib Axes, optional
        stacked : bool, default=False
            Areas that add to one, instead of lines.

        Returns
        -------
        ModelProbabilitiesDisplay
        """
        drawn(cls, estimator, "weights_path_")
        path, names = estimator.weights_path_, list(estimator.named_estimators_)
        quantity = "stacking weight" if estimator.method == "stacking" else "model probability"
        display = cls(n_samples=path["n_samples"], weights=path["weights"], names=names, quantity=quantity)
        return display.plot(ax, stacked=stacked)

    def plot(self, ax: Any = None, *, stacked: bool = False) -> "ModelProbabilitiesDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.
        stacked : bool, default=False
            Areas that add to one, instead of lines.

        Returns
        -------
        ModelProbabilitiesDisplay
        """
        ax = axes(self, ax, figsize=(6.4, 3.6))
        styles = [line_style(k) for k in range(len(self.names))]
        if stacked:
            colors = [style["color"] for style in styles]
            areas = ax.stackplot(self.n_samples, self.weights.T, labels=self.names, colors=colors, alpha=0.75)
            for area in areas:
                area.set(edgecolor="white", linewidth=1.0)  # neighbours stay apart in grey
        else:
            marker = "o" if len(self.n_samples) < 30 else None
            for name, weights, style in zip(self.names, self.weights.T, styles):
                ax.plot(self.n_samples, weights, label=name, marker=marker, markersize=4, **style)
        ax.set(xlabel="rows seen", ylabel=self.quantity, ylim=(0, 1) if stacked else (-0.02, 1.02))
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self
