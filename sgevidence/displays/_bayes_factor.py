"""A log Bayes factor over the scale of its prior, or over the rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._style import BAND, COLORS, GREY, Picture, axes


class BayesFactorDisplay(Picture):
    """A log Bayes factor of a test as a line; dotted where evidence becomes positive and strong.

    Parameters
    ----------
    places : ndarray of shape (n,)
        Scales of the prior, or numbers of rows.
    log_bayes_factor, log_bayes_factor_std : ndarray of shape (n,)
        Nats; positive speaks for the alternative.
    label : str
        Name of the places.
    marked : float, optional
        The place that is marked by a point.

    Examples
    --------
    >>> from sgevidence.displays import BayesFactorDisplay
    >>> from sgevidence.hypothesis_tests import ttest
    >>> result = ttest([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    >>> display = BayesFactorDisplay.over_rscale(result)
    >>> display.ax_.get_xlabel()
    'rscale'
    """

    places: np.ndarray
    log_bayes_factor: np.ndarray
    log_bayes_factor_std: np.ndarray
    label: str
    marked: float | None = None

    def __post_init__(self) -> None:
        self.places = np.asarray(self.places, dtype=float)
        self.log_bayes_factor = np.asarray(self.log_bayes_factor)
        self.log_bayes_factor_std = np.asarray(self.log_bayes_factor_std)

    @classmethod
    def over_rscale(
        cls, result: Any, rscales: ArrayLike | None = None, *, ax: Any = None, **line_params: Any
    ) -> Self:
        """Draw how much of an answer is the prior's scale.

        Parameters
        ----------
        result : BayesFactorResult
            Result of a test whose prior has an ``rscale``.
        rscales : array-like of shape (n,), optional
            By default from a tenth of the result's own to five times it.
        """
        own = result.rscale
        if own is None:
            result.with_rscale(1.0)  # says why there is none
        scales = own * np.geomspace(0.1, 5.0, 60) if rscales is None else rscales
        found = [result.with_rscale(float(scale)) for scale in np.asarray(scales, dtype=float)]
        return cls(
            places=np.asarray(scales, dtype=float),
            log_bayes_factor=np.array([one.log_bayes_factor for one in found]),
            log_bayes_factor_std=np.array([one.log_bayes_factor_std for one in found]),
            label="rscale",
            marked=own,
        ).plot(ax, **line_params)

    @classmethod
    def over_rows(cls, result: Any, *, ax: Any = None, **line_params: Any) -> Self:
        """Draw how the answer has come about, update by update.

        Parameters
        ----------
        result : BayesFactorResult
            After calls of ``update``.
        """
        path = result.path
        values = {name: path[name] for name in ("log_bayes_factor", "log_bayes_factor_std")}
        return cls(places=path["n_samples"], label="rows", **values).plot(ax, **line_params)

    def plot(self, ax: Any = None, **line_params: Any) -> Self:
        ax = axes(self, ax, figsize=(6.0, 3.6))
        value, std = self.log_bayes_factor, 2 * self.log_bayes_factor_std
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.plot(self.places, value, **(dict(color=COLORS[0], linewidth=1.6) | line_params))
        ax.fill_between(self.places, value - std, value + std, color=COLORS[0], **BAND)
        low, high = ax.get_ylim()
        # evidence becomes positive and strong at 2 log B = 2 and 6 (Kass and Raftery 1995)
        for limit in (-3.0, -1.0, 1.0, 3.0):
            if low < limit < high:
                ax.axhline(limit, color=GREY, linewidth=0.8, linestyle=":")
        if self.marked is not None:
            ax.plot(self.marked, np.interp(self.marked, self.places, value), "o", color=COLORS[0])
        ax.set(xlabel=self.label, ylabel="log Bayes factor (nats)")
        return self
