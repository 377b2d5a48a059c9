r"""The mode and the curvature of some parameters given the others, at many values of these at once.

Newton's method for all draws together, from the nearest draw of a cloud: so the mode is a function of ψ and
of the cloud alone, as the mean of a density must be.

Symbols: ψ, x ``psi, x`` = parameters that are given, (M, k), and the rest; P ``w, V`` = −∇∇ log p in x at the
mode, V diag(w) Vᵀ; s ``scale`` = widths of the cloud, (d,).
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import multivariate_t

from ..kernels import LogDensity, ValueAndGradient
from ._hyperparameters import curvature, local_widths

#: Newton steps, and halvings (to a third) of each.
MAX_STEPS, MAX_SHORTER = 8, 8
#: Gain of a Newton step, nats, that is not worth it.
NO_GAIN = 1e-3
#: Least curvature of a direction, over that of the widest parameter of the cloud.
MIN_CURVATURE = 1e-3
#: Degrees of freedom of x given ψ: tails that are a little heavier than Gaussian.
NU = 10.0


class ConditionalModes(NamedTuple):
    """The densities of x given ψ at M values of ψ."""

    theta: np.ndarray  #: ψ, and x at its mode, (M, d)
    w: np.ndarray  #: (M, d − k)
    V: np.ndarray  #: (M, d − k, d − k)
    rest: np.ndarray  #: columns of x

    def draws(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """θ with n draws of x, in pairs about the mode, and their log density, (n, M, d) and (n, M)."""
        M, k = self.w.shape
        t = multivariate_t(np.zeros(k), df=NU).rvs((n // 2, M), random_state=rng).reshape(n // 2, M, k)
        t = np.concatenate([t, -t])
        theta = np.tile(self.theta, (n, 1, 1))
        theta[:, :, self.rest] += np.einsum("mab,nmb->nma", self.V, t * self.w**-0.5)
        return theta, self._log_density(t)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """Log density of x given ψ at θ (M, d), (M,)."""
        away = theta[:, self.rest] - self.theta[:, self.rest]
        return self._log_density(np.einsum("mba,mb->ma", self.V, away) * self.w**0.5)

    def _log_density(self, t: np.ndarray) -> np.ndarray:
        density = multivariate_t(np.zeros(t.shape[-1]), df=NU)
        return np.reshape(density.logpdf(t), t.shape[:-1]) + 0.5 * np.log(self.w).sum(axis=1)


def conditional_modes(
    log_p: ValueAndGradient, value: LogDensity, psi: np.ndarray, given: np.ndarray, cloud: np.ndarray
) -> ConditionalModes:
    """Modes of the rest at ψ (M, k), the ``given`` columns, from the nearest draws of a cloud (n, d)."""
    scale = cloud.std(axis=0)
    rest = np.setdiff1d(np.arange(cloud.shape[1]), given)
    theta = cloud[cKDTree(cloud[:, given] / scale[given]).query(psi / scale[given])[1]]
    theta[:, given] = psi
    M, k = len(theta), len(rest)
    best, w, V = value(theta), np.empty((M, k)), np.empty((M, k, k))
    widths, at = np.tile(scale[rest], (M, 1)), np.arange(M)
    for _ in range(MAX_STEPS):
        grad, P = curvature(log_p, theta[at], rest, widths[at])
        widths[at] = local_widths(P, scale[rest])
        w[at], V[at] = np.linalg.eigh(P)
        w[at] = np.maximum(np.abs(w[at]), MIN_CURVATURE / scale[rest].max() ** 2)
        step = np.einsum("mab,mb->ma", V[at], np.einsum("mba,mb->ma", V[at], np.nan_to_num(grad)) / w[at])
        gains = np.sum(step * np.nan_to_num(grad), axis=1) > NO_GAIN
        at, step = at[gains], step[gains]
        _climb(theta, best, at, step, rest, value)
        if not len(at):
            break
    return ConditionalModes(theta, w, V, rest)


def _climb(
    theta: np.ndarray, best: np.ndarray, at: np.ndarray, step: np.ndarray, rest: np.ndarray, value: LogDensity
) -> None:
    """Take each step, or so much of it that log p grows; ``theta`` and ``best`` are changed."""
    for _ in range(MAX_SHORTER):
        if not len(at):
            return
        there = theta[at]
        there[:, rest] += step
        found = value(there)
        grows = found > best[at]
        theta[at[grows]], best[at[grows]] = there[grows], found[grows]
        at, step = at[~grows], step[~grows] / 3
