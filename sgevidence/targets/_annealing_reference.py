r"""A density of allocations that remembers a few of them, blurred.

    q(z) = (1/S) Σ_s Π_r ρ(z_r | z_sr),    ρ(k | l) = (1 − ε) 1[k = l] + ε / K:

a row keeps the component that z_s gives it or, with probability ε, has any.  So there is order as in z_s
where many rows make it up, and none where few do.  With A_s the number of rows in which z is z_s,

    log q(z) = n log(ε/K) + log (1/S) Σ_s exp(c A_s),    c = log(1 + K (1 − ε)/ε).

Symbols
-------
====  ================  =================================================
z_s   ``q.z``           allocations that it remembers, (S, n)
A     ``agreement, A``  (M, S) of M allocations
ε, c  ``BLUR, q.c``
B     ``B``             rows of component k of z that z_s has in l, (M, S, K, K)
====  ================  =================================================
"""

from typing import NamedTuple

import numpy as np

from ..particles import log_sum_exp

#: ε.  At a half no small component stays as it was remembered, and large ones do (wine, K = 6).
BLUR = 0.5
#: Exchanges of two labels that are tried, times pairs of labels.
EXCHANGES = 4


class AnnealingReference(NamedTuple):
    """The density of K components that remembers ``z``, (S, n)."""

    z: np.ndarray
    K: int

    @property
    def c(self) -> float:
        """Nats for each row in which they agree."""
        return float(np.log1p(self.K * (1 - BLUR) / BLUR))

    def draw(self, M: int, rng: np.random.Generator) -> np.ndarray:
        """M allocations, each remembered one in turn, (M, n)."""
        S, n = self.z.shape
        z = self.z[np.arange(M) % S]
        return np.where(rng.random((M, n)) < BLUR, rng.integers(self.K, size=(M, n)), z).astype(np.int16)

    def agreement(self, z: np.ndarray) -> np.ndarray:
        """A of M allocations, (M, S)."""
        return np.stack([np.sum(z == one, axis=1) for one in self.z], axis=1)

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """log q of M allocations, (M,)."""
        S, n = self.z.shape
        return n * np.log(BLUR / self.K) + log_sum_exp(self.c * self.agreement(z), axis=1) - np.log(S)

    def log_odds(self, agreement: np.ndarray, r: int) -> np.ndarray:
        """log q(z_r = k | all other z) but for a constant, (K, M); the others' ``agreement``."""
        W = np.exp(self.c * (agreement - agreement.max(axis=1, keepdims=True)))  # (M, S)
        same = self.z[:, r] == np.arange(self.K)[:, None]  # (K, S)
        return np.log(W.sum(axis=1) + np.expm1(self.c) * (same.astype(float) @ W.T))

    def relabelled(self, z: np.ndarray, power: float, rng: np.random.Generator) -> np.ndarray:
        """z with labels moved by Metropolis steps under q^power; what knows no labels is as before."""
        M, K, m = len(z), self.K, np.arange(len(z))
        B, label = self._overlap(z), np.tile(np.arange(K), (M, 1))  # label: what has come to be called k
        A = np.einsum("mskk->ms", B)
        log_q = log_sum_exp(self.c * A, axis=1)
        for _ in range(EXCHANGES * K * (K - 1) // 2):
            k, l = rng.integers(K, size=(2, M))  # the same now and then, or an even number stays even
            new = A + B[m, :, k, l] + B[m, :, l, k] - B[m, :, k, k] - B[m, :, l, l]
            log_new = log_sum_exp(self.c * new, axis=1)
            taken = np.flatnonzero(np.log(rng.random(M)) < power * (log_new - log_q))
            i, j = k[taken], l[taken]
            B[taken, :, i], B[taken, :, j] = B[taken, :, j], B[taken, :, i]
            label[taken, i], label[taken, j] = label[taken, j], label[taken, i]
            A[taken], log_q[taken] = new[taken], log_new[taken]
        return np.argsort(label, axis=1)[m[:, None], z].astype(z.dtype)

    def _overlap(self, z: np.ndarray) -> np.ndarray:
        (S, n), K, M = self.z.shape, self.K, len(z)
        member = (z == np.arange(K)[:, None, None]).reshape(K * M, n).astype(float)
        remembered = (self.z[:, None] == np.arange(K)[:, None]).reshape(S * K, n).astype(float)
        return (member @ remembered.T).reshape(K, M, S, K).transpose(1, 2, 0, 3).copy()
