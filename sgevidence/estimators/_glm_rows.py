"""Rows of a generalised linear model: what its family takes for X, y and what is known, and their units."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ..effects import EffectsModel, evaluated, offset_of
from ..history import Rows
from ..models import (
    FAMILIES,
    Bernoulli,
    Bounded,
    Family,
    FarColumns,
    GLMModel,
    Ordinal,
    PiecewiseExponential,
    Times,
    near,
    refuse_no_counts,
    refuse_two_values,
)
from ..rows import (
    WithKnown,
    at_once,
    categories_of,
    has_bounds,
    joined,
    label_indices,
    numeric_levels,
    parted,
    read_labels,
    refuse_unreadable,
    two_labels,
    with_known,
)
from ..units import Fold, Units, intercept_center
from ._linear_predictor import LinearPredictor
from ._response import (
    bounds_and_entries,
    breaks_of,
    columns_of,
    doubt_of_bounds,
    fold_of_plain,
    identity,
    no_bounds,
    plain_rows,
    read_names,
)
from ._terms import effects_model, response_made

#: How bounds were given, in words.
BOUNDS_IN_WORDS = {"event": "an event", "lower": "bounds", "entry": "an entry"}
#: Links whose offset is the logarithm of an exposure or of odds.
LOGARITHMIC = ("log", "logit", "probit")
#: Range of an offset, nats, that no exposure has: e⁵⁰ is the ratio of the age of the universe to 10⁻⁴ s.
MAX_OFFSET_RANGE_NATS = 50.0


class GLMRows(LinearPredictor):
    """Validated rows, units and the model of a :class:`BayesianGLM`."""

    _model: GLMModel | FarColumns
    _has_offset = False
    _offset_range = (np.inf, -np.inf)  #: least and largest offset of the rows seen
    _bounds_given: tuple[str, ...] = ()  #: how bounds of the rows seen were given
    _breaks: tuple[float, ...] = ()  #: at which hazards change
    _takes_known = True

    @property
    def _family(self) -> Family:
        """Poisson where none is named; tags are asked for before the parameter is validated."""
        default = FAMILIES["poisson"]
        family = self.family if isinstance(self.family, Family) else FAMILIES.get(str(self.family), default)
        if isinstance(family, Ordinal) and len(getattr(self, "classes_", ())) > 1:
            return replace(family, n_levels=len(self.classes_))
        if isinstance(family, PiecewiseExponential) and self._breaks:
            family = replace(family, breaks=self._breaks)
        return Bounded(family) if self._bounds_given or isinstance(family, Times) else family

    @property
    def _is_classifier(self) -> bool:
        return self._family.is_classifier

    def _priors_beside_eta(self) -> list[str]:
        return self._family.plain.prior_names()

    @property
    def _fits_intercept(self) -> bool:
        return self._wants_intercept and self._family.has_intercept

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        if classes is None and reset and isinstance(self._family, Ordinal):
            classes = categories_of(y)
        if not (reset or self._has_offset) and with_known(X).offset is not None:
            raise ValueError(
                "the model was fitted without an offset, and has forgotten the exposure of those rows: give "
                "offset=0.0 in the first call for none"
            )
        known, y = self._told(with_known(X), y, reset)
        given = tuple(name for name in ("event", "lower", "entry") if getattr(known, name) is not None)
        if reset:
            if self.breaks is not None and not isinstance(self._family.plain, PiecewiseExponential):
                raise ValueError("breaks= are those of family='piecewise_exponential'")
            self._bounds_given = given if self._family.plain.has_tails else ()
        self._refuse_other_bounds(given, reset)
        if self._has_bounds and y is not None:
            sample_weight = self._weights_of(known, y, sample_weight)
        rows = super()._rows(known, y, sample_weight, reset, classes)
        self._watch_offset(rows, reset)
        self._doubt(self._doubt_of(rows))
        return rows

    @property
    def _has_bounds(self) -> bool:
        return self._family.known == "bounds"

    def _identity(self, rows: Rows) -> np.ndarray:
        """Censored times are other data than events at the same times, and so are other trials."""
        y = super()._identity(rows)
        if self._family.known == "trials":
            return np.column_stack([y, rows.X[:, -1]])
        return identity(y, rows.X[:, -3:]) if self._has_bounds else y

    def _doubt_one_class(self, y: np.ndarray) -> None:
        """Doubt a fit to rows of one class; the first rows of a stream may well have one."""
        if len(y) and np.all(y == y[0]):
            label = self.classes_[int(y[0])]
            self._doubt(
                f"y has one class, {label}: these rows say how rare the other one is, and next to nothing of "
                "what tells the two apart"
            )

    def _watch_offset(self, rows: Rows, reset: bool) -> None:
        """Doubt an offset of rates that no exposure has, once: most often it is the exposure itself."""
        if not (self._has_offset and self._family.link in LOGARITHMIC and len(rows)):
            return
        offset = rows.X[:, -1 - self._family.n_known]
        low, high = (np.inf, -np.inf) if reset else self._offset_range
        was_wide = high - low > MAX_OFFSET_RANGE_NATS
        low, high = min(low, float(offset.min())), max(high, float(offset.max()))
        self._offset_range = low, high
        if high - low > MAX_OFFSET_RANGE_NATS and not was_wide:
            self._doubt(
                f"the offset goes from {low:.3g} to {high:.3g}, and is added to the logarithm of the rate or "
                "of the odds: give the logarithm of an exposure, np.log(exposure)"
            )

    def _doubt_of(self, rows: Rows) -> str | None:
        return self._family.doubt(rows.y)  # type: ignore[arg-type]

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """Offset and trials become the last columns of X."""
        known, family = self._with_offset(with_known(X)), self._family
        if reset:
            self._has_offset = known.offset is not None
        known = self._checked(known)
        refuse_unreadable(**self._reads, X=known.X)
        X, y = self._validate_pair(known.X, y, reset, y_numeric=not self._is_classifier)
        if isinstance(family, Ordinal):
            check_classification_targets(y := read_labels(y))
        elif self._is_classifier:
            y = read_labels(y)
            if (kind := type_of_target(y, input_name="y", raise_unknown=True)) != "binary":
                words = f"Only binary classification is supported. The type of the target is {kind}"
                raise ValueError(f"{words}: see BayesianSoftmaxRegression for more classes")
        elif self._has_bounds:
            y = np.ascontiguousarray(y, dtype=np.float64)
            bounds, entry = bounds_and_entries(family, y, known, X)
            family.plain.refuse(y if known.lower is None else y[bounds.lower == bounds.upper])
            columns = columns_of(family, bounds, entry)
            if reset:
                self._breaks = breaks_of(family.plain, self.breaks, bounds)
            return np.column_stack([joined(X, known), columns]), y
        else:
            if self.family is None:
                refuse_no_counts(y)
            X = joined(X, known)
            family.refuse(y, *([X[:, -1]] if family.known else []))
            return X, y
        return joined(X, known), y

    def _columns_of(self, X: Any) -> np.ndarray:
        known = self._checked(self._with_offset(with_known(X)))
        known = known._replace(X=self._without_named(known.X))
        X = joined(super()._columns_of(known.X), known)
        return np.column_stack([X, no_bounds(len(X))]) if self._has_bounds else X

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        X, y, _ = at_once(self, X, y)
        known, y = self._told(with_known(X), y, False)
        return super()._rows_to_score(known, y)

    def _told(self, known: WithKnown, y: Any, reset: bool) -> tuple[WithKnown, Any]:
        """Columns that are named, out of X, and y with one value for each row."""
        known, names = read_names(known)
        if reset:
            self._named_columns = names
        known = known._replace(X=self._without_named(known.X))
        family = self._family.plain
        if family.has_tails or family.is_classifier or not has_bounds(y):
            return parted(known, y) if family.has_tails else (known, y)
        raise ValueError(f"{type(family).__name__} takes no bounds, and y has two columns")

    def _weights_of(self, known: WithKnown, y: Any, sample_weight: Any) -> Any:
        """Weights, zero of rows whose bounds say nothing."""
        if known.lower is None:
            return sample_weight
        empty = (known.lower == -np.inf) & (known.upper == np.inf)
        if self._family.is_positive:
            empty = (known.lower <= 0) & (known.upper == np.inf)
        if not empty.any():
            return sample_weight
        if empty.all():
            raise ValueError("no row of y has a bound: these rows say nothing")
        weight = np.ones(len(empty)) if sample_weight is None else np.array(sample_weight, dtype=float)
        return np.where(empty, 0.0, weight) if weight.shape == empty.shape else sample_weight

    def _refuse_other_bounds(self, given: tuple[str, ...], reset: bool) -> None:
        """ValueError for bounds of a family that has none, and of a stream that has begun without them."""
        family = self._family.plain
        if given and not family.has_tails:
            raise ValueError(
                f"{type(family).__name__} has neither event nor entry: of times, numbers and counts y may be "
                "known by bounds"
            )
        if given and response_made(self) is not None:
            raise ValueError(
                f"formula={self.formula!r} makes numbers of y, which has bounds: make the bounds in the frame"
            )
        if given and self.family is None:
            raise ValueError("y has bounds, and no family is named: name the one that is meant")
        if not reset and given and not self._has_bounds:
            raise ValueError(
                "the model was fitted without bounds: give event=1.0 in the first call, if its y are exact"
            )
        if not reset and self._bounds_given and not given:
            raise ValueError(
                f"the rows before came with {BOUNDS_IN_WORDS[self._bounds_given[0]]}: give that of these "
                "rows, 1 if all times ended"
            )

    def _with_offset(self, known: WithKnown) -> WithKnown:
        """Rows with the offset of the formula."""
        tree = None if self.formula is None else offset_of(self.formula)
        if tree is None:
            return known
        if known.offset is not None:
            raise ValueError(
                f"formula={self.formula!r} has an offset, and offset= is given, too: give one of them"
            )
        if not hasattr(known.X, "columns"):
            raise TypeError("formula= names columns: give a data frame")
        return known._replace(offset=evaluated(tree, known.X))

    def _checked(self, known: WithKnown) -> WithKnown:
        """The known columns that the family has.

        Where rows before had an offset, zero in silence would be another exposure.
        """
        has, family = known.given, self._family
        if "offset" not in has and self._has_offset:
            raise ValueError(
                "the model was fitted with an offset: give the offset of these rows, 0.0 for none"
            )
        if family.known == "trials" and "trials" not in has:
            raise ValueError(
                "binomial needs trials=, the number of trials of each row, in every call; "
                "single outcomes, 0 or 1, are of 'bernoulli'"
            )
        if "trials" in has and family.known != "trials":
            raise ValueError("only binomial has trials")
        return known

    def _encode(self, y: Any, reset: bool, classes: Any) -> np.ndarray:
        """Numbers; of labels 0 and 1."""
        if isinstance(self._family, Ordinal):
            index = label_indices(self, y, reset, classes, of_first=numeric_levels, ordered=True)
            return index.astype(np.float64)
        if self._is_classifier:
            index = label_indices(self, y, reset, classes, of_first=two_labels)
            if len(self.classes_) != 2:
                raise ValueError(f"family='bernoulli' has two classes, not {self.classes_.tolist()}")
            return index.astype(np.float64)
        if classes is not None:
            raise ValueError("classes are those of family='bernoulli' and family='ordinal'")
        if reset and hasattr(self, "classes_"):
            del self.classes_  # of another family
        return y.astype(np.float64, copy=False)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> GLMModel | FarColumns:
        model = GLMModel(
            n_features=X.shape[1] - self._has_offset - self._family.n_known,
            family=self._family_in_units,
            fit_intercept=self._fits_intercept,
            coef_scale=self.coef_scale,
            intercept_scale=self._intercept_scale,
            has_offset=True,
            intercept_center=0.0 if self._units is None else float(self._units.intercept_center),  # type: ignore
        )
        if self._has_terms:
            model = effects_model(self, model, self._has_offset)
        return model if isinstance(model, EffectsModel) else near(model, X)

    @property
    def _family_in_units(self) -> Family:
        """Probabilities of bounds have no unit, unlike densities."""
        return Bounded(self._family.plain, self._log_unit) if self._has_bounds else self._family

    @property
    def _kind(self) -> str:
        return {"identity": "numbers", "": "inputs"}.get(self._family.link, f"{self._family.link} rates")

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        known = super()._take_units(rows, may_wait, fold)
        # an average has looked at all rows of a call that it cuts into chunks
        if known and self.family is None and self._of_call is None:
            refuse_two_values(rows.y)  # type: ignore[arg-type]
        if known and not may_wait and fold is None and isinstance(self._family, Bernoulli):
            self._doubt_one_class(rows.y)  # type: ignore[arg-type]
        if known and not may_wait and fold is None and self._has_bounds:
            self._doubt(doubt_of_bounds(rows.X[:, -3:]))
        return known

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        p = len(self.columns_)
        if self._kind == "numbers":
            if self._has_bounds:
                rows, fold = plain_rows(rows), fold and fold_of_plain(fold)
            return Units.of_regression(rows, self._wants_intercept, p, fold, response_made(self))
        found = Units.of_inputs(rows, p, self._wants_intercept, fold)
        b0 = intercept_center(self._family, rows, self._has_offset, fold) if self._fits_intercept else 0.0
        return found._replace(intercept_center=b0, kind=self._kind)
