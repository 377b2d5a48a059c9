r"""Draws around the modes of a posterior: Gaussians, in coordinates in which it is nearly one.

Rows see the differences of log-gammas of which probabilities π are made (:attr:`Model.log_gammas`), and not
their total.  The posterior of the total is its prior, a log-gamma density, and it is drawn from that.

Differences of log-gammas, and variances, are far from Gaussian where few rows tell them.  They have normal
scores (``_normal_scores.py``) of the Dirichlet and inverse gamma densities with the mode and the curvature of
the posterior.  All coordinates have a joint Gaussian: its covariance is by the curvature of the posterior, in
which scores and other parameters may be correlated.

Symbols: ``a, P`` = mode and its precision, (d,) and (d, d); ``x`` = coordinates of θ that rows see, (M, d −
number of totals); t ``totals`` = log Σ e^z of the log-gammas z of a group; ``y`` = coordinates that are
Gaussian, (M, d − number of totals); R ``slope`` = dy/dx at the mode: RᵀR is the curvature where rows tell
groups apart; α ``share`` = of the draws, (J,).
"""

from collections.abc import Sequence
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..models import Model, log_gamma_draws
from ..particles import log_sum_exp
from ._normal_scores import Sticks, Variance


class SeenByRows(NamedTuple):
    """Coordinates x of θ in which rows see each direction: log-gammas less the last of their group."""

    groups: Sequence[tuple[np.ndarray, float]]  #: indices of log-gammas, and their concentration
    n_params: int

    @property
    def _last(self) -> np.ndarray:
        return np.array([indices[-1] for indices, _ in self.groups], dtype=int)

    def of(self, theta: np.ndarray) -> np.ndarray:
        """A linear map, (M, d) to (M, d − number of groups)."""
        x = theta.copy()
        for indices, _ in self.groups:
            x[:, indices] -= theta[:, indices[-1:]]
        return np.delete(x, self._last, axis=1)

    def positions(self, indices: np.ndarray) -> np.ndarray:
        """Indices in x of parameters by their indices in θ, none of them the last of a group."""
        return np.searchsorted(np.delete(np.arange(self.n_params), self._last), indices)

    def theta(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Points at x, with totals from their prior, (M, d)."""
        theta = np.insert(x, self._last - np.arange(len(self.groups)), 0.0, axis=1) if self.groups else x
        for indices, concentration in self.groups:
            total = concentration * len(indices)
            t = log_gamma_draws(total, rng, (len(x), 1))
            theta[:, indices] += t - log_sum_exp(theta[:, indices].T, axis=0)[:, None]
        return theta

    def log_density_of_totals(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        log_p = np.zeros(len(theta))
        for indices, concentration in self.groups:
            t, total = log_sum_exp(theta[:, indices].T, axis=0), concentration * len(indices)
            log_p += total * t - np.exp(t) - lgamma(total)
        return log_p


class AroundMode:
    """Draws around one mode, in the coordinates that rows see, and their density.

    LinAlgError if the precision P is not positive definite.
    """

    def __init__(self, model: Model, seen: SeenByRows, a: np.ndarray, P: np.ndarray) -> None:
        S = seen.of(np.eye(seen.n_params))
        self.center, covariance = seen.of(a[None])[0], S.T @ np.linalg.solve(P, S)
        P_x, slope = np.linalg.inv(covariance), np.eye(len(covariance))
        self.sticks: list[tuple[np.ndarray, Sticks]] = []
        self.variances: list[tuple[int, np.ndarray, Variance]] = []
        for indices, _ in seen.groups:
            if len(indices) > 1:
                positions = seen.positions(indices[:-1])
                block = np.ix_(positions, positions)
                log_p = a[indices] - log_sum_exp(a[indices], axis=0)
                self.sticks.append((positions, Sticks.of_curvature(log_p, P_x[block])))
                slope[block] = self.sticks[-1][1].slope
        for index, means in model.log_variances:
            position, positions = int(seen.positions(np.array([index]))[0]), seen.positions(means)
            variance = Variance.of_curvature(a[index], P_x[position, position], len(means))
            if variance is not None:
                self.variances.append((position, positions, variance))
                slope[position, position] = variance.curvature**0.5
        self.factor = np.linalg.cholesky(slope @ covariance @ slope.T)

    def draws(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """x, (M, d − number of groups)."""
        y = rng.standard_normal((size, len(self.center))) @ self.factor.T
        x = self.center + y
        for positions, sticks in self.sticks:
            x[:, positions] = sticks.x(y[:, positions])
        for position, means, variance in self.variances:
            x[:, position] = variance.log_scale(y[:, position])
            x[:, means] = self.center[means] + y[:, means] * _width(variance, x[:, position])
        return x

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(M,)."""
        with np.errstate(all="ignore"):
            log_f = self._log_density(x)
        return np.where(np.isnan(log_f), -np.inf, log_f)  # so far out that a score is infinite

    def _log_density(self, x: np.ndarray) -> np.ndarray:
        y, log_slope = x - self.center, np.zeros(len(x))
        for positions, sticks in self.sticks:
            y[:, positions] = sticks.y(x[:, positions])
            log_slope += sticks.log_slope(x[:, positions], y[:, positions])
        for position, means, variance in self.variances:
            width = _width(variance, x[:, position])
            y[:, position] = variance.y(x[:, position])
            y[:, means] /= width
            log_slope += variance.log_slope(x[:, position], y[:, position]) - len(means) * np.log(width[:, 0])
        phi = solve_triangular(self.factor, y.T, lower=True, check_finite=False)
        log_volume = np.sum(np.log(np.diag(self.factor))) + 0.5 * len(phi) * np.log(2 * np.pi)
        return log_slope - 0.5 * np.sum(phi**2, axis=0) - log_volume


def _width(variance: Variance, log_scale: np.ndarray) -> np.ndarray:
    """σ in units of that at the mode, (M, 1)."""
    return np.exp(0.5 * (log_scale - variance.mode))[:, None]


class AroundModes:
    """f: draws around modes (a, P), each in its own labelling, and their density; ``share`` of each mode."""

    def __init__(self, model: Model, modes: Sequence[tuple[np.ndarray, np.ndarray]], share: np.ndarray):
        self.model, self.share = model, share
        self.seen = SeenByRows(model.log_gammas, model.n_params)
        self.points = [a for a, _ in modes]
        self.around = [AroundMode(model, self.seen, a, P) for a, P in modes]

    def reference(self, j: int) -> Any:
        """Slots of the labelling of mode j."""
        return labelling(self.model, self.points[j])

    def draws(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Points (M, d), and which are in the labelling of their own mode, (M,)."""
        counts = np.maximum(np.round(size * self.share).astype(int), 1)
        theta, own = [], []
        for j, count in enumerate(counts):
            theta.append(self.seen.theta(self.around[j].draws(count, rng), rng))
            own.append(self.model.is_canonical(theta[-1], self.reference(j)))
        self.share = counts / counts.sum()  # as they were drawn
        return np.concatenate(theta), np.concatenate(own)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """log f, (M,)."""
        each = []
        for j, mode in enumerate(self.around):
            x = self.seen.of(self.model.canonicalize(theta, self.reference(j)))
            each.append(np.log(self.share[j]) + mode.log_density(x))
        return log_sum_exp(np.array(each), axis=0) + self.seen.log_density_of_totals(theta)


def labelling(model: Model, a: np.ndarray) -> Any:
    """Slots of exchangeable components in which a point is; None without such."""
    return None if model.slots is None else (a[model.slots], np.ones(model.slots.shape))
