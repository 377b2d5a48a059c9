r"""Components of independent counts: Poisson columns with gamma rates.

    λ_j ~ Gamma(a, rate b_j),    x_j | λ_j ~ Poisson(λ_j),    F(x) = [x, Σ_j log x_j!, 1].

Symbols: ``a`` = prior shape, ``b`` = prior rates (p,), ``S`` = sums of counts (..., p), ``N`` = rows
(..., 1).
"""

from dataclasses import dataclass
from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ...models import log_gamma_draws
from ._component import ComponentFamily


class PoissonParameters(NamedTuple):
    """Rates, expected counts of each column (..., p)."""

    rates: np.ndarray


@dataclass(frozen=True)
class PoissonGamma(ComponentFamily):
    """Columns of counts that are independent and Poisson, given the component.

    Parameters
    ----------
    rate_prior : tuple of two floats
        Shape a and rate b of the gamma prior of a rate, in units of ``mean_counts``.
    mean_counts : tuple of floats
        Unit of the rates of each column.

    Examples
    --------
    >>> import numpy as np
    >>> family, X = PoissonGamma((1.0, 1.0), (1.0,)), np.array([[0.0]])
    >>> float(np.exp(family.log_evidence(family.features(X).sum(axis=0))).round(4))  # ∫ e^−λ e^−λ dλ
    0.5
    """

    rate_prior: tuple[float, float]
    mean_counts: tuple[float, ...]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of a row."""
        return len(self.mean_counts)

    @property
    def rates_of_prior(self) -> np.ndarray:
        """b_j, in rows, (p,)."""
        return self.rate_prior[1] / np.array(self.mean_counts)

    def features(self, X):
        return np.column_stack([X, gammaln(np.asarray(X) + 1.0).sum(axis=1), np.ones(len(X))])

    def log_evidence(self, T):
        a, b = self.rate_prior[0], self.rates_of_prior
        S, N = T[..., :-2], T[..., -1:]
        one = a * np.log(b) - lgamma(a) + gammaln(a + S) - (a + S) * np.log(b + N)
        return np.sum(one, axis=-1) - T[..., -2]

    def sample(self, T, rng):
        shape = self.rate_prior[0] + T[..., :-2]
        log_g = log_gamma_draws(shape, rng)
        return PoissonParameters(np.exp(np.maximum(log_g, -600.0)) / (self.rates_of_prior + T[..., -1:]))

    def coefficients(self, parameters):
        rates = parameters.rates
        minus_one = np.full((*rates.shape[:-1], 1), -1.0)
        return np.concatenate([np.log(rates), minus_one, -rates.sum(axis=-1, keepdims=True)], axis=-1)

    def parameters(self, c):
        return PoissonParameters(np.exp(c[..., :-2]))

    def sample_rows(self, parameters, rng):
        return rng.poisson(parameters.rates).astype(float)

    def log_prior(self, parameters):
        a, b = self.rate_prior[0], self.rates_of_prior
        log_p = a * np.log(b) - lgamma(a) + (a - 1) * np.log(parameters.rates) - b * parameters.rates
        return np.sum(log_p, axis=-1)

    def points(self, X):
        """Square roots of counts, whose noise is the same at any rate."""
        return np.sqrt(X)
