r"""The exact posterior of a Gaussian with diagonal covariance: a mixture of one component.

Normal–inverse-gamma in each column, with κ = 1/mean_scale²:

    a_n = a + n/2,    b_n = b + ½ [Σ ω (x − x̄)² + κ n/(κ + n) x̄²],    μ | σ² ~ N(n x̄/(κ + n), σ²/(κ + n)).

Symbols: ``mean`` = posterior mean of μ, ``a, b`` = a_n and b_n, ``kappa`` = κ, ``n`` = Σ ω, or of the cells
of each column that are there, (p,).
"""

from fractions import Fraction
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from ._exact_sums import ExactSums


class OneComponent(NamedTuple):
    """The posterior of one component of a mixture."""

    model: Any
    n: Any
    mean: np.ndarray
    a: Any
    b: np.ndarray
    log_units: float = 0.0  #: of missing cells

    @classmethod
    def of(cls, model: Any, sums: ExactSums) -> "OneComponent":
        """From sums over [1, X] without rounding, so that columns may be as far out as they like.

        Where cells are missing, from those over [1, X, which are there].
        """
        n, p = sums.value(0, 0), model.n_features
        if len(sums.exponents) > 1 + p:
            return cls._of_cells(model, sums)
        means = [sums.value(0, j) / n if n else Fraction(0) for j in range(1, p + 1)]
        scatter = [sums.value(j, j) - n * mean**2 for j, mean in zip(range(1, p + 1), means)]
        return cls._from(model, float(n), np.array(means, dtype=float), np.array(scatter, dtype=float))

    @classmethod
    def _of_cells(cls, model: Any, sums: ExactSums) -> "OneComponent":
        p = model.n_features
        n = [sums.value(0, j + p) for j in range(1, p + 1)]
        means = [sums.value(0, j) / n_j if n_j else Fraction(0) for j, n_j in enumerate(n, start=1)]
        scatter = [sums.value(j, j) - n_j * m**2 for j, (n_j, m) in enumerate(zip(n, means), start=1)]
        counts, mean, squares = (np.array(values, dtype=float) for values in (n, means, scatter))
        return cls._from(model, counts, mean, squares, float(sums.value(0, 0)))

    @classmethod
    def _from(
        cls, model: Any, n: Any, mean: np.ndarray, scatter: np.ndarray, n_rows: float | None = None
    ) -> "OneComponent":
        (a, b), kappa = model.variance_prior, model.mean_scale**-2.0
        b_n = b + 0.5 * (scatter + kappa * n / (kappa + n) * mean**2)
        log_units = 0.0 if n_rows is None else float((n_rows - n) @ model.family.cell_units)
        return cls(model, n, n * mean / (kappa + n), a + n / 2, b_n, log_units)

    @property
    def log_evidence(self) -> float:
        """log p(x), nats."""
        (a, b), kappa, n = self.model.variance_prior, self.model.mean_scale**-2.0, self.n
        one = (
            gammaln(self.a)
            - lgamma(a)
            + a * np.log(b)
            + 0.5 * np.log(kappa / (kappa + n))
            - n / 2 * np.log(2 * np.pi)
        )
        return float(np.sum(one - self.a * np.log(self.b))) + self.log_units

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws, (size, d): σ² inverse gamma, μ | σ² Gaussian, z as prior."""
        s = np.log(self.b) - np.log(rng.gamma(self.a, size=(size, len(self.b))))
        sd = np.exp(s / 2) / np.sqrt(self.model.mean_scale**-2.0 + self.n)
        mu = self.mean + sd * rng.standard_normal(s.shape)
        return np.column_stack(
            [self.model.sample_prior(rng, size)[:, :1], mu, s]
        )  # one weight: no row sees z
