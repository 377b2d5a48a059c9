r"""Densities from which points of few dimensions are drawn: mixtures of split Student-t.

A split t is a product of Student-t densities along axes of its own, each with one width below its centre and
another above (Geweke 1989): log f of a standard deviation that is hardly there falls much faster above than
below.  A mixture follows bent ridges, as of a noise and an effect of single rows, of which only the sum of
variances is known.

Symbols: ``u`` = uniform points, ``x`` = points (M, k), ``s`` = coordinates along the axes, ``W`` = weights.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit
from scipy.stats import qmc
from sklearn.mixture import GaussianMixture

from ..answers import log_t
from ..particles import Weights, log_sum_exp, systematic

Density = Callable[[np.ndarray], np.ndarray]

#: Degrees of freedom: heavier tails than any posterior with a normal prior.
DEGREES = 6.0
#: Distances at which both sides are measured, in widths; least and largest ratio to the width by curvature.
SIDE_WIDTHS, MIN_SIDE, MAX_SIDE = (1.5, 4.0), 0.4, 4.0
#: Largest width along any axis: x has a standard normal prior.
MAX_WIDTH = 1.5
#: Share of the part along the coordinates: where several standard deviations are hardly there, the tails
#: follow these.
COORDINATE_SHARE = 0.2
#: Fitted parts at most, and effective points for each dimension of one of them.
MAX_PARTS, POINTS_EACH = 3, 20


class SplitT(NamedTuple):
    """x = centre + axes · s, each s_i a t with one width below zero and one above."""

    centre: np.ndarray  #: (k,)
    axes: np.ndarray  #: orthonormal columns, (k, k)
    widths: np.ndarray  #: below and above, (2, k)

    def points(self, u: np.ndarray) -> np.ndarray:
        """Points of uniform u, (M, k)."""
        below, above = self.widths
        share = below / (below + above)
        left = u < share
        p = np.where(left, 0.5 * u / share, 0.5 + 0.5 * (u - share) / (1 - share))
        s = stdtrit(DEGREES, np.clip(p, 1e-15, 1 - 1e-15))
        return self.centre + (s * np.where(left, below, above)) @ self.axes.T

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(M,)."""
        below, above = self.widths
        s = (x - self.centre) @ self.axes
        s = s / np.where(s < 0, below, above)
        return np.sum(log_t(s[..., None], DEGREES) + np.log(2 / (below + above)), axis=1)

    @classmethod
    def along(
        cls, log_f: Density, mode: np.ndarray, f0: float, axes: np.ndarray, width: np.ndarray
    ) -> "SplitT":
        """Widths on either side by how far log f has fallen there, the larger of two distances."""
        k, sides = len(mode), np.zeros((2, len(mode)))
        for distance in SIDE_WIDTHS:
            ends = mode + distance * np.concatenate([-(axes * width).T, (axes * width).T])
            drop = np.clip(f0 - log_f(ends), 1e-3, 200.0).reshape(2, k)
            fitting = distance / np.sqrt(DEGREES * np.expm1(2 * drop / (DEGREES + 1)))
            sides = np.maximum(sides, fitting)
        return cls(mode, axes, np.minimum(width * np.clip(sides, MIN_SIDE, MAX_SIDE), 2 * MAX_WIDTH))

    @classmethod
    def fitted(cls, x: np.ndarray, W: np.ndarray, axes: np.ndarray) -> "SplitT":
        """To points with weights that need not sum to one: both sides by their own second moments."""
        centre = (W / W.sum()) @ x
        s = (x - centre) @ axes
        sides = [np.sqrt((W @ (s**2 * side)) / (W @ side + 1e-300)) for side in (s < 0, s >= 0)]
        return cls(centre, axes, np.maximum(np.array(sides), 1e-8))


class Proposal(NamedTuple):
    """q: a mixture of split t."""

    parts: tuple[SplitT, ...]
    shares: np.ndarray

    def points(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """A sequence of n points, of which the first coordinate has chosen the part, (n, k)."""
        u = qmc.Sobol(len(self.parts[0].centre) + 1, rng=rng).random(n)
        chosen = np.minimum(np.searchsorted(np.cumsum(self.shares), u[:, 0]), len(self.parts) - 1)
        x = np.empty((n, u.shape[1] - 1))
        for j, part in enumerate(self.parts):
            x[chosen == j] = part.points(u[chosen == j, 1:])
        return x

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(M,)."""
        return log_sum_exp(
            np.log(self.shares)[:, None] + [part.log_density(x) for part in self.parts], axis=0
        )

    @classmethod
    def around(cls, log_f: Density, mode: np.ndarray, f0: float, H: np.ndarray) -> "Proposal":
        """At a mode with this curvature: along its axes, and along the coordinates."""
        values, axes = np.linalg.eigh(H)
        width = 1 / np.sqrt(np.maximum(values, MAX_WIDTH**-2))
        alone = 1 / np.sqrt(np.maximum(np.diag(H), MAX_WIDTH**-2))
        parts = (
            SplitT.along(log_f, mode, f0, axes, width),
            SplitT.along(log_f, mode, f0, np.eye(len(mode)), alone),
        )
        return cls(parts, np.array([1 - COORDINATE_SHARE, COORDINATE_SHARE]))

    @classmethod
    def fitted(cls, x: np.ndarray, weights: Weights, rng: np.random.Generator) -> "Proposal":
        """To weighted points: as many parts as their effective number allows."""
        k, W = x.shape[1], weights.W
        K = int(np.clip(weights.ess // (POINTS_EACH * k), 1, MAX_PARTS))
        responsibility = np.ones((len(x), 1))
        if K > 1:
            scale = np.sqrt(W @ (x - W @ x) ** 2) + 1e-12
            found = GaussianMixture(K, random_state=0).fit((x / scale)[systematic(W, rng)])
            responsibility = found.predict_proba(x / scale)
        parts, masses = [], []
        for r in responsibility.T:
            mass = float(W @ r)
            d = x - (W * r / mass) @ x
            axes = np.linalg.eigh(((W * r / mass)[:, None] * d).T @ d)[1]
            parts.append(SplitT.fitted(x, W * r, axes))
            masses.append((1 - COORDINATE_SHARE) * mass)
        parts.append(SplitT.fitted(x, W, np.eye(k)))
        return cls(tuple(parts), np.array([*masses, COORDINATE_SHARE]))
