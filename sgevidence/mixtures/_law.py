"""The law of allocations: what searches, sweeps of chains and the bridge ask of a mixture's rows and labels.

Rows go to components independently (``_sweeps.py``), or along a Markov chain (``_hidden_states.py``).

Symbols: ``z`` = allocations (S, n), ``T`` = their statistics (k, S, q), ``c`` = coefficients (k, M, q), such
that log p(x, z | θ) = Σ_k c_k·T_k.
"""

from typing import Protocol

import numpy as np


class Law(Protocol):
    """A law of allocations, of given rows."""

    @property
    def points(self) -> np.ndarray:
        """Rows (n, ·) whose distances say how alike they are."""

    def statistics(self, z: np.ndarray, k: int) -> np.ndarray:
        """T of allocations."""

    def draw(self, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One c ~ p(θ | x, z) of each allocation, (k, S, q)."""

    def allocate(
        self, c: np.ndarray, z: np.ndarray, T: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """New z given c, its T, and log p(z | θ, x); z and T are where chains are."""

    def decided(self, T: np.ndarray) -> "Law":
        """The law with the sweeps that suit chains with these statistics."""

    def swept(
        self, z: np.ndarray, T: np.ndarray, c: np.ndarray | None, n_sweeps: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(z, T, c) so many sweeps on."""

    def log_joint(self, T: np.ndarray) -> np.ndarray:
        """log p(x, z) of allocations, up to a constant, (S,), nats."""

    def log_target(self, c: np.ndarray) -> np.ndarray:
        """log p(x | θ) of points, where allocations are restricted with the probability of these, (M,)."""

    def log_in_use(self, c: np.ndarray) -> np.ndarray:
        """Log probability that allocations are as they are restricted to be, (M,)."""

    def log_sum_over_labels(self, c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log Σ_π p(x, π z | θ) + log_p of points and allocations, (M, S)."""
