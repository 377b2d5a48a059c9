"""Pictures along the rows: an average's weights, and how a run went in cost and particles for each chunk."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ._style import COLORS, GREY, Picture, axes, drawn, line_style, several_axes


class ModelProbabilitiesDisplay(Picture):
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

    n_samples: np.ndarray
    weights: np.ndarray
    names: Sequence[str]
    quantity: str = "model probability"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, stacked: bool = False) -> Self:
        """Draw a fitted averager's weights.

        Parameters
        ----------
        estimator : EvidenceModelAverager
            Fitted, best by several calls of ``partial_fit``.
        stacked : bool, default=False
            Areas that add to one, instead of lines.
        """
        drawn(cls, estimator, "weights_path_")
        path, names = estimator.weights_path_, list(estimator.named_estimators_)
        quantity = "stacking weight" if estimator.method == "stacking" else "model probability"
        display = cls(n_samples=path["n_samples"], weights=path["weights"], names=names, quantity=quantity)
        return display.plot(ax, stacked=stacked)

    def plot(self, ax: Any = None, *, stacked: bool = False) -> Self:
        """Draw.

        Parameters
        ----------
        stacked : bool, default=False
            Areas that add to one, instead of lines.
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


class RunDisplay(Picture):
    """Annealing steps, effective sample size and moves of each chunk, along the rows.

    Parameters
    ----------
    path : dict of str to ndarray
        An ``evidence_path_``: ``n_samples``, ``n_annealing_steps``, ``ess``, ``n_particles``, ``n_moves``.

    Attributes
    ----------
    axes_ : ndarray of shape (3,) of matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.displays import RunDisplay
    >>> rng = np.random.default_rng(0)
    >>> model = BayesianLinearRegression(random_state=0)
    >>> for _ in range(4):
    ...     model = model.partial_fit(rng.standard_normal((20, 2)), rng.standard_normal(20))
    >>> RunDisplay.from_estimator(model).axes_.shape
    (3,)
    """

    path: Mapping[str, np.ndarray]

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Sequence[Any] | None = None) -> Self:
        """Draw a fitted estimator's run.

        Parameters
        ----------
        estimator : fitted estimator
            With ``evidence_path_``, alone, frozen or at the end of a pipeline.
        """
        return cls(path=drawn(cls, estimator, "evidence_path_").evidence_path_).plot(axes)

    def plot(self, axes: Sequence[Any] | None = None) -> Self:
        self.axes_ = several_axes(self, axes, 3)
        n = self.path["n_samples"]
        panels = [
            ("annealing\nsteps", self.path["n_annealing_steps"], COLORS[0]),
            ("smallest ESS", self.path["ess"], COLORS[1]),
            ("moves", self.path["n_moves"], COLORS[2]),
        ]
        marker = "o" if len(n) < 100 else None
        for ax, (label, values, color) in zip(self.axes_, panels):
            ax.plot(n, values, color=color, linewidth=1.3, marker=marker, markersize=3.5)
            ax.set_ylabel(label)
            ax.yaxis.get_major_locator().set_params(integer=True)
        particles = dict(color=GREY, linewidth=1.0, linestyle="--", label="particles")
        self.axes_[1].plot(n, self.path["n_particles"], **particles)
        self.axes_[1].legend(frameon=False)
        for ax in self.axes_:
            ax.set_ylim(bottom=0)
        self.axes_[-1].set_xlabel("rows seen")
        return self
