"""Rows of a generalised linear model: what its family takes for X, y and what is known, and their units."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ..effects import EffectsModel, evaluated, offset_of
from ..history import Rows
from ..models import (
    FAMILIES,
    Bernoulli,
    Family,
    FarColumns,
    GLMModel,
    Ordinal,
    near,
    refuse_no_counts,
    refuse_two_values,
)
from ..rows import (
    WithKnown,
    categories_of,
    joined,
    label_indices,
    levels_in,
    refuse_unreadable,
    two_labels,
    with_known,
)
from ..units import Fold, Units, intercept_center
from ._linear_predictor import LinearPredictor
from ._terms import effects_model, response_made

#: Which families have a column that is known, and the verb.
OWNERS = {"trials": "binomial has", "event": "families of times have an"}


#: Links whose offset is the logarithm of an exposure or of odds.
LOGARITHMIC = ("log", "logit", "probit")
#: Range of an offset, nats, that no exposure has: e⁵⁰ is the ratio of the age of the universe to 10⁻⁴ s.
MAX_OFFSET_RANGE_NATS = 50.0


class GLMRows(LinearPredictor):
    """Validated rows, units and the model of a :class:`BayesianGLM`."""

    _model: GLMModel | FarColumns
    family: Any
    fit_intercept: bool
    coef_scale: float
    classes_: np.ndarray
    _has_offset = False
    _offset_range = (np.inf, -np.inf)  #: least and largest offset of the rows seen
    _has_event = False  #: some of the rows seen may be censored
    _takes_known = True

    @property
    def _family(self) -> Family:
        """Poisson where none is named; tags are asked for before the parameter is validated."""
        default = FAMILIES["poisson"]
        family = self.family if isinstance(self.family, Family) else FAMILIES.get(str(self.family), default)
        if isinstance(family, Ordinal) and len(getattr(self, "classes_", ())) > 1:
            return replace(family, n_levels=len(self.classes_))
        return family

    @property
    def _is_classifier(self) -> bool:
        return self._family.is_classifier

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
        has_event = with_known(X).event is not None
        if not reset and self._has_event and not has_event:
            raise ValueError(
                "the rows before came with an event: give that of these rows, 1 if all times ended"
            )
        self._has_event = has_event
        rows = super()._rows(X, y, sample_weight, reset, classes)
        self._watch_offset(rows, reset)
        if (words := self._doubt_of(rows)) is not None:
            self._doubt(words)
        return rows

    def _identity(self, rows: Rows) -> np.ndarray:
        """Censored times are other data than events at the same times, and so are other trials."""
        y = super()._identity(rows)
        if self._family.known == "trials":
            return np.column_stack([y, rows.X[:, -1]])
        return np.where(rows.X[:, -1] > 0, y, -y) if self._family.known == "event" else y

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
        offset = rows.X[:, -1 - self._family.has_known]
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
        X = joined(X, known)
        if isinstance(family, Ordinal):
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
        elif self._is_classifier:
            y = column_or_1d(y, warn=True)
            if (kind := type_of_target(y, input_name="y", raise_unknown=True)) != "binary":
                words = f"Only binary classification is supported. The type of the target is {kind}"
                raise ValueError(f"{words}: see BayesianSoftmaxRegression for more classes")
        else:
            if self.family is None:
                refuse_no_counts(y)
            family.refuse(y, *([X[:, -1]] if family.has_known else []))
        return X, y

    def _columns_of(self, X: Any) -> np.ndarray:
        known = self._checked(self._with_offset(with_known(X)))
        return joined(super()._columns_of(known.X), known)

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
        """The known columns that the family has; all times are of events where nobody says more.

        Where rows before had an offset, zero in silence would be another exposure.
        """
        has, family = known.given, self._family
        if "offset" not in has and self._has_offset:
            raise ValueError(
                "the model was fitted with an offset: give the offset of these rows, 0.0 for none"
            )
        if family.known == "trials" and "trials" not in has:
            raise ValueError("binomial needs trials=, the number of trials of each row, in every call")
        for name, owners in OWNERS.items():
            if name in has and family.known != name:
                raise ValueError(f"only {owners} {name}")
        return known._replace(event=1.0) if family.known == "event" and "event" not in has else known

    def _encode(self, y: Any, reset: bool, classes: Any) -> np.ndarray:
        """Numbers; of labels 0 and 1."""
        if isinstance(self._family, Ordinal):
            index = label_indices(self, y, reset, classes, of_first=levels_in, ordered=True)
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
            n_features=X.shape[1] - self._has_offset - self._family.has_known,
            family=self._family,
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
    def _kind(self) -> str:
        return {"identity": "numbers", "": "inputs"}.get(self._family.link, f"{self._family.link} rates")

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        known = super()._take_units(rows, may_wait, fold)
        # an average has looked at all rows of a call that it cuts into chunks
        if known and self.family is None and self._units_of_call is None:
            refuse_two_values(rows.y)  # type: ignore[arg-type]
        if known and not may_wait and fold is None and isinstance(self._family, Bernoulli):
            self._doubt_one_class(rows.y)  # type: ignore[arg-type]
        return known

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        p = len(self.columns_)
        if self._kind == "numbers":
            return Units.of_regression(rows, self._wants_intercept, p, fold, response_made(self))
        found = Units.of_inputs(rows, p, self._wants_intercept, fold)
        b0 = intercept_center(self._family, rows, self._has_offset, fold) if self._fits_intercept else 0.0
        return found._replace(intercept_center=b0, kind=self._kind)
