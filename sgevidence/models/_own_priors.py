r"""Priors of the parameters that a family has beside η, seen through a standard normal.

    z ~ N(0, 1),    κ = F⁻¹(Φ(z)),    dκ/dz = φ(z) / f(κ)

A sampler sees z: the prior is then exact, and the same for every parameter, and a dispersion that the rows
want to be zero has a tail that moves can leave.  F is any continuous distribution with ``ppf``, ``isf``,
``logpdf`` and ``support``, as those of ``scipy.stats`` are (``_quantiles.py``).  The default priors are
written out here: they take a tenth of the time, and Exp(1) has no end at 745, where the smallest double is.

Symbols: ``z`` = standard normal, ``value`` = κ, ``prior`` = F.
"""

from typing import Any, NamedTuple

import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, stdtrit

from ._quantiles import at_normal, slope_at_normal

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


class Exponential(NamedTuple):
    """Density e^(−κ/scale) / scale over κ > 0."""

    scale: float = 1.0

    def __str__(self) -> str:
        return f"Exp({1 / self.scale:g})"

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return -self.scale * log_ndtr(-z)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return -value / self.scale - np.log(self.scale)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class GammaPrior(NamedTuple):
    """Density κ^(shape − 1) e^(−rate κ), normalised, over κ > 0."""

    shape: float
    rate: float

    def __str__(self) -> str:
        return f"Gamma({self.shape:g}, rate {self.rate:g})"

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        lower, upper = gammaincinv(self.shape, ndtr(z)), gammainccinv(self.shape, ndtr(-z))
        return np.where(z < 0, lower, upper) / self.rate

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        a, x = self.shape, self.rate * value
        return np.log(self.rate) + (a - 1) * np.log(x) - x - gammaln(a)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class Lomax(NamedTuple):
    """Density a (1 + κ)^(−a − 1) over κ > 0, under which (1 + κ)^(−a) is uniform."""

    a: float

    def __str__(self) -> str:
        return f"Lomax({self.a:g})"

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return np.expm1(-log_ndtr(-z) / self.a)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return np.log(self.a) - (self.a + 1) * np.log1p(value)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class Uniform(NamedTuple):
    """Density 1 over 0 < κ < 1."""

    def __str__(self) -> str:
        return "U(0, 1)"

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return ndtr(z)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return np.zeros_like(value)

    def support(self) -> tuple[float, float]:
        return 0.0, 1.0


class HalfStudentT(NamedTuple):
    """σ ~ half-Student-t with three degrees of freedom, as the noise of a linear regression."""

    scale: float = 1.0

    def __str__(self) -> str:
        return f"half-t(3, {self.scale:g})"

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        # P(σ > s) = Φ(−z): both tails by their leading term, where the quantile function has lost digits
        c = np.pi * np.sqrt(3)
        far, tiny = np.exp((np.log(12 / c) - log_ndtr(-z)) / 3), ndtr(z) * (c / 4)
        upper, lower = -stdtrit(3, ndtr(-z) / 2), stdtrit(3, 0.5 + ndtr(z) / 2)
        return self.scale * np.select([z > 8, z > -1, z > -5], [far, upper, lower], tiny)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        u = np.square(value / self.scale) / 3
        return np.log(4 / (np.pi * np.sqrt(3) * self.scale)) - 2 * np.log1p(u)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class KnownValue(NamedTuple):
    """κ is known: z says nothing of it, and the rows say nothing of z."""

    value: float

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return np.full(np.shape(z), self.value)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return np.full(np.shape(value), np.inf)  # so that dσ/dz = 0

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class FlatLogarithm(NamedTuple):
    """log κ has a flat density: z is log κ."""

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return np.exp(z)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return -np.log(value)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class RootInverseGamma(NamedTuple):
    """σ² ~ InvGamma(a, b)."""

    a: float
    b: float

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        precision = np.where(z < 0, gammainccinv(self.a, ndtr(z)), gammaincinv(self.a, ndtr(-z)))
        return np.sqrt(self.b / precision)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        log_variance = 2 * np.log(value)
        log_density = self.a * np.log(self.b) - gammaln(self.a) - self.a * log_variance - self.b / value**2
        return log_density + np.log(2 / value)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


UNIT_EXPONENTIAL, GAMMA_2_01 = Exponential(), GammaPrior(2.0, 0.1)
UNIFORM, UNIT_HALF_T, ROOT_UNIFORM = Uniform(), HalfStudentT(), Lomax(0.5)


def prior_name(prior: Any) -> str:
    """A prior as papers write it."""
    if not hasattr(prior, "dist"):
        return str(prior)
    given = [f"{value:g}" for value in prior.args] + [f"{k}={value:g}" for k, value in prior.kwds.items()]
    return f"{prior.dist.name}({', '.join(given)})"  # of scipy.stats


def value_of(z: np.ndarray, prior: Any) -> np.ndarray:
    """κ of z, element by element."""
    if hasattr(prior, "from_normal"):
        return prior.from_normal(z)
    return at_normal(z, (), prior)


@primitive
def from_normal(z: Any, prior: Any) -> Any:
    """κ of z, differentiable by autograd."""
    return value_of(z, prior)


def _from_normal_vjp(value: Any, z: Any, prior: Any) -> Any:
    slope = slope_at_normal(z, value, (), prior)
    return lambda g: g * slope


defvjp(from_normal, _from_normal_vjp, argnums=(0,))


def check_prior(prior: Any, name: str, most: float) -> None:
    """Refuse what is no continuous distribution over the values that a parameter may have."""
    if not all(hasattr(prior, method) for method in ("logpdf", "support")):
        raise TypeError(
            f"the prior of {name} must be continuous, such as scipy.stats.expon(), but is {prior!r}"
        )
    low, high = prior.support()
    if not (0.0 <= low < high <= most):
        raise ValueError(
            f"the prior of {name} must be over values in (0, {most:g}), but reaches from {low:g} to {high:g}"
        )
