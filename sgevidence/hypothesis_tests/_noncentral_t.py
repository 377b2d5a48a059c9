r"""The likelihood of an effect size, from the t statistic of one σ or of two.

With N rows, ν degrees of freedom, a mean d̄ and squares q about it, t² = N d̄² ν/q has the noncentral density
with δ√N, which over the central one is

    L(δ) = exp(−½ μ²ν/(ν + t²)) I(a)/I(0),    I(a) = ∫₀^∞ x^ν e^{−(x − a)²/2} dx,

    μ = δ√N,    a = μt/√(ν + t²),

an integral over log x about its mode x* = b e^{asinh h}, b² = ν + 1, h = a/2b.

Two noises σ₁ and σ₂ have flat priors of their logarithms, and δ is in units of √((σ₁² + σ₂²)/2).  Given
ρ = log σ₁/σ₂, v₁ = 2/(1 + e^{−2ρ}) and v₂ = 2/(1 + e^{2ρ}), all is as with one σ where N = 1/(v₁/n₁ + v₂/n₂)
and q = S₁/v₁ + S₂/v₂, and ρ has the density under no effect

    p(ρ) ∝ v₁^{−(n₁−1)/2} v₂^{−(n₂−1)/2} √N (q + N d̄²)^{−(n−1)/2}.

Symbols: ``delta`` = δ, (m,); ``nu`` = ν; ``rho, log_p`` = nodes and their log probabilities, (k,).
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import logsumexp

from ._nulls import NULLS_TAIL_NATS, log_integrals

#: Largest |ρ| that is looked at; nodes over what counts of it.
MAX_LOG_RATIO, N_RATIO_NODES = 60.0, 96
#: Effects times nodes that are computed at a time; degree of the polynomial that stands for more integrals.
PAIRS_AT_A_TIME, N_CHEBYSHEV = 2**18, 127


def log_ratio(delta: np.ndarray, t: np.ndarray, N: np.ndarray, nu: float) -> np.ndarray:
    """log L, elementwise over arrays (m,)."""
    mu = delta * np.sqrt(N)
    grows = np.arcsinh(mu * t / np.sqrt(nu + t**2) / (2 * np.sqrt(nu + 1)))
    at_mode = (nu + 1) * (grows + np.sinh(grows) * np.exp(-grows))
    width = _log_width(grows, nu) - _log_width(np.zeros(1), nu)
    return width + at_mode - 0.5 * mu**2 * (nu / (nu + t**2))


def _log_width(grows: np.ndarray, nu: float) -> np.ndarray:
    """log I less the log of its integrand at the mode x* = b e^grows, (m,): of many by their polynomial."""
    if len(grows) > 2 * N_CHEBYSHEV:
        ends = grows.min() - 1e-3, grows.max() + 1e-3
        smooth = Chebyshev.interpolate(_log_width, N_CHEBYSHEV, ends, (nu,))
        if np.abs(smooth.coef[-4:]).max() < 1e-12:  # nats
            return smooth(grows)
    x2 = (nu + 1) * np.exp(2 * grows)

    def log_f(w: np.ndarray) -> np.ndarray:
        more = np.expm1(w)
        # −½ [(x − a)² − (x* − a)²] with x = x* e^w and x*(x* − a) = ν + 1
        return (nu + 1) * (w - more) - 0.5 * x2[:, None] * more**2

    return log_integrals(log_f, 1 / np.sqrt(x2 + nu + 1))


class TwoNoises(NamedTuple):
    """Nodes of ρ, with what the data say of the effect given each."""

    log_p: np.ndarray  #: under no effect, (k,)
    t: np.ndarray  #: (k,)
    N: np.ndarray  #: (k,)
    nu: float

    @classmethod
    def of(cls, n: tuple[float, float], squares: tuple[float, float], effect: float) -> "TwoNoises":
        """From the numbers, the squares about the means, and the difference of the means."""
        nu = sum(n) - 2.0

        def given(rho: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """log p(ρ) under no effect, its best under any, and log N/q."""
            log_v = [np.log(2) - np.logaddexp(0, sign * 2 * rho) for sign in (-1, 1)]
            log_N = -np.logaddexp(log_v[0] - np.log(n[0]), log_v[1] - np.log(n[1]))
            log_q = np.logaddexp(np.log(squares[0]) - log_v[0], np.log(squares[1]) - log_v[1])
            log_w = 0.5 * (log_N - (n[0] - 1) * log_v[0] - (n[1] - 1) * log_v[1])
            none = log_w - (nu + 1) / 2 * (log_q + np.log1p(effect**2 * np.exp(log_N - log_q)))
            return none, log_w - (nu + 1) / 2 * log_q, log_N - log_q

        low, high = -MAX_LOG_RATIO, MAX_LOG_RATIO
        while True:
            rho = np.linspace(low, high, N_RATIO_NODES + 1)
            *curves, by_squares = given(rho)
            near = np.flatnonzero(np.any([f > f.max() - NULLS_TAIL_NATS for f in curves], axis=0))
            ends = rho[max(near[0] - 1, 0)], rho[min(near[-1] + 1, N_RATIO_NODES)]
            if ends[1] - ends[0] > 0.7 * (high - low):
                break
            low, high = ends
        N = 1 / (2 / (1 + np.exp(-2 * rho)) / n[0] + 2 / (1 + np.exp(2 * rho)) / n[1])
        t = effect * np.exp(0.5 * by_squares) * np.sqrt(nu)
        return cls(curves[0] - logsumexp(curves[0]), t, N, nu)

    def log_ratio(self, delta: np.ndarray) -> np.ndarray:
        """log of the mean of L over ρ, (m,)."""
        k = len(self.t)
        parts = np.array_split(delta, max(1, -(-len(delta) * k // PAIRS_AT_A_TIME)))
        return np.concatenate([self._log_mean(part, k) for part in parts])

    def _log_mean(self, delta: np.ndarray, k: int) -> np.ndarray:
        m = len(delta)
        each = log_ratio(np.repeat(delta, k), np.tile(self.t, m), np.tile(self.N, m), self.nu)
        return logsumexp(each.reshape(m, k) + self.log_p, axis=1)
