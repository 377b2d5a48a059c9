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

from ..history import Anchor, Reservoir
from ..particles import AffineMap
from ._mode import find_mode
from ._monitor import N_BLOCKS, SampleEstimate, remainder
from ._target import Likelihood, Target, of_history

#: Rows on which a mode is sought; one Newton step then uses the sums over all of them.
MODE_ROWS = 20_000
#: Rows of history or chunk that an escort looks at first, and so few that it may as well take all of them.
FIRST_ROWS, WHOLE_ROWS = 512, 2500
#: Nats that a sub-sample of history or chunk may add to log Ẑ in one escort: the standard deviation that
#: particles share, and half the variance of what differs between them, which is a bias.
NOISE = 0.01
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
            new = Anchor.of(model, anchor.a, chunk)
            after = anchor.plus(new)
            m2, P2 = gaussian(model, after)
        if after is None or (m2 - anchor.a) @ P2 @ (m2 - anchor.a) > STRAY * len(m2):
            new, after = anchored_at_mode(model, m2, history, anchor, chunk, rng)
            m2, P2 = gaussian(model, after)
        T = AffineMap.between(m1, P1, m2, P2)
    except np.linalg.LinAlgError:
        return None
    moved = T(theta)
    whole = Reservoir(None, chunk, len(chunk), chunk.total_weight)
    chunk_part = estimate(model, lambda L: L(moved), whole, new, rng)
    history_part = history_difference(model, moved, theta, history, anchor, rng)
    with np.errstate(all="ignore"):
        prior = model.log_prior(moved) - model.log_prior(theta)
        increment = chunk_part.value + history_part.value + prior + T.log_det
    increment = np.where(np.isnan(increment), -np.inf, increment)
    common_var = chunk_part.common_var + history_part.common_var
    spread_var = chunk_part.spread_var + history_part.spread_var
    return Escort(moved, increment, after, common_var, spread_var**0.5)


def gaussian(model, anchor: Anchor) -> tuple[np.ndarray, np.ndarray]:
    """Mode and precision of prior times quadratic; LinAlgError if that has no maximum."""
    _, g, H = model.prior_derivatives(anchor.a)
    P = anchor.H - H
    np.linalg.cholesky(P)
    return anchor.a + np.linalg.solve(P, anchor.G + g), P


def anchored_at_mode(model, start, history, anchor, chunk, rng) -> tuple[Anchor, Anchor]:
    """Anchored sums of the chunk, and of history and chunk, near the mode of the posterior that they make.

    The mode is sought on a sample of the history.  A chunk too large to be used whole would tell less of the
    mode by a sample than ``start``, the mode before it: from there the sums are one Newton step away.
    The sums are exact for the chunk, and for the history while its rows are at hand.
    """
    a = start
    if len(chunk) <= MODE_ROWS:
        past = of_history(model, history, anchor, MODE_ROWS, rng)
        a, _ = find_mode(Target(model, Likelihood(chunk).plus(past)), start)
    new = Anchor.of(model, a, chunk)
    if history.rows is None:
        return new, new
    if history.complete:
        return new, new.plus(Anchor.of(model, a, history.rows))
    return new, new.plus(anchor.moved(model, a, history.rows.scaled(history.n / history.rows.total_weight)))


def history_difference(model, moved, theta, history, anchor, rng) -> SampleEstimate:
    """log L_hist(Tθ) − log L_hist(θ)."""
    return estimate(model, lambda L: L(moved) - L(theta), history, anchor, rng)


def estimate(model, of, history, anchor, rng) -> SampleEstimate:
    """``of`` log L_hist from the anchor, its remainder from as many rows as the noise asks for.

    ``of`` is linear, and takes a function of θ to values of shape (M,).  The sample grows until its noise,
    from 16 disjoint blocks, is small; all rows at hand are the limit.  A complete history is used whole if
    it is small, or if half of it would not do.
    """
    rows, size, done, weights, values = history.rows, FIRST_ROWS, 0, [], []
    if history.complete and len(rows) <= WHOLE_ROWS:
        return SampleEstimate(of(lambda t: model.sum_log_likelihood(t, rows)), 0.0, 0.0)
    order = rng.permutation(len(rows))
    while True:
        size = min(len(rows), size)
        for part in np.array_split(order[done:size], N_BLOCKS):
            block = rows.take(np.sort(part))
            own = Anchor.of(model, anchor.a, block)
            values.append(of(lambda t: remainder(model, t, own, block)))  # noqa: B023
            weights.append(block.total_weight)
        result = SampleEstimate.from_blocks(values, weights, history.n)
        variance = result.common_var + (result.spread_var / 2) ** 2
        if size == len(rows) or variance < NOISE**2:
            return result._replace(value=of(anchor) + result.value)
        if history.complete and 2 * size * max(variance, 4 * NOISE**2) > NOISE**2 * len(rows):
            return SampleEstimate(of(lambda t: model.sum_log_likelihood(t, rows)), 0.0, 0.0)
        done, size = size, 4 * size
