"""Units of a stream: taken from its first rows, held until there are some, and watched."""

import copy
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..exceptions import EvidenceWarning, warn_caller
from ..history import Rows
from ..rows import refuse_extreme
from ..tables import LINE_WIDTH, in_lines
from ..units import (
    LEFT_UNITS,
    MIN_ROWS,
    MOST_HELD,
    Fold,
    Units,
    UnitsUnknown,
    UnitWatch,
    log_slopes,
    wild,
)


def learnt(function: Callable[[Any], Any]) -> property:
    """A property that an estimator has when it has learnt; before, the error says why it has none."""

    @wraps(function)
    def read(estimator: Any) -> Any:
        estimator._must_have_learnt(function.__name__)
        return function(estimator)

    return property(read)


class Learnt:
    """An attribute that an estimator has when it has learnt; before, the error says why it has none.

    It is stored, or what ``read`` makes of the estimator.
    """

    def __init__(self, read: Callable[[Any], Any] | None = None) -> None:
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        estimator._must_have_learnt(self.name)
        if self.read is None:
            raise AttributeError(f"{type(estimator).__name__} has no {self.name}")
        return self.read(estimator)


class Evidence(Learnt):
    """An attribute that a call sets, or leaves to be made of a stream's state when it is asked for.

    Then it is nan among the attributes: wrappers that copy these after each call, as that of Dask-ML does,
    would keep the evidence of an earlier call.
    """

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        if estimator._waits:
            estimator._must_have_learnt(self.name)
            return estimator._evidence(estimator._stream.state)[self.name]
        if self.name in vars(estimator):
            return vars(estimator)[self.name]
        return super().__get__(estimator, owner)

    def __set__(self, estimator: Any, value: float) -> None:
        vars(estimator)[self.name] = value


class Standardising(BaseEstimator):
    """Whatever has ``standardize`` and ``units=``: estimators, and the selection of columns."""

    standardize: bool = False  #: of those that have the parameter
    units: Units | None = None  #: of those that have the parameter
    _held: Rows | None = None  #: rows of a stream that are too few to know their units
    _units: Units | None = None  #: of the rows that the model sees; None: as they are given
    _of_call: Any = None  #: what has read all rows of a first call that an average cuts into chunks
    _watch: UnitWatch
    _doubts: list[str] = []  #: of the model and the rows; replaced, never changed in place
    _weight_seen: float  #: sum of the weights of the rows
    _waits = False  #: whether the evidence of a stream waits until it is asked for
    _unjudged: Rows | None = None  #: rows of the last call, where its doubts wait for the evidence

    # -- what a concrete class defines ------------------------------------------------------------

    #: (rows, fold=None) -> Units of the first rows, or of those that are folded
    _units_of: Any
    _kind: Any  #: kind of y that units are for
    #: (X, y, sample_weight, reset, classes) -> validated Rows of positive weight
    _rows: Any

    def _known_units(self, units: Units) -> Units:
        """Units of another estimator, for the columns of this one."""
        return units.selected(range(self.n_features_in_), self._kind, self._names_of_units)

    @property
    def _names_of_units(self) -> tuple[str, ...] | None:
        """Names of the columns, by which units are known; None where they have none that tell them apart."""
        names = tuple(self._column_names()) if hasattr(self, "feature_names_in_") else ()
        return names if names and len(set(names)) == len(names) else None

    def _column_names(self) -> list[str]:
        """Names of the columns that the model uses."""
        names = getattr(self, "feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        return [str(names[j]) for j in getattr(self, "columns_", range(len(names)))]

    # -- taken, held and watched ------------------------------------------------------------------

    def _said(self, priors: str) -> list[str]:
        """Priors in a line, with the units that they are stated in."""
        where = "standardised units, units_" if self.standardize else "numbers as given"
        return in_lines(f"priors ({where}): {priors}", LINE_WIDTH, "    ")

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        """Units of the first rows; False where these are held, because they are too few to have some.

        With a ``fold`` they are units of those that it goes over, of which ``rows`` are a sample.  ValueError
        if they have none and cannot wait.
        """
        self._units = None
        if self.units is not None:
            if not self.standardize:
                raise ValueError("units= are those of standardize=True: leave out one of the two")
            self._units = self._known_units(self.units)
        elif self.standardize:
            self._units = None if self._of_call is None else self._of_call._units
        if not self.standardize or self._units is not None:
            return True
        missing = None
        try:
            units = self._units_of(rows, fold)
        except UnitsUnknown as error:
            missing = error
        if may_wait and (missing is not None or len(rows) < MIN_ROWS):
            if len(rows) >= MOST_HELD:
                raise UnitsUnknown(f"{len(rows)} rows were held until their units are known: {missing}")
            self._held = rows.copy()
            self.n_samples_seen_, self._weight_seen = len(rows), rows.total_weight
            return False
        if missing is not None:
            raise missing
        columns = tuple(int(j) for j in self.columns_) if hasattr(self, "columns_") else None
        self._units = units._replace(columns=columns, names=self._names_of_units)
        return True

    def _in_units(self, given: Rows, starts: bool, may_wait: bool) -> Rows | None:
        """Rows of a call, and those held before, in the units of the model; None where these are held now."""
        whole = given if self._held is None else self._held.join(given)
        if not starts and self._units is not None:
            self._units = self._units.with_late_columns(given, self._weight_seen, self._is_centred)
        elif starts and not self._take_units(whole, may_wait):
            return None
        return whole if self._units is None else self._units.rows(whole)

    @property
    def _is_centred(self) -> bool:
        """Columns are measured from their means."""
        return bool(getattr(self, "_wants_intercept", getattr(self, "fit_intercept", True)))

    def _reader_of(self, X: Any, y: Any, sample_weight: Any, classes: Any, may_wait: bool) -> Self:
        """A copy with the units of the rows held and of these; it learns nothing."""
        reader, reset = copy.copy(self), self._is_first_call()
        reader._doubts = []
        with warnings.catch_warnings():  # learning says so again
            warnings.simplefilter("ignore", EvidenceWarning)
            rows = reader._rows(X, y, sample_weight, reset, classes)
            reader._take_units(rows if self._held is None else self._held.join(rows), may_wait)
        return reader

    def _watch_units(self, rows: Rows, starts: bool) -> None:
        """Doubts of units: that a few rows have made, and that a stream has left."""
        if self._units is None:
            return
        if starts and self.units is None:
            self._doubt(wild(rows, self._units, self._column_names, self._is_centred))
        self._watch = self._watch.with_rows(rows, self._units)
        if not any(words.startswith(LEFT_UNITS) for words in self._doubts):
            are_given, centred = self.units is not None, self._is_centred
            self._doubt(self._watch.doubt(self._units, self._column_names, are_given, centred))

    def _doubt(self, *doubts: str | None) -> None:
        """Warn of the model or the rows, now and in ``warnings_``; None is no doubt."""
        for words in filter(None, doubts):
            self._doubts = list(dict.fromkeys([*self._doubts, words]))
            warn_caller(words)

    @learnt
    def units_(self) -> Units:
        """Units of columns and y in which the priors are stated, for ``units=`` of another estimator."""
        if self._units is None or not self._settings["standardize"]:
            raise AttributeError(
                "there are no units_ with standardize=False: priors are for numbers as given"
            )
        return self._units

    @property
    def _response(self) -> Any:
        """Functions of y that the model is of; None for y as it is, and where there is none."""
        return None if self._units is None else getattr(self._units, "response", None)

    def _log_slopes(self, rows: Rows) -> Any:
        """log |g'(y)| of rows in units, (n,), where the model is one of g(y); else zero."""
        return 0.0 if self._response is None else log_slopes(self._units, rows)

    @property
    def _log_unit(self) -> float:
        """Logarithm of the unit of a row's density, nats."""
        return 0.0 if self._units is None else self._units.log_unit

    def _refuse_extreme(self, **arrays: np.ndarray) -> None:
        """Standardised numbers are judged in their units."""
        if not self.standardize:
            refuse_extreme(**arrays)

    def _is_first_call(self) -> bool:
        return self._held is None and not self.__sklearn_is_fitted__()

    def __sklearn_is_fitted__(self) -> bool:
        return "log_evidence_" in vars(self)

    def _must_be_fitted(self) -> None:
        """Predictions, draws and scores need what rows have taught."""
        if self._held is not None:
            raise self._still_held("a prediction")
        check_is_fitted(self)
        self._warn_belatedly()

    def _still_held(self, name: str) -> NotFittedError:
        """The error of rows that are too few."""
        return NotFittedError(
            f"this {type(self).__name__} holds {self.n_samples_seen_} rows, too few to know their units, "
            f"and {name} follows when more have come: call partial_fit until there are {MIN_ROWS} rows among "
            "which y varies, give units=, or state standardize=False"
        )

    def _must_have_learnt(self, name: str) -> None:
        """An attribute that is computed exists, as the others do, only after fit."""
        if self._held is not None:
            raise self._still_held(name)
        if self._is_first_call():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        self._warn_belatedly()

    def _warn_belatedly(self) -> None:
        """Raise the warnings that wait for somebody to ask."""


def takes_units(model: Any) -> bool:
    """Does the model, or one inside it, take its units from its first rows?"""
    parameters = model.get_params(deep=True)
    return any(
        value and parameters.get(f"{name.removesuffix('standardize')}units") is None
        for name, value in parameters.items()
        if name.split("__")[-1] == "standardize"
    )


def holds_rows(estimator: Any) -> bool:
    """Does the estimator wait for more rows, to know their units?"""
    return getattr(estimator, "_held", None) is not None
