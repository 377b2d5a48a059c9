"""Families by name."""

from ._count_families import Bernoulli, Binomial, NegativeBinomial, Poisson
from ._families import Family, Gamma, Gaussian, StudentT
from ._ordinal_family import Ordinal
from ._proportion_family import Beta
from ._survival_families import ExponentialTimes, LogNormal, Weibull
from ._zero_families import HurdlePoisson, ZeroInflatedNegativeBinomial, ZeroInflatedPoisson

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
    "beta": Beta(),
    "weibull": Weibull(),
    "lognormal": LogNormal(),
    "exponential": ExponentialTimes(),
}
