"""Which of its three ways a user's model states its prior in, the model that follows, and its rows."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, cast

import numpy as np

from ..estimators import DIMENSIONS, ConditionalEstimator
from ..history import Rows
from ..rows import generator, validated
from ._model import CustomModel, dimension_of
from ._named_priors import NamedPriors
from ._other_priors import PlainParameters, PriorTransform
from ._row_function import RowFunction, standard_log_density, standard_normals
from ._user_function import check_shape

NO_ROWS = "this model was fitted without rows: its log_likelihood(p) has no rows to score or to add"


class RowsOrNone(ConditionalEstimator):
    """Base of the estimator of a user's model."""

    _y_says_what_it_is = True
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


#: The call of the constructor, for those who used to give three functions in place.
NEW_CALL = """

    BayesianModel(log_likelihood, priors={"rate": scipy.stats.gamma(2, scale=3)})

with log_likelihood(p, X, y) of a dictionary p of parameters; functions of unconstrained arrays are

    BayesianModel(log_likelihood, sample_prior=..., log_prior=...)"""


def dictionary_in_place(init: Callable) -> Callable:
    """A constructor that refuses functions in the place of the priors, and shows the new call."""

    @wraps(init)
    def checked(self: Any, *args: Any, **params: Any) -> None:
        if len(args) > 2 or any(map(callable, args[1:])):
            raise TypeError(f"priors are a dictionary, and other functions are keywords: {NEW_CALL}")
        init(self, *args, **params)

    return checked


def custom_model(estimator: Any, has_rows: bool) -> CustomModel:
    """The model of the functions and priors that an estimator was given.

    TypeError or ValueError if there is not exactly one way to state the prior, or a prior cannot be used.
    """
    prior = _prior(estimator)
    if isinstance(prior, PlainParameters):
        draws, density = estimator.sample_prior, estimator.log_prior
    else:
        draws, density = partial(standard_normals, d=prior.dimension), standard_log_density
    rows = RowFunction(estimator.log_likelihood, prior, estimator.vectorized, estimator.gradient, has_rows)
    simulate = None if estimator.sample_rows is None else partial(rows.simulate, estimator.sample_rows)
    return CustomModel(draws, density, rows, prior.dimension, simulate, prior, estimator.gradient)


def _prior(estimator: Any) -> Any:
    ways = {
        "priors": estimator.priors is not None,
        "prior_transform and n_params": estimator.prior_transform is not None,
        "sample_prior and log_prior": not (estimator.sample_prior is None and estimator.log_prior is None),
    }
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) != 1:
        words = " and ".join(given) or "none"
        raise TypeError(f"give the prior in one of three ways, {list(ways)}; given: {words}.{NEW_CALL}")
    if estimator.n_params is not None and estimator.prior_transform is None:
        raise TypeError("n_params is the number of coordinates of prior_transform, which was not given")
    if estimator.priors is not None:
        return NamedPriors(estimator.priors)
    if estimator.prior_transform is not None:
        if estimator.n_params is None:
            raise TypeError("prior_transform needs n_params, the number of coordinates of the unit cube")
        return PriorTransform(estimator.prior_transform, estimator.n_params, estimator.vectorized)
    if estimator.sample_prior is None or estimator.log_prior is None:
        raise TypeError(f"sample_prior and log_prior belong together: give both.{NEW_CALL}")
    return PlainParameters(dimension_of(estimator.sample_prior, generator(0)))
