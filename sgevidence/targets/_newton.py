r"""Climbs to the modes of a posterior: one by Newton's method, or many at once.

**Newton ascent** is damped by a line search.  A general posterior needs eigenvalues: where the curvature is
not positive a step follows its absolute value.  A log-concave one has one mode and a curvature that is
positive everywhere, so that a Cholesky factor will do, and its mode is sought on samples of the rows first:
each is some times as large as the one before, and starts one or two steps from its mode.

**Climbs from many points** are by the method of Broyden, Fletcher, Goldfarb and Shanno (BFGS).  All that
still climb are one cloud, so a step costs one batched gradient, and no Hessian.  Where a step does not gain
it is cut to a quarter; one that is cut to nothing has met a wall, where the density jumps.

A narrow peak inside a wide one has the slope of the wide one but for its own few widths.  Climbs from
outside pass it by, and end at the maximum of the wide one, or on its own shoulder.  So the likelihood is
climbed by itself from there: where it peaks twice in one place the prior moves the wide peak, not the narrow
one.  And a maximum is looked around, in all directions and nearer and nearer:

    e = log f(a + r L z) − log f(a) + ½ r² |z|²,    L Lᵀ = P⁻¹,    z ~ N(0, I),    r = ½, ¼, …

which is zero for a Gaussian, and of the order r³ for another posterior of one scale.

Symbols: ``f, g, P`` = log target, its gradient and −∇∇ at ``a``; ``step`` = Newton's, P⁻¹ g where P is
positive definite; of many points ``x`` = points, (K, d); ``H`` = inverse curvatures, (K, d, d); ``s, y`` =
step, and by how much the gradient fell along it; ``t`` = part of the step that is taken, (K,); ``e`` =
excess over the Gaussian; ``r`` ``PROBE_WIDTHS`` = distances.

References
----------
J. Nocedal and S. J. Wright (2006), Numerical optimization, chapter 6.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.spatial import cKDTree

from ..history import Anchor, Rows
from ..models import Model
from ._target import Likelihood, Path, Target, of_history

#: Half the squared Newton step in posterior widths below which a mode is found: 0.01 nats.
MODE_TOLERANCE_NATS = 1e-2
#: Tolerance of a concave mode, where each further step squares the distance: 10⁻⁴ nats.
CONCAVE_TOLERANCE = 1e-4
#: Newton steps to a concave mode.
MAX_CONCAVE_STEPS = 100
#: Halvings of a step of the line search: of 10¹² expected counts 40 come back to one.
MAX_LINE_HALVINGS, MAX_CONCAVE_HALVINGS = 11, 60
#: Rows of the first sample, and how many times as large the next is.
FIRST_SAMPLE_ROWS, SAMPLE_GROWTH = 2000, 20

Derivatives = tuple[float, np.ndarray, np.ndarray]


class Differentiable(Protocol):
    """A log posterior with its derivatives, wherever its rows are."""

    @property
    def model(self) -> Model: ...
    def value(self, theta: np.ndarray) -> np.ndarray: ...
    def derivatives(self, a: np.ndarray) -> Derivatives: ...


def find_mode(
    target: Target, a: np.ndarray, max_iterations: int = 30
) -> tuple[np.ndarray, np.ndarray | None]:
    """Climb from ``a``: (mode, precision there or None if it is not a maximum)."""
    a, found = _climb(target, a, _uphill, MODE_TOLERANCE_NATS, max_iterations, MAX_LINE_HALVINGS)
    if found is None:
        return a, None
    P = found[2]
    return a, P if np.linalg.eigvalsh(P)[0] > 0 else None


def concave_mode(model: Model, rows: Rows, rng: np.random.Generator, start: np.ndarray) -> Anchor | None:
    """Sums over all rows next to the one mode of a posterior, log-concave or nearly so.

    Hessians should be closed forms.  ``rng`` draws the samples that come before all rows; it is not used
    where these are few.  The answer is 10⁻⁴ nats from the mode, which is one more Newton step away
    (:func:`~._anchoring.gaussian`); None if the search does not end, or if rounding takes the curvature's
    sign.
    """
    a, size = start, FIRST_SAMPLE_ROWS
    while 5 * size < len(rows):
        # each row as it is: in a sample that has none of a class the prior keeps its say
        few = rows.take(np.sort(rng.choice(len(rows), size, replace=False)))
        target = Target(model, Likelihood(few))
        a = _climb(target, a, step_of(model), MODE_TOLERANCE_NATS, MAX_CONCAVE_STEPS, MAX_CONCAVE_HALVINGS)[0]
        size *= SAMPLE_GROWTH
    return folded_mode(Target(model, Likelihood(rows)), a)


def folded_mode(
    target: Differentiable, start: np.ndarray, is_known: Callable[[np.ndarray], bool] = lambda a: False
) -> Anchor | None:
    """:func:`concave_mode` from a point that is near the mode, by sums over all rows of ``target`` alone.

    The search ends, without an answer, where it comes to points that are known.
    Where the log posterior is not concave, the curvature at the end need not be that of a maximum.
    """
    a, found = _climb(
        target,
        start,
        step_of(target.model),
        CONCAVE_TOLERANCE,
        MAX_CONCAVE_STEPS,
        MAX_CONCAVE_HALVINGS,
        True,
        is_known,
    )
    if found is None:
        return None
    (f, g, P), (f0, g0, H0) = found, target.model.prior_derivatives(a)
    return Anchor(a, f - f0, g - g0, P + H0)


def laplace_evidence(model: Model, rows: Rows, start: np.ndarray) -> tuple[np.ndarray, float] | None:
    """The mode next to ``start``, the one mode of a log-concave posterior, and Laplace's evidence there.

    Hessians should be closed forms.  The mode (d,) up to 10⁻⁴ nats, and log p(D, a) + (d/2) log 2π − ½ log
    |P| in nats; None if there is no maximum, or rounding takes the curvature's sign.
    """
    target, halvings = Target(model, Likelihood(rows)), MAX_CONCAVE_HALVINGS
    step_of = _concave if model.is_log_concave else _uphill
    a, found = _climb(target, start, step_of, CONCAVE_TOLERANCE, MAX_CONCAVE_STEPS, halvings, True)
    if found is None:
        return None
    f, g, P = found
    factor, step, is_indefinite = dposv(P, g, lower=True)
    if is_indefinite:
        return None
    half_log_det = np.sum(np.log(np.diag(factor)))
    return a + step, float(f + 0.5 * (g @ step) + 0.5 * len(a) * np.log(2 * np.pi) - half_log_det)


def step_of(model: Model) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Newton's step, which a model whose log posterior is not concave takes where it leads to a maximum."""
    return _concave if model.is_log_concave else _concave_or_uphill


def _climb(
    target: Differentiable,
    a: np.ndarray,
    step_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    tolerance: float,
    max_iterations: int,
    max_halvings: int,
    to_the_end: bool = False,
    is_known: Callable[[np.ndarray], bool] = lambda a: False,
) -> tuple[np.ndarray, Derivatives | None]:
    """Where it ends, and the derivatives there; None if that is no mode, or ``to_the_end`` came too late."""
    f, g, P = target.derivatives(a)
    for n_steps in range(max_iterations):
        if not (np.isfinite(f) and np.isfinite(P).all()) or is_known(a):
            return a, None
        try:
            step = step_of(P, g)
        except np.linalg.LinAlgError:
            return a, None
        if g @ step < 2 * tolerance:
            return a, (f, g, P)
        with np.errstate(all="ignore"):
            ahead = target.derivatives(a + step)  # nearly always the next point
        if ahead[0] > f + 1e-4 * (g @ step):
            # Newton steps after which a step is doubled as long as that gains: an exponential that starts e^k
            # too high comes down in log k steps more.  A general search ends before.
            if n_steps >= 30:
                step = _doubled(target, a, step, ahead[0])
                ahead = target.derivatives(a + step)
            a, (f, g, P) = a + step, ahead
            continue
        for shorten in 0.5 ** np.arange(1.0, max_halvings + 1):
            trial = target.value((a + shorten * step)[None])[0]
            if trial > f + 1e-4 * shorten * (g @ step):
                break
        else:
            return a, None
        a = a + shorten * step
        f, g, P = target.derivatives(a)
    return a, None if to_the_end else (f, g, P)


def _doubled(target: Differentiable, a: np.ndarray, step: np.ndarray, value: float) -> np.ndarray:
    """The step, doubled as long as it gains: ``value`` is that of its end."""
    with np.errstate(all="ignore"):
        while (further := target.value((a + 2 * step)[None])[0]) > value:
            step, value = 2 * step, further
    return step


def _uphill(P: np.ndarray, g: np.ndarray, floor: float = 1e-3) -> np.ndarray:
    """(|P| + μI)⁻¹ g, which goes up whatever the signs of the curvature; μ is a share of the largest."""
    width, V = np.linalg.eigh(P)
    return V @ ((V.T @ g) / np.maximum(np.abs(width), floor * np.abs(width).max() + 1e-300))


def _concave(P: np.ndarray, g: np.ndarray) -> np.ndarray:
    """P⁻¹ g; LinAlgError if P is not positive definite."""
    _, step, is_indefinite = dposv(P, g, lower=True)  # a tenth of the time that scipy.linalg takes for few
    if is_indefinite:
        raise np.linalg.LinAlgError("not positive definite")
    return step


def _concave_or_uphill(P: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Newton's step where it leads to a maximum, else a way up, in flat directions of a few rows, too."""
    try:
        return _concave(P, g)
    except np.linalg.LinAlgError:
        return _uphill(P, g, 1e-9)


#: Squared distance of the mode from the anchor, in posterior widths per parameter, that makes a new anchor:
#: the remainder, third order in the distance, then still has two digits.
STRAY_SQUARED = 0.25


def gaussian(model: Model, anchor: Anchor) -> tuple[np.ndarray, np.ndarray]:
    """Mode and precision of prior times quadratic; LinAlgError if that has no maximum."""
    _, g, H = model.prior_derivatives(anchor.a)
    P = anchor.H - H
    if not (np.isfinite(P).all() and np.isfinite(anchor.G).all()):
        raise np.linalg.LinAlgError("the derivatives are not finite")
    np.linalg.cholesky(P)
    return anchor.a + np.linalg.solve(P, anchor.G + g), P


#: Rows of the history, and of the chunk at most, by which a mode is sought.
MODE_ROWS = 20_000


def anchored_at_mode(path: Path, start: np.ndarray, rng: np.random.Generator) -> tuple[Anchor, Anchor]:
    """Anchored sums of the chunk, and of history and chunk, near the mode of the posterior that they make.

    The mode is sought on a sample of the history, of ``MODE_ROWS``: one Newton step then uses the sums over
    all rows.  A chunk too large to be used whole would tell less of the mode by a sample than ``start``, the
    mode before it: from there the sums are one Newton step away.
    The sums are exact for the chunk, and for the history while its rows are at hand.
    """
    model, memory, chunk, _ = path
    a = start
    if len(chunk) <= MODE_ROWS:
        past = of_history(model, memory, MODE_ROWS, rng)
        a, _ = find_mode(Target(model, Likelihood(chunk).plus(past)), start)
    new = Anchor.of(model, a, chunk)
    if not memory.n_rows:
        return new, new
    return new, memory.moved(model, a).plus(new)


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
