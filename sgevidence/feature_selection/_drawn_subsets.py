r"""Evidences of log-concave regressions on subsets by few antithetic draws each.

Newton's method has found the modes already.  Draws of a t there, or around the nearest Gaussian, with control
variates (``answers``), take milliseconds where a run of a sampler takes hundredths of a second.

Symbols: θ ``theta`` = coefficients of one subset and the intercept, (M, d).
"""

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
from ..samplers import EvidenceResult
from ._newton_of_many import Design, derivatives_of_many

#: Each round of draws: pairs, pairs per parameter, and the standard error, nats, and the Pareto k up to which
#: it is the last; a subset beyond the third is answered by a sampler.  Errors of the first two are for a
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
#: Rows up to which draws are weighed by all of them; a sampler takes samples of more.
MAX_ROWS_OF_DRAWS = 5000
#: Draws × rows of a piece, whose arrays stay in the cache.
NUMBERS_OF_A_CACHED_PIECE = 50_000


def drawn_subset(
    design: Design,
    inside: np.ndarray,
    mode: np.ndarray,
    log_units: float,
    rng: np.random.Generator,
    tolerance: float = TOLERANCE_NATS,
) -> EvidenceResult | None:
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
                    n_likelihoods = float(2 * n * len(few.y))
                    draws = found.theta, found.weights.W
                    return EvidenceResult(found.log_Z, std, *draws, {}, n_likelihoods, 0.0, 0.0)
        except np.linalg.LinAlgError:
            pass
    return None
