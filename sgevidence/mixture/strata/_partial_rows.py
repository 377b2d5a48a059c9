r"""Rows that do not count once: the posterior of K components under powers of their likelihood.

A row of weight ω is ⌈ω⌉ rows of weight u = ω/⌈ω⌉ each, or a few that count more often.  For u ≠ 1 the power
(Σ_k π_k f_k)^u is no sum over allocations, so strata only say where the posterior is.  Then all K components
are followed at once.  A sweep draws z ~ p(z | θ, x), each row as if it counted once, and proposes
θ' ~ p(θ | z, x^u).  With r_z the responsibilities of the components that z names, accepting it with

    min(1, Π_r [r_z(θ')/r_z(θ)]^(1 − u_r))

leaves Π_r p(x_r | θ)^u p(θ) unchanged: it is Metropolis and Hastings on θ and z together, whose proposal is
Gibbs's own where u = 1.  Where groups are apart all r_z are one, and nothing is refused.

The density q of :mod:`._allocation_draws`, whose allocations now may leave components empty, is bridged to
these chains, basin by basin.

Symbols: ``x, u`` = features of rows counted once (n, q), and how often rows count (n,); others as in
``_sweeps.py``.
"""

from collections.abc import Sequence

import numpy as np

from ...models import pieces_in_cache
from ...particles import log_sum_exp
from ._allocation_draws import BLOCK_NUMBERS, counted_once, sample_allocations, statistics
from ._basins import by_basin, going_on, kernels_of
from ._stratum import (
    DRAW_SWEEPS,
    FORGET_SWEEPS,
    LINEAGES,
    MAX_GAP_NATS,
    MOVING_SHARE,
    STAGES,
    Stratum,
    are_well,
    combined_halves,
    halves_gap,
    single,
)
from ._sweeps import Problem

#: Lineages of each half, and how many start in each stratum that holds more than this share.
MIN_LINEAGES_OF_STRATUM, MIN_STRATUM_SHARE = 4, 1e-4


class PartialRows(Problem):
    """The problem with all K components, some of which may be empty."""

    def log_target(self, c: np.ndarray) -> np.ndarray:
        """Σ_r u_r log p(x_r | θ), (M,)."""
        return self._log_likelihood(c, self.F[:, -1])

    def swept(self, z, T, c, n_sweeps, rng):
        """(z, T, c) so many sweeps on; without a point to start from nothing is refused."""
        is_new, spare = c is None, counted_once(self.F) - self.F
        c = self.draw(T, rng) if c is None else c
        for _ in range(n_sweeps):
            z, T, _ = sample_allocations(c, self.F, rng)
            other, T_spare = self.draw(T, rng), statistics(z, spare, len(c))
            log_ratio = self._log_spare(other, T_spare) - self._log_spare(c, T_spare)
            accepted = is_new | (np.log(rng.random(len(z))) < log_ratio)
            c = np.where(accepted[:, None], other, c)
        return z, T, c

    def _log_spare(self, c: np.ndarray, T_spare: np.ndarray) -> np.ndarray:
        """Σ_r (1 − u_r) log r_z(θ), (S,)."""
        return np.sum(c * T_spare, axis=(0, 2)) - self._log_likelihood(c, 1.0 - self.F[:, -1])

    def _log_likelihood(self, c: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Σ_r w_r log p(x_r | θ), (M,)."""
        x, pieces = counted_once(self.F).T, pieces_in_cache(c.shape[1], len(c) * len(self.F), BLOCK_NUMBERS)
        return np.concatenate([log_sum_exp(c[:, part] @ x, axis=0) @ weight for part in pieces])


def partial_answers(
    problem: Problem, strata: Sequence[Stratum], shares: np.ndarray, rngs: list[np.random.Generator]
) -> list[Stratum]:
    """For 1 … K components the sum over all numbers of components in use, from where strata have ended.

    ``shares`` (K, K) are p(k in use | K), as the strata say.
    """
    partial = PartialRows(*problem)
    out = [single(problem, rngs)]
    return out + [_answer(partial, m, strata[:m], shares[m - 1], rngs) for m in range(2, len(shares) + 1)]


def _answer(
    problem: PartialRows,
    K: int,
    strata: Sequence[Stratum],
    share: np.ndarray,
    rngs: list[np.random.Generator],
) -> Stratum:
    z = [_starts(strata, share, half, rng) for half, rng in enumerate(rngs)]
    n_sweeps, answer, moved = 0, np.nan, 0.0
    for i in range(STAGES):
        forget, between = FORGET_SWEEPS * 2**i, DRAW_SWEEPS * 2**i
        stages = [
            by_basin(problem, K, one, forget, between, kernels_of(K, 0), rng) for one, rng in zip(z, rngs)
        ]
        n_sweeps += sum(one.n_sweeps for one in stages)
        before, answer = answer, combined_halves(stages)
        moved = 0.0 if i == 0 else MOVING_SHARE * abs(answer - before)
        if max(halves_gap(stages), moved) <= MAX_GAP_NATS and are_well(stages, i == 0):
            break
        z = [going_on(one, len(half), rng) for one, half, rng in zip(stages, z, rngs)]
    return Stratum.of(K, stages, moved, halves_gap(stages), 2, z, n_sweeps * len(problem.F))


def _starts(strata: Sequence[Stratum], share: np.ndarray, half: int, rng: np.random.Generator) -> np.ndarray:
    """Allocations where a half of the strata has ended, (LINEAGES or so, n)."""
    out = []
    for one, p in zip(strata, share):
        if p > MIN_STRATUM_SHARE:
            size = max(round(p * LINEAGES), MIN_LINEAGES_OF_STRATUM)
            out.append(np.resize(rng.permutation(one.z[half]), (size, one.z[half].shape[1])))
    return np.concatenate(out)
