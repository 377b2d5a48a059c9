r"""Gibbs sweeps over allocations alone, with all parameters of the mixture integrated out.

Each row r in turn leaves its component and is given one anew,

    p(z_r = k | z_−r, x) ∝ p(z_r = k | z_−r) p(x_r | x of the others in k) = A_k(N_k + w) / A_k(N_k),

where A_k is the part of p(x, z) of component k (``models/allocations.py``).  A row that leaves a component of
few does not fit the parameters of any other such, drawn without it, in any of many columns; here it need not.
Of a path from another density q of allocations,

    π_λ(z) ∝ q(z)^(1−λ) p(x, z)^λ,

it is the same with both conditionals to these powers.

Symbols
-------
=================  ===============  ==================================================
T                  ``T``            statistics of K components of M allocations, a row
                                    each, (K M, 2p + 1); the last of a row is N
w, x               ``w, x``         weight and columns of row r, from the origin
μ, β_n             ``mean, beta_n``  of each component, (K M, p); b_n, κ_n as there
log A_k(N)         ``of_x, of_z``   what hangs on N alone, of the rows and of the prior;
                                    with r: ``with_x, with_z``
Σ_j log β_nj       ``log_beta``     (K M,), with r: ``log_more``
=================  ===============  ==================================================

References
----------
S. N. MacEachern (1994), Estimating normal means with a conjugate style Dirichlet process prior.
"""

import numpy as np
from scipy.special import gammaln

from ..models import MixtureModel
from ..models.allocations import statistics
from ._annealing_reference import AnnealingReference

#: Sweeps from λ = 0 to 1: twelve rows of 30 columns, K = 6, fall into all basins by then.
COOLING = 10


def collapsed_sweep(
    model: MixtureModel,
    z: np.ndarray,
    F: np.ndarray,
    origin: np.ndarray,
    rng: np.random.Generator,
    q: AnnealingReference | None = None,
    lam: float = 1.0,
) -> np.ndarray:
    """Each row once, in any order, of M allocations (M, n), under p(z | x) or, with q, under π_λ."""
    K, p, M, z = model.n_components, model.n_features, len(z), z.copy()
    b, kappa, m = model.variance_prior[0], model.mean_scale**-2.0, np.arange(M)
    T = statistics(z, F, K).reshape(K * M, -1)
    N = T[:, -1].copy()
    mean, beta_n, log_beta = _moments(model, T, origin)
    of_x, of_z = _of_size(model, N)
    agreement = None if q is None else q.agreement(z)
    with_x, with_z, last = of_x, of_z, None
    for r in rng.permutation(len(F)):
        w, x, at = F[r, -1], F[r, p : 2 * p] / F[r, -1], z[:, r] * M + m
        left = T[at] - F[r]
        left = np.where(left[:, -1:] > 1e-9 * w, left, 0.0)  # nothing, not what rounding leaves
        T[at], N[at] = left, left[:, -1]
        mean[at], beta_n[at], log_beta[at] = _moments(model, left, origin)
        of_x[at], of_z[at] = _of_size(model, N[at])
        if w != last:
            (with_x, with_z), last = _of_size(model, N + w), w
        with_x[at], with_z[at] = _of_size(model, N[at] + w)
        shrunk = (kappa + N) / (kappa + N + w)
        more = beta_n + (0.5 * w * shrunk)[:, None] * (x - mean) ** 2
        log_more, b_n = np.log(more) @ np.ones(p), b + 0.5 * N
        log_odds = with_x - of_x - (b_n + 0.5 * w) * log_more + b_n * log_beta + with_z - of_z
        log_odds = lam * log_odds.reshape(K, M)
        if q is not None:
            agreement -= q.z[:, r] == z[:, [r]]
            log_odds += (1 - lam) * q.log_odds(agreement, r)
        cumulative = np.cumsum(np.exp(log_odds - log_odds.max(axis=0)), axis=0)
        z[:, r] = k = np.sum(cumulative < rng.random(M) * cumulative[-1], axis=0)
        if q is not None:
            agreement += q.z[:, r] == k[:, None]
        at = k * M + m
        T[at] += F[r]
        N[at] += w
        mean[at] += (1 - shrunk[at])[:, None] * (x - mean[at])
        beta_n[at], log_beta[at], of_x[at], of_z[at] = more[at], log_more[at], with_x[at], with_z[at]
        with_x[at], with_z[at] = _of_size(model, N[at] + w)
    return z


def cooled(
    model: MixtureModel, size: int, F: np.ndarray, origin: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Allocations (size, n) of all basins, from arbitrary ones by p(x, z)^λ with λ that grows to one."""
    z = rng.integers(model.n_components, size=(size, len(F))).astype(np.int16)
    for i in range(1, COOLING + 1):
        z = collapsed_sweep(model, z, F, origin, rng, lam=(i / COOLING) ** 2)
    return z


def _moments(model: MixtureModel, T: np.ndarray, origin: np.ndarray) -> tuple:
    """Mean of each component from the origin, scale of σ², (C, p), and Σ_j log of it, (C,)."""
    p, beta, kappa = model.n_features, model.variance_prior[1], model.mean_scale**-2.0
    first, N = T[:, p : 2 * p], T[:, -1:]
    mean = first / np.maximum(N, 1e-300)
    scatter = np.maximum(T[:, :p] - first * mean, 0.0)
    beta_n = beta + 0.5 * (scatter + kappa * N / (kappa + N) * (mean + origin) ** 2)
    return (first - kappa * origin) / (kappa + N), beta_n, np.log(beta_n) @ np.ones(p)


def _of_size(model: MixtureModel, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Terms of log A that depend on N alone, of the rows and of the prior."""
    b, kappa = model.variance_prior[0], model.mean_scale**-2.0
    of_x = model.n_features * (gammaln(b + 0.5 * N) - 0.5 * np.log(kappa + N))
    return of_x, gammaln(model.weight_concentration + N)
