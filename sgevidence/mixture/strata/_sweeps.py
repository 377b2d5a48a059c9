r"""Gibbs sweeps of a mixture all of whose components are in use.

One stratum has k components, each with a row at least.  A sweep draws parameters given the allocation z, and
then z given the parameters, all rows at once (Diebolt and Robert 1994):

    θ ~ p(θ | x, z),    z ~ p(z | θ, x, all in use).

Symbols
-------
=======  ==========  =====================================================================
z        ``z``       allocations of S chains, (S, n)
T        ``T``       statistics of their components, (k, S, q); the last one counts rows
c        ``c``       coefficients, with log π_k in the last one, (k, S, q)
F        ``F``       features of rows, (n, q)
a        ``concentration``  of the symmetric Dirichlet prior of the weights
=======  ==========  =====================================================================

References
----------
J. Diebolt and C. P. Robert (1994), Estimation of finite mixture distributions through Bayesian sampling;
S. N. MacEachern (1994), Estimating normal means with a conjugate style Dirichlet process prior.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ...models import log_dirichlet
from ..components import ComponentFamily
from ._allocation_draws import log_sum_over_labels, sample_allocations, statistics
from ._occupied import log_likelihood_in_use

#: Rows that are allocated one by one, at most: with 32, 70 rows of 30 columns are known to 0.2 nats, with 64
#: to 0.03.
MAX_ROWS_BY_ONE = 64


class Problem(NamedTuple):
    """Family, rows (n, p), points to split them by (n, ·), features, and the prior of the weights."""

    family: ComponentFamily
    X: np.ndarray
    points: np.ndarray
    F: np.ndarray
    concentration: float
    is_tight: bool = False  #: whether sweeps begin with rows that are allocated one by one

    def subset(self, rows: np.ndarray) -> "Problem":
        """The problem of these rows alone."""
        return self._replace(X=self.X[rows], points=self.points[rows], F=self.F[rows])

    def cost(self, k: int) -> int:
        """Numbers that one sweep of one chain touches: rows · components · numbers of each."""
        return self.F.size * k

    @property
    def total_weight(self) -> float:
        """Rows, as often as they count."""
        return float(self.F[:, -1].sum())

    def log_target(self, c: np.ndarray) -> np.ndarray:
        """log p(x | θ) P(all in use | θ, x) of points, (M,), nats."""
        return np.add(*log_likelihood_in_use(c, self.F))

    def log_sum_over_labels(self, c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log Σ_π p(x, π z | θ) + log_p of points and allocations, (M, S)."""
        return log_sum_over_labels(c, T, log_p)

    def log_joint(self, T: np.ndarray) -> np.ndarray:
        """log Π_j [Γ(a + n_j)/Γ(a)] p(x_j) of S allocations, (S,), nats.

        Statistics that a power λ has multiplied have the Γ(ka + n)/Γ(ka + λn) that the others leave out.
        """
        a, N = self.concentration, T[..., -1].sum(axis=0)
        log_ratio = gammaln(len(T) * a + self.total_weight) - gammaln(len(T) * a + N)
        return np.sum(self.log_parts(T) - gammaln(a), axis=0) + log_ratio

    def draw(self, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One c ~ p(θ | x, z) of each allocation, (k, S, q)."""
        c = self.family.coefficients(self.family.sample(T, rng))
        c[..., -1] += log_dirichlet(self.concentration + T[..., -1], rng)
        return c

    def statistics(self, z: np.ndarray, k: int) -> np.ndarray:
        """T of allocations, (k, S, q)."""
        return statistics(z, self.F, k)

    def allocate(
        self, c: np.ndarray, z: np.ndarray, T: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z with all components in use given c, its T and log p(z | θ, x); z and T are where chains are.

        A chain that a draw leaves with an empty component draws again for a random share of its rows only,
        and stays where it was if that fails, too: either leaves p(z | θ, x, all in use) unchanged.
        """
        new_z, new_T, log_p = sample_allocations(c, self.F, rng)
        bad = np.flatnonzero(np.any(new_T[..., -1] == 0, axis=0))
        if len(bad):
            log_sum = np.sum(c[:, bad] * new_T[:, bad], axis=(0, 2)) - log_p[bad]
            again, _, _ = sample_allocations(c[:, bad], self.F, rng)
            # least share of its rows that a chain keeps in its second attempt: a component of one row is kept
            # by half
            is_kept = rng.random(again.shape, dtype=np.float32) < rng.uniform(0.3, 1.0, (len(bad), 1))
            again = np.where(is_kept, z[bad], again)
            T_again = self.statistics(again, len(c))
            fails = np.any(T_again[..., -1] == 0, axis=0)
            again[fails], T_again[:, fails] = z[bad[fails]], T[:, bad[fails]]
            new_z[bad], new_T[:, bad] = again, T_again
            log_p[bad] = np.sum(c[:, bad] * T_again, axis=(0, 2)) - log_sum
        return new_z, new_T, log_p

    def integrated(
        self, z: np.ndarray, T: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """(z, T) after some rows, one by one, have been allocated anew with all parameters integrated out.

        p(z_r = j | z of the others, x) ∝ A(x_j and x_r) / A(x_j), A = Γ(a + n_j) p(x_j) (MacEachern 1994).
        The only row of a component stays.  A row that leaves a component of few does not fit the parameters
        of any other, drawn without it, in any of many columns; here it need not.
        """
        z, T, s = z.copy(), T.copy(), np.arange(len(z))
        log_A, least = self.log_parts(T), 0.5 * self.F[:, -1].min()
        for r in rng.permutation(len(self.F))[:MAX_ROWS_BY_ONE]:
            own, changed = z[:, r], T + self.F[r]
            left = T[own, s] - self.F[r]
            is_alone = left[:, -1] < least
            changed[own, s] = np.where(is_alone[:, None], 0.0, left)  # nothing, not what rounding leaves
            log_changed = self.log_parts(changed)
            log_odds = log_changed - log_A
            log_odds[own, s] *= -1.0
            p = np.exp(log_odds - log_odds.max(axis=0)).cumsum(axis=0)
            new = np.where(is_alone, own, np.sum(p < rng.random(len(z)) * p[-1], axis=0))
            m = np.flatnonzero(new != own)
            for j in (own[m], new[m]):
                T[j, m], log_A[j, m] = changed[j, m], log_changed[j, m]
            z[:, r] = new
        return z, T

    def log_parts(self, T: np.ndarray) -> np.ndarray:
        """log Γ(a + n_j) p(x_j) of components with statistics (…, q), (…)."""
        return gammaln(self.concentration + T[..., -1]) + self.family.log_evidence(T)

    def swept(
        self, z: np.ndarray, T: np.ndarray, c: np.ndarray | None, n_sweeps: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(z, T, c) so many sweeps on; c is the point that z was drawn given, and is not needed to go on."""
        if self.is_tight:
            z, T = self.integrated(z, T, rng)
        for _ in range(max(n_sweeps, 1)):
            c = self.draw(T, rng)
            z, T, _ = self.allocate(c, z, T, rng)
        assert c is not None
        return z, T, c
