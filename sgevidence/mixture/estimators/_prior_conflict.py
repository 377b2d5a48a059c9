"""Mixtures of Gaussians whose prior and data contradict each other, as regressions' may.

A mixture has a mean m_j and a standard deviation s_j along each column: some component has
|μ_kj| / σ_kj ≥ |m_j| / s_j, and none is much wider than s_j.  The columns are tested together, and at most
0.1 % of the fits to data of the prior warn.  With full covariances the thinnest direction of each component
is tested, too.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, gammainc, gammaincc

from ...estimators import FALSE_CONFLICTS, Found, conflict
from ...particles import log_sum_exp
from ..models import FullMixtureModel

#: Factor between two scales of the prior of variances whose evidences a warning compares.
SCALE_FACTOR = 3.0


def mixture_conflict(model: Any, theta: np.ndarray, W: np.ndarray, is_standardized: bool) -> str | None:
    """A sentence on what contradicts the prior and how to mend it; None if nothing does."""
    with np.errstate(all="ignore"):
        found = _of_mixture(model, model.parameters(theta), W)
        beyond_units = None if found else _of_thin_directions(model, theta, W)
    return conflict(found, beyond_units, is_standardized)


def _of_mixture(model: Any, named: dict[str, np.ndarray], W: np.ndarray) -> Found:
    """Location and spread of the whole mixture along its columns."""
    weights, means = named["weights"][..., None], named["means"]
    m = W @ np.sum(weights * means, axis=1)  # (p,)
    variances = model.column_variances(named["covariances"])
    second = W @ np.sum(weights * (variances + (means - m) ** 2), axis=1)
    s = np.sqrt(second)
    p, (b, c) = len(m), model.variance_prior
    if chdtrc(p, np.sum((m / (model.mean_scale * s)) ** 2)) < FALSE_CONFLICTS / 4:
        j = int(np.argmax(np.abs(m) / s))
        return (
            f"column {j} has its mean {abs(m[j]) / s[j]:.0f} standard deviations from zero, where the prior "
            f"has means within {model.mean_scale:g} or so",
            "centre X",
        )
    # σ² ~ InvGamma(b, c) is below s² where all components are narrow, and s² at most some σ² + μ²
    tail = np.minimum(gammaincc(b, c / s**2), gammainc(b, c * (1 + model.mean_scale**2) / s**2))
    tail = np.clip(2 * tail, 1e-300, 1.0)
    if chdtrc(2 * p, -2 * np.sum(np.log(tail))) > FALSE_CONFLICTS / 4:  # Fisher's combination
        return None
    j = int(np.argmin(tail))
    return (
        f"column {j} has a standard deviation of {s[j]:.3g}, beyond variance_prior = ({b:g}, {c:g})",
        "scale X, or change variance_prior",
    )


def _of_thin_directions(model: Any, theta: np.ndarray, W: np.ndarray) -> Found:
    """Full covariances of components that are thinner in some direction than the prior has them.

    Twice β over the variance in the thinnest direction is the largest eigenvalue of a Wishart matrix, and at
    most its trace, which is χ² with p (2b + p − 1) degrees of freedom.
    """
    if not isinstance(model, FullMixtureModel) or model.n_features == 1:
        return None
    p, (b, beta) = model.n_features, model.variance_prior
    Sigma = np.tensordot(W, model.parameters(model.canonicalize(theta))["covariances"], axes=1)  # (K, p, p)
    thinnest = np.linalg.eigvalsh(Sigma)[:, 0]
    k = int(np.argmin(thinnest))
    if chdtrc(p * (2 * b + p - 1), 2 * beta / thinnest[k]) > FALSE_CONFLICTS / (4 * len(thinnest)):
        return None
    direction = np.linalg.eigh(Sigma[k])[1][:, 0]
    i, j = np.sort(np.argsort(-np.abs(direction))[:2])
    expected = beta / (2 * b + 2 * p - 1)  # 2β over the largest eigenvalue of a Wishart matrix
    other = replace(model, variance_prior=(b, beta / SCALE_FACTOR))
    change = float(log_sum_exp(np.log(W) + other.log_prior(theta) - model.log_prior(theta)))
    return (
        f"component {k} is thin in a direction across columns {i} and {j}: its variance there is "
        f"{thinnest[k]:.2g}, where variance_prior = ({b:g}, {beta:.2g}) expects some {expected:.2g} in the "
        f"thinnest; a {SCALE_FACTOR:g} times smaller scale moves the log evidence by {change:+.0f} nats, "
        "and may move the number of groups",
        "compare priors by prior_sensitivity",
    )
