r"""Climbs from many points at once, by the method of Broyden, Fletcher, Goldfarb and Shanno (BFGS).

All that still climb are one cloud, so a step costs one batched gradient, and no Hessian.  Where a step does
not gain it is cut to a quarter; one that is cut to nothing has met a wall, where the density jumps.

A narrow peak inside a wide one has the slope of the wide one but for its own few widths.  Climbs from outside
pass it by, and end at the maximum of the wide one, or on its own shoulder.  So the likelihood is climbed by
itself from there: where it peaks twice in one place the prior moves the wide peak, not the narrow one.  And a
maximum is looked around, in all directions and nearer and nearer:

    e = log f(a + r L z) − log f(a) + ½ r² |z|²,    L Lᵀ = P⁻¹,    z ~ N(0, I),    r = ½, ¼, …

which is zero for a Gaussian, and of the order r³ for another posterior of one scale.

Symbols: ``x`` = points, (K, d); ``f, g`` = log density there and its gradient; ``H`` = inverse curvatures,
(K, d, d); ``s, y`` = step, and by how much the gradient fell along it; ``t`` = part of the step that is
taken, (K,); ``a, P`` = end of a climb and precision there; ``e`` = excess over the Gaussian; ``r``
``PROBE_WIDTHS`` = distances.

References
----------
J. Nocedal and S. J. Wright (2006), Numerical optimization, chapter 6.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..history import Rows
from ..models import Model
from ._newton import find_mode
from ._target import Likelihood, Target

#: Steps of a climb at most; nats that are left to gain at its end; part of a step at which it is at a wall.
MAX_LOCKSTEPS, CLIMBED_TO_NATS, WALL_STEP = 120, 1e-5, 1e-7
#: Variance in units of the widths, of which the first step makes use: a third of a prior.
FIRST_VARIANCE = 0.1
#: Nats below the best point, S, beyond which a climb follows the logarithm of what is missing.
FAR_BELOW_NATS = 1000.0
#: Rows that count so many times are nearly all likelihood; Newton steps that are taken on it.
LIKELIHOOD, LIKELIHOOD_STEPS = 100.0, 5
#: Directions, and how near.
N_DIRECTIONS, PROBE_WIDTHS = 256, 0.5 ** np.arange(1, 6)


class Climbed(NamedTuple):
    """Ends of climbs, and where they have been."""

    theta: np.ndarray  #: (K, d)
    value: np.ndarray  #: (K,)
    is_top: np.ndarray  #: where nothing is left to gain, (K,)
    is_wall: np.ndarray  #: where the density jumps, (K,)
    path: np.ndarray  #: points of all ways, (T, d)
    path_value: np.ndarray  #: (T,)


def climb_together(target: Target, starts: np.ndarray, widths: np.ndarray) -> Climbed:
    """Maxima next to the starts (K, d); no step is longer than one in units of ``widths`` (d,)."""
    x = starts / widths
    f, g = _value_and_grad(target, x, widths)
    H, t = np.tile(FIRST_VARIANCE * np.eye(x.shape[1]), (len(x), 1, 1)), np.ones(len(x))
    climbs, is_first = np.isfinite(f), np.ones(len(x), dtype=bool)
    is_top, is_wall = np.zeros((2, len(x)), dtype=bool)
    path = [(x[climbs].copy(), f[climbs])]
    for _ in range(MAX_LOCKSTEPS):
        s = np.einsum("kij,kj->ki", H, g)
        gain = np.sum(s * g, axis=1)
        is_top |= climbs & (gain < CLIMBED_TO_NATS)
        is_wall |= climbs & ~is_top & (t < WALL_STEP)
        climbs &= ~(is_top | is_wall)
        i = np.flatnonzero(climbs)
        if not len(i):
            break
        s = s[i] * (t[i] * np.minimum(1.0, 1.0 / np.linalg.norm(s[i], axis=1)))[:, None]
        ahead, slope = _value_and_grad(target, x[i] + s, widths)
        gains = np.isfinite(ahead) & (ahead >= f[i] + 1e-4 * np.sum(s * g[i], axis=1))
        t[i] = np.where(gains, np.minimum(1.0, 4 * t[i]), t[i] / 4)
        # curvatures are those of −log(S + F − f), times S + F − f, with F the best so far: an exponential
        # comes down by a step, not by as many as it has powers of e
        best = f[np.isfinite(f)].max()
        missing = FAR_BELOW_NATS + np.maximum(best - np.array([ahead, f[i]])[:, gains], 0.0)
        j, s, ratio = i[gains], s[gains], missing[0] / missing[1]
        y = g[j] * ratio[:, None] - slope[gains]
        H[j] /= ratio[:, None, None]
        x[j], f[j], g[j] = x[j] + s, ahead[gains], slope[gains]
        path.append((x[j], f[j]))
        sy, yy = np.sum(s * y, axis=1), np.sum(y**2, axis=1)
        bends = sy > 1e-10 * np.sqrt(np.sum(s**2, axis=1) * yy)
        j, s, y, sy, yy = j[bends], s[bends], y[bends], sy[bends], yy[bends]
        fresh = is_first[j]
        H[j[fresh]] = (sy / yy)[fresh, None, None] * np.eye(x.shape[1])
        is_first[j] = False
        Hy = np.einsum("kij,kj->ki", H[j], y)
        both = s[:, :, None] * Hy[:, None] / sy[:, None, None]
        along = (1 + np.sum(y * Hy, axis=1) / sy) / sy
        H[j] += along[:, None, None] * s[:, :, None] * s[:, None] - both - both.transpose(0, 2, 1)
    ways, values = (np.concatenate(part) for part in zip(*path))
    return Climbed(x * widths, f, is_top, is_wall, ways * widths, values)


def _value_and_grad(target: Target, x: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):
        value, grad = target.value_and_grad(x * widths)
    return value, np.where(np.isfinite(grad), grad * widths, 0.0)


def peaks(theta: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Indices of at most n points that are better than all points next to them, the best first."""
    if not len(theta):
        return np.zeros(0, dtype=int)
    widths = theta / (np.std(theta, axis=0) + 1e-300)
    neighbours = cKDTree(widths).query(widths, min(2 * theta.shape[1] + 8, len(theta)))[1]
    highest = np.flatnonzero(value >= value[neighbours.reshape(len(theta), -1)].max(axis=1))
    return highest[np.argsort(-value[highest])][:n]


def likelier(model: Model, rows: Rows, a: np.ndarray) -> np.ndarray:
    """A point next to a (d,) where the likelihood alone is higher, (d,)."""
    with np.errstate(all="ignore"):
        return find_mode(Target(model, Likelihood(rows.scaled(LIKELIHOOD))), a, LIKELIHOOD_STEPS)[0]


def outstanding(target: Target, a: np.ndarray, P: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The point that stands out most from the Gaussian about a maximum, if any does, (0 or 1, d)."""
    z = rng.standard_normal((N_DIRECTIONS, len(a)))
    width, V = np.linalg.eigh(P)
    u = (z @ V / np.sqrt(np.maximum(width, 1e-300))) @ V.T  # P may be singular, but for rounding
    theta = (a + PROBE_WIDTHS[:, None, None] * u).reshape(-1, len(a))
    expected = target.value(a[None])[0] - 0.5 * np.outer(PROBE_WIDTHS**2, np.sum(z**2, axis=1)).ravel()
    with np.errstate(all="ignore"):
        e = target.value(theta) - expected
    e = np.where(np.isfinite(e), e, -np.inf)
    most = int(np.argmax(e))
    # from which a point is something else, nats: no skewness makes as much at half a width
    return theta[most : most + 1] if e[most] > 3.0 else theta[:0]
