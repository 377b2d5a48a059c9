r"""The integral of a density of few dimensions, by quasi-random points around its mode.

    Z = ∫ f(x) dx = mean of f(x)/q(x) over points of q,

q a mixture of Student-t densities at the mode.  Where few of the points are effective, q is fitted to them
and new points are drawn.  The points are scrambled Sobol sequences, several of them, whose spread is the
error bar (Owen 1997).

Symbols
-------
=======  ================  =====================================================
x, k     ``x, k``          points (M, k), dimensions
q        ``q``             where points are drawn
R        ``N_SEQUENCES``   independent sequences
=======  ================  =====================================================

**The density q** is a mixture of split Student-t.  A split t is a product of Student-t densities along axes
of its own, each with one width below its centre and another above (Geweke 1989): log f of a standard
deviation that is hardly there falls much faster above than below.  A mixture follows bent ridges, as of a
noise and an effect of single rows, of which only the sum of variances is known.

Symbols: ``u`` = uniform points, ``x`` = points (M, k), ``s`` = coordinates along the axes, ``W`` = weights.

References
----------
J. Geweke (1989), Bayesian inference in econometric models using Monte Carlo integration, Econometrica 57;
A. B. Owen (1997), Scrambled net variance for integrals of smooth functions, Annals of Statistics 25.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit
from scipy.stats import qmc
from sklearn.mixture import GaussianMixture

from ..answers import MAX_PARETO_K, log_t, pareto_k
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


class SplitTMixture(NamedTuple):
    """q: a mixture of split t."""

    parts: tuple[SplitT, ...]
    shares: np.ndarray

    def points(self, u: np.ndarray) -> np.ndarray:
        """Points of uniform u (n, k + 1), of which the first coordinate chooses the part, (n, k)."""
        chosen = np.minimum(np.searchsorted(np.cumsum(self.shares), u[:, 0]), len(self.parts) - 1)
        x = np.empty((len(u), u.shape[1] - 1))
        for j, part in enumerate(self.parts):
            x[chosen == j] = part.points(u[chosen == j, 1:])
        return x

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(M,)."""
        return log_sum_exp(
            np.log(self.shares)[:, None] + [part.log_density(x) for part in self.parts], axis=0
        )

    @classmethod
    def around(cls, log_f: Density, mode: np.ndarray, f0: float, H: np.ndarray) -> "SplitTMixture":
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
    def fitted(cls, x: np.ndarray, weights: Weights, rng: np.random.Generator) -> "SplitTMixture":
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


#: Scrambled sequences: the standard deviation of 16 is known to a sixth.
N_SEQUENCES = 16
#: Standard deviation of a Student t of 15 degrees: of errors in units of the spread of 16 sequences.
STUDENT = ((N_SEQUENCES - 1) / (N_SEQUENCES - 3)) ** 0.5
#: Share of effective points from which q is kept, and fits of q at most.
POINTS_SHARE, MAX_FITS = 0.6, 6
#: Fits after which so many effective points will do.
FIRST_FITS, MIN_WANTED = 2, 300.0
#: Standard error above which the points are doubled, nats, and doublings at most.
WANTED_ERROR_NATS, MAX_POINT_DOUBLINGS = 0.03, 3
#: Share of a sum below which the error of a term may be larger, in proportion.
FULL_ERROR_SHARE = 0.1
#: Effective points without which the error bar says little.
MIN_EFFECTIVE_POINTS = 80.0
#: Share of a width by which derivatives are taken.
STEP_WIDTHS = 0.3
#: Step of gradients; largest change of a coordinate in one step to the mode, and shares of it that are tried.
GRADIENT_STEP, MAX_STEP, LENGTHS = 1e-4, 2.0, np.array([2.0, 1.0, 0.4, 0.1, 0.01])
#: Steps to the mode, and twice the nats that the last of them promises.
MAX_CLIMB_STEPS, MIN_GAIN_NATS = 200, 1e-3


class Integral(NamedTuple):
    """log Z in nats, points and their weights, and why it should not be trusted."""

    log_Z: float
    std: float
    x: np.ndarray  #: (M, k)
    log_w: np.ndarray  #: (M,)
    ess: float


def integrate(
    log_f: Density,
    start: np.ndarray,
    rng: np.random.Generator,
    n_points: int,
    search: Density | None = None,
    n_normals: int = 0,
    log_rest: float = -np.inf,
) -> Integral | None:
    """∫ f, where f has one mode that counts.

    Parameters
    ----------
    log_f : callable
        Log density of points (M, k), (M,), with the prior N(0, I).
    start : ndarray of shape (k,)
    rng : numpy.random.Generator
    n_points : int
        Points of each fit of q, a multiple of :data:`N_SEQUENCES`; the estimate is made of the last ones.
    search : callable, optional
        A cheaper density of x near f, whose mode and widths make the first q.
    n_normals : int, default=0
        Standard normals beside x of which f is a function, too: then points are (M, k + n_normals), each x
        with two pairs of opposite normals, and Z is the mean over them.
    log_rest : float, default=-inf
        Logarithm of the other terms of a sum of which Z is one, in nats: precision is for its share.

    Returns
    -------
    Integral or None
        None where there is no maximum.
    """
    q = at_mode(log_f if search is None else search, start)
    return None if q is None else importance_by_sequences(log_f, q, rng, n_points, n_normals, log_rest)


def importance_by_sequences(
    log_f: Density,
    q: SplitTMixture,
    rng: np.random.Generator,
    n_points: int,
    n_normals: int = 0,
    log_rest: float = -np.inf,
) -> Integral:
    """Sequences of q, which is fitted again while few of the points are effective, and then made longer."""
    k, normal = len(q.parts[0].centre), (np.zeros(n_normals), np.ones(n_normals))
    for fit in range(MAX_FITS + 1):
        sequences = [qmc.Sobol(k + 1, rng=rng) for _ in range(N_SEQUENCES)]
        n = n_points // N_SEQUENCES
        x, log_w = weighted_points(log_f, q, sequences, rng, n, normal)
        weights = Weights(log_w)
        wanted = POINTS_SHARE * len(x) if fit < FIRST_FITS else min(MIN_WANTED, POINTS_SHARE * len(x))
        wanted = max(MIN_EFFECTIVE_POINTS, wanted * importance(weights.log_mean, log_rest))
        if fit == MAX_FITS or (weights.ess > wanted and not is_heavy(log_w)):
            break
        # points for each dimension that are effective when q is fitted, if need be by flattened weights
        tempered = flattened(log_w, 10 * k)
        q = SplitTMixture.fitted(x[:, :k], tempered, rng)
        normal = fitted_normals(x[:, k:], tempered)
    sums = log_sum_exp(log_w.reshape(N_SEQUENCES, -1), axis=1)
    for n_longer in range(MAX_POINT_DOUBLINGS + 1):
        shares = np.exp(sums - sums.max())
        std = float(STUDENT * np.std(shares, ddof=1) / np.mean(shares) / np.sqrt(N_SEQUENCES))
        found = Integral(Weights(log_w).log_mean, std, x, log_w, Weights(log_w).ess)
        error = std * importance(found.log_Z, log_rest)
        if n_longer == MAX_POINT_DOUBLINGS or (error < WANTED_ERROR_NATS and doubt(found) is None):
            break
        more = weighted_points(log_f, q, sequences, rng, n * 2**n_longer, normal)
        sums = np.logaddexp(sums, log_sum_exp(more[1].reshape(N_SEQUENCES, -1), axis=1))
        x, log_w = np.concatenate([x, more[0]]), np.concatenate([log_w, more[1]])
    return found


def importance(log_Z: float, log_rest: float) -> float:
    """Share of a term in a sum, in units of that from which its error counts in full; at most 1."""
    log_share = -np.logaddexp(0.0, log_rest - log_Z)
    return float(min(np.exp(log_share) / FULL_ERROR_SHARE, 1.0))


def weighted_points(
    log_f: Density,
    q: SplitTMixture,
    sequences: list[qmc.Sobol],
    rng: np.random.Generator,
    n: int,
    normal: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """The next n points of each sequence, with normals of this mean and width, and their log weights."""
    shift, width = normal
    copies = 4 if len(shift) else 1  # points with the same x, whose normals are two pairs of opposite ones
    x = np.concatenate([q.points(one.random(n // copies)) for one in sequences])
    half = rng.standard_normal((len(x) * copies // 2, len(shift)))
    standard = np.stack([half, -half], axis=1).reshape(-1, len(shift)) if copies > 1 else x[:, :0]
    x = np.repeat(x, copies, axis=0)
    normals = shift + width * standard
    log_ratio = 0.5 * np.sum(standard**2 - normals**2, axis=1) + np.sum(np.log(width)) - q.log_density(x)
    x = np.concatenate([x, normals], axis=1)
    log_w = log_f(x) + log_ratio
    return x, np.where(np.isnan(log_w), -np.inf, log_w)


def is_heavy(log_w: np.ndarray) -> bool:
    """Whether the weights have a tail beyond the largest of them in which much of Z may be."""
    k = pareto_k(log_w)
    # share of the largest weight, over 1 − k, up to which Pareto k does not matter
    return k > MAX_PARETO_K and Weights(log_w).W.max() > 0.05 * (1 - min(k, 0.9))


def flattened(log_w: np.ndarray, ess: float) -> Weights:
    """The weights, or their largest power of which this many points are effective: q is fitted in steps."""
    low, high = 0.0, 1.0
    if Weights(log_w).ess >= ess:
        return Weights(log_w)
    finite = np.maximum(log_w, np.max(log_w) - 700.0)
    for _ in range(30):
        power = 0.5 * (low + high)
        low, high = (power, high) if Weights(power * finite).ess >= ess else (low, power)
    return Weights(low * finite)


def fitted_normals(x: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Means and widths of weighted normals where they differ from 0 and 1 by more than their noise."""
    error = 1 / np.sqrt(weights.ess)
    mean = weights.W @ x
    shift = np.where(np.abs(mean) > 2 * error, mean, 0.0)
    var = weights.W @ (x - shift) ** 2
    return shift, np.sqrt(np.where(np.abs(var - 1) > 4 * error, np.clip(var, 0.5, 2.0), 1.0))


def at_mode(log_f: Density, start: np.ndarray) -> SplitTMixture | None:
    """q at the maximum of log f, by batches of points around the best so far."""
    k = len(start)
    mode, f0, inverse = climb(log_f, start)
    if not np.isfinite(f0):
        return None
    h = STEP_WIDTHS * np.clip(np.sqrt(np.diag(inverse)), 1e-4, 1.0)
    drop = f0 - log_f(mode + np.concatenate([np.diag(h), -np.diag(h)])).reshape(2, k).mean(axis=0)
    # where log f falls by STEP_WIDTHS²/2
    h = h * np.clip(STEP_WIDTHS / np.sqrt(2 * np.maximum(drop, 1e-10)), 0.03, 30.0)
    H = curvature(log_f, mode, f0, np.minimum(h, STEP_WIDTHS * MAX_WIDTH))
    if not np.isfinite(H).all():
        return None
    return SplitTMixture.around(log_f, mode, f0, H)


def climb(log_f: Density, x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Mode, value and inverse curvature by BFGS; of steps of several lengths at once the best is taken.

    A point without a density is not a fault: the step is shortened.
    """
    k, eye = len(x), np.eye(len(x))

    def gradient(x: np.ndarray) -> np.ndarray:
        found = log_f(x + GRADIENT_STEP * np.concatenate([eye, -eye]))
        return np.nan_to_num((found[:k] - found[k:]) / (2 * GRADIENT_STEP), posinf=0.0, neginf=0.0)

    f, g = float(log_f(x[None])[0]), gradient(x)
    H = eye / max(1.0, float(np.linalg.norm(g)))
    for _ in range(MAX_CLIMB_STEPS):
        step = H @ g
        if step @ g < MIN_GAIN_NATS:
            break
        step = step * min(1.0, MAX_STEP / np.max(np.abs(step)))
        values = np.nan_to_num(log_f(x + LENGTHS[:, None] * step), nan=-np.inf, neginf=-np.inf)
        best = int(np.argmax(values))
        if not values[best] > f:
            if np.array_equal(H, eye * H[0, 0]):
                break
            H = eye / max(1.0, float(np.linalg.norm(g)))  # the curvature that was learnt misleads
            continue
        s = LENGTHS[best] * step
        x, f, before = x + s, float(values[best]), g
        g = gradient(x)
        y = before - g
        if (sy := s @ y) > 1e-10:
            A = eye - np.outer(s, y) / sy
            H = A @ H @ A.T + np.outer(s, s) / sy
    return x, f, H


def curvature(log_f: Density, x: np.ndarray, f0: float, h: np.ndarray) -> np.ndarray:
    """−∇∇ log f by central differences, (k, k)."""
    k, E = len(x), np.diag(h)
    i, j = np.triu_indices(k, 1)
    f = log_f(x + np.concatenate([E, -E, E[i] + E[j], -E[i] - E[j]]))
    up, down, both, neither = f[:k], f[k : 2 * k], f[2 * k : 2 * k + len(i)], f[2 * k + len(i) :]
    H = np.diag((2 * f0 - up - down) / h**2)
    H[i, j] = (2 * (-f0) + up[i] + up[j] + down[i] + down[j] - both - neither) / (2 * h[i] * h[j])
    return H + np.triu(H, 1).T


def doubt(found: Integral | None) -> str | None:
    """Why an integral cannot be trusted, in words; None if it can."""
    if found is None:
        return "the posterior of the hyperparameters has no maximum that can be found"
    if found.ess < MIN_EFFECTIVE_POINTS:
        return f"only {found.ess:.0f} of {len(found.log_w)} points count"
    if is_heavy(found.log_w):
        return "the weights have a tail so heavy that their mean has no error bar"
    if found.std > 0.1:  # largest standard error, nats
        return f"the standard error is {found.std:.2f} nats"
    return None


def widened(found: Integral | None, error: float) -> Integral | None:
    """The integral with an error of the density in its error bar."""
    return None if found is None else found._replace(std=float(np.hypot(found.std, error)))


def check(found: Integral | None) -> Integral:
    """The integral itself; ArithmeticError with the words of :func:`doubt`."""
    words = doubt(found)
    if found is None or words is not None:
        raise ArithmeticError(words)
    return found
