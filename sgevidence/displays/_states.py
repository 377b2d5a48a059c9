"""States of a hidden Markov model over a sequence: the rows above, the probabilities of the states below."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._style import COLORS, Picture, drawn, legend, several_axes


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
