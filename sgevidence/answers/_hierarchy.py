r"""Densities of a hierarchy: its hyperparameters ψ, found from draws, their density, and modes of the rest.

A posterior is Gaussian in x given ψ where no third derivative of log p has all of its three parameters in x.
So ψ is a set of parameters that meets every third derivative that is not small: a scale τ of groups, the
coordinate v of a funnel.  Parameters are taken one after the other, each the one that leaves least,

    t_abc = ∂³ log p / ∂θ_a ∂θ_b ∂θ_c · s_a s_b s_c,

in units of local widths s, root mean square over draws.  Derivatives are differences of gradients.

Modes of x are by Newton's method for all ψ together, from the nearest draw of a cloud: so the mode is a
function of ψ and of the cloud alone, as the mean of a density must be.

The density of ψ is a mixture of kernels, drawn towards the mean so that it has the covariance of the draws
(West 1993), of the width of Silverman's rule for as many draws as are effective.  A fifth of the mass is a
single wide Student t: what the draws have not met is met by it.

Symbols: ``grad, P`` = ∇ log p (M, d) and −∇∇ log p (M, k, k), with x alone V diag(w) Vᵀ; ``third`` = t
(d, d, d); ``psi`` (M, k); ``scale`` = widths of the cloud, (d,); ``h2`` = squared width of a kernel over that
of all.

References
----------
M. West (1993), Approximating posterior distributions by mixture; T. Hesterberg (1995), Weighted average
importance sampling and defensive mixture distributions.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..kernels import Coordinates, LogDensity, ValueAndGradient
from ..particles import log_sum_exp, systematic
from ._importance import TDensity, log_t, t_draws

#: Newton steps, and halvings (to a third) of each.
MAX_LOCAL_STEPS, MAX_LOCAL_SHORTENINGS = 8, 8
#: Degrees of freedom of x given ψ: tails that are a little heavier than Gaussian.
CONDITIONAL_DEGREES = 10.0
#: Steps of differences, local widths: of a gradient, and of a curvature.
GRADIENT_STEP_WIDTHS, CURVATURE_STEP_WIDTHS = 1e-4, 0.05
#: A third derivative beyond which more says nothing: draws in a neck would rule alone.
MAX_THIRD = 3.0


def curvature(
    log_p: ValueAndGradient, theta: np.ndarray, columns: np.ndarray, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (M, k) and P (M, k, k) in k columns at draws (M, d), by steps in units of widths (M, k)."""
    grad = log_p(theta)[1][:, columns]
    P, steps = np.empty((len(theta), len(columns), len(columns))), GRADIENT_STEP_WIDTHS * widths
    for a, column in enumerate(columns):
        beside = theta.copy()
        beside[:, column] += steps[:, a]
        P[:, :, a] = (grad - log_p(beside)[1][:, columns]) / steps[:, [a]]
    return grad, np.nan_to_num(0.5 * (P + np.swapaxes(P, 1, 2)))


def local_widths(P: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Widths by the diagonal of P (M, k, k), at most those of all draws (k,)."""
    return np.minimum(np.abs(np.einsum("mkk->mk", P) + 1e-300) ** -0.5, scale)


def third_derivatives(log_p: ValueAndGradient, theta: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """t over draws (M, d) of a posterior with widths ``scale`` (d,)."""
    M, d = theta.shape
    columns = np.arange(d)
    s = local_widths(curvature(log_p, theta, columns, np.tile(scale, (M, 1)))[1], scale)
    beside = theta + CURVATURE_STEP_WIDTHS * np.concatenate([np.zeros((1, M, d)), np.eye(d)[:, None] * s])
    P = curvature(log_p, beside.reshape(-1, d), columns, np.tile(s, (d + 1, 1)))[1].reshape(d + 1, M, d, d)
    t = (P[1:] - P[0]) / CURVATURE_STEP_WIDTHS * s[:, :, None] * s[:, None, :]
    t = np.sqrt(np.mean(np.clip(t, -MAX_THIRD, MAX_THIRD) ** 2, axis=1))
    return (t + t.transpose(1, 2, 0) + t.transpose(2, 0, 1)) / 3  # t is symmetric but for its first axis


def by_influence(third: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in the order in which they are taken, and the largest t before each, (d,) both."""
    order: list[int] = []
    left = np.empty(len(third))
    for k in range(len(third)):
        rest = np.setdiff1d(np.arange(len(third)), order)
        t = third[np.ix_(rest, rest, rest)] ** 2
        left[k] = np.sqrt(t.max())
        # what goes with a parameter: entries with it once, twice, and three times
        once, twice = t.sum(axis=(1, 2)), np.einsum("aac->a", t)
        order.append(int(rest[np.argmax(3 * once - 3 * twice + np.einsum("aaa->a", t))]))
    return np.array(order), left


class ConditionalModes(NamedTuple):
    """The densities of x given ψ at M values of ψ."""

    theta: np.ndarray  #: ψ, and x at its mode, (M, d)
    w: np.ndarray  #: (M, d − k)
    V: np.ndarray  #: (M, d − k, d − k)
    rest: np.ndarray  #: columns of x

    def draws(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """θ with n draws of x, in pairs about the mode, and their log density, (n, M, d) and (n, M)."""
        M, k = self.w.shape
        t = t_draws(rng, (n // 2, M, k), CONDITIONAL_DEGREES)
        t = np.concatenate([t, -t])
        theta = np.tile(self.theta, (n, 1, 1))
        # the symmetric root: eigenvectors of equal eigenvalues are arbitrary, and the draws are not
        root = (self.V * self.w[:, None, :] ** -0.5) @ self.V.transpose(0, 2, 1)
        theta[:, :, self.rest] += np.einsum("mab,nmb->nma", root, t)
        return theta, self._log_density(t)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """Log density of x given ψ at θ (M, d), (M,)."""
        away = theta[:, self.rest] - self.theta[:, self.rest]
        return self._log_density(np.einsum("mba,mb->ma", self.V, away) * self.w**0.5)

    def _log_density(self, t: np.ndarray) -> np.ndarray:
        return log_t(t, CONDITIONAL_DEGREES) + 0.5 * np.log(self.w).sum(axis=1)


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
    for _ in range(MAX_LOCAL_STEPS):
        grad, P = curvature(log_p, theta[at], rest, widths[at])
        widths[at] = local_widths(P, scale[rest])
        w[at], V[at] = np.linalg.eigh(P)
        # least curvature of a direction, over that of the widest parameter of the cloud
        w[at] = np.maximum(np.abs(w[at]), 1e-3 / scale[rest].max() ** 2)
        step = np.einsum("mab,mb->ma", V[at], np.einsum("mba,mb->ma", V[at], np.nan_to_num(grad)) / w[at])
        # gain of a Newton step, nats, that is not worth it
        gains = np.sum(step * np.nan_to_num(grad), axis=1) > 1e-3
        at, step = at[gains], step[gains]
        _climb(theta, best, at, step, rest, value)
        if not len(at):
            break
    return ConditionalModes(theta, w, V, rest)


def _climb(
    theta: np.ndarray, best: np.ndarray, at: np.ndarray, step: np.ndarray, rest: np.ndarray, value: LogDensity
) -> None:
    """Take each step, or so much of it that log p grows; ``theta`` and ``best`` are changed."""
    for _ in range(MAX_LOCAL_SHORTENINGS):
        if not len(at):
            return
        there = theta[at]
        there[:, rest] += step
        found = value(there)
        grows = found > best[at]
        theta[at[grows]], best[at[grows]] = there[grows], found[grows]
        at, step = at[~grows], step[~grows] / 3


#: Kernels, their degrees of freedom, and the squared width of one at most.
N_KERNELS, KERNEL_DEGREES, MAX_H2 = 300, 6.0, 0.9
#: Share of the wide density, its degrees of freedom, and its squared width.
WIDE_SHARE, WIDE_NU, WIDE_WIDTH2 = 0.2, 4.0, 2.5


class KernelMixture(NamedTuple):
    """A density of k parameters."""

    centres: np.ndarray  #: (C, k)
    kernel: TDensity  #: around zero
    wide: TDensity

    @classmethod
    def of(cls, psi: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> "KernelMixture":
        """From draws (n, k) with normalised weights (n,); LinAlgError if they are in a plane."""
        k, effective = psi.shape[1], max(1 / np.sum(W**2), 5.0)
        m = W @ psi
        V = (W[:, None] * (psi - m)).T @ (psi - m)
        h2 = min((4 / ((k + 2) * effective)) ** (2 / (k + 4)), MAX_H2)
        centres = psi[systematic(W, rng, int(min(N_KERNELS, effective)))]
        kernel = TDensity(np.zeros(k), Coordinates.from_covariance(h2 * V), KERNEL_DEGREES)
        wide = TDensity(m, Coordinates.from_covariance(WIDE_WIDTH2 * V), WIDE_NU)
        return cls(m + (1 - h2) ** 0.5 * (centres - m), kernel, wide)

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, k)."""
        n_wide = round(WIDE_SHARE * n)
        centres = self.centres[rng.integers(len(self.centres), size=n - n_wide)]
        return np.concatenate([centres + self.kernel.draws(n - n_wide, rng), self.wide.draws(n_wide, rng)])

    def log_density(self, psi: np.ndarray) -> np.ndarray:
        """At (n, k), (n,)."""
        away = (psi - self.centres[:, None]).reshape(-1, psi.shape[1])
        each = self.kernel.log_density(away).reshape(len(self.centres), -1)
        kernels = log_sum_exp(each, axis=0) - np.log(len(self.centres))
        wide = self.wide.log_density(psi)
        return np.logaddexp(np.log1p(-WIDE_SHARE) + kernels, np.log(WIDE_SHARE) + wide)
