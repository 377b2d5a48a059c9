r"""Newton ascent to the mode of a posterior, damped by a line search.

A general posterior needs eigenvalues: where the curvature is not positive a step follows its absolute value.
A log-concave one has one mode and a curvature that is positive everywhere, so that a Cholesky factor will do,
and its mode is sought on samples of the rows first: each is some times as large as the one before, and starts
one or two steps from its mode.

Symbols: ``f, g, P`` = log target, its gradient and −∇∇ at ``a``; ``step`` = Newton's, P⁻¹ g where P is
positive definite; ``H`` = curvature of the prior.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from ..history import Anchor, Rows
from ..models import Model
from ._path import Path
from ._target import Likelihood, Target, of_history

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
