"""A curve with its band on the axis of its column."""

from typing import Any

import numpy as np

from ..estimators import curves
from ._drawn import drawn
from ._style import BAND, axes, line_style


class SmoothDisplay:
    """A curve of one column, its straight line included: posterior mean and 90 % band.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values of the column, in its own unit.
    draws : ndarray of shape (M, n)
        Curves, in the unit of the linear predictor: of y in linear regression.
    column : str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, Smooth
    >>> from sgevidence.displays import SmoothDisplay
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, 100)
    >>> y = np.sin(x) + 0.3 * rng.standard_normal(100)
    >>> model = BayesianLinearRegression(terms=[Smooth(0)], random_state=0).fit(x[:, None], y)
    >>> display = SmoothDisplay.from_estimator(model)
    >>> bool(display.x[-1] == x.max())
    True
    """

    def __init__(self, *, x: np.ndarray, draws: np.ndarray, column: str):
        self.x, self.draws, self.column = x, draws, column

    @classmethod
    def from_estimator(cls, estimator: Any, *, column: Any = None, ax: Any = None) -> "SmoothDisplay":
        """Draw one curve of a fitted regression.

        Parameters
        ----------
        estimator : fitted estimator
            With a :class:`Smooth` or :class:`BSpline` term, alone, frozen or at the end of a pipeline.
        column : str or int, optional
            Column of the curve; by default that of the first.
        ax : matplotlib Axes, optional

        Returns
        -------
        SmoothDisplay

        Raises
        ------
        ValueError
            If the model has no such curve.
        """
        model = drawn(cls, estimator, "effects_")
        found = {curve.name: curve for curve in curves(model)}
        if not found or str(column) not in {"None", *found}:
            raise ValueError(
                f"{type(model).__name__} has no curve of {column!r}: it has those of {list(found)}"
            )
        curve = found[str(column)] if column is not None else next(iter(found.values()))
        return cls(x=curve.x, draws=curve.f, column=curve.name).plot(ax)

    def plot(self, ax: Any = None) -> "SmoothDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.

        Returns
        -------
        SmoothDisplay
        """
        ax = axes(self, ax, figsize=(6.0, 4.0))
        style = line_style(0)
        low, high = np.quantile(self.draws, [0.05, 0.95], axis=0)
        ax.fill_between(self.x, low, high, color=style["color"], **BAND)
        ax.plot(self.x, self.draws.mean(axis=0), **style)
        ax.set_xlabel(self.column)
        ax.set_ylabel(f"effect of {self.column} (mean and 90 % band)")
        return self
