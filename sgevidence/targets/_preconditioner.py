"""Linear coordinates in which a posterior has about unit width.

Symbols: ``P`` = precision (d, d), ``C`` = P⁻¹, ``W`` = normalised weights, ``g`` = scores ∇ log p.
"""

import numpy as np

from ..kernels import Coordinates
from ..particles import spread
from ._target import Target

#: Particles whose curvature is averaged: at one point it may be far from typical (in a funnel it
#: varies exponentially), and eight cost less than a gradient of the cloud while d < M/16.
N_POINTS = 8


def curvature_coordinates(target: Target, theta: np.ndarray, W: np.ndarray) -> Coordinates:
    """Coordinates of unit posterior width, from the mean curvature −∇∇ log p of the cloud.

    The average is over a few particles where parameters have names of their own.  Where components
    are exchangeable it is over all labellings as well: a matrix that tells the labels apart, used on
    particles that may cross from one labelling to another, does not leave the posterior invariant.
    """
    slots = target.model.slots
    if slots is not None and len(slots) > 1:
        return Coordinates.from_precision(_mean_curvature_over_slots(target, slots, theta, W))
    try:
        return Coordinates.from_precision(target.mean_curvature(theta[spread(W, N_POINTS)]))
    except np.linalg.LinAlgError:
        return Coordinates.from_precision(_second_moment(target.value_and_grad(theta)[1], W))


def _second_moment(g: np.ndarray, W: np.ndarray) -> np.ndarray:
    """E[g gᵀ], which under p itself is E[−∇∇ log p]: mean curvature from one gradient of the cloud.

    Positive definite everywhere, and safe in a funnel, where the inverse covariance is not.  Shrunk
    towards its diagonal by d/(2 ESS): it is used for widths, not reported.
    """
    P = (W[:, None] * g).T @ g
    shrinkage = min(1.0, len(P) * np.sum(W**2) / 2)
    return (1 - shrinkage) * P + np.diag((shrinkage + 1e-12) * np.diag(P) + 1e-12)


def _mean_curvature_over_slots(
    target: Target, slots: np.ndarray, theta: np.ndarray, W: np.ndarray
) -> np.ndarray:
    """Mean curvature averaged over the K! labellings: P = Π ⊗ P_mean + (1 − Π) ⊗ P_contrast, Π = 11ᵀ/K.

    Log-weights are free in their sum, which the likelihood does not see, and narrow in their
    contrasts.  Averaging precisions makes the widths safe for the narrowest component.
    """
    g = target.value_and_grad(theta)[1][:, slots]  # (M, K, q)
    M, K, q = g.shape
    mean = g.mean(axis=1)
    P_mean = K * _second_moment(mean, W)
    P_contrast = K / (K - 1) * _second_moment((g - mean[:, None]).reshape(M * K, q), np.repeat(W / K, K))
    Pi = np.full((K, K), 1 / K)
    flat = slots.ravel()
    P = np.empty((len(flat), len(flat)))
    P[np.ix_(flat, flat)] = np.kron(Pi, P_mean) + np.kron(np.eye(K) - Pi, P_contrast)
    return P
