r"""The evidence of a mixture by annealing its allocations: few rows, many columns.

In many columns small components may be in many places, allocations are too many for a mixture of their
conditionals to cover, and particles θ in hundreds of directions lose most of them (77 rows of 30 columns,
K = 8: two fits 5 and 13 nats low at 1).  But parameters integrate out.  So allocations are the particles,

    π_λ(z) ∝ p(z) p(x | z)^λ,    λ from 0 to 1,

carried from draws of the prior to the posterior by the loop of Algorithm 8, lines 4 to 13, with collapsed
Gibbs sweeps in the place of SGHMC.  Two halves know nothing of each other.

*When not to use it*: groups of a hundred rows each that overlap appear at once, as λ grows, and no sweep
finds them (500 rows of 20 columns, K = 5: 400 nats low at 0.5).  So it must not fall short of what searches
have found.

Symbols
-------
===========  ============  =================================================
z_i          ``z``         allocations, (M, n): the ``theta`` of a cloud
λ, Δ         ``lam``, ``delta``
log p(x|z)   ``ell``       (M,)
M            ``M``         particles of each half
===========  ============  =================================================

References
----------
P. Del Moral, A. Doucet and A. Jasra (2006), Sequential Monte Carlo samplers; S. N. MacEachern (1994),
Estimating normal means with a conjugate style Dirichlet process prior.
"""

import numpy as np

from ..models.allocations import collapsed_sweep, log_component_evidence, sample_parameters, statistics
from ..particles import Cloud, next_step, step_bias, systematic
from ._allocation_answer import AllocationEvidence
from ._allocation_proposal import Problem

#: Particles of each half; ESS* as a fraction of them; sweeps at each λ.  At 0.5 and one sweep basins are lost
#: (wine, K = 6: 14 nats).
M, TARGET_ESS, SWEEPS = 200, 0.95, 2
#: Effective draws of a hundred that it counts as, where others look at these.
COUNTS_AS = 100.0


def by_annealing(problem: Problem, rngs: list[np.random.Generator]) -> AllocationEvidence:
    """What two halves find; their error bar is no less than half of what they differ by."""
    model, found, n_sweeps = problem.model, [], 0
    for rng in rngs:
        cloud, n_steps = annealed(problem, rng)
        found.append(cloud)
        n_sweeps += M * SWEEPS * n_steps
    log_Z = np.array([cloud.log_evidence for cloud in found])
    std = np.array([cloud.log_evidence_std for cloud in found])
    T = np.concatenate([statistics(cloud.theta, problem.F, model.n_components) for cloud in found], axis=1)
    theta = sample_parameters(model, T, problem.origin, rngs[0])
    log_w = np.concatenate([cloud.log_Z + cloud.weights.log_w for cloud in found])
    return AllocationEvidence(
        log_evidence=float(np.logaddexp(*log_Z) - np.log(2)),
        log_evidence_std=float(max(np.hypot(*std) / 2, abs(log_Z[0] - log_Z[1]) / 2)),
        theta=theta,
        log_weights=log_w,
        n_effective=COUNTS_AS,
        reliable=True,
        hopeful=False,
        n_likelihoods=float(n_sweeps * len(problem.F)),
    )


def annealed(problem: Problem, rng: np.random.Generator) -> tuple[Cloud, int]:
    """Allocations of the posterior, and the number of steps (Alg. 8)."""
    model, F, origin = problem.model, problem.F, problem.origin
    cloud, lam, n_steps = Cloud.planted(_prior(problem, rng)), 0.0, 0  # lines 1, 2 and 4
    while True:
        T = statistics(cloud.theta, F, model.n_components)
        ell, log_w = log_component_evidence(model, T, origin).sum(axis=0), cloud.weights.log_w
        delta = next_step(ell, log_w, 1.0 - lam, TARGET_ESS)  # line 6, Eq. (4.15)
        lam = min(max(lam + delta, np.nextafter(lam, 1.0)), 1.0)  # line 7
        cloud, n_steps = cloud.weighted(delta * ell), n_steps + 1  # line 8
        if lam == 1.0:  # line 5
            return cloud, n_steps
        cloud = cloud.corrected(step_bias(ell, log_w, delta)).resampled(systematic, M, rng)  # line 9
        z = cloud.theta
        for _ in range(SWEEPS):
            z = collapsed_sweep(model, z, F, origin, rng, lam)  # line 10
        cloud = cloud._replace(theta=z)


def _prior(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """z ~ p(z), (M, n): the rows of copies in equal parts go their own ways."""
    K, n = problem.model.n_components, len(problem.F)
    weights = rng.dirichlet(np.full(K, problem.model.weight_concentration), M)
    above = np.cumsum(weights, axis=1)[:, None, :-1]
    return np.sum(above < rng.random((M, n, 1)), axis=2).astype(np.int16)
