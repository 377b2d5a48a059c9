r"""The evidence of a mixture whose groups may be put together in several ways, far from each other.

Where components are fewer than groups of rows, which of them share one is a choice that chains do not undo:
each stays in the basin B where it is, and none knows what another holds.  But in each the posterior of one
labelling may be all but Gaussian, and there is a bridge of its own (``_gaussian_bridge.py``),

    Ẑ = Σ_B Ẑ_B.

Chains of one basin have means that are within what they spread; that of a chain is known by those of the
basin's best, whose labels it is given.  Each basin is followed anew, by chains from where its own were, and
is told from all others once more: one that is met twice counts once.

A basin that draws of one half alone have come to is not known well: there may be others that none has.

Symbols
-------
=====  ============  =====================================================
θ_tc   ``theta``     T draws of C chains, (T, C, d)
B      ``basin``     number of the basin of each chain of a half, (2, C)
=====  ============  =====================================================

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques.
"""

from typing import NamedTuple

import numpy as np

from ..models import MixtureModel
from ._allocation_proposal import Problem
from ._chains import LONGER, Chains, followed_from, shared
from ._combine import MIN_EFFECTIVE_CHAINS, AllocationEvidence, add_disjoint, combine_halves
from ._gaussian_bridge import gaussian_bridge, most

#: Standard deviations by which a parameter's mean differs between chains of two basins.
DISTINCT = 3.0
#: Basins that are followed, a second each.
MAX_BASINS = 12
#: Share of the chains of either half that stay in a basin.
QUARTER = 0.25
#: Share that a basin of one half alone may hold.
ALONE = 0.05


class Basin(NamedTuple):
    """Evidence of one basin, its chains, and whether both halves have come to it."""

    answer: AllocationEvidence
    chains: Chains
    is_shared: bool


def sum_of_separated_modes(
    problem: Problem, chains: Chains, rngs: list[np.random.Generator]
) -> AllocationEvidence | None:
    """Evidence of all basins that chains are in, with all components in use; None if they stay in none.

    Not reliable where basins are too many, or differ between the halves.
    """
    if chains.have_converged:
        full = staying(chains)
        return None if full is None else one_basin(problem, full, rngs)
    basin, is_full = basins(problem.model, chains), np.all(chains.n_empty == 0, axis=1)
    known: list[Basin] = []
    for B in range(min(basin.max() + 1, MAX_BASINS)):
        where = (basin == B) & is_full
        theta = shared([last[which] for last, which in zip(chains.theta[:, -1], where)], rngs)
        own = None if theta is None else staying(followed_from(problem, theta, rngs))
        if own is None:
            continue
        answer = one_basin(problem, own, rngs)
        if not (own.have_converged or _is_little(answer, known)):  # it may yet settle
            own = staying(followed_from(problem, list(own.theta[:, -1]), rngs, LONGER))
            answer = answer if own is None else one_basin(problem, own, rngs)
        if own is None or any(are_one(problem.model, other.chains, own) for other in known):
            continue
        known.append(Basin(answer, own, bool(np.all(np.any(basin == B, axis=1)))))
        if not total(known).reliable:
            break
    if not known:
        return None
    answer = total(known)
    return answer._replace(reliable=answer.reliable and bool(basin.max() < MAX_BASINS))


def staying(chains: Chains) -> Chains | None:
    """Chains that never have an empty component; the first are taken twice in the place of others.

    None if fewer than a quarter of a half: a basin that chains leave within hundreds of sweeps, for one that
    they do not leave, holds far less than it.
    """
    full = np.all(chains.n_empty == 0, axis=1)  # (2, C)
    if full.mean(axis=1).min() < QUARTER:
        return None
    which = np.array([np.resize(np.flatnonzero(half), len(half)) for half in full])[:, None]
    return chains._replace(
        theta=np.take_along_axis(chains.theta, which[..., None], axis=2),
        log_p=np.take_along_axis(chains.log_p, which, axis=2),
        n_empty=np.take_along_axis(chains.n_empty, which, axis=2),
    )


def _is_little(answer: AllocationEvidence, known: list[Basin]) -> bool:
    """Whether all there may be does not count beside other basins."""
    return bool(known) and add_disjoint(total(known), answer).reliable


def one_basin(problem: Problem, chains: Chains, rngs: list[np.random.Generator]) -> AllocationEvidence:
    """A bridge to a Gaussian, which is believed if chains have settled."""
    answer = combine_halves(problem, gaussian_bridge(problem, chains, rngs), MIN_EFFECTIVE_CHAINS)
    is_known = answer.reliable and chains.have_converged
    return answer._replace(reliable=is_known, at_most=most(problem, chains))


def total(known: list[Basin]) -> AllocationEvidence:
    """Sum over basins that have no point in common."""
    known = sorted(known, key=lambda one: -one.answer.log_evidence)
    answer = known[0].answer
    for one in known[1:]:
        answer = add_disjoint(answer, one.answer)
    of_one_half = [one.answer.log_evidence for one in known if not one.is_shared]
    alone = np.sum(np.exp(np.array(of_one_half) - answer.log_evidence))
    return answer._replace(reliable=bool(answer.reliable and alone < ALONE))


def basins(model: MixtureModel, chains: Chains) -> np.ndarray:
    """The basin of each chain, (2, C); the first holds the one whose log p is the highest in the mean."""
    theta = np.concatenate(list(chains.theta), axis=1)
    log_p = chains.log_p.mean(axis=1).ravel()
    basin = np.full(len(log_p), -1)
    while np.any(basin < 0):
        best = int(np.argmax(np.where(basin < 0, log_p, -np.inf)))
        gap = distance(model, theta[:, [best]], theta)
        basin[((gap < DISTINCT) & (basin < 0)) | (np.arange(len(basin)) == best)] = basin.max() + 1
    return basin.reshape(2, -1)


def are_one(model: MixtureModel, one: Chains, other: Chains) -> bool:
    """Whether chains that were followed from two basins are in the same."""
    one_, other_ = (np.concatenate(list(chains.theta), axis=1) for chains in (one, other))
    return float(np.median(distance(model, one_, other_))) < DISTINCT


def distance(model: MixtureModel, one: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The most that means of chains (T, C, d) differ by from all of ``one`` in its labels, (C,).

    In standard deviations of ``one``.
    """
    T, C, d = theta.shape
    slots = model.slot_reference(one.reshape(-1, d))
    own = model.canonicalize(one.reshape(-1, d), slots)
    theta = model.canonicalize(theta.reshape(-1, d), slots).reshape(T, C, d)
    return np.max(np.abs(theta.mean(axis=0) - own.mean(axis=0)) / own.std(axis=0), axis=1)
