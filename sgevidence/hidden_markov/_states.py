r"""Allocations that are Markov chains: rows, the law of their states, and Gibbs sweeps.

A sweep draws all states of a chain at once, by forward filtering and backward sampling, and then the
parameters given these (Chib 1996), for all chains side by side.  Empty states are left to the sweeps: rows of
transitions bring Γ(Ka + κ)/Γ(Ka + κ + N_i) each, so that sums over allocations with k states in use depend on
K, and each K is a walk of its own.  The sum over labellings permutes transitions from and to, and is no
permanent: it is formed term by term.

Symbols: ``z`` = states of S chains, (S, n); ``T, c`` = statistics and coefficients, see
:class:`HiddenMarkovModel`; ``F`` = features of rows, zeros without an observation, (n, q).
"""

from itertools import permutations
from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..mixture.strata import statistics as sums_of_rows
from ._forward import sample_states
from ._model import HiddenMarkovModel


class HiddenStates(NamedTuple):
    """Rows and the law of their states: the model, where sequences start (n,), and features."""

    model: HiddenMarkovModel
    starts: np.ndarray
    F: np.ndarray

    @classmethod
    def of(cls, model: HiddenMarkovModel, rows: Rows) -> "HiddenStates":
        """From rows whose y says where sequences start."""
        assert rows.y is not None
        return cls(model, rows.y > 0, model.features(rows.X))

    def first(self, n: int) -> "HiddenStates":
        """The first n rows."""
        return self._replace(starts=self.starts[:n], F=self.F[:n])

    def statistics(self, z: np.ndarray) -> np.ndarray:
        """T of sequences of states (S, n), (K, S, D): transitions, first states, rows."""
        S, K = len(z), self.model.n_states
        follows = np.flatnonzero(~self.starts)
        code = (np.arange(S)[:, None] * K + z[:, follows - 1]) * K + z[:, follows]
        N = np.bincount(code.ravel(), minlength=S * K * K).reshape(S, K, K).transpose(1, 0, 2)
        first = np.sum(z[:, self.starts] == np.arange(K)[:, None, None], axis=2)
        return np.concatenate([N, first[..., None], sums_of_rows(z, self.F, K)], axis=2)

    def draw(self, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One c ~ p(θ | x, z) of each sequence of states, (K, S, D)."""
        return self.model.draw(T, rng)

    def allocate(self, c: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """T of one z ~ p(z | θ, x) for each point, (K, M, D), and the last state of each, (M,)."""
        T, last = [], []
        for part in self._blocks(c):
            log_e = self.model.log_emissions(part, self.F)
            z = sample_states(log_e, self.model.dynamics(part), self.starts, rng).T
            T.append(self.statistics(z.astype(np.int16)))
            last.append(z[:, -1])
        return np.concatenate(T, axis=1), np.concatenate(last)

    def log_joint(self, T: np.ndarray) -> np.ndarray:
        """log p(x, z) of sequences of states, (S,), nats."""
        return self.model.log_joint_of(T)

    def log_target(self, c: np.ndarray) -> np.ndarray:
        """log p(x | θ) of points, by the forward algorithm, (M,)."""
        return self.model.along(c, self.F, self.starts)[1]

    def log_sum_over_labels(self, c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log Σ_π p(x, π z | θ) + log_p of points and sequences of states, (M, S)."""
        (K, M, _), S = c.shape, T.shape[1]
        points, out = c.transpose(1, 0, 2).reshape(M, -1), np.full((M, S), -np.inf)
        for order in map(list, permutations(range(K))):
            relabelled = T[order]
            relabelled[..., :K] = relabelled[..., order]
            out = np.logaddexp(out, points @ relabelled.transpose(1, 0, 2).reshape(S, -1).T)
        return out + log_p

    def _blocks(self, c: np.ndarray) -> list[np.ndarray]:
        """Points of which a filter is a few megabytes."""
        size = self.model.block_size(len(self.F))
        return [c[:, start : start + size] for start in range(0, c.shape[1], size)]
