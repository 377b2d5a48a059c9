r"""Gaussians with the precision Λ = C diag(e^(−s)) Cᵀ, C unit lower triangular.

The numbers below the diagonal of C are r.  Where columns are independent there is no r, C is the identity,
and s = log σ² of each column or of all.

Symbols: ``mu, s`` (..., p), ``r`` (..., p (p − 1)/2), ``C`` (..., p, p), any leading shape; ``u`` = standard
normal numbers (..., p).
"""

from functools import cache

import numpy as np
from autograd.extend import defvjp, primitive

#: Nats that cancellation may take from a sum over rows before it is formed row by row.
MAX_LOSS_NATS = 0.01


def loses_digits(n: float, mu: np.ndarray, x: np.ndarray, s: np.ndarray, *r: np.ndarray) -> bool:
    """Whether a sum over n rows of products loses too much, mu and x measured from the same centre.

    A row near a component is their difference.  Rows within a component's own spread of its mean count, since
    others have no share in it.  That spread is asked only where the rows' own would be too much.
    """
    most = np.abs(x).max(axis=0)

    def loses(reach: np.ndarray) -> bool:
        v = _row_times(reach, *(np.abs(unit_lower(each)) for each in r))
        largest = np.max(np.sum(v**2 * np.exp(-s), axis=-1))
        return not largest * n * np.finfo(float).eps < MAX_LOSS_NATS

    if not loses(np.abs(mu) + most):
        return False
    spread = np.sqrt(np.diagonal(covariance_of(s, *r), axis1=-2, axis2=-1)) if r else np.exp(s / 2)
    return loses(np.abs(mu) + np.minimum(3 * spread, most))


def covariance_of(s: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Σ (..., p, p) = C⁻ᵀ diag(e^s) C⁻¹."""
    root = inverse(unit_lower(r)) * np.exp(s / 2)[..., :, None]
    Sigma = np.matmul(np.swapaxes(root, -2, -1), root)
    return 0.5 * (Sigma + np.swapaxes(Sigma, -2, -1))


def times_root(u: np.ndarray, s: np.ndarray, *r: np.ndarray) -> np.ndarray:
    """L⁻ᵀ u (..., p), whose covariance is Σ if that of u is the identity."""
    return _row_times(np.exp(s / 2) * u, *(inverse(unit_lower(each)) for each in r))


def _row_times(v: np.ndarray, *C: np.ndarray) -> np.ndarray:
    """vᵀ C (..., p), or v where there is no C."""
    return np.matmul(v[..., None, :], C[0])[..., 0, :] if C else v


def factors_of(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s (..., p) and r (..., p (p − 1)/2) of Σ (..., p, p), which is U diag(e^s) Uᵀ with U = C⁻ᵀ."""
    rest, p = np.array(covariance), covariance.shape[-1]
    U, d = np.zeros_like(rest), np.empty(rest.shape[:-1])
    for j in reversed(range(p)):
        d[..., j] = np.maximum(rest[..., j, j], np.finfo(float).tiny)
        U[..., : j + 1, j] = rest[..., : j + 1, j] / d[..., None, j]
        U[..., j, j] = 1.0
        u = U[..., :j, j]
        rest[..., :j, :j] -= d[..., j, None, None] * u[..., :, None] * u[..., None, :]
    return np.log(d), inverse(np.swapaxes(U, -2, -1))[(..., *below(p))]


def inverse(C: np.ndarray) -> np.ndarray:
    """C⁻¹ by substitution: no θ is singular, and where one overflows the others are not harmed."""
    found = np.zeros_like(C) + np.eye(C.shape[-1])
    for i in range(1, C.shape[-1]):
        found[..., i, :i] = -np.matmul(C[..., i, None, :i], found[..., :i, :i])[..., 0, :]
    return found


def n_later(widths: tuple[int, ...]) -> np.ndarray:
    """Columns after each that its variance is given, (w,): those of a matrix, or none."""
    return np.arange(widths[1] - 1, -1, -1) if len(widths) > 2 else np.zeros(widths[1])


@cache
def below(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the numbers below the diagonal of a p × p matrix."""
    return np.tril_indices(p, -1)


@cache
def pairs(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the numbers on and above the diagonal of a p × p matrix."""
    return np.triu_indices(p)


@primitive
def unit_lower(r):
    """C (..., p, p) of r (..., p (p − 1)/2)."""
    p = round((1 + (1 + 8 * r.shape[-1]) ** 0.5) / 2)
    C = np.zeros((*r.shape[:-1], p, p))
    C[..., range(p), range(p)] = 1.0
    C[(..., *below(p))] = r
    return C


def _unit_lower_vjp(ans, r):
    return lambda g: g[(..., *below(ans.shape[-1]))]


defvjp(unit_lower, _unit_lower_vjp)
