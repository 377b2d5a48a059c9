r"""The evidence of a mixture from its allocations (Frühwirth-Schnatter 2004; Lee and Robert 2016).

Given the allocations of rows to components the posterior of a mixture is known.  So take a mixture of such
conditionals, for S allocations z_s of all basins that Gibbs chains find,

    q(θ) = (1/S) Σ_s (1/K!) Σ_π p(θ | x, π z_s),    Ẑ = (1/M) Σ_m p(x | θ_m) p(θ_m) / q(θ_m),    θ_m ~ q,

which has no bias, whatever the allocations.  The sum over the labellings π is done in full, as a permanent.
Therefore nothing has to be known of basins and labels: where components are far apart one labelling counts,
where they overlap or are empty several do, and basins of one mixture q are never counted twice.

The chains hold basins in any proportion.  So a pilot run of draws is resampled by weight, and each gives an
allocation some Gibbs sweeps away: population Monte Carlo (Cappé et al. 2004).  It is done by two halves that
know nothing of each other, so that a basin that is easily missed shows.

Where components overlap each conditional is narrower than the posterior, and so is q.  Then the mean weight
is too low, without a sign of it, and the evidence comes from a bridge between q and Gibbs chains that start
from its draws (``_bridge.py``).  They are slow there: the estimate rises while they spread, and when it has
stopped they have spread.  Where components overlap in many columns q is too narrow even for a bridge, and
there is another from a Gaussian (``_aligned.py``).

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques; J. E. Lee and C. P. Robert (2016), Importance sampling schemes for evidence
approximation in mixture models; O. Cappé et al. (2004), Population Monte Carlo.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ..particles import log_sum_exp
from ._aligned import Half, by_gaussian
from ._allocation_proposal import CHAINS, DRAWS, LENGTH, PILOT, Problem, Sample
from ._allocation_search import searched_together
from ._basins import Stage, by_basin
from ._bridge import Estimate, bridge, importance

#: Share of the draws that are effective from which q is the posterior, and needs no bridge to it.
SAME = 0.75
#: Sweeps between the draws of chains at first; then twice as many, until the estimate moves by less than this
#: share of its error bar or so many nats, or rows · components · numbers of each have been swept so often.
FIRST, SHARE, STILL, MOST_SWEPT = 3, 0.5, 0.02, 5_000_000
#: Effective draws, or chains of a hundred, below which q is much narrower than the posterior.  Then chains
#: move away from it for a thousand sweeps (K = 3, 1000 rows: by 0.5 nats after the first fifty; where they
#: stood still by chance the answer was 1.2 low at 0.2), so they are not followed, and UNSPREAD nats are in
#: doubt.  Nats that halves may differ by, and from which another search may know more (wine, K = 6: one in
#: forty).
FEW, UNSPREAD, APART, DIFFERENT = 60, 0.5, 1.0, 0.4
#: Effective draws, or chains of a hundred, between which it is done again basin by basin: chains may hold
#: basins in other proportions than the posterior (diabetes, K = 6: 46 to 87, half a nat low in the mean, in
#: silence), and with fewer they have not spread within one.
DOUBTFUL, WELL = 30, 90
#: Of its error bar, by which it must be higher then.
CLEARLY = 0.5
#: Standard errors by which what is rough may exceed what is precise.
SIGNIFICANT = 3.0
#: Rows · components · numbers of each beyond which the answer would take more than about ten seconds, and
#: beyond which it would basin by basin.
MOST, MOST_SORTED = 1_200_000, 200_000
#: Rows beyond which modes and their importance sampling cost less, and allocations carry less.
MOST_ROWS = 5000
#: Components beyond which the sum over labellings would.
MOST_COMPONENTS = 10
#: Standard deviations of a column that its mean may lie from zero, where the prior has the means; with more,
#: particles lose their way (6000 rows, fourteen: by thousands of nats), and so many times the limits stand.
FAR, PATIENCE = 10.0, 20


class AllocationEvidence(NamedTuple):
    """Evidence of a mixture and weighted draws from its posterior.

    ``log_evidence_std`` is the largest of the standard error, of half of what two independent halves differ
    by, in nats, and with several components of three in all draws.  The mean of exp(``log_weights``) (M,) is
    the evidence, ``theta`` (M, d) are the points they belong to, and ``n_effective`` of the draws, or of the
    chains if these are fewer, carry it.  Where these are few, or the halves are too far apart, neither value
    nor error bar can be trusted and ``reliable`` is False; ``hopeful`` if another search may do better.
    ``n_likelihoods`` counts points times rows.
    """

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray
    log_weights: np.ndarray
    n_effective: float
    reliable: bool
    hopeful: bool
    n_likelihoods: float


def allocation_evidence(
    model: MixtureModel, rows: Rows, rng: np.random.Generator
) -> AllocationEvidence | None:
    """Log evidence of all rows, or None where it would cost too much.

    Parameters
    ----------
    model : MixtureModel
    rows : Rows
        Weights mean repetition and need not be integers: a row that counts ω times is shared by up to ⌈ω⌉
        components.
    rng : numpy.random.Generator

    Returns
    -------
    AllocationEvidence or None
        None if Σ⌈ω⌉ exceeds MOST_ROWS, Σ⌈ω⌉ · K (2p + 1) MOST, or K MOST_COMPONENTS; the first two are
        twenty times as large for columns that are far out.

    Notes
    -----
    *Cost*: 24 chains in each half for some 80 sweeps of n K (2p + 1), and nearly a million pairs of a point
    and an allocation, each K² (2p + 1) + K 2ᴷ; where components overlap 100 chains for 60 to 1500 sweeps.

    *When not to use it*: where components overlap and rows are many, allocations carry little of the
    uncertainty: each conditional is then much narrower than the posterior, and few draws are effective.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import MixtureModel
    >>> rows = Rows.of(np.linspace(-1, 1, 20)[:, None] ** 3)
    >>> found = allocation_evidence(MixtureModel(1, 1), rows, np.random.default_rng(0))
    >>> bool(abs(found.log_evidence - MixtureModel(1, 1).exact_log_evidence(rows)) < 1e-6)
    True
    """
    rows = rows.take(np.flatnonzero(rows.weight > 0))
    n_copies = np.ceil(rows.weight * (1 - 1e-12))
    if not len(rows) or np.sum(n_copies) > patience(model, rows) * most_rows(model):
        return None
    problem = Problem.of(model, rows, n_copies.astype(int))
    rngs = rng.spawn(2)
    found = searched_together(model, problem.X, problem.F, problem.origin, rngs)
    T = np.concatenate([problem.proposal(one, g) for one, g in zip(found, rngs)], axis=1)
    draws = problem.draw(T, DRAWS, rng)
    if draws.weights.ess > SAME * DRAWS:
        theta, estimate, n_sweeps = draws.theta, importance(draws.log_w), 0
        each = [importance(half.log_w) for half in draws.halves()]
    else:
        chains, estimate, n_sweeps = _bridged(problem, T, draws, rng)
        theta = np.concatenate([draws.theta, chains.theta])
        each = [_bridge(*half) for half in zip(draws.halves(), chains.halves())]
    apart = abs(each[0].log_Z - each[1].log_Z)
    unseen = 3 * (model.n_components > 1) / DRAWS  # of what holds as much one in twenty has met no draw
    n_points = 2 * PILOT + len(theta)
    n_sweeps += sum(one.n_sweeps for one in found)
    at_once = AllocationEvidence(
        log_evidence=estimate.log_Z,
        log_evidence_std=max(estimate.std, apart / 2, unseen),
        theta=theta,
        log_weights=estimate.log_w,
        n_effective=estimate.n_effective,
        reliable=bool(estimate.n_effective > FEW and apart < APART),
        hopeful=bool(estimate.n_effective > FEW and apart > DIFFERENT),
        n_likelihoods=float(n_points * len(rows) + n_sweeps * len(problem.F)),
    )
    best = at_once
    if DOUBTFUL < at_once.n_effective < WELL and problem.cost <= MOST_SORTED:
        halves = [by_basin(problem, one.ever, g) for one, g in zip(found, rngs)]
        best = _higher(at_once, _together(problem, halves, DOUBTFUL))
    if best.reliable or best.hopeful:
        return best
    aligned = by_gaussian(problem, found, rngs)
    return _agreeing(best, _together(problem, aligned, FEW)) if aligned else best


def _higher(one: AllocationEvidence, other: AllocationEvidence) -> AllocationEvidence:
    """Of two that may have missed something, and are hardly ever much too high."""
    gain = other.log_evidence - one.log_evidence
    better = gain > CLEARLY * other.log_evidence_std or other.reliable > one.reliable
    return (other if better else one)._replace(n_likelihoods=one.n_likelihoods + other.n_likelihoods)


def _agreeing(rough: AllocationEvidence, precise: AllocationEvidence) -> AllocationEvidence:
    """What is precise and can be believed, if what is rough does not say much more."""
    std = np.hypot(rough.log_evidence_std, precise.log_evidence_std)
    agrees = rough.log_evidence - precise.log_evidence < SIGNIFICANT * std
    taken = precise if precise.reliable and not precise.hopeful and agrees else rough
    return taken._replace(n_likelihoods=rough.n_likelihoods + precise.n_likelihoods)


def _together(problem: Problem, halves: Sequence[Stage | Half], least: float) -> AllocationEvidence:
    """What two halves say, if at least so many of a hundred chains are effective in each."""
    n_effective = min(half.estimate.n_effective for half in halves)
    each = [
        AllocationEvidence(
            log_evidence=half.estimate.log_Z,
            log_evidence_std=half.estimate.std,
            theta=half.points,
            log_weights=half.estimate.log_w,
            n_effective=n_effective,
            reliable=True,
            hopeful=False,
            n_likelihoods=float(len(half.points) * len(problem.rows) + half.n_sweeps * len(problem.F)),
        )
        for half in halves
    ]
    apart = abs(each[0].log_evidence - each[1].log_evidence)
    return pooled(each)._replace(
        reliable=bool(n_effective > least and apart < APART),
        hopeful=bool(n_effective > least and apart > DIFFERENT),
    )


def pooled(found: list[AllocationEvidence]) -> AllocationEvidence:
    """What independent searches know together: the mean of their evidences, and all their draws.

    None is chosen for its error bar, which would prefer those that have missed a basin altogether.
    """
    if len(found) == 1:
        return found[0]
    N, n_draws = len(found), sum(len(one.theta) for one in found)
    log_Z = np.array([one.log_evidence for one in found])
    std = np.array([one.log_evidence_std for one in found])
    std_of_mean = max(np.sqrt(np.sum(std**2)) / N, np.ptp(log_Z) / 2, std.min())
    n_effective = min(one.n_effective for one in found)
    return AllocationEvidence(
        log_evidence=float(log_sum_exp(log_Z, axis=0) - np.log(N)),
        log_evidence_std=float(std_of_mean),
        theta=np.concatenate([one.theta for one in found]),
        log_weights=np.concatenate([one.log_weights - np.log(N * len(one.theta) / n_draws) for one in found]),
        n_effective=n_effective,
        reliable=all(one.reliable or one.hopeful for one in found) and bool(std_of_mean < APART / 2),
        hopeful=found[-1].hopeful,
        n_likelihoods=sum(one.n_likelihoods for one in found),
    )


def most_rows(model: MixtureModel) -> float:
    """Rows that are not far out, beyond which allocations are not asked."""
    K = model.n_components
    return min(MOST_ROWS, MOST / (K * (2 * model.n_features + 1))) if K <= MOST_COMPONENTS else 0.0


def patience(model: MixtureModel, rows: Rows) -> int:
    """How many times the usual limits stand for these rows."""
    return PATIENCE if model.far_out(rows) > FAR else 1


def _bridged(
    problem: Problem, T: np.ndarray, draws: Sample, rng: np.random.Generator
) -> tuple[Sample, Estimate, int]:
    """Chains that have forgotten where they started, as far as an estimate can tell; that, and all sweeps."""
    theta, n_sweeps, before = problem.starts(draws, rng), FIRST, None
    while True:
        chains = problem.chains(T, theta, n_sweeps, rng)
        estimate = _bridge(draws, chains)
        drift = UNSPREAD if before is None else abs(estimate.log_Z - before)
        is_still = before is not None and drift < max(SHARE * estimate.std, STILL)
        is_costly = before is not None and 2 * n_sweeps * LENGTH * problem.cost > MOST_SWEPT
        if is_still or estimate.n_effective < FEW or is_costly:
            break
        theta, n_sweeps, before = chains.theta[-CHAINS:], 2 * n_sweeps, estimate.log_Z
    estimate = estimate._replace(var_p=estimate.var_p + drift**2)
    return chains, estimate, (2 * n_sweeps - FIRST) * LENGTH * CHAINS


def _bridge(draws: Sample, chains: Sample) -> Estimate:
    return bridge(draws.log_w, chains.log_w.reshape(LENGTH, -1))
