r"""A density that covers one stratum: conditionals of θ given allocations, with labels summed over.

    q(θ) = (1/S) Σ_s (1/k!) Σ_π p(θ | x, π z_s),    all z_s with all components in use,

against the stratum's target, whose integral is B_k,

    p(x | θ) p(θ) P(all in use | θ, x) Γ(ka + n)/Γ(ka).

The prior p(θ) cancels in the ratio, so that families of components need not be known here.  The average over
labellings is a permanent, done in full: basins and labels need not be told apart.

Symbols
-------
=======  ============  ==============================================================
T        ``T``         statistics of the S allocations, (k, S, q)
c        ``c``         coefficients of M points, (k, M, q)
π z_s    ``terms``     log p(θ_m | x, {z_s}) / (S p(θ_m)), labels summed over, (M, S)
ω_m      ``log_w``     target over q at M points, (M,)
=======  ============  ==============================================================
"""

from math import lgamma

import numpy as np

from ..models import log_permanent
from ..particles import log_sum_exp
from ._occupied import log_likelihood_in_use
from ._sweeps import Problem

#: Nats below which a permutation or an allocation adds nothing to a sum: e⁻¹⁶ of 300 terms is 3·10⁻⁵.
NOTHING = 16.0
#: Numbers in one block of the matrix of coefficients against statistics: what fits the cache.
BLOCK = 250_000


def weighed(problem: Problem, c: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log ω (M,) and terms (M, S) of points with coefficients c, nats."""
    terms = log_conditionals(problem, c, T)
    log_p, log_in_use = log_likelihood_in_use(c, problem.F)
    return log_p + log_in_use - log_sum_exp(terms, axis=1), terms


def log_conditionals(problem: Problem, c: np.ndarray, T: np.ndarray) -> np.ndarray:
    """log [p(θ_m | x, {z_s}) / (S p(θ_m))] without the Γ of the weights' prior, (M, S).

    Terms that can be shown to be NOTHING beside the best one with the labels as they are, are upper bounds.
    """
    (k, M, _), S = c.shape, T.shape[1]
    log_p = -problem.log_joint(T) - lgamma(k + 1) - np.log(S)
    out, size = np.empty((M, S)), max(BLOCK // (k * k * S), 1)
    for start in range(0, M, size):
        part = slice(start, start + size)
        L = c[:, None, part] @ T.transpose(0, 2, 1)  # (point's component, allocation's component, m, S)
        top, as_labelled = L.max(axis=0), np.einsum("kkms->ms", L) + log_p
        log_A = L - top
        A = np.exp(log_A.astype(np.float32))  # its errors are 10⁻⁷ of each term
        scale = top.sum(axis=0) + log_p
        # no permanent of positive numbers exceeds the product of the column sums
        out[part] = scale + np.log(A.sum(axis=0)).sum(axis=0)
        least = as_labelled.max(axis=1) - NOTHING
        m, s = np.nonzero(out[part] > least[:, None])
        exact = log_permanent(log_A[:, :, m, s], A[:, :, m, s], least[m] - scale[m, s])
        out[start + m, s] = exact + scale[m, s]
    return out
