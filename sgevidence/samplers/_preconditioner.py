"""Linear coordinates in which a posterior has about unit width.

Symbols: ``P`` = precision (d, d), ``C`` = P⁻¹, ``W`` = normalised weights, ``g`` = scores ∇ log p.
"""

import numpy as np

from ..kernels import Coordinates


def curvature_coordinates(model, theta, W, rows) -> Coordinates:
    """Coordinates from −∇∇ log p(θ̄ | rows) at the cloud's mean θ̄.

    Where that is not positive definite: from the cloud's covariance.  Where components are
    exchangeable neither serves, because a matrix that tells the labels apart, used on particles
    that may cross from one labelling to another, does not leave the posterior invariant.
    """
    if model.slots is not None and len(model.slots) > 1:
        return _pooled_over_slots(model, theta, W, rows)
    try:
        return Coordinates.from_precision(-model.hessian_log_joint(W @ theta, rows))
    except np.linalg.LinAlgError:
        return Coordinates.from_covariance(_covariance(theta, W))


def _covariance(theta, W) -> np.ndarray:
    """Weighted covariance, shrunk towards its diagonal by d/(2 ESS): it is used for widths, not reported."""
    deviation = theta - W @ theta
    C = (W[:, None] * deviation).T @ deviation
    return _shrunk(C, W, floor=1e-12 * (1.0 + W @ theta**2))  # a single particle has no width


def _shrunk(A, W, floor) -> np.ndarray:
    g = min(1.0, len(A) * np.sum(W**2) / 2)
    diagonal = np.diag(A)
    return (1 - g) * A + np.diag(g * diagonal + floor)


def _pooled_over_slots(model, theta, W, rows) -> Coordinates:
    """Coordinates that treat all K components alike, from the mean curvature of the cloud.

    Under p itself E[−∇∇ log p] = E[g gᵀ] with g = ∇ log p, so one gradient of the cloud gives the
    mean curvature, positive definite everywhere; in a funnel it is the safe choice, where the
    cloud's covariance is not.  Averaged over the K! labellings it is, with Π = 11ᵀ/K,

        P = Π ⊗ P_mean + (1 − Π) ⊗ P_contrast:

    log-weights are free in their sum, which the likelihood does not see, and narrow in their
    contrasts.  Averaging precisions makes the widths safe for the narrowest component.
    """
    g = model.grad_log_joint(theta, rows)[:, model.slots]  # (M, K, q)
    K, mean = g.shape[1], g.mean(axis=1)
    contrast = (g - mean[:, None]) * np.sqrt(W)[:, None, None]
    P_mean = K * (W[:, None] * mean).T @ mean
    P_contrast = np.einsum("mkq,mkr->qr", contrast, contrast) / (K - 1)
    P_mean, P_contrast = (_shrunk(P, W, floor=1e-12 + 1e-12 * np.diag(P)) for P in (P_mean, P_contrast))
    Pi = np.full((K, K), 1 / K)
    P = np.empty((theta.shape[1],) * 2)
    flat = model.slots.ravel()
    P[np.ix_(flat, flat)] = np.kron(Pi, P_mean) + np.kron(np.eye(K) - Pi, P_contrast)
    return Coordinates.from_precision(P)
