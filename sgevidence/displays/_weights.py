"""Weights with intervals: of the models of an averager, or of the components of a mixture."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._drawn import drawn
from ._style import COLORS, axes, name_rows


class WeightsDisplay:
    """Each weight as a bar, with the interval that it is known to.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    low, high : ndarray of shape (n,)
        Bounds of the 90 % intervals.
    names : sequence of str
    label : str, default="weight"
        Label of the axis: what the weights belong to.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    def __init__(
        self,
        *,
        weights: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        names: Sequence[str],
        label: str = "weight",
    ):
        self.weights, self.low, self.high, self.names, self.label = weights, low, high, names, label

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "WeightsDisplay":
        """Draw a fitted averager's or mixture's weights.

        Parameters
        ----------
        estimator : EvidenceModelAverager or BayesianGMM
            An averager shows its models' weights and their ``weights_interval_``; a mixture shows its
            components' shares and their posterior.
        ax : matplotlib Axes, optional

        Returns
        -------
        WeightsDisplay

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

    def plot(self, ax: Any = None, **bar_params: Any) -> "WeightsDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.
        **bar_params : dict
            For ``Axes.barh``.

        Returns
        -------
        WeightsDisplay
        """
        ax = axes(self, ax, figsize=(6.0, 1.0 + 0.4 * len(self.names)))
        rows = np.arange(len(self.names))
        ax.barh(rows, self.weights, **(dict(color=COLORS[5], height=0.6) | bar_params))
        ax.hlines(rows, self.low, self.high, color="black", linewidth=1.6)
        name_rows(ax, self.names)
        ax.set(xlabel=self.label, xlim=(0, 1 if np.max(self.high) > 0.5 else None))
        return self
