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
from its draws (``_global_bridge.py``), or from one for each basin (``_stratified_bridge.py``).  Where
components overlap in many columns q is too narrow even for a bridge.  If chains forget quickly there is
another from a Gaussian (``_gaussian_bridge.py``), or, where components are empty, a step to the evidence of a
mixture that has fewer (``_smaller_mixtures.py``).  What chains do not come to is added: by the number of
components in use (``_occupied.py``), and by the way in which groups share them (``_separated_modes.py``).
Few rows of many columns, which q cannot cover, are annealed, allocations and not parameters
(``_annealed_allocations.py``).  There draws of q, however many are effective, do not say what q lacks: chains
are asked.

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques; J. E. Lee and C. P. Robert (2016), Importance sampling schemes for evidence
approximation in mixture models; O. Cappé et al. (2004), Population Monte Carlo; I. J. Good (1953), The
population frequencies of species and the estimation of population parameters.
"""

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ._allocation_proposal import DRAWS, Problem, Sample
from ._allocation_search import WIDE, Found
from ._annealed_allocations import by_annealing, is_asked
from ._chains import LONGER, Chains, followed, followed_from, is_small
from ._combine import (
    NOTHING,
    AllocationEvidence,
    add_disjoint,
    combine_halves,
    larger_lower_bound,
    prefer_precise,
    upper_bound,
)
from ._gaussian_bridge import most
from ._global_bridge import SAME, global_bridge
from ._independent_searches import searched_together
from ._occupied import all_occupied, empties, log_ways, with_empty_ones, with_more_in_use
from ._separated_modes import one_basin, staying, sum_of_separated_modes
from ._smaller_mixtures import to_smaller_mixture
from ._stratified_bridge import stratified_bridge

#: Effective draws, or chains of a hundred, between which it is done again basin by basin: chains may hold
#: basins in other proportions than the posterior (diabetes, K = 6: 46 to 87, half a nat low in the mean, in
#: silence), and with fewer they have not spread within one.
DOUBTFUL, WELL = 30, 90
#: Share of the draws of chains that is no more than small components that come and go.
RARE = 0.05
#: Share of the draws of chains with all components in use from which what others hold saves no answer.
MOSTLY = 0.5
#: Rows · components · numbers of each beyond which the answer would take more than about ten seconds, and
#: beyond which it would basin by basin.
MOST, MOST_SORTED = 1_200_000, 200_000
#: That product beyond which chains are not begun anew: half a minute each time.
MOST_BEGUN = 500_000
#: Rows beyond which modes and their importance sampling cost less, and allocations carry less.
MOST_ROWS = 5000
#: Copies of a row, if all would be too many: its weight goes in lumps to components, of which heavy rows have
#: one of their own (one weight of 10⁶ among twenty rows: seventeen seconds of annealing, and nats off).
MOST_COPIES = 50
#: Total weight beyond which double precision leaves less than a thousandth of a nat.
MOST_WEIGHT = 1e11
#: Components beyond which the sum over labellings would.
MOST_COMPONENTS = 10
#: Standard deviations of a column that its mean may lie from zero, where the prior has the means; with more,
#: particles lose their way (6000 rows, fourteen: by thousands of nats), and so many times the limits stand.
FAR, PATIENCE = 10.0, 20


def allocation_evidence(
    model: MixtureModel, rows: Rows, rng: np.random.Generator, little: float = -np.inf
) -> AllocationEvidence | None:
    """Log evidence of all rows, or None where it would cost too much.

    Parameters
    ----------
    model : MixtureModel
    rows : Rows
        Weights mean repetition and need not be integers: a row that counts ω times is shared by up to ⌈ω⌉
        components.
    rng : numpy.random.Generator
    little : float, default=-inf
        Nats below which it does not matter how many.

    Returns
    -------
    AllocationEvidence or None
        None if Σ⌈ω⌉ exceeds MOST_ROWS, Σ⌈ω⌉ · K (2p + 1) MOST, or K MOST_COMPONENTS; the first two are
        twenty times as large for columns that are far out.  Heavy rows count MOST_COPIES where draws of q
        are all but the posterior.

    Notes
    -----
    *Cost*: 24 chains in each half for some 80 sweeps of n K (2p + 1), and nearly a million pairs of a point
    and an allocation, each K² (2p + 1) + K 2ᴷ; where components overlap 100 chains for 60 to 1500 sweeps.
    Few rows of many columns may be annealed, for half a minute to two.

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
    rows = rows if np.all(rows.weight > 0) else rows.take(np.flatnonzero(rows.weight > 0))
    if not len(rows) or np.sum(rows.weight) > MOST_WEIGHT:
        return None
    n_copies, limit = np.ceil(rows.weight * (1 - 1e-12)), patience(model, rows) * most_rows(model)
    is_lumped = np.sum(n_copies) > limit
    n_copies = np.minimum(n_copies, MOST_COPIES) if is_lumped else n_copies
    if np.sum(n_copies) > limit:
        return None
    problem = Problem.of(model, rows, n_copies.astype(int))
    rngs = rng.spawn(2)
    found = searched_together(model, problem.X, problem.F, problem.origin, rngs)
    best = _from_searches(problem, found, is_lumped, little, rng, rngs)
    if best is None:
        return None
    return best._replace(log_evidence_std=float(np.hypot(best.log_evidence_std, found[0].unseen)))


def _from_searches(
    problem: Problem,
    found: list[Found],
    is_lumped: bool,
    little: float,
    rng: np.random.Generator,
    rngs: list[np.random.Generator],
) -> AllocationEvidence | None:
    """By draws of q, a bridge, chains or annealing, whichever the searches' allocations ask for."""
    T = np.concatenate([problem.proposal(one, g) for one, g in zip(found, rngs)], axis=1)
    draws = problem.draw(T, DRAWS, rng)
    if is_lumped and (problem.is_scant or draws.weights.ess <= SAME * DRAWS):
        return None  # chains of lumps have another distribution; draws of q may have any
    first = best = global_bridge(problem, T, draws, sum(one.n_sweeps for one in found), rng)
    if DOUBTFUL < first.n_effective < WELL and problem.cost <= MOST_SORTED:
        halves = [stratified_bridge(problem, one.ever, g) for one, g in zip(found, rngs)]
        sorted_out = combine_halves(problem, halves, DOUBTFUL)
        best = larger_lower_bound(first, sorted_out)
        if problem.is_scant:  # these have hardly spread (50 × 30, K = 5: half a nat low at 0.07), or by luck
            best = best._replace(reliable=False, hopeful=False)
    if best.reliable or best.hopeful:
        return best
    best = _by_chains(problem, best, found, draws, rng, rngs)
    if best.reliable or upper_bound(best) < little or not is_asked(problem):
        return best
    return prefer_precise(best, by_annealing(problem, found, rngs))


def _by_chains(
    problem: Problem,
    best: AllocationEvidence,
    found: list[Found],
    draws: Sample,
    rng: np.random.Generator,
    rngs: list[np.random.Generator],
) -> AllocationEvidence:
    """By chains that have settled, as far as memory lasts."""
    chains = followed(problem, draws.halves(), rngs)
    if chains is None:
        return best
    return _settled(problem, best, found, chains, rng, rngs)._replace(at_most=most(problem, chains))


def _settled(
    problem: Problem,
    best: AllocationEvidence,
    found: list[Found],
    chains: Chains,
    rng: np.random.Generator,
    rngs: list[np.random.Generator],
) -> AllocationEvidence:
    """Bridges from chains to Gaussians, or fewer components; and what these do not see."""
    n_empty = np.concatenate([empties(one.ever, problem.model.n_components) for one in found])
    is_met, least = n_empty.any() or chains.n_empty.any(), min(n_empty.min(), chains.n_empty.min())
    groups = _basins(problem, chains, found, least, rngs)
    is_lost = groups is not None and not groups.reliable and np.mean(chains.n_empty == 0) > MOSTLY
    if is_lost and not chains.have_converged:
        return best
    if groups is not None and (groups.reliable or not chains.have_converged):
        stay_full = is_met and (not chains.have_converged or np.mean(chains.n_empty > 0) < RARE)
        little = groups.log_evidence - NOTHING if groups.reliable else -np.inf
        rest = _with_empty(problem, 1, rng, little) if stay_full else None
        return prefer_precise(best, groups if rest is None else add_disjoint(groups, rest))
    if not chains.have_converged:
        rest = _with_empty(problem, max(least, 1), rng) if _is_worth(problem) else None
        return best if rest is None else prefer_precise(best, _more_in_use(problem, rest, found, least, rngs))
    if is_small(problem):
        return best
    fewer, least = _with_fewer(problem, chains, rngs), int(np.quantile(chains.n_empty, RARE))
    if fewer is not None and fewer.reliable and (_is_worth(problem) or np.any(n_empty < least)):
        fewer = _more_in_use(problem, fewer, found, least, rngs)
    return best if fewer is None else prefer_precise(best, fewer)


def _basins(
    problem: Problem, chains: Chains, found: list[Found], least: int, rngs: list[np.random.Generator]
) -> AllocationEvidence | None:
    """By chains that have settled; else what is held with all components in use."""
    if chains.have_converged:
        return one_basin(problem, chains, rngs)
    if _is_worth(problem):
        full = all_occupied(problem, chains, found, rngs) if least == 0 else None
        return None if full is None else sum_of_separated_modes(problem, full, rngs)
    full = staying(chains)  # to begin anew would take minutes
    return one_basin(problem, full, rngs) if full is not None and full.have_converged else None


def _is_worth(problem: Problem) -> bool:
    """Whether chains are begun anew: in seconds, and where small components do not come and go often."""
    is_cheap = problem.cost <= MOST_BEGUN and not problem.is_scant
    return problem.model.n_features >= WIDE and is_cheap


def _more_in_use(
    problem: Problem,
    answer: AllocationEvidence,
    found: list[Found],
    least: int,
    rngs: list[np.random.Generator],
) -> AllocationEvidence:
    """Besides what an answer is about; none where that is not reliable."""
    for more in with_more_in_use(problem, found, least if answer.reliable else 0, rngs):
        answer = add_disjoint(answer, more)
    return answer


def _with_empty(
    problem: Problem, m: int, rng: np.random.Generator, little: float = -np.inf
) -> AllocationEvidence | None:
    """Sum over allocations with m empty components or more, where it is more than ``little``."""
    fewer = problem.fewer(problem.model.n_components - m)
    one = allocation_evidence(fewer.model, problem.rows, rng, little - log_ways(problem, m))
    return None if one is None else with_empty_ones(problem, one, m, rng)


def _with_fewer(
    problem: Problem, chains: Chains, rngs: list[np.random.Generator]
) -> AllocationEvidence | None:
    """By way of a mixture with fewer components, if some are empty."""
    model, rows, n_sweeps, longer = problem.model, problem.rows, chains.n_sweeps, 1
    while True:
        n = rows.weight.sum()
        step = to_smaller_mixture(model, np.concatenate(list(chains.n_empty), axis=1), n)
        if step is not None or longer > 1 or not (chains.n_empty.any() and _is_worth(problem)):
            break
        longer = LONGER  # small components come and go more slowly than all else
        chains = followed_from(problem, list(chains.theta[:, -1]), rngs, longer)
        n_sweeps += chains.n_sweeps
    if step is None:
        return None
    fewer = allocation_evidence(problem.fewer(model.n_components - step.m).model, rows, rngs[0])
    if fewer is None:
        return None
    theta, log_Z = chains.theta.reshape(-1, model.n_params), fewer.log_evidence + step.log_ratio
    spent = len(theta) * len(rows) + n_sweeps * len(problem.F)
    return AllocationEvidence(
        log_evidence=log_Z,
        log_evidence_std=float(np.hypot(fewer.log_evidence_std, step.std)),
        theta=theta,
        log_weights=np.full(len(theta), log_Z),
        n_effective=min(fewer.n_effective, step.n_effective),
        reliable=fewer.reliable,
        hopeful=False,
        n_likelihoods=fewer.n_likelihoods + spent,
    )


def most_rows(model: MixtureModel) -> float:
    """Rows that are not far out, beyond which allocations are not asked."""
    K = model.n_components
    return min(MOST_ROWS, MOST / (K * (2 * model.n_features + 1))) if K <= MOST_COMPONENTS else 0.0


def patience(model: MixtureModel, rows: Rows) -> int:
    """How many times the usual limits stand for these rows."""
    return PATIENCE if model.far_out(rows) > FAR else 1
