"""Families by name."""

import numpy as np

from ._count_families import Bernoulli, Binomial, NegativeBinomial, Poisson
from ._families import Family, Gamma, Gaussian, StudentT
from ._ordinal_family import Ordinal
from ._piecewise_family import PiecewiseExponential
from ._proportion_family import Beta, ZeroOneBeta
from ._survival_families import ExponentialTimes, LogLogistic, LogNormal, Weibull
from ._zero_families import (
    HurdleNegativeBinomial,
    HurdlePoisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

#: Each has its default link and priors.
FAMILIES: dict[str, Family] = {
    "gaussian": Gaussian(),
    "student_t": StudentT(),
    "bernoulli": Bernoulli(),
    "binomial": Binomial(),
    "ordinal": Ordinal(),
    "poisson": Poisson(),
    "negative_binomial": NegativeBinomial(),
    "gamma": Gamma(),
    "zero_inflated_poisson": ZeroInflatedPoisson(),
    "zero_inflated_negative_binomial": ZeroInflatedNegativeBinomial(),
    "hurdle_poisson": HurdlePoisson(),
    "hurdle_negative_binomial": HurdleNegativeBinomial(),
    "beta": Beta(),
    "zero_one_beta": ZeroOneBeta(),
    "weibull": Weibull(),
    "lognormal": LogNormal(),
    "loglogistic": LogLogistic(),
    "exponential": ExponentialTimes(),
    "piecewise_exponential": PiecewiseExponential(),
}


def refuse_no_counts(y: np.ndarray) -> None:
    """ValueError on numbers that no count has, where no family is named: names the families they suit."""
    if np.all((y == np.round(y)) & (y >= 0)):
        return
    suited = ["gaussian", "student_t"]
    if np.all(y > 0):
        suited += ["gamma", "weibull", "lognormal", "loglogistic", "exponential"]
    if np.all((y >= 0) & (y <= 1)):
        suited += ["beta" if np.all((y > 0) & (y < 1)) else "zero_one_beta"]
    _refuse("numbers that are not counts", suited)


def refuse_two_values(y: np.ndarray) -> None:
    """ValueError on a y of 0 and 1 alone, where no family is named."""
    if np.all(y <= 1):
        _refuse("0 and 1 alone, which are two classes more often than counts", ["bernoulli", "poisson"])


def _refuse(kind: str, suited: list[str]) -> None:
    names = ", ".join(f"family={name!r}" for name in suited)
    raise ValueError(f"y has {kind}, and no family is named: name the one that is meant, as {names}")
