r"""Allocations that are Markov chains: rows, the law of their states, and Gibbs sweeps.

A sweep draws all states of a chain at once, by forward filtering and backward sampling, and then the
parameters given these (Chib 1996), for all chains side by side.  The sum over labellings permutes transitions
from and to, and is no permanent: it is formed term by term.

Symbols: ``z`` = states of S chains, (S, n); ``T, c`` = statistics and coefficients, see
:class:`HiddenMarkovModel`; ``F`` = features of rows, zeros without an observation, (n, q); ``points`` = rows
whose distances say how alike they are, in units of each column, (n, ·).
"""

from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..mixture.strata import statistics as sums_of_rows
from ._forward import sample_states
from ._model import HiddenMarkovModel

#: Numbers of one array of a filter over all rows: 16 MB.
MAX_FILTER_NUMBERS = 2_000_000


class Sweep(NamedTuple):
    """States drawn given M points: z (M, n), T (K, M, D), and log p(x | θ) of the points, (M,)."""

    z: np.ndarray
    T: np.ndarray
    log_p: np.ndarray


class HiddenStates(NamedTuple):
    """Rows and the law of their states: the model, where sequences start (n,), and features."""

    model: HiddenMarkovModel
    starts: np.ndarray
    F: np.ndarray
    points: np.ndarray

    @classmethod
    def of(cls, model: HiddenMarkovModel, rows: Rows) -> "HiddenStates":
        """From rows whose y says where sequences start."""
        assert rows.y is not None
        known = model.observed(rows.X)
        at = model.emission.points(rows.X[known])
        points = np.zeros((len(rows), at.shape[1]))
        if len(at):
            points[known] = (at - at.mean(axis=0)) / np.maximum(at.std(axis=0), 1e-300)
        return cls(model, rows.y > 0, model.features(rows.X), points)

    def with_states(self, k: int) -> "HiddenStates":
        """The problem of k states."""
        return self._replace(model=replace(self.model, n_states=k))

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

    def sweep(self, c: np.ndarray, rng: np.random.Generator) -> Sweep:
        """One z ~ p(z | θ, x) of each point."""
        size = max(MAX_FILTER_NUMBERS // (len(self.F) * len(c)), 1)
        parts = [self._swept(c[:, start : start + size], rng) for start in range(0, c.shape[1], size)]
        z, T, log_p = zip(*parts)
        return Sweep(np.concatenate(z), np.concatenate(T, axis=1), np.concatenate(log_p))

    def _swept(self, c: np.ndarray, rng: np.random.Generator) -> Sweep:
        states, log_p = sample_states(
            self.model.log_emissions(c, self.F), self.model.dynamics(c), self.starts, rng
        )
        z = states.T.astype(np.int16)
        return Sweep(z, self.statistics(z), log_p)

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
