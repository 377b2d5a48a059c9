r"""Mixtures of g-priors, and what they make of the R² of columns (Liang et al. 2008).

With ν degrees of freedom of the null model, columns X̃ of rank k, and p(σ²) ∝ 1/σ²,

    w | g, σ² ~ N(0, g σ² (X̃ᵀX̃)⁻¹),

    p(y)/p(y | null) = ∫ (1 + g)^((ν − k)/2) (1 + g (1 − R²))^(−ν/2) p(g) dg.

=================  =========================================  ===========================================
kind               p(g)                                       with
=================  =========================================  ===========================================
``inverse-gamma``  InvGamma(1/2, scale/2): a Cauchy prior     scale = n: Zellner and Siow (1980);
                                                              n r²: BayesFactor's ``rscale`` r
``hyper-g``        (a − 2)/2 (1 + g)^(−a/2), a = scale        a = 3: Liang et al. (2008)
``fixed``          all at g = scale                           n: unit information; max(n, p²): BRIC
=================  =========================================  ===========================================

The integrand is analytic in u = log g for |Im u| < π/2, so that the trapezoid rule converges geometrically;
its mode is √(1/(k + 2)) wide or wider.

Symbols: ν, k ``nu, k`` = degrees of freedom of the null model, rank of the columns; 1 − R² ``rest`` = share
of the squares of y that the columns leave; ``u`` = log g.

References
----------
C. Fernández, E. Ley, M. F. J. Steel (2001), Benchmark priors for Bayesian model averaging (BRIC).
F. Liang, R. Paulo, G. Molina, M. A. Clyde, J. O. Berger (2008), Mixtures of g priors for Bayesian variable
selection.
R. D. Morey and J. N. Rouder, BayesFactor 0.9.12: ``rpriorValues``, and the manual of each test, for words.
"""

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ._log_integral import log_sum, span

#: Step of the trapezoid rule in units of √(1/(k + 2)), and its largest step in u.
STEP_OF_U, MAX_STEP_OF_U = 0.6, 0.4
#: Subsets whose integrands are computed at a time.
SUBSETS_AT_A_TIME = 2000
ROOT_2 = math.sqrt(2)
#: By test, the scale of each word.
RSCALES = {
    "ttest": {"medium": ROOT_2 / 2, "wide": 1.0, "ultrawide": ROOT_2},
    "anova": {"medium": 0.5, "wide": ROOT_2 / 2, "ultrawide": 1.0},
    "regression": {"medium": ROOT_2 / 4, "wide": 0.5, "ultrawide": ROOT_2 / 2},
    "correlation": {"medium": 1 / 3, "wide": 1 / math.sqrt(3), "ultrawide": 1.0},
    "proportion": {"medium": 0.5, "wide": ROOT_2 / 2, "ultrawide": 1.0},
}


def rscale_of(test: str, rscale: Any) -> float:
    """The scale that a number or a word means."""
    words = RSCALES[test]
    if isinstance(rscale, str) and rscale in words:
        return words[rscale]
    is_number = isinstance(rscale, Real) and not isinstance(rscale, bool)
    if is_number and 0 < float(rscale) < math.inf:
        return float(rscale)
    raise ValueError(f"rscale must be a positive number or one of {list(words)}, got {rscale!r}")


class GPrior(NamedTuple):
    """The prior of g: its kind, and the number that the kind has."""

    kind: str
    scale: float

    def log_density(self, u: np.ndarray) -> np.ndarray:
        """Log density of u = log g."""
        if self.kind == "hyper-g":
            return np.log(self.scale / 2 - 1) + u - self.scale / 2 * np.log1p(np.exp(u))
        return 0.5 * np.log(self.scale / (2 * np.pi)) - 0.5 * u - 0.5 * self.scale * np.exp(-u)

    def diverges(self, k: int, nu: float) -> bool:
        """Is the Bayes factor of columns that leave nothing of y infinite?"""
        return self.kind != "fixed" and nu - k >= (self.scale if self.kind == "hyper-g" else 1.0)

    def log_terms(self, rest: np.ndarray, k: int, nu: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes u (m,) that cover the integrands, and log terms (B, m) whose exponentials sum to them."""
        rest = np.maximum(rest, 1e-60)[:, None]  # share of the squares of y below which all of y is explained

        def given_g(u: np.ndarray, rest: np.ndarray) -> np.ndarray:
            g = np.exp(u)
            return 0.5 * (nu - k) * np.log1p(g) - 0.5 * nu * np.log1p(rest * g)

        if self.kind == "fixed":
            u = np.log([self.scale])
            return u, given_g(u, rest)
        # step of the grid of u on which the ends are looked for, between these values
        u = np.arange(-50.0, 200.0, 0.5)
        ends = given_g(u, rest[[np.argmin(rest), np.argmax(rest)]]) + self.log_density(u)
        # nats below the maximum at which the integrand is nothing
        first, last = span(ends, 40.0)
        step = min(STEP_OF_U / np.sqrt(k + 2), MAX_STEP_OF_U)
        u = np.arange(u[first], u[last] + step, step)
        return u, given_g(u, rest) + self.log_density(u) + np.log(step)

    def log_bayes_factors(self, rest: np.ndarray, k: int, nu: float) -> np.ndarray:
        """log p(y)/p(y | null) of columns of rank k ≥ 1 that leave these shares of the squares of y, (B,)."""
        out = np.empty(len(rest))
        order = np.argsort(rest)  # so that those of a block have similar integrands
        for start in range(0, len(rest), SUBSETS_AT_A_TIME):
            part = order[start : start + SUBSETS_AT_A_TIME]
            _, f = self.log_terms(rest[part], k, nu)
            top = f.max(axis=1)
            out[part] = top + np.log(np.exp(f - top[:, None]).sum(axis=1))
        return out

    def log_bayes_factor(self, rest: float, k: int, nu: float) -> tuple[float, float]:
        """Columns that leave one share, and how far the rule with twice the step is from it, nats."""
        _, (f,) = self.log_terms(np.array([rest]), k, nu)
        return log_sum(f) if len(f) > 1 else (float(f[0]), 0.0)
