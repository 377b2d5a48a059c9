r"""The exact posterior of a mixture of one component.

One with full covariance is normal–inverse-Wishart, with κ = 1/mean_scale² and ν = 2b + p − 1,

    ν_n = ν + n,    S_n = 2β I + Σ ω (x − x̄)(x − x̄)ᵀ + κ n/(κ + n) x̄ x̄ᵀ,
    Σ ~ IW(ν_n, S_n),    μ | Σ ~ N(n x̄/(κ + n), Σ/(κ + n)),
    log p(x) = log Γ_p(ν_n/2) − log Γ_p(ν/2) + ½ ν p log 2β − ½ ν_n log |S_n|
               + ½ p log κ/(κ + n) − ½ n p log π.

Where columns are far from zero, the last term of S_n = A + a aᵀ has as many orders of magnitude more than the
others as double precision has digits, and the smallest eigenvalue decides the evidence.  So A = V diag(e) Vᵀ
(V unit upper triangular) comes from the factor of the rows about their means, and a is added to it without a
difference, with f = diag(e)^−½ V⁻¹ a and τ_j = 1 + Σ_{k≥j} f_k²:

    I + f fᵀ = W diag(τ_j/τ_{j+1}) Wᵀ,    W_ij = f_i f_j/τ_j,  i < j.

Symbols: ``mean`` = posterior mean of μ, ``nu`` = ν_n, ``d, U`` of S_n = U diag(d) Uᵀ (U unit upper
triangular), ``kappa`` = κ, ``n`` = Σ ω, ``tau`` = τ.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ...exceptions import DivergenceError
from ...models import COLUMN_ROUNDING, MAX_ROUNDING_NATS, QRSums, triangular


class OneComponent(NamedTuple):
    """The posterior of one component of a mixture, by the closed form of its family."""

    model: Any
    family: Any
    T: np.ndarray  #: statistics of the rows

    @classmethod
    def of(cls, model: Any, sums: QRSums) -> "OneComponent":
        """From the factor of [1, X], from their means, however far out columns are.

        Where cells are missing, from that of [1, X, which are there].
        """
        weight, mean, scatter = sums.by_column()
        p, has_gaps = model.n_features, bool(np.any(sums.along))
        family = replace(model.family, reference=mean, has_gaps=has_gaps)
        second = scatter if model.widths[1] == p else [np.sum(scatter)]
        return cls(model, family, np.array([*second, *[0.0] * p, *weight[: p * has_gaps], sums.total_weight]))

    @property
    def log_evidence(self) -> float:
        """log p(x), nats."""
        return float(self.family.log_evidence(self.T))

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws, (size, d): and of the log-gamma of the weight, which no row sees."""
        T = np.broadcast_to(self.T, (size, 1, len(self.T)))
        return self.model.from_components(np.zeros((size, 1)), self.family.sample(T, rng), rng)


class OneFullComponent(NamedTuple):
    """The posterior of one component of a mixture with full covariances."""

    model: Any
    n: float
    mean: np.ndarray
    nu: float
    d: np.ndarray
    U: np.ndarray
    log_det: float

    @classmethod
    def of(cls, model: Any, sums: QRSums) -> "OneFullComponent":
        """From the factor of [1, X], so that columns may be as far out as they like."""
        n, means, (b, beta) = sums.total_weight, sums.means, model.variance_prior
        p, kappa = len(means), model.mean_scale**-2.0
        e, V = factored(np.vstack([sums.rest, np.sqrt(2 * beta) * np.eye(p)]))
        nu_n = 2 * b + p - 1 + n
        rounding = COLUMN_ROUNDING * np.linalg.norm(sums.rest, axis=0) / np.sqrt(e)
        if nu_n * np.sum(rounding) > MAX_ROUNDING_NATS:
            raise DivergenceError(
                "columns are linear combinations of others to more digits than a floating-point number has: "
                "leave one out, or scale X (StandardScaler)"
            )
        f = solve_triangular(V, means, unit_diagonal=True) * np.sqrt(kappa * n / (kappa + n) / e)
        tau = np.append(1 + np.cumsum(f[::-1] ** 2)[::-1], 1.0)
        W = np.triu(np.multiply.outer(f, f) / tau[:-1], 1) + np.eye(p)
        root = np.sqrt(e)
        U = V @ (W * np.multiply.outer(root, 1 / root))
        log_det = float(np.sum(np.log(e)) + np.log(tau[0]))
        return cls(model, n, n / (kappa + n) * means, nu_n, e * tau[:-1] / tau[1:], U, log_det)

    @property
    def log_evidence(self) -> float:
        """log p(x), nats."""
        return float(self.model.family.log_evidence_of(self.n, self.log_det))

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws, (size, d): Σ inverse Wishart (Bartlett 1933), μ | Σ Gaussian, z as prior."""
        p = len(self.d)
        i, j = np.tril_indices(p, -1)
        B = np.zeros((size, p, p))
        B[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(self.nu - np.arange(p), size=(size, p)))
        B[:, i, j] = rng.standard_normal((size, len(i)))
        # Λ = L Lᵀ with L = U⁻ᵀ diag(d^−½) B, lower triangular
        L = np.matmul(np.linalg.inv(self.U).T / np.sqrt(self.d), B)
        diagonal = np.diagonal(L, axis1=1, axis2=2)
        u = rng.standard_normal((size, p, 1)) / np.sqrt(self.model.mean_scale**-2.0 + self.n)
        mu = self.mean + np.linalg.solve(np.swapaxes(L, 1, 2), u)[:, :, 0]
        z = self.model.sample_prior(rng, size)[:, :1]  # one weight: no row sees it
        return np.column_stack([z, mu, -2 * np.log(diagonal), L[:, i, j] / diagonal[:, j]])


def factored(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e and V of rowsᵀ rows = V diag(e) Vᵀ, V unit upper triangular."""
    root = triangular(rows[:, ::-1]).T[::-1, ::-1]
    diagonal = np.diag(root)
    return diagonal**2, root / diagonal
