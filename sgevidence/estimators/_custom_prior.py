"""Which of its three ways a user's model states its prior in, and the model that follows."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from ..models import (
    CustomModel,
    NamedPriors,
    PlainParameters,
    PriorTransform,
    RowFunction,
    dimension_of,
    standard_log_density,
    standard_normals,
)
from ..rows import generator

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
