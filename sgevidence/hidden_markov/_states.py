r"""Allocations that are Markov chains: rows, the law of their states, and Gibbs sweeps.

A sweep draws all states of a chain at once, by forward filtering and backward sampling, and then the
parameters given these (Chib 1996), for all chains side by side.  The sum over labellings permutes transitions
from and to, and is no permanent: it is formed term by term.

Symbols: ``z`` = states of S chains, (S, n); ``T, c`` = statistics and coefficients, see
:class:`HiddenMarkovModel`; ``F`` = features of rows, zeros without an observation, (n, q); ``points`` = rows
whose distances say how alike they are, in units of each column, (n, ·).
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..mixture.strata import statistics as sums_of_rows
from ..models import log_totals, pieces_in_cache
from ._forward import sample_states
from ._model import HiddenMarkovModel

#: Numbers of one step of a filter, states² × points, that its loop passes fastest.
STEP_NUMBERS = 8_000
#: Numbers of densities of kernels of all labellings that are summed at a time: what fits the cache.
LABELLED_NUMBERS = 250_000


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
    U: np.ndarray  #: columns that move transitions, (n, ·)

    @classmethod
    def of(cls, model: HiddenMarkovModel, rows: Rows) -> "HiddenStates":
        """From rows whose y says where sequences start."""
        assert rows.y is not None
        known = model.observed(rows.X)
        at = model.emission.points(rows.X[known, : model.emission.n_features])
        points = np.zeros((len(rows), at.shape[1]))
        if len(at):
            points[known] = (at - at.mean(axis=0)) / np.maximum(at.std(axis=0), 1e-300)
        return cls(model, rows.y > 0, model.features(rows.X), points, model.moving(rows.X))

    @property
    def plain(self) -> "HiddenStates":
        """The problem with transitions that nothing moves."""
        return self._replace(model=replace(self.model, n_moving=0))

    def with_states(self, k: int) -> "HiddenStates":
        """The problem of k states."""
        return self._replace(model=replace(self.model, n_states=k))

    def statistics(self, z: np.ndarray) -> np.ndarray:
        """T of sequences of states (S, n), (K, S, D): transitions, first states, rows."""
        K, N = self.model.n_states, self.model.transitions.statistics(z, self.starts, self.U)
        first = np.sum(z[:, self.starts] == np.arange(K)[:, None, None], axis=2)
        return np.concatenate([N, first[..., None], sums_of_rows(z, self.F, K)], axis=2)

    def sweep(self, c: np.ndarray, rng: np.random.Generator) -> Sweep:
        """One z ~ p(z | θ, x) of each point."""
        parts = [self._swept(c[:, part], rng) for part in self.model.parts(c.shape[1], len(self.F))]
        z, T, log_p = zip(*parts)
        return Sweep(np.concatenate(z), np.concatenate(T, axis=1), np.concatenate(log_p))

    def _swept(self, c: np.ndarray, rng: np.random.Generator) -> Sweep:
        log_e, chain = self.model.log_emissions(c, self.F), self.model.dynamics(c, self.U)
        states, log_p = sample_states(log_e, chain, self.starts, rng)
        z = states.T.astype(np.int16)
        return Sweep(z, self.statistics(z), log_p)

    def log_joint(self, T: np.ndarray) -> np.ndarray:
        """log p(x, z) of what of the kernels is conjugate, which is their constant, (S,), nats."""
        conjugate = self.model.transitions.is_conjugate
        return self.model.log_joint_of(T) if conjugate else self.model.log_joint_of_rows(T)

    def log_target(self, c: np.ndarray) -> np.ndarray:
        """log p(x | θ) of points by the forward algorithm, with the prior of what is not conjugate, (M,)."""
        parts = pieces_in_cache(c.shape[1], len(c) ** 2, STEP_NUMBERS)
        log_p = np.concatenate(
            [self.model.along(c[:, part], self.F, self.starts, self.U)[1] for part in parts]
        )
        return log_p + self._log_prior(c)

    def _log_prior(self, c: np.ndarray) -> np.ndarray | float:
        law = self.model.transitions
        return 0.0 if law.is_conjugate else law.log_prior(self.model.split(c)[0])

    def log_sum_over_labels(self, c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log Σ_π q(c | π T) + log_p of points and kernels, but for the constants of T, (M, S)."""
        log_kernels, out = self._log_kernels(c, T), np.empty((c.shape[1], T.shape[1]))
        orders = list(map(list, permutations(range(len(c)))))
        for part in pieces_in_cache(len(out), len(orders) * T.shape[1], LABELLED_NUMBERS):
            out[part] = log_totals(np.array([log_kernels(order, part) for order in orders]), shares=False)
        return out + log_p

    def log_held(self, c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log p(x | θ) p(θ) / p(θ | x, z) of pairs of points and sequences: what basins hold, (S,), nats."""
        log_q = np.diagonal(self._log_kernels(c, T)(list(range(len(c))), slice(None)))
        return log_p + self._log_prior(c) + self.log_joint(T) - log_q

    def _log_kernels(self, c: np.ndarray, T: np.ndarray) -> Callable[[list[int], slice], np.ndarray]:
        """A function of the order of states and of a part of the points: log densities but for constants."""
        at, M, S = -1 - self.model.n_features_of_rows, c.shape[1], T.shape[1]
        points, rest = c[..., at:].transpose(1, 0, 2).reshape(M, -1), T[..., at:]
        of_transitions = self.model.transitions.log_kernels(c[..., :at], T[..., :at])

        def of(order: list[int], part: slice) -> np.ndarray:
            of_rows = points[part] @ rest[order].transpose(1, 0, 2).reshape(S, -1).T
            return of_transitions(order, part) + of_rows

        return of
