"""A mixture on its data."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from ._style import COLORS, Picture, axes, drawn, marker_style


class MixtureDisplay(Picture):
    """Rows in two of their columns, and an ellipse of one and of two standard deviations for each component.

    Parameters
    ----------
    X : ndarray of shape (n_samples, 2)
        Rows.
    labels : ndarray of shape (n_samples,)
        The component of each.
    weights : ndarray of shape (n_components,)
    means : ndarray of shape (n_components, 2)
    covariances : ndarray of shape (n_components, 2, 2)
    names : pair of str
        Names of the two columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM
    >>> from sgevidence.displays import MixtureDisplay
    >>> X = scale(load_iris().data)
    >>> display = MixtureDisplay.from_estimator(BayesianGMM(2, random_state=0).fit(X), X, columns=(2, 3))
    >>> len(display.ax_.patches)
    4
    """

    X: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    names: Sequence[str]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, *, columns: tuple[int, int] = (0, 1), ax: Any = None
    ) -> "MixtureDisplay":
        """Draw a fitted mixture with posterior means of its parameters.

        Parameters
        ----------
        estimator : BayesianGMM
            Fitted; not in a pipeline, which knows the rows in other units.
        X : array-like of shape (n_samples, n_features)
            Rows, as the mixture sees them.
        columns : pair of int, default=(0, 1)
            The two columns to show.

        Raises
        ------
        ValueError
            If there are no two such columns.
        """
        model = drawn(cls, estimator, "means_")
        p, (i, j) = model.n_features_in_, columns
        if i == j or not all(-p <= c < p for c in columns):
            raise ValueError(f"columns must be two of the {p} columns, got {columns!r}")
        features = getattr(model, "feature_names_in_", [f"x{k}" for k in range(p)])
        pair = [i, j]
        return cls(
            X=check_array(X, ensure_all_finite="allow-nan")[:, pair],
            labels=model.predict(X),
            weights=model.weights_,
            means=model.means_[:, pair],
            covariances=_matrices(model.covariances_, p)[:, pair][:, :, pair],
            names=[str(features[i]), str(features[j])],
        ).plot(ax)

    def plot(self, ax: Any = None, **scatter_params: Any) -> Self:
        ax = axes(self, ax, figsize=(5.2, 4.8))
        from matplotlib.patches import Ellipse

        for k, (weight, mean, covariance) in enumerate(zip(self.weights, self.means, self.covariances)):
            color, own = COLORS[k % len(COLORS)], self.X[self.labels == k]
            style = dict(s=16, alpha=0.55, linewidths=0) | marker_style(k) | scatter_params
            ax.scatter(own[:, 0], own[:, 1], label=f"component {k}: {weight:.0%}", **style)
            std, angle = _axes_of(covariance)
            for n_std, line in ((1, 1.8), (2, 0.9)):
                width, height = 2 * n_std * std
                style = dict(facecolor="none", edgecolor=color, linewidth=line, zorder=3)
                ax.add_patch(Ellipse(mean, width, height, angle=angle, **style))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        margin = 0.2 * (high - low)  # of the rows: an empty component is as wide as its prior
        ax.set(xlim=(low[0] - margin[0], high[0] + margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self


def _matrices(covariances: np.ndarray, p: int) -> np.ndarray:
    """Covariances (K, p, p) of components that have matrices, variances of columns or one for all."""
    if covariances.ndim == 3:
        return covariances
    return np.reshape(covariances, (len(covariances), -1, 1)) * np.eye(p)


def _axes_of(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Standard deviations along the axes of an ellipse, and the angle of the one nearer to x, in degrees."""
    variances, directions = np.linalg.eigh(covariance)
    if abs(directions[0, 0]) < abs(directions[0, 1]):
        variances, directions = variances[::-1], directions[:, ::-1]
    x, y = directions[:, 0] * np.sign(directions[0, 0])
    return np.sqrt(variances), float(np.degrees(np.arctan2(y, x)))
