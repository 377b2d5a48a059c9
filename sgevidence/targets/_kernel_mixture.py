r"""A density for few parameters from weighted draws of it: a mixture of kernels, and a wide one beside them.

Kernels are drawn towards the mean, so that the mixture has the covariance of the draws (West 1993), and their
width is that of Silverman's rule for as many draws as are effective.  A fifth of the mass is a single wide
Student t: what the draws have not met is met by it.

Symbols: ``h`` = width of a kernel over that of all, ``C`` = kernels, ``k`` = parameters.

References
----------
M. West (1993), Approximating posterior distributions by mixture; T. Hesterberg (1995), Weighted average
importance sampling and defensive mixture distributions.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import multivariate_t

from ..particles import log_sum_exp, systematic

#: Kernels, their degrees of freedom, and the squared width of one at most.
N_KERNELS, NU, MAX_H2 = 300, 6.0, 0.9
#: Share of the wide density, its degrees of freedom, and its squared width.
WIDE_SHARE, WIDE_NU, WIDE_WIDTH2 = 0.2, 4.0, 2.5


class KernelMixture(NamedTuple):
    """A density of k parameters."""

    centres: np.ndarray  #: (C, k)
    L: np.ndarray  #: of a kernel, (k, k)
    wide: Any

    @classmethod
    def of(cls, psi: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> "KernelMixture":
        """From draws (n, k) with normalised weights (n,); LinAlgError if they are in a plane."""
        k, effective = psi.shape[1], max(1 / np.sum(W**2), 5.0)
        m = W @ psi
        V = (W[:, None] * (psi - m)).T @ (psi - m)
        h2 = min((4 / ((k + 2) * effective)) ** (2 / (k + 4)), MAX_H2)
        centres = psi[systematic(W, rng, int(min(N_KERNELS, effective)))]
        L = np.linalg.cholesky(V)
        return cls(
            m + (1 - h2) ** 0.5 * (centres - m), h2**0.5 * L, multivariate_t(m, WIDE_WIDTH2 * V, df=WIDE_NU)
        )

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, k)."""
        k, n_wide = len(self.L), round(WIDE_SHARE * n)
        t = multivariate_t(np.zeros(k), df=NU).rvs(n - n_wide, random_state=rng).reshape(-1, k)
        near = self.centres[rng.integers(len(self.centres), size=n - n_wide)] + t @ self.L.T
        return np.concatenate([near, self.wide.rvs(n_wide, random_state=rng).reshape(-1, k)])

    def log_density(self, psi: np.ndarray) -> np.ndarray:
        """At (n, k), (n,)."""
        k = len(self.L)
        away = np.linalg.solve(self.L, (psi - self.centres[:, None]).reshape(-1, k).T).T
        each = multivariate_t(np.zeros(k), df=NU).logpdf(away).reshape(len(self.centres), -1)
        kernels = log_sum_exp(each, axis=0) - np.log(len(self.centres)) - np.log(np.diag(self.L)).sum()
        wide = np.reshape(self.wide.logpdf(psi), -1)
        return np.logaddexp(np.log1p(-WIDE_SHARE) + kernels, np.log(WIDE_SHARE) + wide)
