"""Predictive surprise along a stream: a model that no longer fits is seen in the growth of its evidence.

log p(chunk | rows before) / |chunk| = Δ log Z / Δn
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..model_selection import last_step
from ._evidence import from_no_rows
from ._style import COLORS, axes


class SurpriseDisplay:
    """Log predictive density per row of each chunk given the rows before it, with change points.

    Parameters
    ----------
    n_samples : ndarray of shape (n_chunks,)
        Rows seen after each chunk.
    log_predictive : ndarray of shape (n_chunks,)
        Mean of each chunk's rows, nats.
    change_points : array-like of int, default=()
        First rows of new regimes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Notes
    -----
    Rows must have come by ``partial_fit`` in their order: one ``fit`` takes them in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGMM, SurpriseDisplay
    >>> rng = np.random.default_rng(0)
    >>> model = BayesianGMM(1, random_state=0)
    >>> for mean in (0, 0, 0, 3):
    ...     model = model.partial_fit(mean + rng.standard_normal((30, 1)))
    >>> display = SurpriseDisplay.from_estimator(model, change_points=[90])
    >>> bool(np.argmin(display.log_predictive) == 3)
    True
    """

    def __init__(self, *, n_samples: np.ndarray, log_predictive: np.ndarray, change_points: ArrayLike = ()):
        self.n_samples, self.log_predictive = n_samples, log_predictive
        self.change_points = np.atleast_1d(np.asarray(change_points, dtype=float))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, change_points: Any = None, ax: Any = None, **line_params: Any
    ) -> "SurpriseDisplay":
        """Draw a fitted estimator's predictions of the chunks that it was given.

        Parameters
        ----------
        estimator : fitted estimator
            With ``evidence_path_``, alone, frozen or at the end of a pipeline.
        change_points : sequence of int, or object with ``change_points_``, optional
            First rows of new regimes.  By default the estimator's own ``change_points_``, if it has them.
        ax : matplotlib Axes, optional
        **line_params : dict
            For ``Axes.stairs``.

        Returns
        -------
        SurpriseDisplay
        """
        model = last_step(estimator)
        n, log_Z, _ = from_no_rows(model.evidence_path_)
        rate = np.diff(log_Z) / np.diff(n)  # of the evidence: a thinned path's log_predictive has gaps
        found = model if change_points is None else change_points
        places = getattr(found, "change_points_", () if change_points is None else change_points)
        return cls(n_samples=n[1:], log_predictive=rate, change_points=places).plot(ax, **line_params)

    def plot(self, ax: Any = None, **line_params: Any) -> "SurpriseDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.
        **line_params : dict
            For ``Axes.stairs``.

        Returns
        -------
        SurpriseDisplay
        """
        ax = axes(self, ax, figsize=(6.4, 3.2))
        edges = np.array([0.0, *self.n_samples])
        style = dict(color=COLORS[0], linewidth=1.4, baseline=None) | line_params
        ax.stairs(self.log_predictive, edges, **style)
        for k, place in enumerate(self.change_points):
            label = "change point" if k == 0 else None
            ax.axvline(place, color=COLORS[1], linestyle="--", linewidth=1.4, label=label)
        if len(self.change_points):
            ax.legend(frameon=False)
        ax.set(xlabel="row", ylabel="log predictive per row (nats)", xlim=(0, edges[-1]))
        return self
