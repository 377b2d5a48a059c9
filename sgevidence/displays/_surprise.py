"""Predictive surprise along a stream: a model that no longer fits is seen in the growth of its evidence.

log p(chunk | rows before) / |chunk| = Δ log Z / Δn
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._evidence import from_no_rows
from ._style import COLORS, Picture, axes, drawn, pyplot


class SurpriseDisplay(Picture):
    """Log predictive density per row of each chunk given the rows before it, with change points.

    Parameters
    ----------
    edges : ndarray of shape (n_chunks + 1,)
        Rows seen before the first chunk and after each.
    log_predictive : ndarray of shape (n_chunks,)
        Mean of each chunk's rows, nats.
    change_points : array-like of int, default=()
        First rows of new regimes.
    series : array-like of shape (n_samples,) or (n_samples, n_features), optional
        The rows themselves, to be shown above.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the surprise.
    ax_series_ : matplotlib Axes or None
        Axes of the series, if rows were given.
    figure_ : matplotlib Figure

    Notes
    -----
    Rows must have come by ``partial_fit`` in their order: one ``fit`` takes them in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGMM
    >>> from sgevidence.displays import SurpriseDisplay
    >>> rng = np.random.default_rng(0)
    >>> model = BayesianGMM(1, random_state=0)
    >>> for mean in (0, 0, 0, 3):
    ...     model = model.partial_fit(mean + rng.standard_normal((30, 1)))
    >>> display = SurpriseDisplay.from_estimator(model, change_points=[90])
    >>> bool(np.argmin(display.log_predictive) == 3)
    True
    """

    edges: np.ndarray
    log_predictive: np.ndarray
    change_points: Any = ()
    series: Any = None

    def __post_init__(self) -> None:
        self.change_points = np.atleast_1d(np.asarray(self.change_points, dtype=float))
        self.series = None if self.series is None else np.asarray(self.series)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        change_points: Any = None,
        series: ArrayLike | None = None,
        ax: Any = None,
        **stairs_params: Any,
    ) -> Self:
        """Draw a fitted estimator's predictions of the chunks that it was given.

        Parameters
        ----------
        estimator : fitted estimator or monitor
            With ``evidence_path_``, alone, frozen or at the end of a pipeline; or with
            ``log_predictive_path_``.  In a long stream a step may stand for several chunks or rows.
        change_points : sequence of int, or object with ``change_points_``, optional
            First rows of new regimes.  By default the estimator's own ``change_points_``, if it has them.
        series : array-like of shape (n_samples,) or (n_samples, n_features), optional
            The rows themselves, to be shown above.
        ax : matplotlib Axes, or two of them with a series, optional
        """
        model = drawn(cls, estimator, "evidence_path_", "log_predictive_path_")
        edges, rate = _growth(model)
        found = model if change_points is None else change_points
        places = getattr(found, "change_points_", () if change_points is None else change_points)
        display = cls(edges=edges, log_predictive=rate, change_points=places, series=series)
        return display.plot(ax, **stairs_params)

    def plot(self, ax: Any = None, **stairs_params: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them with a series, optional
            By default of a new figure.
        """
        ax = self._axes(ax)
        style = dict(color=COLORS[0], linewidth=1.4, baseline=None) | stairs_params
        ax.stairs(self.log_predictive, self.edges, **style)
        every = [ax] if self.ax_series_ is None else [self.ax_series_, ax]
        for one in every:
            for place in self.change_points:
                one.axvline(place, color=COLORS[1], linestyle="--", linewidth=1.4, label="change point")
        if len(self.change_points):
            every[0].legend(*_first(every[0].get_legend_handles_labels()), frameon=False)
        ax.set(xlabel="row", ylabel="log predictive\nper row (nats)", xlim=(self.edges[0], self.edges[-1]))
        return self

    def _axes(self, given: Any) -> Any:
        """Axes of the surprise; the series is drawn on those above."""
        self.ax_series_ = None
        if self.series is None:
            return axes(self, given, figsize=(6.4, 3.0))
        if given is None:
            _, given = pyplot(self).subplots(2, 1, sharex=True, figsize=(6.4, 4.4), layout="constrained")
        above, below = given
        self.ax_series_ = axes(self, above)
        above.plot(self.series, ".", color="0.35", markersize=3, markeredgewidth=0)
        above.set_ylabel("series")
        return axes(self, below)


def _growth(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Edges of the chunks, and the growth of the evidence per row within them.

    ``log_predictive`` would not do: that of a thinned path has gaps.
    """
    if hasattr(model, "evidence_path_"):
        n, log_Z, _ = from_no_rows(model.evidence_path_)
        return n, np.diff(log_Z) / np.diff(n)
    path = model.log_predictive_path_
    edges = np.concatenate([[0.0], path["n_samples"]])
    return edges, path["log_predictive"] / np.diff(edges)


def _first(entries: tuple[list[Any], list[str]]) -> tuple[list[Any], list[str]]:
    """One legend entry for all change points."""
    handles, labels = entries
    return handles[:1], labels[:1]
