r"""Evidences of log-concave regressions on subsets by few antithetic draws each, and the average of all.

Newton's method has found the modes already.  Draws of a t there, or around the nearest Gaussian, with control
variates (``answers``), take milliseconds where a fit takes hundredths of a second.  All draws together are
the posterior averaged over subsets, with zeros where a column is out: one regression on all columns predicts
by them.

Symbols: θ ``theta`` = coefficients of all columns and the intercept, (M, q); d = those of one subset.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..answers import (
    MAX_PARETO_K,
    MIN_PAIRS_PER_CONTROL,
    TOLERANCE_NATS,
    Gaussian,
    TDensity,
    TMixture,
    paired_draws,
    refined,
)
from ..history import Rows
from ..models import Model
from ..particles import Weights, systematic
from ..samplers import EvidenceResult, Progress
from ._newton_of_many import Design, derivatives_of_many

#: Each round of draws: pairs, pairs per parameter, and the standard error, nats, and the Pareto k up to which
#: it is the last; a subset beyond the third is answered as a fit would be.  Errors of the first two are for a
#: tolerance of TOLERANCE_NATS.  A round that cannot carry control variates of all second moments is left out:
#: twice the pairs with these say more.
#: The last is around the nearest Gaussian: of 28 subsets of thirty columns that nearly separate the rows, six
#: had no error bar around the mode, and ± 0.01 to 0.18 there.
SUBSET_ROUNDS = ((256, 20, 0.03, 0.2), (1024, 40, 0.06, 0.4), (2048, 80, 0.3, MAX_PARETO_K))
#: Standard error, nats, of one subset at most, however little probability it has.
ROUGH_SUBSET_NATS = 0.3
#: Error, nats, that pairs as few may hide: of 216 small problems, half of them skew, three were five of their
#: standard errors off, by up to .04 nats.
HIDDEN_ERROR_NATS = 0.01
#: Rows up to which draws are weighed by all of them; a fit takes samples of more.
MAX_ROWS_OF_DRAWS = 5000
#: Draws × rows of a piece, whose arrays stay in the cache; draws of the average.
NUMBERS_OF_A_CACHED_PIECE, N_POOLED_DRAWS = 50_000, 2000


class DrawnSubset(NamedTuple):
    """A subset as fits have it."""

    log_evidence_: float  #: nats
    log_evidence_std_: float
    theta: np.ndarray  #: (M, d)
    weights: np.ndarray  #: (M,)
    warnings_: tuple[str, ...] = ()


def drawn_subset(
    design: Design,
    inside: np.ndarray,
    mode: np.ndarray,
    log_units: float,
    rng: np.random.Generator,
    tolerance: float = TOLERANCE_NATS,
) -> DrawnSubset | None:
    """The evidence on the columns ``inside`` with this mode (q,); None where few draws do not tell it."""
    few, center = design.of_columns(inside), mode[inside]
    d, scale = len(center), few.precision
    log_constant = 0.5 * float(np.sum(np.log(scale))) - 0.5 * d * np.log(2 * np.pi) - log_units
    size = max(NUMBERS_OF_A_CACHED_PIECE // len(few.y), 1)

    def log_joint(theta: np.ndarray) -> np.ndarray:
        pieces = [theta[k : k + size] @ few.Phi.T + few.offset for k in range(0, len(theta), size)]
        log_L = [few.family.log_density(eta, few.y, *few.known) @ few.weight for eta in pieces]
        return np.concatenate(log_L) - 0.5 * theta**2 @ scale + log_constant

    with np.errstate(all="ignore"):
        P = derivatives_of_many(few, center[None], np.ones((1, d), dtype=bool))[2][0]
        try:
            at, wish = Gaussian.of_precision(center, P), tolerance / TOLERANCE_NATS
            n_controlled = MIN_PAIRS_PER_CONTROL * (1 + d * (d + 1) // 2)
            for round_ in SUBSET_ROUNDS:
                n_pairs, per_parameter, max_std, max_tail = round_
                n, is_last = max(n_pairs, per_parameter * d), round_ is SUBSET_ROUNDS[-1]
                if is_last:
                    at = refined(few, at, rng)  # type: ignore[arg-type]  # has all that it asks for
                elif n < n_controlled:
                    continue
                else:
                    max_std = min(wish * max_std, ROUGH_SUBSET_NATS)
                q = TMixture([TDensity.at_mode(at.m, at.P)], np.ones(1))
                found = paired_draws(log_joint, q, n, rng)
                if found is None:
                    return None
                if found.std < max_std and found.tail < max_tail:
                    std = float(np.hypot(found.std, HIDDEN_ERROR_NATS))
                    return DrawnSubset(found.log_Z, std, found.theta, found.weights.W)
        except np.linalg.LinAlgError:
            pass
    return None


class PooledDraws(NamedTuple):
    """A sampler whose draws are known before it sees a row."""

    theta: np.ndarray  #: (M, q)

    def run(self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress) -> EvidenceResult:
        """The draws."""
        M = len(self.theta)
        return EvidenceResult(np.nan, np.nan, self.theta, np.full(M, 1 / M), {}, 0.0, 0.0, 0.0)


def pooled_draws(
    subsets: Sequence[tuple[list[int], Any]], weight: np.ndarray, q: int, rng: np.random.Generator
) -> PooledDraws:
    """Draws of subsets, with columns each, by the weights of the subsets."""
    log_weight = np.concatenate(
        [np.log(share) + np.log(one.weights + 1e-300) for share, (_, one) in zip(weight, subsets)]
    )
    owner = np.repeat(np.arange(len(subsets)), [len(one.weights) for _, one in subsets])
    chosen = systematic(Weights(log_weight).W, rng, N_POOLED_DRAWS)
    theta, start = np.zeros((len(chosen), q)), 0
    for k, (columns, one) in enumerate(subsets):
        own = np.flatnonzero(owner[chosen] == k)
        theta[own[:, None], columns] = one.theta[chosen[own] - start]
        start += len(one.weights)
    return PooledDraws(theta)
