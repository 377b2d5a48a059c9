"""How a run went: what each chunk of rows cost and how many particles were left of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._style import COLORS, GREY, drawn, several_axes


class RunDisplay:
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

    def __init__(self, *, path: Mapping[str, np.ndarray]):
        self.path = path

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Sequence[Any] | None = None) -> "RunDisplay":
        """Draw a fitted estimator's run.

        Parameters
        ----------
        estimator : fitted estimator
            With ``evidence_path_``, alone, frozen or at the end of a pipeline.
        axes : sequence of three matplotlib Axes, optional

        Returns
        -------
        RunDisplay
        """
        return cls(path=drawn(cls, estimator, "evidence_path_").evidence_path_).plot(axes)

    def plot(self, axes: Sequence[Any] | None = None) -> "RunDisplay":
        """Draw.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            By default of a new figure.

        Returns
        -------
        RunDisplay
        """
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
