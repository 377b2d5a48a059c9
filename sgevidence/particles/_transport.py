r"""Affine transport between Gaussians: T(θ) = m₂ + L₂ L₁⁻¹ (θ − m₁), L Lᵀ = P⁻¹.

A deterministic, invertible move: with its Jacobian in the weights the estimator stays consistent
whatever the map, and a bad map only costs effective sample size (Vaikuntanathan and Jarzynski
2008; Arbel et al. 2021).

Symbols: ``m, P`` = mode and precision before (1) and after (2), ``log_det`` = log |det L₂ L₁⁻¹|.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular


class AffineMap(NamedTuple):
    """θ → m2 + (θ − m1) Aᵀ."""

    m1: np.ndarray
    m2: np.ndarray
    A: np.ndarray
    log_det: float

    @classmethod
    def between(cls, m1: np.ndarray, P1: np.ndarray, m2: np.ndarray, P2: np.ndarray) -> "AffineMap":
        """From N(m1, P1⁻¹) to N(m2, P2⁻¹); LinAlgError if a precision is not positive definite."""
        R1, R2 = np.linalg.cholesky(P1), np.linalg.cholesky(P2)  # P = R Rᵀ, L = R⁻ᵀ
        A = solve_triangular(R2.T, R1.T, lower=False)  # L₂ L₁⁻¹ = R₂⁻ᵀ R₁ᵀ
        log_det = np.sum(np.log(np.diag(R1))) - np.sum(np.log(np.diag(R2)))
        return cls(m1, m2, A, float(log_det))

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self.m2 + (theta - self.m1) @ self.A.T

    def inverse(self, theta: np.ndarray) -> np.ndarray:
        """The points that are taken to θ."""
        return self.m1 + solve_triangular(self.A, (theta - self.m2).T, lower=False).T
