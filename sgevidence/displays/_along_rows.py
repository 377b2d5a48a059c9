"""Pictures along the rows: weights of an average, how a run went, states of a sequence, surprise of a stream.

A model that no longer fits is seen in the growth of its evidence, log p(chunk | rows before) / |chunk| = Δ
log Z / Δn.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._evidence import from_no_rows
from ._style import COLORS, GREY, Picture, axes, drawn, legend, line_style, pyplot, several_axes


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


class StatesDisplay(Picture):
    """Rows of a sequence in the colours of their states, and the probabilities of the states.

    Parameters
    ----------
    series : ndarray of shape (n_samples,)
        One column of the rows; indices of levels of a categorical one.
    probabilities : ndarray of shape (n_samples, n_states)
        Probabilities of the states given all rows.
    starts : array-like of int, default=()
        First rows of further sequences.
    name : str, default="series"
        Name of the column.
    index : array-like of shape (n_samples,), optional
        Times of the rows; by default their numbers.

    Attributes
    ----------
    axes_ : ndarray of shape (2,) of matplotlib Axes
        Axes of the series, and axes of the probabilities.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianHMM
    >>> from sgevidence.displays import StatesDisplay
    >>> X = np.random.default_rng(0).poisson(np.repeat([1.0, 6.0, 1.0], 20))[:, None]
    >>> model = BayesianHMM(2, emission="poisson", random_state=0).fit(X)
    >>> StatesDisplay.from_estimator(model, X).probabilities.shape
    (60, 2)
    """

    series: np.ndarray
    probabilities: np.ndarray
    starts: Any = ()
    name: str = "series"
    index: Any = None

    def __post_init__(self) -> None:
        self.index = np.arange(len(self.series)) if self.index is None else self.index
        self.starts = np.atleast_1d(np.asarray(self.starts, dtype=int))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        lengths: Any = None,
        column: int = 0,
        axes: Sequence[Any] | None = None,
        **area_params: Any,
    ) -> Self:
        """Draw the states of rows.

        Parameters
        ----------
        estimator : fitted BayesianHMM
        X : array-like of shape (n_samples, n_features)
            Sequences, one after the other, such as those that the model has learnt from.  The index of a
            pandas frame, such as dates, is the axis of the picture if it increases.
        lengths : array-like of int, optional
            Rows of each sequence; None: one.
        column : int, default=0
            The column of X that is drawn.
        """
        model = drawn(cls, estimator, "transition_matrix_")
        probabilities = model.predict_proba(X, lengths)
        values = np.asarray(X)[:, column]
        if hasattr(model, "categories_"):
            levels = model.categories_[column].tolist()
            values = np.array([levels.index(v) if v in levels else np.nan for v in values.tolist()])
        starts = () if lengths is None else np.cumsum(lengths)[:-1]
        name = str(getattr(model, "feature_names_in_", [f"x{j}" for j in range(column + 1)])[column])
        index = getattr(X, "index", None)
        index = index if getattr(index, "is_monotonic_increasing", False) else None
        found = dict(series=values.astype(float), probabilities=probabilities, index=index)
        return cls(starts=starts, name=name, **found).plot(axes, **area_params)

    def plot(self, axes: Sequence[Any] | None = None, **area_params: Any) -> Self:
        self.axes_ = several_axes(self, axes, 2)
        above, below = self.axes_
        n, K = self.probabilities.shape
        colors, state = [COLORS[k % len(COLORS)] for k in range(K)], self.probabilities.argmax(axis=1)
        x = np.asarray(self.index)
        above.plot(x, self.series, color="0.8", linewidth=0.8, zorder=0)
        for k in range(K):
            mine = np.flatnonzero(state == k)
            above.plot(x[mine], self.series[mine], "o", color=colors[k], markersize=4, mec="white", mew=0.4)
        above.set_ylabel(self.name)
        labels = [f"state {k}: {share:.0%}" for k, share in enumerate(self.probabilities.mean(axis=0))]
        style = dict(colors=colors, alpha=0.75, linewidth=0) | area_params
        below.stackplot(x, self.probabilities.T, labels=labels, **style)
        for one in (above, below):
            for start in self.starts:
                one.axvline(
                    x[start] - (x[start] - x[start - 1]) / 2, color="0.3", linestyle=":", linewidth=1.0
                )
        label = getattr(self.index, "name", None) or "row"
        below.set(xlabel=label, ylabel="probability", ylim=(0, 1), xlim=(x[0], x[-1]) if n > 1 else None)
        legend(below, K)
        return self


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
