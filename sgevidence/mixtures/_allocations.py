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
from its draws (``_global_bridge.py``).  Where few chains carry that bridge, or halves differ, the answer says
that it is not reliable: then strata of components in use are asked (``_evidence.py``).

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques; J. E. Lee and C. P. Robert (2016), Importance sampling schemes for evidence
approximation in mixture models; O. Cappé et al. (2004), Population Monte Carlo; I. J. Good (1953), The
population frequencies of species and the estimation of population parameters.
"""

from typing import TypeGuard

import numpy as np

from ..history import Rows
from ..models import MixtureModel, Model
from ._allocation_proposal import DRAWS, Problem
from ._global_bridge import SAME, AllocationEvidence, global_bridge
from ._independent_searches import searched_together

#: Rows · components · numbers of each beyond which the answer would take more than about ten seconds.
MOST = 1_200_000
#: Rows beyond which modes and their importance sampling cost less, and allocations carry less.
MOST_ROWS = 5000
#: Copies of a row, if all would be too many: its weight goes in lumps to components, of which heavy rows have
#: one of their own (one weight of 10⁶ among twenty rows: seventeen seconds of annealing, and nats off).
MOST_COPIES = 50
#: Total weight beyond which double precision leaves less than a thousandth of a nat.
MOST_WEIGHT = 1e11
#: Components beyond which the sum over labellings would take too long.
MOST_COMPONENTS = 10
#: Standard deviations of a column that its mean may lie from zero, where the prior has the means; with more,
#: particles lose their way (6000 rows, fourteen: by thousands of nats), and so many times the limits stand.
FAR, PATIENCE = 10.0, 20


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
        twenty times as large for columns that are far out.  Heavy rows count MOST_COPIES where draws of q
        are all but the posterior.

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
    T = np.concatenate([problem.proposal(one, g) for one, g in zip(found, rngs)], axis=1)
    draws = problem.draw(T, DRAWS, rng)
    if is_lumped and draws.weights.ess <= SAME * DRAWS:
        return None  # chains of lumps have another distribution; draws of q may have any
    best = global_bridge(problem, T, draws, sum(one.n_sweeps for one in found), rng)
    return best._replace(log_evidence_std=float(np.hypot(best.log_evidence_std, found[0].unseen)))


def takes_allocations(model: Model) -> TypeGuard[MixtureModel]:
    """Whether a model is a mixture that draws of allocations answer for: of several diagonal components."""
    return isinstance(model, MixtureModel) and model.n_components > 1


def most_rows(model: MixtureModel) -> float:
    """Rows that are not far out, beyond which allocations are not asked."""
    K = model.n_components
    return min(MOST_ROWS, MOST / (K * (2 * model.n_features + 1))) if K <= MOST_COMPONENTS else 0.0


def patience(model: MixtureModel, rows: Rows) -> int:
    """How many times the usual limits stand for these rows."""
    return PATIENCE if model.far_out(rows) > FAR else 1


def doubling_until(model: Model, rows: Rows) -> float:
    """Rows beyond which they must not double at a time: what is too much for allocations, and far out.

    Particles can be carried along to a quarter more of them, and are lost on the way to twice as many.
    """
    if not takes_allocations(model):
        return np.inf
    most = most_rows(model)
    if not 0.0 < most < len(rows):  # fewer do not double what is too much
        return np.inf
    far = patience(model, rows)
    return far * most if far > 1 else np.inf
