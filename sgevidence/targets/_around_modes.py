r"""Draws around the modes of a posterior: Gaussians, in coordinates in which it is nearly one.

Rows see the differences of log-gammas of which probabilities π are made (:attr:`Model.log_gammas`), and not
their total.  The posterior of the total is its prior, a log-gamma density, and it is drawn from that.

Differences of log-gammas are far from Gaussian where few rows have a level.  A Dirichlet density of π is a
product of beta densities of its sticks,

    v_i = π_i / (π_i + … + π_L) ~ Beta(s_i, s_{i+1} + … + s_L),        Φ(y_i) = F_i(v_i),

so that y is standard normal, exactly.  Its shapes s are those of the Dirichlet density with the mode and, on
the average over directions, the curvature of the posterior.  All coordinates have a joint Gaussian: with the
curvature of the posterior, y and other parameters are correlated.

Symbols
-------
=======  =============  ==================================================================
a, P     ``a, P``       mode and its precision, (d,) and (d, d)
x        ``x``          coordinates of θ that rows see, (M, d − number of totals)
t        ``totals``     log Σ e^z of the log-gammas z of a group
s        ``shapes``     of a Dirichlet density, (L,)
y        ``y``          coordinates that are Gaussian, (M, d − number of totals)
R        ``slope``      dy/dx at the mode: RᵀR is the curvature where rows tell groups apart
α        ``share``      of the draws, (J,)
=======  =============  ==================================================================
"""

from collections.abc import Sequence
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, log_ndtr, ndtri_exp

from ..models import Model
from ..particles import log_sum_exp

#: Probability below which the distribution function of a stick is the first term of its series.
TINY = 1e-250


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

    def places(self) -> list[np.ndarray]:
        """Indices in x of the log-gammas of each group, but the last."""
        kept = np.delete(np.arange(self.n_params), self._last)
        return [np.searchsorted(kept, indices[:-1]) for indices, _ in self.groups]

    def theta(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Points at x, with totals from their prior, (M, d)."""
        theta = np.insert(x, self._last - np.arange(len(self.groups)), 0.0, axis=1) if self.groups else x
        for indices, concentration in self.groups:
            total = concentration * len(indices)
            t = np.log(rng.gamma(total + 1, size=(len(x), 1))) + np.log1p(-rng.random((len(x), 1))) / total
            theta[:, indices] += t - log_sum_exp(theta[:, indices].T, axis=0)[:, None]
        return theta

    def log_density_of_totals(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        log_p = np.zeros(len(theta))
        for indices, concentration in self.groups:
            t, total = log_sum_exp(theta[:, indices].T, axis=0), concentration * len(indices)
            log_p += total * t - np.exp(t) - lgamma(total)
        return log_p


class Sticks(NamedTuple):
    """Coordinates y in which a Dirichlet density of these shapes is standard normal."""

    shapes: np.ndarray

    @classmethod
    def of_curvature(cls, log_p: np.ndarray, P: np.ndarray) -> "Sticks":
        """The Dirichlet density with this mode (L,) and curvature (L − 1, L − 1), in differences x."""
        p = np.exp(log_p)
        unit = np.diag(p[:-1]) - np.outer(p[:-1], p[:-1])
        return cls(p * float(np.trace(np.linalg.solve(unit, P)) / len(P)))

    @property
    def rest(self) -> np.ndarray:
        """Second shapes of the beta densities, (L − 1,)."""
        return np.cumsum(self.shapes[::-1])[-2::-1]

    @property
    def slope(self) -> np.ndarray:
        """dy/dx at the mode, (L − 1, L − 1), by the curvature of the beta densities."""
        a, b = self.shapes[:-1], self.rest
        logit = np.eye(len(a)) - np.triu(a / b[:, None], 1)
        return np.sqrt(a * b / (a + b))[:, None] * logit

    def y(self, x: np.ndarray) -> np.ndarray:
        """(M, L − 1)."""
        log_v, log_rest = self._log_sticks(x)
        a, b = self.shapes[:-1], self.rest
        below, above = _log_tails(a, b, log_v, log_rest)
        return np.where(below < above, ndtri_exp(below), -ndtri_exp(above))

    def x(self, y: np.ndarray) -> np.ndarray:
        """(M, L − 1)."""
        a, b = self.shapes[:-1], self.rest
        log_tail = log_ndtr(-np.abs(y))
        log_v, log_rest = _log_quantile(a, b, log_tail)
        log_rest_above, log_v_above = _log_quantile(b, a, log_tail)
        log_v, log_rest = np.where(y < 0, log_v, log_v_above), np.where(y < 0, log_rest, log_rest_above)
        left = np.cumsum(log_rest, axis=1)
        return log_v + left - log_rest - left[:, -1:]

    def log_slope(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log |dy/dx|, (M,)."""
        log_v, log_rest = self._log_sticks(x)
        a, b = self.shapes[:-1], self.rest
        log_beta = a * log_v + b * log_rest - betaln(a, b)  # density of the logit of a stick
        return np.sum(log_beta + 0.5 * y**2 + 0.5 * np.log(2 * np.pi), axis=1)

    def _log_sticks(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log v and log(1 − v), each (M, L − 1)."""
        z = np.column_stack([x, np.zeros(len(x))])
        left = np.logaddexp.accumulate(z[:, ::-1], axis=1)[:, ::-1]
        return z[:, :-1] - left[:, :-1], left[:, 1:] - left[:, :-1]


def _log_tails(
    a: np.ndarray, b: np.ndarray, log_v: np.ndarray, log_rest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log F(v) and log (1 − F(v)) of beta densities."""
    v, rest = np.exp(log_v), np.exp(log_rest)
    below = np.where(v < 0.5, betainc(a, b, v), betaincc(b, a, rest))
    above = np.where(v < 0.5, betaincc(a, b, v), betainc(b, a, rest))
    log_beta = a * log_v + b * log_rest - betaln(a, b)
    with np.errstate(divide="ignore"):
        return (
            np.where(below > TINY, np.log(below), log_beta - np.log(a)),
            np.where(above > TINY, np.log(above), log_beta - np.log(b)),
        )


def _log_quantile(a: np.ndarray, b: np.ndarray, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log v and log(1 − v) at which F(v) = p."""
    v, rest = betaincinv(a, b, np.exp(log_p)), betainccinv(b, a, np.exp(log_p))
    with np.errstate(divide="ignore"):
        log_v = np.where(v > TINY, np.log(v), (log_p + np.log(a) + betaln(a, b)) / a)
        return log_v, np.where(v < 0.5, np.log1p(-v), np.log(rest))


class AroundMode:
    """Draws around one mode, in the coordinates that rows see, and their density.

    Parameters
    ----------
    seen : SeenByRows
    a, P : ndarray of shape (d,) and (d, d)
        Mode and precision.

    Raises
    ------
    numpy.linalg.LinAlgError
        If P is not positive definite.
    """

    def __init__(self, seen: SeenByRows, a: np.ndarray, P: np.ndarray) -> None:
        S = seen.of(np.eye(seen.n_params))
        self.center, covariance = seen.of(a[None])[0], S.T @ np.linalg.solve(P, S)
        P_x, slope, self.sticks = np.linalg.inv(covariance), np.eye(len(covariance)), []
        for places, (indices, _) in zip(seen.places(), seen.groups):
            if len(places):
                block = np.ix_(places, places)
                log_p = a[indices] - log_sum_exp(a[indices], axis=0)
                sticks = Sticks.of_curvature(log_p, P_x[block])
                self.sticks.append((places, sticks))
                slope[block] = sticks.slope
        self.factor = np.linalg.cholesky(slope @ covariance @ slope.T)

    def draws(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """x, (M, d − number of groups)."""
        y = rng.standard_normal((size, len(self.center))) @ self.factor.T
        x = self.center + y
        for places, sticks in self.sticks:
            x[:, places] = sticks.x(y[:, places])
        return x

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(M,)."""
        y, log_slope = x - self.center, np.zeros(len(x))
        for places, sticks in self.sticks:
            y[:, places] = sticks.y(x[:, places])
            log_slope += sticks.log_slope(x[:, places], y[:, places])
        phi = solve_triangular(self.factor, y.T, lower=True)
        log_volume = np.sum(np.log(np.diag(self.factor))) + 0.5 * len(phi) * np.log(2 * np.pi)
        return log_slope - 0.5 * np.sum(phi**2, axis=0) - log_volume


class AroundModes:
    """f: draws around modes, each in its own labelling, and their density.

    Parameters
    ----------
    model : Model
    modes : sequence of (a, P)
        Modes and precisions.
    share : ndarray of shape (J,)
        Of the draws.
    """

    def __init__(self, model: Model, modes: Sequence[tuple[np.ndarray, np.ndarray]], share: np.ndarray):
        self.model, self.share = model, share
        self.seen = SeenByRows(model.log_gammas, model.n_params)
        self.points = [a for a, _ in modes]
        self.around = [AroundMode(self.seen, a, P) for a, P in modes]

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
