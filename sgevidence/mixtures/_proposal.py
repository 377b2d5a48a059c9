r"""A density that covers one stratum: conditionals of θ given allocations, with labels summed over.

    q(θ) = (1/S) Σ_s (1/k!) Σ_π p(θ | x, π z_s),    all z_s with all components in use,

against the stratum's target, whose integral is B_k,

    p(x | θ) p(θ) P(all in use | θ, x) Γ(ka + n)/Γ(ka).

The prior p(θ) cancels in the ratio, so that families of components need not be known here.  The average over
labellings is a permanent, done in full: basins and labels need not be told apart.

Symbols: ``T`` = statistics of the S allocations, (k, S, q); ``c`` = coefficients of M points, (k, M, q); π
z_s ``terms`` = log p(θ_m | x, {z_s}) / (S p(θ_m)), labels summed over, (M, S); ω_m ``log_w`` = target over q
at M points, (M,).
"""

from math import lgamma

import numpy as np

from ..particles import log_sum_exp
from ._hidden_states import HiddenStates
from ._sweeps import Problem


def weighed(problem: Problem | HiddenStates, c: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log ω (M,) and terms (M, S) of points with coefficients c, nats."""
    terms = log_conditionals(problem, c, T)
    return problem.log_target(c) - log_sum_exp(terms, axis=1), terms


def log_conditionals(problem: Problem | HiddenStates, c: np.ndarray, T: np.ndarray) -> np.ndarray:
    """log [p(θ_m | x, {z_s}) / (S p(θ_m))] without the Γ of the weights' prior, (M, S)."""
    log_p = -problem.log_joint(T) - lgamma(len(T) + 1) - np.log(T.shape[1])
    return problem.log_sum_over_labels(c, T, log_p)
