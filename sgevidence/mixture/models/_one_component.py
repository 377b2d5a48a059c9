r"""The exact posterior of a mixture of one component.

One with full covariance is normal–inverse-Wishart, with κ = 1/mean_scale² and ν = 2b + p − 1,

    ν_n = ν + n,    S_n = 2β I + Σ ω (x − x̄)(x − x̄)ᵀ + κ n/(κ + n) x̄ x̄ᵀ,
    Σ ~ IW(ν_n, S_n),    μ | Σ ~ N(n x̄/(κ + n), Σ/(κ + n)),
    log p(x) = log Γ_p(ν_n/2) − log Γ_p(ν/2) + ½ ν p log 2β − ½ ν_n log |S_n|
               + ½ p log κ/(κ + n) − ½ n p log π.

Where columns are far from zero, or nearly multiples of each other, the eigenvalues of S_n have as many orders
of magnitude between them as double precision has digits, and more; the smallest, which the prior keeps above
2β, decides the evidence.  So S_n comes from sums without rounding and is factored in decimal numbers of as
many digits as its range asks for: a twentieth of a second for a hundred columns.

Symbols: ``mean`` = posterior mean of μ, ``nu`` = ν_n, ``d, U`` of S_n = U diag(d) Uᵀ (U unit upper
triangular), ``kappa`` = κ, ``n`` = Σ ω.
"""

from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.special import multigammaln

from ...models import ExactSums


class OneComponent(NamedTuple):
    """The posterior of one component of a mixture, by the closed form of its family."""

    model: Any
    family: Any
    T: np.ndarray  #: statistics of the rows

    @classmethod
    def of(cls, model: Any, sums: ExactSums) -> "OneComponent":
        """From sums over [1, X] without rounding, from their means, however far out columns are.

        Where cells are missing, from those over [1, X, which are there].
        """
        p, n, has_gaps = model.n_features, sums.value(0, 0), len(sums.exponents) > 1 + model.n_features
        N = [sums.value(0, j + p) if has_gaps else n for j in range(1, p + 1)]
        means = [sums.value(0, j) / N_j if N_j else Fraction(0) for j, N_j in enumerate(N, start=1)]
        scatter = [float(sums.value(j, j) - N_j * m**2) for j, (N_j, m) in enumerate(zip(N, means), start=1)]
        second = scatter if model.widths[1] == p else [sum(scatter)]
        counts = [float(N_j) for N_j in N] if has_gaps else []
        family = replace(model.family, reference=np.array(means, dtype=float), has_gaps=has_gaps)
        return cls(model, family, np.array([*second, *[0.0] * p, *counts, float(n)]))

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
    def of(cls, model: Any, sums: ExactSums) -> "OneFullComponent":
        """From sums over [1, X] without rounding, so that columns may be as far out as they like."""
        p, n = len(sums.exponents) - 1, sums.value(0, 0)
        means = [sums.value(0, j) / n if n else Fraction(0) for j in range(1, p + 1)]
        scatter = [
            [sums.value(i + 1, j + 1) - n * means[i] * means[j] if j <= i else Fraction(0) for j in range(p)]
            for i in range(p)
        ]
        return cls._from(model, n, means, scatter)

    @classmethod
    def _from(cls, model: Any, n: Fraction, mean: list[Fraction], scatter: list) -> "OneFullComponent":
        """From Σ ω, the means and the lower triangle of the scatter."""
        p, (b, beta) = len(mean), model.variance_prior
        kappa = Fraction(1) / Fraction(float(model.mean_scale)) ** 2
        shrunk = kappa * n / (kappa + n)
        S = [[scatter[i][j] + shrunk * mean[i] * mean[j] for j in range(i + 1)] for i in range(p)]
        for j in range(p):
            S[j][j] += 2 * Fraction(float(beta))
        d, U, log_det = factored(S, beta)
        mean_n = np.array([float(n * m / (kappa + n)) for m in mean])
        return cls(model, float(n), mean_n, 2 * b + p - 1 + float(n), d, U, log_det)

    @property
    def log_evidence(self) -> float:
        """log p(x), nats."""
        p, (b, beta), kappa, n = len(self.d), self.model.variance_prior, self.model.mean_scale**-2.0, self.n
        nu = 2 * b + p - 1
        gammas = multigammaln(self.nu / 2, p) - multigammaln(nu / 2, p)
        dets = nu * p * np.log(2 * beta) - self.nu * self.log_det
        return float(gammas + 0.5 * (dets + p * np.log(kappa / (kappa + n)) - n * p * np.log(np.pi)))

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


def factored(S: list, beta: float) -> tuple[np.ndarray, np.ndarray, float]:
    """d, U and log |S| of S = U diag(d) Uᵀ ≥ 2β I, given by its lower triangle of fractions."""
    p = len(S)
    range_of_S = max(max(float_log10(S[j][j]) for j in range(p)) - np.log10(2 * beta), 0.0)
    # digits beyond the range of S_n's entries over its smallest eigenvalue's bound
    with localcontext(Context(prec=40 + int(2 * range_of_S), Emin=-999_999, Emax=999_999)):
        rest = np.array([[decimal(S[max(i, j)][min(i, j)]) for j in range(p)] for i in range(p)])
        U, d = np.zeros((p, p), dtype=object), np.zeros(p, dtype=object)
        for j in range(p - 1, -1, -1):
            d[j], U[j, j] = rest[j, j], Decimal(1)
            U[:j, j] = rest[:j, j] / d[j]
            rest[:j, :j] = rest[:j, :j] - np.outer(rest[:j, j], U[:j, j])
        log_det = float(sum((x.ln() for x in d), Decimal(0)))
    return d.astype(float), U.astype(float), log_det


def decimal(x: Fraction) -> Decimal:
    """The fraction to the digits of the context."""
    return Decimal(x.numerator) / Decimal(x.denominator)


def float_log10(x: Fraction) -> float:
    """log₁₀ of a positive fraction of any size."""
    return (x.numerator.bit_length() - x.denominator.bit_length() + 1) * float(np.log10(2))
