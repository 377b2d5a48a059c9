"""Rows with names: weights and probabilities as bars, parameters of a regression with posterior intervals."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..estimators import curves, level_effects
from ._style import (
    BAND,
    COLORS,
    Picture,
    axes,
    drawn,
    feature_names,
    intervals,
    legend,
    line_style,
    marker_style,
    named_rows,
)


class InclusionProbabilitiesDisplay(Picture):
    """Posterior probability of each column to be in the model, as a bar; those that are selected are filled.

    Parameters
    ----------
    probabilities : ndarray of shape (n_features,)
    selected : ndarray of shape (n_features,)
        Which columns are selected, bool.
    names : sequence of str

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import EvidenceFeatureSelector
    >>> from sgevidence.displays import InclusionProbabilitiesDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = EvidenceFeatureSelector(standardize=True).fit(X, y)
    >>> display = InclusionProbabilitiesDisplay.from_estimator(selector)
    >>> display.ax_.get_yticklabels()[2].get_text()
    'bmi'
    """

    probabilities: np.ndarray
    selected: np.ndarray
    names: Sequence[str]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the columns of a fitted selector, in their order.

        Parameters
        ----------
        estimator : EvidenceFeatureSelector
            Fitted, alone, frozen or at the end of a pipeline.
        """
        model = drawn(cls, estimator, "inclusion_probabilities_")
        check_is_fitted(model)
        shown = cls(
            probabilities=model.inclusion_probabilities_,
            selected=model.get_support(),
            names=feature_names(estimator, model, model.n_features_in_),
        )
        return shown.plot(ax)

    def plot(self, ax: Any = None, **bar_params: Any) -> Self:
        ax = named_rows(self, ax, self.names, line=0.5)
        colors = [COLORS[0] if chosen else "white" for chosen in self.selected]
        style = dict(color=colors, edgecolor=COLORS[0], height=0.6) | bar_params
        ax.barh(np.arange(len(self.names)), self.probabilities, **style)
        ax.set(xlabel="probability of being in the model", xlim=(0, 1.02))
        return self


class WeightsDisplay(Picture):
    """Each weight as a bar, with the interval that it is known to.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    low, high : ndarray of shape (n,)
        Bounds of the 90 % intervals.
    names : sequence of str
    label : str, default="weight"
        Label of the axis: what the weights belong to.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM
    >>> from sgevidence.displays import WeightsDisplay
    >>> X = scale(load_iris().data[:, 2:])
    >>> display = WeightsDisplay.from_estimator(BayesianGMM(2, random_state=0).fit(X))
    >>> display.weights.shape
    (2,)
    """

    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: Sequence[str]
    label: str = "weight"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted averager's or mixture's weights.

        Parameters
        ----------
        estimator : EvidenceModelAverager or BayesianGMM
            An averager shows its models' weights and their ``weights_interval_``; a mixture shows its
            components' shares and their posterior.

        Raises
        ------
        ValueError
            If it has no weights.
        """
        model = drawn(cls, estimator, "posterior_samples", "named_estimators_")
        if hasattr(model, "named_estimators_"):
            names = list(model.named_estimators_)
            low, high = model.weights_interval_
            label = "model weight (90 % interval of its error)"
            return cls(weights=model.weights_, low=low, high=high, names=names, label=label).plot(ax)
        named = model.posterior_samples()
        if "weights" not in named:
            raise ValueError(f"{type(model).__name__} has no weights, only {sorted(named)}")
        low, high = np.quantile(named["weights"], [0.05, 0.95], axis=0)
        names = [f"component {k}" for k in range(len(low))]
        label = "share of the rows (90 % interval)"
        return cls(weights=model.weights_, low=low, high=high, names=names, label=label).plot(ax)

    def plot(self, ax: Any = None, **bar_params: Any) -> Self:
        ax = named_rows(self, ax, self.names, each=0.4, line=None)
        rows = np.arange(len(self.names))
        ax.barh(rows, self.weights, **(dict(color=COLORS[5], height=0.6) | bar_params))
        ax.hlines(rows, self.low, self.high, color="black", linewidth=1.6)
        ax.set(xlabel=self.label, xlim=(0, 1 if np.max(self.high) > 0.5 else None))
        return self


class SmoothDisplay(Picture):
    """A curve of one column, its straight line included: posterior mean and 90 % band.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values of the column, in its own unit.
    draws : ndarray of shape (M, n), or (n_levels, M, n) with levels
        Curves, in the unit of the linear predictor: of y in linear regression.
    column : str
    levels : sequence of str, default=()
        Levels of the factor or group that have a curve each.

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

    x: np.ndarray
    draws: np.ndarray
    column: str
    levels: Sequence[str] = ()

    @classmethod
    def from_estimator(cls, estimator: Any, *, column: Any = None, ax: Any = None) -> Self:
        """Draw one curve of a fitted regression.

        Parameters
        ----------
        estimator : fitted estimator
            With a :class:`Smooth` or :class:`BSpline` term, alone, frozen or at the end of a pipeline.
        column : str or int, optional
            Column of the curve; by default that of the first. Where a factor's levels have a curve each, all
            are drawn; that of one level is ``"x | level"``.

        Raises
        ------
        ValueError
            If the model has no such curve.
        """
        model = drawn(cls, estimator, "effects_")
        found = {curve.name: curve for curve in curves(model)}
        of_levels = {name: name.partition(" | ") for name in found if " | " in name}
        known = [*dict.fromkeys(of_levels.get(name, (name,))[0] for name in found), *of_levels]
        if not found or str(column) not in {"None", *known}:
            raise ValueError(f"{type(model).__name__} has no curve of {column!r}: it has those of {known}")
        name = known[0] if column is None else str(column)
        if name in found:
            return cls(x=found[name].x, draws=found[name].f, column=name).plot(ax)
        own = [found[one] for one, parts in of_levels.items() if parts[0] == name]
        levels = [of_levels[curve.name][2] for curve in own]
        return cls(x=own[0].x, draws=np.array([curve.f for curve in own]), column=name, levels=levels).plot(
            ax
        )

    def plot(self, ax: Any = None) -> Self:
        ax = axes(self, ax, figsize=(6.0, 4.0))
        for k, draws in enumerate(np.reshape(self.draws, (-1, *np.shape(self.draws)[-2:]))):
            style = line_style(k) | ({"label": self.levels[k]} if self.levels else {})
            low, high = np.quantile(draws, [0.05, 0.95], axis=0)
            ax.fill_between(self.x, low, high, color=style["color"], **BAND)
            ax.plot(self.x, draws.mean(axis=0), **style)
        legend(ax, len(self.levels))
        ax.set_xlabel(self.column.partition(" | ")[0])  # one curve per level: the axis is the column's
        ax.set_ylabel(f"effect of {self.column}\n(mean and 90 % band)")
        return self


class EffectsDisplay(Picture):
    """Effect of each level of a group or a factor: posterior mean, 50 % and 90 % interval, sorted.

    Parameters
    ----------
    draws : ndarray of shape (M, n_levels)
        Posterior draws.
    levels : sequence of str
    term : str
        Name of the term, as ``effects_`` has it, or what several terms are.
    scale : str, default=""
        The quantity that effects are added to, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, Group
    >>> from sgevidence.displays import EffectsDisplay
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 5, 100)
    >>> y = 2.0 * group + rng.standard_normal(100)
    >>> model = BayesianLinearRegression(terms=[Group(0)], random_state=0).fit(group[:, None], y)
    >>> display = EffectsDisplay.from_estimator(model)
    >>> display.ax_.get_yticklabels()[0].get_text()
    '4'
    """

    draws: np.ndarray
    levels: Sequence[str]
    term: str
    scale: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, term: str | None = None, ax: Any = None) -> Self:
        """Draw the terms of a fitted regression, or one of them.

        Parameters
        ----------
        estimator : fitted estimator
            With ``terms`` or a ``formula``, alone, frozen or at the end of a pipeline.
        term : str, optional
            Such as ``"days | subject"``; by default all of ``effects_``, each level behind its term's name.

        Raises
        ------
        ValueError
            If there is no such term; the message has those that there are.
        """
        model = drawn(cls, estimator, "effects_")
        effects = (
            level_effects(model, model.posterior_samples()) if getattr(model, "_has_terms", False) else []
        )
        terms = list(dict.fromkeys(effect.term for effect, _ in effects))
        if not terms or term not in {None, *terms}:
            raise ValueError(f"{type(model).__name__} has no term {term!r}: its terms of levels are {terms}")
        shown = terms if term is None else [term]
        prefix = "{0}: {1}" if len(shown) > 1 else "{1}"
        of_classes = len(effects) > len({(effect.term, effect.level) for effect, _ in effects})
        chosen = [
            (effect.label if of_classes else prefix.format(effect.term, effect.level), draws)
            for effect, draws in effects
            if effect.term in shown
        ]
        levels, draws = zip(*chosen)
        link = getattr(
            getattr(model, "_family", None), "link", "logit" if is_classifier(model) else "identity"
        )
        name = (getattr(model, "formula", None) or "").partition("~")[0].strip() or "y"
        of_link = f" ({link} link)" if link else ""
        is_y = link == "identity"
        scale = f"added to {name}" if is_y else f"added to the linear predictor of {name}{of_link}"
        head = shown[0] if len(shown) == 1 else "effects"
        return cls(draws=np.column_stack(draws), levels=levels, term=head, scale=scale).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        order = np.argsort(-self.draws.mean(axis=0))
        max_levels = 40  # levels that are drawn at most: the lowest and the highest
        if len(order) > max_levels:
            order = np.concatenate([order[: max_levels // 2], order[-max_levels // 2 :]])
        ax = named_rows(self, ax, [str(self.levels[k]) for k in order])
        intervals(ax, self.draws[:, order], np.arange(len(order)), None, **marker_style(0))
        left_out = len(self.levels) - len(order)
        middle = f"; {left_out} levels between are left out" if left_out else ""
        scale = f"{self.scale}\n" if self.scale else ""
        ax.set_xlabel(f"{self.term} {scale}(mean, 50 % and 90 % interval{middle})")
        return self


class CoefficientsDisplay(Picture):
    """Posterior mean, 50 % and 90 % interval of each coefficient; a colour a class for a classifier.

    Parameters
    ----------
    draws : ndarray of shape (M, n_classes, n_features)
        Posterior draws; one class for a regression, and for a logistic one.
    features : sequence of str
        Names of the columns.
    classes : sequence of str
        Classes that the coefficients make more probable.

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

    draws: np.ndarray
    features: Sequence[str]
    classes: Sequence[str] = ("",)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted regression's coefficients.

        Parameters
        ----------
        estimator : fitted estimator
            Whose ``posterior_samples()`` have ``"coef"``, alone, frozen or at the end of a pipeline.

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

    def plot(self, ax: Any = None) -> Self:
        K, p = len(self.classes), len(self.features)
        ax = named_rows(self, ax, self.features, each=0.22 + 0.14 * K)
        offsets = np.linspace(-0.3, 0.3, K) if K > 1 else [0.0]
        for k, (name, offset) in enumerate(zip(self.classes, offsets)):
            intervals(ax, self.draws[:, k], np.arange(p) + offset, name or None, **marker_style(k))
        whose = f" of class {self.classes[0]}" if K == 1 and self.classes[0] else ""
        ax.set_xlabel(f"coefficient{whose} (mean, 50 % and 90 % interval)")
        if K > 1:
            ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), title="class")
        return self
