"""Is there a mode that no particle has found?  If so, add it.

A mixture with too few components has several modes, each a different way to merge groups.  The one
that is best in the end may hold a millionth of the posterior after a hundred rows; no particle is
there then, and none can reach it later.  This looks for such modes from outside, by Newton ascent
from merged k-means solutions, and adds what the particles cannot know: with A what they cover and B
the basin of the new mode, Z = Z_A + Z_B, and Z_B follows from importance sampling around the mode
while all rows are at hand, times K! for its labellings.

Symbols: ``a, P`` = the new mode and its precision, ``q`` = t density around it, ``nu`` = its degrees of
freedom.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..particles import Genealogy, Weights, log_sum_exp, systematic
from ._mode import find_mode
from ._state import SGAISState
from ._target import Likelihood, Target

#: Rows for the search, and most rows for the comparison of what was found.
SEARCH_ROWS, COMPARE_ROWS = 1000, 20_000
N_STARTS = 24
#: By how many nats a mode must be better: less may be made up for by its width.
SIGNIFICANT = 3.0


class Mode(NamedTuple):
    a: np.ndarray
    gain: float  #: log joint over the particles' own best mode, nats


def missed_mode(model, state: SGAISState, rng) -> Mode | None:
    """The best mode found from outside, if it is better than the particles' own and none is near it."""
    rows = state.history.rows
    few = rows.take(rng.choice(len(rows), min(SEARCH_ROWS, len(rows)), replace=False))
    many = rows.take(rng.choice(len(rows), min(COMPARE_ROWS, len(rows)), replace=False))
    search, compare = Target(model, Likelihood(few)), Target(model, Likelihood(many))
    own = find_mode(compare, state.theta[np.argmax(compare.value(state.theta))])[0]
    found = [find_mode(search, start)[0] for start in model.starts(few, N_STARTS, rng)]
    best = found[int(np.argmax([search.value(a[None])[0] for a in found]))]
    best, P = find_mode(compare, best)
    gain = float(compare.value(best[None])[0] - compare.value(own[None])[0])
    if P is None or not gain > SIGNIFICANT:
        return None
    # the particles in the labels of the new mode
    theta = model.canonicalize(state.theta, (best[model.slots], np.ones(model.slots.shape)))
    distance = np.sum(((theta - best) @ P) * (theta - best), axis=1)
    return None if distance.min() < 4 * len(best) else Mode(best, gain)


def with_mode(model, state: SGAISState, mode: Mode, rng, nu: float = 5.0) -> SGAISState:
    """The state with the mode's basin added to the evidence and to the particles, by importance sampling."""
    target = Target(model, Likelihood(state.history.rows))
    a, P = find_mode(target, mode.a)
    if P is None:
        return state
    M, d = state.theta.shape
    R = np.linalg.cholesky(P)
    t = rng.standard_normal((M, d)) / np.sqrt(rng.chisquare(nu, (M, 1)) / nu)
    theta = a + solve_triangular(R.T, t.T, lower=False).T
    log_q = lgamma((nu + d) / 2) - lgamma(nu / 2) - 0.5 * d * np.log(nu * np.pi) + np.sum(np.log(np.diag(R)))
    log_q = log_q - 0.5 * (nu + d) * np.log1p(np.sum(t**2, axis=1) / nu)
    weights = Weights(target.value(theta) + lgamma(len(model.slots) + 1) - log_q)
    log_Z = log_sum_exp(np.array([state.log_evidence, weights.log_mean]))
    share_A, share_B = np.exp(state.log_evidence - log_Z), np.exp(weights.log_mean - log_Z)
    parents = systematic(np.r_[share_A * state.weights.W, share_B * weights.W], rng, M)
    var = float(
        share_A**2 * state.genealogy.variance(state.weights.W) + share_B**2 * weights.relative_variance
    )
    return state._replace(
        theta=np.concatenate([state.theta, theta])[parents],
        weights=Weights.ones(M),
        log_Z=float(log_Z),
        genealogy=Genealogy.planted(M, var),
        anchor=None,  # the next chunk is annealed, with moves that part the duplicates
    )
