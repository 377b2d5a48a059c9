"""Log-weights of a cloud as a small value object.

Symbols: ``log_w`` = log ω_i (M,), ``W`` = normalised weights, ``M`` = number of particles.
"""

from typing import NamedTuple

import numpy as np


def log_sum_exp(a: np.ndarray, axis: int | None = None) -> np.ndarray:
    """log Σ exp(a); −inf where all terms are −inf.  (SciPy's costs fifty times more on small arrays.)"""
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        out = np.log(np.sum(np.exp(a - top), axis=axis)) + np.squeeze(top, axis=axis)
    return out


def mixture_moments(W: np.ndarray, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (…) of a mixture with weights (K,) of densities with these, (K, …) each."""
    center = np.tensordot(W, mean, 1)
    return center, np.sqrt(np.tensordot(W, std**2 + (mean - center) ** 2, 1))


def log_mixture(W: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """log Σ_k W_k exp(log_p_k), (…), of weights (K,) and (K, …); a weight that underflows is no density."""
    alive = W > 0
    return log_sum_exp((log_p[alive].T + np.log(W[alive])).T, axis=0)


class Weights(NamedTuple):
    """Unnormalised log-weights; :meth:`add` returns new ones."""

    log_w: np.ndarray

    @classmethod
    def ones(cls, M: int) -> "Weights":
        return cls(np.zeros(M))

    def add(self, increment: np.ndarray | float) -> "Weights":
        """ω_i ← ω_i exp(increment_i) (Alg. 8, line 8).  A −inf weight stays −inf, whatever the increment."""
        with np.errstate(invalid="ignore"):
            log_w = self.log_w + increment
        return Weights(np.where(self.log_w == -np.inf, -np.inf, log_w))

    @property
    def M(self) -> int:
        return len(self.log_w)

    @property
    def W(self) -> np.ndarray:
        """Normalised weights, summing to one."""
        w = np.exp(self.log_w - np.max(self.log_w))
        return w / w.sum()

    @property
    def log_mean(self) -> float:
        """log (1/M) Σ ω_i."""
        return float(log_sum_exp(self.log_w) - np.log(self.M))

    @property
    def ess(self) -> float:
        """(Σ ω)² / Σ ω², between 1 and M."""
        return ess(self.log_w)

    @property
    def relative_variance(self) -> float:
        """Variance of the mean weight over its square, (M/ESS − 1)/M, for independent particles."""
        return max(self.M / self.ess - 1.0, 0.0) / self.M  # rounding may put the ESS above M


def ess(log_w: np.ndarray) -> float:
    """Effective sample size (Eq. 4.15), shift invariant; 0 if all weights vanish."""
    top = np.max(log_w)
    if not np.isfinite(top):
        return 0.0
    w = np.exp(log_w - top)
    return float(w.sum() ** 2 / (w @ w))


class Genealogy(NamedTuple):
    """Variance of log Ẑ from who descends from whom (Chan and Lai 2013; Lee and Whiteley 2018).

    With S_e the share of the weight that the descendants of root e hold, Σ_e (S_e − 1/M₀)² estimates
    the relative variance of Ẑ since the roots were planted: the spread of the weights, and with it
    whatever particles inherit because the moves did not make them forget.
    """

    root: np.ndarray  # index of each particle's root, (M,)
    M0: int  # number of roots
    var: float  # variance of the generations before the roots

    @classmethod
    def planted(cls, M: int, var: float = 0.0) -> "Genealogy":
        return cls(np.arange(M), M, var)

    def variance(self, W: np.ndarray) -> float:
        """Variance of log Ẑ, given the normalised weights now."""
        share = np.bincount(self.root, weights=W, minlength=self.M0)
        return self.var + float(np.sum((share - 1 / self.M0) ** 2))

    def descend(self, parents: np.ndarray, W: np.ndarray) -> "Genealogy":
        """After resampling; planted anew when too few roots are left to tell a variance."""
        root = self.root[parents]
        if len(np.unique(root)) < MIN_ROOTS:
            return Genealogy.planted(len(parents), self.variance(W))
        return Genealogy(root, self.M0, self.var)


#: Below so many roots the estimate itself has a relative error above √(2/20), a third.
MIN_ROOTS = 20


def siblings(parents: np.ndarray, var: float) -> Genealogy:
    """Duplicates share a root; what their numbers vary by is in ``var`` already."""
    _, root = np.unique(parents, return_inverse=True)
    planted = Genealogy(root, int(root.max()) + 1, 0.0)
    return planted._replace(var=max(var - planted.variance(np.full(len(root), 1 / len(root))), 0.0))
