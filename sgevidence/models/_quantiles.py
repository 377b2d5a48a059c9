r"""Quantiles of ``scipy.stats`` distributions as functions of a standard normal, for autograd.

    z ~ N(0, 1),   θ = loc + scale · Q(z; a),   Q = F⁻¹(Φ(z); a)   has the density f, whatever f is.

The lower half uses ``ppf(Φ(z))``, the upper half ``isf(Φ(−z))``, so that neither tail is rounded away.
Derivatives are ∂Q/∂z = φ(z) / f(Q), and central differences of Q in the shapes a.

A quantile that rounds to an end of the support is the nearest number inside of it.  ``resolved`` says
where a quantile belongs to its z: not where it was rounded so, and not where scipy cannot invert the tail.

Symbols: ``z`` = standard normal coordinates, any shape; Q ``quantile`` = quantile of the distribution with
loc 0 and scale 1; a ``shapes`` = its shape parameters, each broadcast to z; F, f ``dist`` = ``cdf``, ``pdf``;
a ``scipy.stats.rv_continuous``.
"""

from functools import partial
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from autograd.tracer import isbox
from scipy import stats
from scipy.special import erfcinv, erfinv, log_ndtr, ndtr

#: Relative step of central differences in the shapes.
RELATIVE_SHAPE_STEP = np.finfo(float).eps ** (1 / 3)
#: Most shape parameters of a distribution of scipy, and some.
MOST_SHAPES = 8


def quantile(dist: Any, z: Any, shapes: tuple) -> Any:
    """Q(z; shapes), with loc 0 and scale 1; z and shapes may be traced by autograd."""
    if is_normal(dist):
        return z
    traced = [anp.zeros(np.shape(z)) + a if isbox(a) else a for a in shapes]
    return _quantile(z, *traced, dist=dist)


def is_normal(dist: Any) -> bool:
    """The one distribution whose quantile is z itself."""
    return type(dist) is type(stats.norm)


@primitive
def _quantile(z: np.ndarray, *shapes: Any, dist: Any) -> np.ndarray:
    return at_normal(z, shapes, dist)


def at_normal(z: np.ndarray, shapes: tuple, dist: Any) -> np.ndarray:
    """Q(z; shapes) as a number; ``dist`` may be frozen, if it has no shapes left."""
    z = np.asarray(z)
    shapes = tuple(np.broadcast_to(a, z.shape) for a in shapes)
    # |z| from which tails are taken for those at 37: Φ(−37) is 10⁻³⁰⁰, hardly larger than the least number
    lower, tail = z < 0, ndtr(-np.minimum(np.abs(z), 37.0))
    out = np.empty(z.shape)
    below, above = closed_form(dist, shapes) or (dist.ppf, dist.isf)
    out[lower] = below(tail[lower], *(a[lower] for a in shapes))
    out[~lower] = above(tail[~lower], *(a[~lower] for a in shapes))
    start, end = dist.support(*shapes)  # nan where no distribution has such shapes
    out = np.where(np.isnan(out), np.where(lower, start, end), out)  # scipy: lost in the tail
    return np.clip(out, np.nextafter(start, np.inf), np.nextafter(end, -np.inf))


def closed_form(dist: Any, shapes: tuple) -> tuple[Any, Any] | None:
    """Quantile functions of the lower and upper tail mass, where scipy inverts numerically and need not."""
    name = getattr(dist, "name", "")
    if name == "invgamma" and all(np.all(a == 0.5) for a in shapes):  # 1/x = half a squared normal
        return lambda p, _: erfcinv(p) ** -2, lambda p, _: erfinv(p) ** -2
    if name == "foldcauchy":  # tan(πF) = 2x/(1 + c² − x²)
        return (lambda p, c: _folded_cauchy(p, c, 1.0)), (lambda p, c: _folded_cauchy(p, c, -1.0))
    return None


def _folded_cauchy(p: np.ndarray, c: np.ndarray, side: float) -> np.ndarray:
    """The root for a lower (side 1) or upper (−1) tail mass of at most ½."""
    T = np.tan(np.pi * p)
    root = np.hypot(1.0, T * np.hypot(1.0, c))
    return T * (1 + c**2) / (1 + root) if side > 0 else (1 + root) / T


def slope_at_normal(z: np.ndarray, Q: np.ndarray, shapes: tuple, dist: Any) -> np.ndarray:
    """φ(z) / f(Q); zero where the quantile is rounded, and does not move with z."""
    with np.errstate(all="ignore"):
        slope = np.exp(-0.5 * np.square(z) - 0.5 * np.log(2 * np.pi) - dist.logpdf(Q, *shapes))
    return np.where(np.isfinite(slope), slope, 0.0)


def _z_vjp(ans: np.ndarray, z: np.ndarray, *shapes: Any, dist: Any) -> Any:
    slope = slope_at_normal(z, ans, shapes, dist)
    return lambda g: g * slope


def _shape_vjp(k: int, ans: np.ndarray, z: np.ndarray, *shapes: Any, dist: Any) -> Any:
    """Central differences in the k-th shape."""
    a = np.asarray(shapes[k], dtype=float)
    h = RELATIVE_SHAPE_STEP * np.where(a == 0, 1.0, np.abs(a))

    def moved(by: np.ndarray) -> np.ndarray:
        return _quantile(z, *shapes[:k], a + by, *shapes[k + 1 :], dist=dist)

    slope = (moved(h) - moved(-h)) / (2 * h)
    slope[~np.isfinite(slope)] = 0.0
    return lambda g: g * slope


defvjp(_quantile, _z_vjp, *(partial(_shape_vjp, k) for k in range(MOST_SHAPES)))


def resolved(dist: Any, z: np.ndarray, shapes: tuple, Q: np.ndarray) -> np.ndarray:
    """Where the mass of the tail beyond Q is that beyond z, shape of z."""
    if is_normal(dist):
        return np.isfinite(Q)
    with np.errstate(all="ignore"):
        tail = np.where(z < 0, dist.logcdf(Q, *shapes), dist.logsf(Q, *shapes))
        # log of the ratio of two tail masses, up to which a quantile counts as that of its z
        return np.abs(tail - log_ndtr(-np.abs(z))) < 1e-2
