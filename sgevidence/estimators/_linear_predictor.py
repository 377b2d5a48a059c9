"""Estimators with a linear predictor: columns, terms, units of coefficients and of the intercept.

Curves that ask for more splines than they have, by two signs.

1. The rows decide most of the effects around the line: the mean of 1 − var(v) over effects v, whose prior
   variance is one.
2. The curve is far too smooth and leaves its rest in the residuals: those of neighbours are alike,

       r₁ = Σ e_k e_{k+1} / Σ e_k²,        r₁ ~ N(0, 1/m) of m cells without a rest,

   e_k the sum over rows of the same x and level of score/√curvature, over √(rows), in the order of x.

Symbols: ``e`` = residuals of cells (m,), ``v`` = effects (M, k).
"""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np

from .._compat import Interval
from ..effects import PREDICTED, Cycle, Smooth, has_dot
from ..history import Rows
from ..particles import spread
from ..rows import column_indices, validated
from ..units import LINK_SCALE, CodedUnits, Fold, Units, fold_of_numbers
from ._base import EvidenceEstimator
from ._conditional import ConditionalEstimator
from ._effects import effects_table, variance_shares
from ._reporting import PosteriorReports
from ._response import target_in, without
from ._standardising import learnt
from ._terms import (
    coded,
    learn_new_levels,
    named_effects,
    place_names,
    plain_rows,
    prior_words,
    read_columns,
    read_pair,
    response_made,
    rows_of_fewer_levels,
    terms_of,
)

#: Share of a curve's effects that the rows decide, beyond which it asks for more splines: on mcycle of R it
#: is 0.71 of k = 10, 22 nats too few, 0.65 of k = 15, 0.9 nats, and 0.52 of k = 20, 0.1 nats.
MAX_DECIDED_SHARE = 0.6
#: Errors of r₁ beyond which neighbours are alike, one fit in 30 000; cells at least, and rows and draws at
#: most, of which it is made.
MAX_NEIGHBOUR_ERRORS, MIN_CELLS, MAX_RESIDUAL_ROWS, N_RESIDUAL_DRAWS = 4.0, 40, 20_000, 100


def rough_curve(model: Any, rows: Rows) -> str | None:
    """A sentence on a curve that asks for more splines than it has; None without one.

    ``rows`` are those of the last call, in the units of the model.
    """
    if not any(isinstance(term, Smooth) for term in terms_of(model)):
        return None
    effects = model._model.layout.split(model.particles_)[1]
    for term, v in zip(model._units.coding.block_terms, effects):
        if not isinstance(term, Smooth):
            continue
        decided = 1 - np.mean(v.reshape(len(v), -1).var(axis=0))
        remedy = "more knots" if term.knots else f"k={2 * term.n_basis}, which is n_basis= of Smooth"
        if decided > MAX_DECIDED_SHARE:
            return (
                f"{term.name} is as rough as its splines allow: a rougher curve may be better, give {remedy}"
            )
        if neighbours_are_alike(model, term, rows):
            return (
                f"residuals of neighbouring values of {term.column} are alike: {term.name} has too few "
                f"splines, or these rows depend on one another; give {remedy}"
            )
    return None


def curve_that_ends(model: Any, rows: Rows) -> str | None:
    """A sentence on rows of a stream beyond the knots of its first call; None without such rows."""
    coding, units = model._units.coding, model._units.units
    for term in coding.terms:
        curve = coding.curves.get(term.name)
        if not isinstance(term, Smooth) or term.period is not None:
            continue
        j = coding.columns.linear.index(term.column)
        x, (low, high) = coding.numbers(rows.X)[:, j], curve.splines.range
        if ((x < low) | (x > high)).any():
            ends = [f"{units.center[j] + units.scale[j] * end:.4g}" for end in (low, high)]
            return (
                f"{term.name} has its knots from {ends[0]} to {ends[1]}, the range of the first call, and "
                "goes on as a line beyond, where later rows lie: a fit of all rows is another model, with "
                "another evidence; let the first call have rows of the whole range"
            )
    return None


def words_of_first_rows(model: Any) -> str:
    """How many rows have made knots and statistics of a stream, which is no fit of all rows."""
    formulas = [] if model.formula is None else [model._formula, *filter(None, [model._other])]
    made = any(str(name).startswith(("poly(", "scale(", "center(")) for one in formulas for name in one.made)
    codings = filter(None, [model._units.coding, model._units.coding.other])
    made |= any(not isinstance(one, Cycle) for coding in codings for one in coding.curves.values())
    n = model._units.coding.n_rows
    return f", knots and polynomials of the first {n} rows" * (made and model.n_samples_seen_ > n)


def neighbours_are_alike(model: Any, term: Smooth, rows: Rows) -> bool:
    """Whether residuals at neighbouring values of a curve's column have the same sign."""
    X, y = rows.X[:MAX_RESIDUAL_ROWS], np.asarray(rows.y, dtype=float)[:MAX_RESIDUAL_ROWS]
    _, cell = np.unique(places_along(model, term, X), axis=0, return_inverse=True)
    cell, counts = cell.ravel(), np.bincount(cell.ravel())
    if len(counts) < MIN_CELLS:
        return False
    theta = model.particles_[spread(model.particle_weights_, N_RESIDUAL_DRAWS)]
    eta, *others = model._model._distribution(theta, X)
    given = [one.mean(axis=0) if one.shape == (len(theta), 1) else one for one in others]
    family, eta = model._model.family, eta.mean(axis=0)
    h = np.maximum(family.curvature(eta, y, *given), np.finfo(float).tiny)
    e = np.bincount(cell, rows.weight[: len(y)] * family.score(eta, y, *given) / np.sqrt(h)) / np.sqrt(counts)
    e = e - e.mean()
    return bool(e[1:] @ e[:-1] > MAX_NEIGHBOUR_ERRORS / np.sqrt(len(e)) * (e @ e))


def places_along(model: Any, term: Smooth, X: np.ndarray) -> np.ndarray:
    """Level and value of the column of a curve of encoded rows, (n, 2)."""
    names = model._units.coding.column_terms
    first = names.index(term.name)
    last = first + model._units.coding.curves[term.name].n_effects
    if term.period is None:
        x = X[:, names.index(str(term.column))]
    else:  # the first harmonic
        x = np.arctan2(X[:, first + term.n_basis // 2], X[:, first]).round(9)
    return np.column_stack([X[:, last], x])


#: How columns are read: their names, levels, and the means and polynomials of functions of them.
READING = ("n_features_in_", "feature_names_in_", "_formula", "_other", "_lines", "_read", "columns_")


class LinearCoefficients(PosteriorReports):
    """Posterior moments of coefficients and intercept."""

    @learnt
    def coef_(self) -> np.ndarray:
        """Posterior mean of the coefficients."""
        return self._posterior_mean_and_std("coef")[0]

    @learnt
    def coef_std_(self) -> np.ndarray:
        """Posterior standard deviation of the coefficients."""
        return self._posterior_mean_and_std("coef")[1]

    @property
    def intercept_(self) -> Any:
        """Posterior mean of the intercept; 0.0 without one."""
        if not getattr(self, "_fits_intercept", self.fit_intercept):
            return 0.0
        self._must_have_learnt("intercept_")
        mean = self._posterior_mean_and_std("intercept")[0]
        return mean if mean.ndim else float(mean)

    def _prior_notes(self) -> list[str]:
        stated = f"coefficients N(0, {self.coef_scale:g}²)"
        if getattr(self, "_fits_intercept", self.fit_intercept):  # an ordinal family has thresholds
            stated += f", intercept N({'b₀' if self._has_origin else '0'}, {self._intercept_scale:g}²)"
        stated = ", ".join([stated, *self._priors_beside_eta()])
        classes: Any = getattr(self, "classes_", ())
        if len(classes) != 2 or self.coef_.ndim > 1:
            return self._said(stated)
        return [f"coefficients: of class {classes[1]}, against {classes[0]}", *self._said(stated)]

    def _priors_beside_eta(self) -> list[str]:
        """Priors of parameters that are not in the linear predictor."""
        return []

    @property
    def _intercept_scale(self) -> float:
        return 1.0 if self.intercept_scale is None else float(self.intercept_scale)

    @property
    def _has_origin(self) -> bool:
        """Whether the intercept is measured from the link of the mean."""
        return self._units is not None and self._kind != "numbers"


class KnownOrUnknownNoise(PosteriorReports):
    """Posterior mean of the noise of a linear regression."""

    #: Common σ of the model where rows have standard errors, in the unit of y; None: without any
    _std_unit: float | None = None

    def _priors_beside_eta(self) -> list[str]:
        if self._std_unit is not None:
            return []
        if self.noise_std is not None:
            return [f"known noise_std {self.noise_std:g}"]
        if self.noise_prior is not None:
            return ["noise_std² InvGamma({:g}, {:g})".format(*self.noise_prior)]
        return [f"noise_std half-t(3, {1.0 if self.noise_scale is None else self.noise_scale:g})"]

    @learnt
    def noise_std_(self) -> float:
        """Posterior mean of σ, or the known σ."""
        if self.noise_std is not None:
            return self.noise_std
        return float(self._posterior_mean_and_std("noise_std")[0])


class LinearPredictor(LinearCoefficients, ConditionalEstimator):
    """Estimators whose model names its parameters ``coef`` and ``intercept``."""

    _model: Any  #: with ``predictive_mean``, ``predictive_std``, or ``log_probabilities``
    terms: Sequence | None = None  #: of those that have the parameter
    formula: str | None = None  #: of those that have the parameter
    _other: Any = None  #: formula of another parameter
    effect_scale: float = 1.0  #: of those that have the parameter
    evidence_is_relative_ = False  #: to a null model
    _named_columns: tuple[str, ...] = ()  #: columns of a frame that are no columns of X

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "columns": ["array-like", None],
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither"), None],
        "standardize": ["boolean"],
        "units": [Units, None],
    }

    def _judge(self, rows: Rows, starts: bool) -> None:
        super()._judge(rows, starts)
        if not self._has_terms:
            return
        for words in (rough_curve(self, rows), None if starts else curve_that_ends(self, rows)):
            if words is not None and words not in self._doubts:
                self._doubt(words)

    def _validate_pair(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[np.ndarray, Any]:
        """The columns of X that the model uses, and y; scikit-learn's checks see all columns."""
        if self._has_terms:
            if reset and self._of_call is not None:  # a chunk is read as all rows of its call
                read, reset = vars(self._of_call), False
                self.__dict__ |= {name: read[name] for name in READING if name in read}
            return read_pair(self, X, y, reset, **checks)
        X, y = validated(self, X, y, reset=reset, order="C", **checks)
        if (fields := y.dtype.names) is not None:
            raise ValueError(
                f"y has the fields {', '.join(fields)}: give one of them as y, and events as "
                f"event=y[{fields[0]!r}]"
            )
        if checks.get("y_numeric") and y.dtype.kind not in "fiub":
            raise ValueError(f"y must be numbers, got {y.dtype.name}, such as {y[0]!r}")
        self._refuse_extreme(X=X, y=np.asarray(y))
        if reset:
            names = getattr(self, "feature_names_in_", None)
            self.columns_ = column_indices(self.columns, X.shape[1], names)
            if not (len(self.columns_) or self.fit_intercept or getattr(self, "noise_std", 1.0) is None):
                raise ValueError(
                    "a model without columns and without an intercept has no parameters: its log evidence "
                    "is its log-likelihood, and there is nothing to learn"
                )
        return self._used(X), y

    def _columns_of(self, X: Any) -> np.ndarray:
        if self._has_terms:
            return read_columns(self, X, False)
        return self._used(super()._columns_of(X))

    def _first_of_levels(self, X: Any) -> np.ndarray:
        """Numbers of rows that show all levels of the columns of terms; this copy learns nothing."""
        read = read_columns(self, X, True)
        codes = read[:, read.shape[1] - len(self._read.levels) :]
        found = [np.unique(column, return_index=True)[1] for column in codes.T]
        return np.unique(np.concatenate([[0], *found])).astype(int)

    def _without_named(self, X: Any) -> Any:
        """Rows without columns named for what is known of y, which a formula has where it says so itself."""
        if not self._named_columns or (self.formula is not None and not has_dot(self.formula)):
            return X
        return without(X, self._named_columns)

    @property
    def _fits_intercept(self) -> bool:
        return self._wants_intercept

    @property
    def _wants_intercept(self) -> bool:
        """Whether the parameter, and the formula, have an intercept."""
        formula = getattr(self, "_formula", None) if self.formula is not None else None
        return bool(self.fit_intercept) and (formula is None or formula.intercept)

    @property
    def _has_terms(self) -> bool:
        """Whether columns are those of terms, or of a formula."""
        has_other = any(getattr(self, label, None) is not None for label in PREDICTED)
        return self.terms is not None or self.formula is not None or self.evidence_is_relative_ or has_other

    @property
    def _draws_tell_priors(self) -> bool:  # type: ignore[override]
        """Draws of terms are in units of their priors' scales."""
        return not self._has_terms

    @property
    def _contrast_terms(self) -> list[str]:  # type: ignore[override]
        means: dict[str, np.ndarray] = self._units.coding.means if isinstance(self._units, CodedUnits) else {}
        return [name for name, mean in means.items() for _ in mean]

    @property
    def _reads(self) -> dict[str, bool]:
        """Columns that are read by name are checked where they are read."""
        return super()._reads | {"by_name": self._has_terms}

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None) -> Self:
        y = target_in(self, X, y)
        return super()._learn(X, y, sample_weight, reset=reset, classes=classes)

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        if not self._has_terms:
            return super()._take_units(rows, may_wait, fold)
        whole = self._of_call
        if whole is not None and whole._units is not None and self._read is whole._read:
            self._units = whole._units
            return True
        plain = fold and fold_of_numbers(fold, len(self.columns_), self._read.n_apart)  # type: ignore
        known = super()._take_units(plain_rows(self, rows), may_wait, plain)
        if known:  # levels that came while rows were held are coded anew
            units = self._units.units if isinstance(self._units, CodedUnits) else self._units
            self._units = coded(self, rows, units, self._kind)  # type: ignore[assignment]
        else:
            self._held = rows.copy()
        return known

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        if self._has_terms and not reset:
            learn_new_levels(self, X)
        return super()._rows(X, y, sample_weight, reset, classes)

    def _update(self, sampler: Any, rows: Rows, reset: bool, progress: Any) -> None:
        """As a fit of all rows, where levels that none had have made the model of the kept ones another."""
        if not reset and (kept := rows_of_fewer_levels(self)) is not None:
            rows, reset = kept.join(rows), True
        super()._update(sampler, rows, reset, progress)

    @learnt
    def effects_(self) -> Any:
        """Posterior mean and standard deviation of the effect of every level, one row per term and level.

        A DataFrame, or a Table where pandas is not installed.  Effects of a group are deviations from the
        population, those of a factor sum to zero, and slopes are per unit of their column.  Effects that go
        with slopes, ``by=`` or products, are those at the mean of the column, or at ``origin=`` of a group.
        """
        if not self._has_terms:
            raise AttributeError("effects_ are those of terms, and this model has none")
        return effects_table(self)

    def variance_shares(self, X: Any) -> Any:
        """How much of the variance of these rows each term explains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        DataFrame, or Table where pandas is not installed
            One row per column and term, and one of the noise where y is Gaussian: posterior mean ``share``
            and its 90 % interval, ``5%`` and ``95%``.  Variances are those of the parts of the linear
            predictor over the rows, of one draw at a time, and their sum is one; what two parts share is
            counted for neither.

        Raises
        ------
        AttributeError
            If the model has neither groups nor curves.
        """
        return variance_shares(self, self._validate_X(X))

    def _said(self, priors: str) -> list[str]:
        return super()._said(
            priors + prior_words(self) + words_of_first_rows(self) if self._has_terms else priors
        )

    def _summarised(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Effects of the levels of factors, and of ordered levels, by their own names."""
        if not self._has_terms or named.get("fixed_effects", np.empty((0, 0))).ndim != 2:
            return super()._summarised(named)  # of each class they stay together
        kept = {name: values for name, values in named.items() if name != "fixed_effects"}
        return super()._summarised(kept | named_effects(self, named))

    @property
    def _place_names(self) -> dict[str, list[str]]:
        return {} if not self._has_terms else place_names(self)

    @property
    def units_(self) -> Units:
        """Units of columns and y in which the priors are stated, for ``units=`` of another estimator."""
        found = super().units_
        return found.units if isinstance(found, CodedUnits) else found

    def _watch_units(self, rows: Rows, starts: bool) -> None:
        if isinstance(self._units, CodedUnits):
            rows = replace(rows, X=self._units.coding.numbers(rows.X))
        if self.standardize:
            super()._watch_units(rows, starts)

    @learnt
    def intercept_scale_(self) -> float:
        """Prior standard deviation of the intercept that was used."""
        return self._intercept_scale

    @property
    def _intercept_scale(self) -> float:
        """1 in units of y and for numbers as given; wider where the intercept is measured from the link."""
        if self.intercept_scale is not None:
            return float(self.intercept_scale)
        return LINK_SCALE if self.standardize and self._kind != "numbers" else 1.0

    def _known_units(self, units: Units) -> Units:
        response = response_made(self)
        if units.response != response:
            words = [getattr(one, "words", "y as it is") for one in (units.response, response)]
            raise ValueError(f"units= are those of a model of {words[0]}, and this is a model of {words[1]}")
        return units.selected(self.columns_.tolist(), self._kind, self._names_of_units)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        if self._response is not None:
            return ()
        one = theta[None], np.ones(1), X
        mean, std = self._model.predictive_mean(*one), self._model.predictive_std(*one)
        if hasattr(self, "classes_"):
            return (np.column_stack([1 - mean, mean]),)
        return self._decode(mean), std * self._unit_of_y

    @property
    def _unit_of_y(self) -> float:
        return 1.0 if self._units is None else self._units.y_scale

    def _column_names(self) -> list[str]:
        return list(map(str, self._read.linear)) if self._has_terms else super()._column_names()

    def _used(self, X: np.ndarray) -> np.ndarray:
        return X if self.columns is None else np.take(X, self.columns_, axis=1)
