r"""The evidence of a mixture by annealing its allocations: few rows, many columns.

In many columns small components may be in many places, allocations are too many for a mixture of their
conditionals to cover, and particles θ in hundreds of directions lose most of them (77 rows of 30 columns,
K = 8: two fits 5 and 13 nats low at 1).  But parameters integrate out.  So allocations are the particles,

    π_λ(z) ∝ q(z)^(1−λ) p(x, z)^λ,    λ from 0 to 1,

carried by the loop of Algorithm 8, lines 4 to 13, with collapsed Gibbs sweeps (``_collapsed.py``) in the
place of SGHMC, from a density q that remembers a few allocations of a search, blurred
(``_annealing_reference.py``).  Groups of many rows are there from the start, which from the prior would all
have to appear at once, as λ grows; small ones come and go.  q knows labels and the posterior does not: they
are exchanged on the way, so that in the end all K! labellings are as probable.  Two halves know nothing of
each other.

*When not to use it*: many rows of groups that may be put together in several ways, each beyond the reach of
the others (500 rows of 20 columns, K = 5: of one data set in twelve halves differ by up to nine nats).

Symbols
-------
===========  ============  =================================================
z_i          ``z``         allocations, (M, n): the ``theta`` of a cloud
λ, Δ         ``lam``, ``delta``
log p(x,z)/q ``ell``       (M,)
M            ``M``         particles of each half
===========  ============  =================================================

References
----------
P. Del Moral, A. Doucet and A. Jasra (2006), Sequential Monte Carlo samplers.
"""

from collections.abc import Sequence

import numpy as np

from ..models.allocations import log_complete_evidence, sample_parameters, statistics
from ..particles import Cloud, next_step, step_bias, systematic
from ._allocation_proposal import Problem
from ._allocation_search import WIDE, Found
from ._annealing_reference import AnnealingReference
from ._collapsed import collapsed_sweep
from ._combine import APART, SIGNIFICANT, AllocationEvidence

#: Particles of each half; ESS* as a fraction of them; sweeps at each λ.  At 0.5 and one sweep basins are lost
#: (wine, K = 6: 14 nats).
M, TARGET_ESS, SWEEPS = 200, 0.95, 2
#: Largest share of the way left to λ = 1 that one step goes, until q tells labels apart by ``LAST`` nats:
#: what no particle does yet is not in ell (five far groups: 3.5 nats low without, of log 5! = 4.8).
SHARE, LAST = 0.3, 0.1
#: Allocations of its search that a half remembers.
REMEMBERED = 8
#: Rows, and rows · components · numbers of each, up to which it takes a minute or two; particles take longer.
MOST_ROWS, MOST = 500, 200_000
#: Effective draws of a hundred that it counts as, where others look at these.
COUNTS_AS = 100.0


def is_asked(problem: Problem) -> bool:
    """Whether rows are few enough, and columns many."""
    is_cheap = len(problem.F) <= MOST_ROWS and problem.cost <= MOST
    return problem.model.n_features >= WIDE and is_cheap


def by_annealing(
    problem: Problem, found: Sequence[Found], rngs: list[np.random.Generator]
) -> AllocationEvidence:
    """Mean of two halves; half of their difference is part of the error bar.

    Where small groups are many halves differ by up to twice what either says.
    """
    model, clouds, n_sweeps = problem.model, [], 0
    for one, rng in zip(found, rngs):
        remembered = one.z[rng.permutation(len(one.z))[:REMEMBERED]]
        cloud, n_steps = annealed(problem, AnnealingReference(remembered, model.n_components), rng)
        clouds.append(cloud)
        n_sweeps += M * SWEEPS * n_steps
    log_Z = np.array([cloud.log_evidence for cloud in clouds])
    std = np.hypot(clouds[0].log_evidence_std, clouds[1].log_evidence_std)
    apart = abs(log_Z[0] - log_Z[1])
    T = np.concatenate([statistics(cloud.theta, problem.F, model.n_components) for cloud in clouds], axis=1)
    theta = sample_parameters(model, T, problem.origin, rngs[0])
    log_w = np.concatenate([cloud.log_Z + cloud.weights.log_w for cloud in clouds])
    return AllocationEvidence(
        log_evidence=float(np.logaddexp(*log_Z) - np.log(2)),
        log_evidence_std=float(np.hypot(std, apart) / 2),
        theta=theta,
        log_weights=log_w,
        n_effective=COUNTS_AS,
        reliable=bool(apart < max(APART, SIGNIFICANT * std)),
        hopeful=False,
        n_likelihoods=float(n_sweeps * len(problem.F)),
    )


def annealed(problem: Problem, q: AnnealingReference, rng: np.random.Generator) -> tuple[Cloud, int]:
    """Allocations of the posterior, and the number of steps (Alg. 8)."""
    model, F, origin = problem.model, problem.F, problem.origin
    cloud, lam, n_steps = Cloud.planted(q.draw(M, rng)), 0.0, 0  # lines 1, 2 and 4
    while True:
        z, log_w = cloud.theta, cloud.weights.log_w
        ell = log_complete_evidence(model, statistics(z, F, q.K), origin) - q.log_density(z)
        # line 6, Eq. (4.15); labels that none of the particles has yet do not show in ell
        is_last = (1.0 - lam) * q.c * len(F) < LAST
        delta = next_step(ell, log_w, (1.0 - lam) * (1.0 if is_last else SHARE), TARGET_ESS)
        lam = min(max(lam + delta, np.nextafter(lam, 1.0)), 1.0)  # line 7
        cloud, n_steps = cloud.weighted(delta * ell), n_steps + 1  # line 8
        if lam == 1.0:  # line 5
            return cloud, n_steps
        cloud = cloud.corrected(step_bias(ell, log_w, delta)).resampled(systematic, M, rng)  # line 9
        z = cloud.theta
        for _ in range(SWEEPS):
            z = collapsed_sweep(model, z, F, origin, rng, q, lam)  # line 10
        cloud = cloud._replace(theta=q.relabelled(z, 1.0 - lam, rng))
