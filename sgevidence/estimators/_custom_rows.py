"""Rows of a user's model, which may have none: then its log likelihood is a function of parameters alone."""

from typing import Any, cast

import numpy as np

from ..history import Rows
from ..models import CustomModel, RowFunction, check_shape
from ..rows import validated
from ._conditional import ConditionalEstimator
from ._dimensions import DIMENSIONS

NO_ROWS = "this model was fitted without rows: its log_likelihood(p) has no rows to score or to add"


class RowsOrNone(ConditionalEstimator):
    """Base of the estimator of a user's model."""

    priors: Any
    mean: Any
    sample_rows: Any
    _model: CustomModel
    _has_rows = True  #: of the call that is being made, or of the fit

    @property
    def _dimensions(self) -> dict[str, tuple[str, ...]]:  # type: ignore[override]
        """A user's own "coef" has a shape of its own."""
        return {"theta": DIMENSIONS["theta"]} if self.priors is None else {}

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        if not reset and not self._functions.has_rows:
            raise ValueError(NO_ROWS)
        self._has_rows = X is not None
        if X is not None:
            return super()._rows(X, y, sample_weight, reset, classes)
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight belong to rows: give X as well")
        return Rows.of(np.zeros((1, 1)))  # stands for the one value of log_likelihood(p)

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        self._must_be_fitted()
        if not self._functions.has_rows:
            raise ValueError(NO_ROWS)
        return super()._rows_to_score(X, y)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        if y is None:
            return validated(self, X, reset=reset, order="C"), None
        return validated(self, X, y, reset=reset, order="C", y_numeric=True)

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        y = self._model.sample_rows(np.tile(theta, (len(X), 1)), X, rng)
        check_shape(y, (len(X),), "sample_rows", "(n,)")
        return y

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return () if self.mean is None else (self._functions.mean(self.mean, theta[None], X)[0],)

    @property
    def _not_replicated(self) -> str | None:  # type: ignore[override]
        if self.sample_rows is None:
            return "this model cannot replicate rows: give it sample_rows=, a function (p, X, rng)"
        return None

    @property
    def _functions(self) -> RowFunction:
        return cast(RowFunction, self._model.row_log_likelihood)
