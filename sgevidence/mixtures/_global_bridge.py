r"""The evidence of a mixture by draws of q, or by a bridge between q and Gibbs chains of all basins at once.

Where components overlap each conditional is narrower than the posterior, and so is q
(``_allocation_proposal.py``).  Then the mean weight is too low, without a sign of it, and the evidence comes
from a bridge (``targets/_bridge.py``) to chains that start from draws of q.  They are slow there: the
estimate rises while they spread, and when it has stopped they have spread.

Symbols
-------
=======  ============  ==============================================================
T        ``T``         statistics of the allocations of q, (K, S, 2p + 1)
ω_m      ``log_w``     p(x | θ_m) p(θ_m) / q(θ_m), of draws and of chains
=======  ============  ==============================================================

References
----------
X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing constants via a simple identity.
"""

from typing import NamedTuple

import numpy as np

from ..targets import Estimate, bridge, importance
from ._allocation_proposal import CHAINS, DRAWS, LENGTH, PILOT, Problem, Sample

#: Effective draws, or chains of a hundred, up to which a bridge is not believed: chains may hold basins in
#: other proportions than the posterior (diabetes, K = 6: 46 to 87, half a nat low in the mean, in silence).
WELL = 90
#: Nats that halves may differ by: searches that differ by more have not found the same (wine, K = 6: one in
#: forty).
APART = 0.4
#: Effective chains below which they have not spread, and sweeping on does not help.
MIN_EFFECTIVE_CHAINS = 60
#: Share of the draws that are effective from which q is the posterior, and needs no bridge to it.
SAME = 0.75
#: Sweeps between the draws of chains at first; then twice as many, until the estimate moves by less than this
#: share of its error bar or so many nats, or rows · components · numbers of each have been swept so often.
FIRST, SHARE, STILL, MOST_SWEPT = 3, 0.5, 0.02, 5_000_000
#: Nats in doubt where few chains are effective: they move away from q for a thousand sweeps then (K = 3, 1000
#: rows: by 0.5 nats after the first fifty; where they stood still by chance the answer was 1.2 low at 0.2),
#: and are not followed.
UNSPREAD = 0.5


class AllocationEvidence(NamedTuple):
    """Evidence of a mixture and weighted draws from its posterior.

    ``log_evidence_std`` is the largest of the standard error, of half of what two independent halves differ
    by, in nats, and with several components of three in all draws, to which comes, where draws of q are all
    there are, the share that one allocation alone makes up; where few chains carry a bridge more, by what
    this adds to importance sampling, over their number.  Where rows are tied, to this comes what
    another search may add (``_basins_met.py``).  The mean of exp(``log_weights``) (M,) is the
    evidence, ``theta`` (M, d) are the points they belong to, and ``n_effective`` of the draws, or of the
    chains if these are fewer, carry it.  Where these are few, or the halves are too far apart, neither value
    nor error bar can be trusted and ``reliable`` is False.  ``n_likelihoods`` counts points times rows.
    """

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray
    log_weights: np.ndarray
    n_effective: float
    reliable: bool
    n_likelihoods: float


def global_bridge(
    problem: Problem, T: np.ndarray, draws: Sample, n_sweeps: int, rng: np.random.Generator
) -> AllocationEvidence:
    """By draws of q alone if it is all but the posterior, else by a bridge to chains of all basins."""
    # of what holds one in twenty as much has met no draw
    unseen = 3 * (problem.model.n_components > 1) / DRAWS
    if draws.weights.ess > SAME * DRAWS:
        theta, estimate = draws.theta, importance(draws.log_w)
        unseen += draws.alone
        each = [importance(half.log_w) for half in draws.halves()]
    else:
        chains, estimate, more = _bridged(problem, T, draws, rng)
        theta, n_sweeps = np.concatenate([draws.theta, chains.theta]), n_sweeps + more
        each = [_bridge(*half) for half in zip(draws.halves(), chains.halves())]
    apart = abs(each[0].log_Z - each[1].log_Z)
    std = max(estimate.std, apart / 2, unseen)
    if (
        estimate.n_effective < MIN_EFFECTIVE_CHAINS
    ):  # a bridge to one chain may be much too high, unlike importance sampling
        beyond = estimate.log_Z - importance(draws.log_w).log_Z
        std = float(np.hypot(std, beyond / estimate.n_effective))
    n_points = 2 * PILOT + len(theta)
    return AllocationEvidence(
        log_evidence=estimate.log_Z,
        log_evidence_std=std,
        theta=theta,
        log_weights=estimate.log_w,
        n_effective=estimate.n_effective,
        reliable=bool(estimate.n_effective > WELL and apart < APART),
        n_likelihoods=float(n_points * len(problem.rows) + n_sweeps * len(problem.F)),
    )


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
        if is_still or estimate.n_effective < MIN_EFFECTIVE_CHAINS or is_costly:
            break
        theta, n_sweeps, before = chains.theta[-CHAINS:], 2 * n_sweeps, estimate.log_Z
    estimate = estimate._replace(var_p=estimate.var_p + drift**2)
    return chains, estimate, (2 * n_sweeps - FIRST) * LENGTH * CHAINS


def _bridge(draws: Sample, chains: Sample) -> Estimate:
    return bridge(draws.log_w, chains.log_w.reshape(LENGTH, -1))
