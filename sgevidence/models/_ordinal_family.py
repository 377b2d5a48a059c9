r"""Ordered levels: a cumulative logit.

    P(y ≤ k) = 1 / (1 + e^(η − c_k)),    c_0 < … < c_(K−2),

and the probabilities of the levels at η = 0 have the prior Dirichlet(1, …, 1), which is uniform.  By sticks
that are broken one after the other they are a function of K − 1 standard normals,

    log P(y > k | η = 0) = Σ_(j ≤ k) log Φ(−z_j) / (K − 1 − j).

The log posterior is concave in (w, c): log f of a logistic density is, and so is the log of the mass between
two thresholds (Prékopa 1973).  There is no intercept, since all thresholds move together.

Symbols: ``c`` = thresholds; ``b``, ``a`` = those above and below the level, where there is none
±:data:`FAR_THRESHOLD`.

References
----------
P. McCullagh (1980), Regression models for ordinal data, Journal of the Royal Statistical Society B 42, 109.
"""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.scipy.stats.norm import logcdf
from scipy.special import expit

from ._count_families import softplus
from ._families import Family

#: Threshold above the highest level, and minus that below the lowest: no η is as far out.
FAR_THRESHOLD = 1e6


@dataclass(frozen=True)
class Ordinal(Family):
    """Levels in their order, y = 0 … K − 1: P(y ≤ k) = 1 / (1 + e^(η − c_k)).

    The probabilities of the levels where η = 0 are uniform, Dirichlet(1), and thresholds c_k take the place
    of the intercept.

    Parameters
    ----------
    n_levels : int, default=2
        K; an estimator counts the levels itself.
    """

    n_levels: int = 2

    is_log_concave = False
    is_classifier = True
    has_intercept = False

    def __post_init__(self) -> None:
        if self.n_levels < 2:
            raise ValueError(f"ordered levels are two or more, got n_levels={self.n_levels}")

    @property
    def n_own(self) -> int:
        return self.n_levels - 1

    def prior_names(self) -> list[str]:
        return ["probabilities of the levels at the mean Dirichlet(1)"]

    def own_of(self, z: Any) -> list[Any]:
        """Thresholds, (M, 1) each."""
        log_above, thresholds = 0.0, []
        for k in range(self.n_own):
            log_above = log_above + logcdf(-z[:, k : k + 1]) / (self.n_own - k)
            thresholds.append(anp.log(-anp.expm1(log_above)) - log_above)
        return thresholds

    def named(self, own: list[np.ndarray]) -> dict[str, np.ndarray]:
        return {"thresholds": np.hstack(own)}

    def _around(self, y: Any, c: tuple) -> tuple[Any, Any]:
        """Thresholds above and below the level, b and a."""
        k = np.atleast_1d(y).astype(int)
        c = tuple(value if np.ndim(value) else np.array([value]) for value in c)
        ends = [np.full(np.shape(c[0]), end) for end in (-FAR_THRESHOLD, FAR_THRESHOLD)]
        every = anp.concatenate([ends[0], *c, ends[1]], axis=-1)
        return every[..., k + 1], every[..., k]

    def log_density(self, eta, y, *c):
        b, a = self._around(y, c)
        between = anp.log(-anp.expm1(-anp.maximum(b - a, 1e-300)))
        return between - softplus(eta - b) - softplus(a - eta)

    def score(self, eta, y, *c):
        b, a = self._around(y, c)
        return expit(a - eta) - expit(eta - b)

    def curvature(self, eta, y, *c):
        b, a = self._around(y, c)
        return expit(a - eta) * expit(eta - a) + expit(eta - b) * expit(b - eta)

    def mean(self, eta, *c):
        """Mean number of the level."""
        return sum(expit(eta - threshold) for threshold in c)

    def variance(self, eta, *c):
        square = sum((2 * k + 1) * expit(eta - threshold) for k, threshold in enumerate(c))
        return square - self.mean(eta, *c) ** 2

    def entropy(self, eta, *c):
        log_p = [self.log_density(eta, float(k), *c) for k in range(self.n_levels)]
        return -sum(np.exp(one) * one for one in log_p)

    def simulate(self, eta, rng, *c):
        latent = eta + rng.logistic(size=np.shape(eta))
        return sum((latent > threshold).astype(np.intp) for threshold in c)
