r"""Parts that every kernel shares: the target it sees, the record it returns, linear coordinates.

A kernel moves a cloud ``theta`` (M, d) and leaves a target distribution (nearly) invariant.  It
sees functions of θ only, never data or models, so that each is tested on a Gaussian.

Whether a cloud has forgotten where it started is told by correlations of each coordinate, by particle,

    ρ_j = Σ_i (a_ij − ā_j)(b_ij − b̄_j) / √(Σ_i (a_ij − ā_j)² Σ_i (b_ij − b̄_j)²)

A kernel that is exact leaves the posterior as it is, and so does nothing for a cloud that is not yet there
but by forgetting.  What it forgets last is what the likelihood says least of, and the mean over coordinates
does not see it.

Symbols: ``a, b`` = the cloud before and after, (M, d).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..exceptions import DivergenceError

Gradient = Callable[[np.ndarray], np.ndarray]  # (M, d) -> (M, d)
LogDensity = Callable[[np.ndarray], np.ndarray]  # (M, d) -> (M,)
ValueAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # (M, d) -> (M,), (M, d)
#: Largest correlation between start and end, of any coordinate, below which draws count as new; and how
#: often a kernel is called at most to get there.
MAX_CORRELATION, MAX_REPEATS = 0.3, 5


def correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Autocorrelation of each coordinate, (d,); zero for one that does not vary."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    norm = np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))
    return np.sum(a * b, axis=0) / np.maximum(norm, 1e-300)


def largest_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """In the coordinate that remembers most, less what few particles make of nothing."""
    return float(np.max(correlations(a, b))) - 2 / len(a) ** 0.5


class MoveInfo(NamedTuple):
    """A kernel's report beside the moved cloud.

    Parameters
    ----------
    n_gradients : int
        Evaluations of the target or its gradient per particle.
    acceptance : float
        Mean acceptance probability; 1 where there is no test.
    n_refused : int
        Particles left where they were because the end point was not finite or ran away.
    temperature : float
        Mean kinetic energy over its equilibrium value; 1 without momentum.
    here : tuple of ndarrays or None
        Value and gradient of the target at the moved cloud, where the kernel knows them.
    """

    n_gradients: int
    acceptance: float
    n_refused: int
    temperature: float
    here: tuple[np.ndarray, np.ndarray] | None = None


class Coordinates(NamedTuple):
    """θ = L φ: a kernel that is isotropic in φ is preconditioned by C = L Lᵀ in θ.

    Parameters
    ----------
    L : ndarray of shape (d, d)
        Lower triangular.
    """

    L: np.ndarray

    @classmethod
    def from_covariance(cls, C: np.ndarray) -> "Coordinates":
        """Coordinates in which a Gaussian of covariance C is standard normal.

        Parameters
        ----------
        C : ndarray of shape (d, d)

        Returns
        -------
        Coordinates
        """
        return cls(np.linalg.cholesky(C))

    @classmethod
    def from_precision(cls, P: np.ndarray) -> "Coordinates":
        """C = P⁻¹.  With P = R Rᵀ and J the reversal of order, chol(J P J) gives L without inverting P.

        Parameters
        ----------
        P : ndarray of shape (d, d)

        Returns
        -------
        Coordinates

        Raises
        ------
        DivergenceError
            If P is not finite.
        LinAlgError
            If P is not positive definite.
        """
        if not np.isfinite(P).all():
            raise DivergenceError(
                "the curvature of the posterior leaves the finite numbers: standardise the columns, or state "
                "priors in the units of the data"
            )
        R = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]  # upper triangular, P = R Rᵀ
        return cls(solve_triangular(R.T, np.eye(len(P)), lower=True))

    def whiten(self, theta: np.ndarray) -> np.ndarray:
        """φ = L⁻¹θ.

        Parameters
        ----------
        theta : ndarray of shape (M, d)

        Returns
        -------
        ndarray of shape (M, d)
        """
        return solve_triangular(self.L, theta.T, lower=True).T

    def unwhiten(self, phi: np.ndarray) -> np.ndarray:
        """θ = Lφ.

        Parameters
        ----------
        phi : ndarray of shape (M, d)

        Returns
        -------
        ndarray of shape (M, d)
        """
        return phi @ self.L.T

    def gradient(self, grad: Gradient) -> Gradient:
        """∇_φ log p(Lφ) = Lᵀ ∇_θ log p.

        Parameters
        ----------
        grad : callable (M, d) -> (M, d)
            ∇_θ log p.

        Returns
        -------
        callable (M, d) -> (M, d)
        """
        return lambda phi: grad(self.unwhiten(phi)) @ self.L


def keep_sound(
    proposed: np.ndarray, start: np.ndarray, temperature: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A particle that is not finite or ran away stays where it was: (theta, which moved)."""
    sound = np.isfinite(proposed).all(axis=1)
    # kinetic energy over its equilibrium value beyond which a trajectory has left the target: gradient noise
    # heats a cloud hundreds of times, an unstable step by orders of magnitude a step
    sound &= temperature < 1e8  # False for nan
    return np.where(sound[:, None], proposed, start), sound
