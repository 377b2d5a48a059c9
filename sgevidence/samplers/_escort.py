r"""Carry the cloud with the posterior over a whole chunk (escorted free-energy estimation).

The posterior before the chunk is near N(m₁, P₁⁻¹), the one after it near N(m₂, P₂⁻¹).  The map T
between them takes every particle along, and its weight is multiplied by

    exp[ ℓ_C(Tθ) + log L_hist(Tθ) − log L_hist(θ) + log p(Tθ) − log p(θ) + log |det T| ].

Whatever the map, the estimate stays consistent: a bad map only costs effective sample size
(Vaikuntanathan and Jarzynski 2008).

Symbols: ``a`` = anchor, ``m, P`` = mode and precision, 1 before and 2 after the chunk, ``T`` = the map.
"""

from typing import NamedTuple

import numpy as np

from ..history import Anchor
from ..particles import AffineMap
from ._mode import find_mode
from ._monitor import N_BLOCKS, SampleEstimate, remainder
from ._target import Target, of_history, sampled

#: Rows on which a mode is sought; one Newton step then uses the sums over all of them.
MODE_ROWS = 20_000
#: Rows of the history that an escort looks at first.
FIRST_ROWS = 512
#: Standard deviation, in nats, that the sub-sample of the history may add to one escort.
NOISE = 0.005
#: Squared distance of the mode from the anchor, in posterior widths per parameter, that makes a new anchor.
STRAY = 0.25


class Escort(NamedTuple):
    theta: np.ndarray  #: where the map takes the cloud, (M, d)
    increment: np.ndarray  #: of the log-weights, (M,)
    anchor: Anchor  #: of history and chunk together
    noise_var: float  #: variance that the sub-sample of the history adds to log Ẑ
    spread: float  #: standard deviation over particles of its error, nats


def escort(model, theta, history, anchor, chunk, rng) -> Escort | None:
    """The map over ``chunk`` and what it does to the weights; None where there is no Gaussian to follow.

    Parameters
    ----------
    model : Model
    theta : ndarray of shape (M, d)
        The cloud, in the anchor's labelling.
    history : Reservoir
    anchor : Anchor
        Sums over the rows of the history.
    chunk : Rows
    rng : numpy.random.Generator
    """
    try:
        m1, P1 = gaussian(model, anchor)
        after, m2 = None, m1
        if chunk.total_weight < history.n / 4:
            after = anchor.plus(Anchor.of(model, anchor.a, chunk))
            m2, P2 = gaussian(model, after)
        if after is None or (m2 - anchor.a) @ P2 @ (m2 - anchor.a) > STRAY * len(m2):
            after = anchored_at_mode(model, m2, history, anchor, chunk, rng)
            m2, P2 = gaussian(model, after)
        T = AffineMap.between(m1, P1, m2, P2)
    except np.linalg.LinAlgError:
        return None
    moved = T(theta)
    history_part = history_difference(model, moved, theta, history, anchor, rng, 2 * len(chunk))
    with np.errstate(all="ignore"):
        prior = model.log_prior(moved) - model.log_prior(theta)
        increment = model.sum_log_likelihood(moved, chunk) + history_part.value + prior + T.log_det
    increment = np.where(np.isnan(increment), -np.inf, increment)
    return Escort(moved, increment, after, history_part.common_var, history_part.spread_var**0.5)


def gaussian(model, anchor: Anchor) -> tuple[np.ndarray, np.ndarray]:
    """Mode and precision of prior times quadratic; LinAlgError if that has no maximum."""
    _, g, H = model.prior_derivatives(anchor.a)
    P = anchor.H - H
    np.linalg.cholesky(P)
    return anchor.a + np.linalg.solve(P, anchor.G + g), P


def anchored_at_mode(model, start, history, anchor, chunk, rng) -> Anchor:
    """Anchored sums of history and chunk, near the mode of the posterior that they make.

    The mode is sought on a sample; the sums there are exact for the chunk, and for the history
    while its rows are at hand.
    """
    likelihood = sampled(model, chunk, None, MODE_ROWS, rng)
    past = of_history(model, history, anchor, MODE_ROWS, rng)
    a, _ = find_mode(Target(model, likelihood.plus(past)), start)
    sums = Anchor.of(model, a, chunk)
    if history.rows is None:
        return sums
    if history.complete:
        return sums.plus(Anchor.of(model, a, history.rows))
    return sums.plus(anchor.moved(model, a, history.rows.scaled(history.n / history.rows.total_weight)))


def history_difference(model, moved, theta, history, anchor, rng, cheap=0) -> SampleEstimate:
    """log L_hist(Tθ) − log L_hist(θ), from the anchor and as many rows as its noise asks for.

    The sample grows until its noise, from 16 disjoint blocks, is small; all rows at hand are the limit.
    A complete history of no more than ``cheap`` rows is used whole.
    """
    size = FIRST_ROWS
    if history.complete and len(history) <= max(cheap, MODE_ROWS // 8):
        rows = history.rows
        exact = model.sum_log_likelihood(moved, rows) - model.sum_log_likelihood(theta, rows)
        return SampleEstimate(exact, 0.0, 0.0)
    order, done, weights, values = rng.permutation(len(history)), 0, [], []
    quadratic = anchor(moved) - anchor(theta)
    while True:
        size = min(len(history), size)
        for part in np.array_split(order[done:size], N_BLOCKS):
            rows = history.rows.take(np.sort(part))
            own = Anchor.of(model, anchor.a, rows)
            values.append(remainder(model, moved, own, rows) - remainder(model, theta, own, rows))
            weights.append(rows.total_weight)
        estimate = SampleEstimate.from_blocks(values, weights, history.n)
        estimate = estimate._replace(value=quadratic + estimate.value)
        if history.complete and size == len(history):
            return estimate._replace(common_var=0.0, spread_var=0.0)
        if size == len(history) or estimate.common_var + estimate.spread_var < NOISE**2:
            return estimate
        done, size = size, 4 * size
