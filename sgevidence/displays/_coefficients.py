"""Coefficients of a regression with posterior intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._drawn import drawn, feature_names
from ._style import GREY, axes, intervals, marker_style, name_rows


class CoefficientsDisplay:
    """Posterior mean, 50 % and 90 % interval of each coefficient; a colour a class for a classifier.

    Parameters
    ----------
    draws : ndarray of shape (M, n_classes, n_features)
        Posterior draws; one class for a regression, and for a logistic one.
    features : sequence of str
        Names of the columns.
    classes : sequence of str
        Classes that the coefficients make more probable.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.displays import CoefficientsDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = BayesianLinearRegression(0.7, random_state=0).fit(X / X.std(), scale(y))
    >>> display = CoefficientsDisplay.from_estimator(model)
    >>> display.ax_.get_yticklabels()[2].get_text()
    'bmi'
    """

    def __init__(self, *, draws: np.ndarray, features: Sequence[str], classes: Sequence[str] = ("",)):
        self.draws, self.features, self.classes = draws, features, classes

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "CoefficientsDisplay":
        """Draw a fitted regression's coefficients.

        Parameters
        ----------
        estimator : fitted estimator
            Whose ``posterior_samples()`` have ``"coef"``, alone, frozen or at the end of a pipeline.
        ax : matplotlib Axes, optional

        Returns
        -------
        CoefficientsDisplay

        Raises
        ------
        ValueError
            If it has no coefficients.
        """
        model = drawn(cls, estimator, "posterior_samples")
        named = model.posterior_samples()
        if "coef" not in named:
            raise ValueError(f"{type(model).__name__} has no coefficients, only {sorted(named)}")
        draws = named["coef"]
        classes = [str(c) for c in model.classes_] if draws.ndim == 3 else [""]
        features = feature_names(estimator, model, draws.shape[-1])
        of_one = draws.ndim == 2 and len(getattr(model, "classes_", ())) == 2
        return cls(
            draws=draws.reshape(len(draws), len(classes), len(features)),
            features=features,
            classes=[str(model.classes_[1])] if of_one else classes,
        ).plot(ax)

    def plot(self, ax: Any = None) -> "CoefficientsDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.

        Returns
        -------
        CoefficientsDisplay
        """
        K, p = len(self.classes), len(self.features)
        ax = axes(self, ax, figsize=(6.0, 1.0 + p * (0.22 + 0.14 * K)))
        ax.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
        offsets = np.linspace(-0.3, 0.3, K) if K > 1 else [0.0]
        for k, (name, offset) in enumerate(zip(self.classes, offsets)):
            intervals(ax, self.draws[:, k], np.arange(p) + offset, name or None, **marker_style(k))
        name_rows(ax, self.features)
        whose = f" of class {self.classes[0]}" if K == 1 and self.classes[0] else ""
        ax.set_xlabel(f"coefficient{whose} (mean, 50 % and 90 % interval)")
        if K > 1:
            ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), title="class")
        return self
