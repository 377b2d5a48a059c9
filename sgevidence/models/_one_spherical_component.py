r"""The exact posterior of a Gaussian with one variance: a mixture of one component.

Normal–inverse-gamma over all columns together, with κ = 1/mean_scale²:

    b_n = b + np/2,    β_n = β + ½ Σ_j [Σ ω (x_j − x̄_j)² + κ n/(κ + n) x̄_j²],
    μ | σ² ~ N(n x̄/(κ + n), σ²/(κ + n) I).

Symbols: ``mean`` = posterior mean of μ, ``b, beta`` = b_n and β_n, ``kappa`` = κ, ``n`` = Σ ω.
"""

from math import lgamma
from typing import Any, NamedTuple

import numpy as np

from ._exact_sums import ExactSums
from ._one_component import OneComponent


class OneSphericalComponent(NamedTuple):
    """The posterior of one component of a mixture with one variance in each."""

    model: Any
    n: Any
    mean: np.ndarray
    b: float
    beta: float
    log_units: float = 0.0  #: of missing cells

    @classmethod
    def of(cls, model: Any, sums: ExactSums) -> "OneSphericalComponent":
        """From sums over [1, X] without rounding, so that columns may be as far out as they like."""
        return cls._from(OneComponent.of(model, sums))

    @classmethod
    def _from(cls, each: OneComponent) -> "OneSphericalComponent":
        """The variances of all columns are one: what they add to the prior adds up."""
        (b, beta), p = each.model.variance_prior, len(each.mean)
        n_cells, beta_n = np.sum(each.n * np.ones(p)), beta + float(np.sum(each.b - beta))
        return cls(each.model, each.n, each.mean, b + float(n_cells) / 2, beta_n, each.log_units)

    @property
    def log_evidence(self) -> float:
        """log p(x), nats."""
        (b, beta), kappa, n, p = (
            self.model.variance_prior,
            self.model.mean_scale**-2.0,
            self.n,
            len(self.mean),
        )
        of_variance = lgamma(self.b) - lgamma(b) + b * np.log(beta) - self.b * np.log(self.beta)
        of_means = np.log(kappa / (kappa + n)) - n * np.log(2 * np.pi)
        return float(of_variance + 0.5 * np.sum(of_means * np.ones(p))) + self.log_units

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws, (size, d): σ² inverse gamma, μ | σ² Gaussian, z as prior."""
        s = np.log(self.beta) - np.log(rng.gamma(self.b, size=(size, 1)))
        sd = np.exp(s / 2) / np.sqrt(self.model.mean_scale**-2.0 + self.n)
        mu = self.mean + sd * rng.standard_normal((size, len(self.mean)))
        z = self.model.sample_prior(rng, size)[:, :1]  # one weight: no row sees it
        return np.column_stack([z, mu, s])
