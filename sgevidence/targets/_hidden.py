r"""Points from which to climb to what the end of a climb hides.

A narrow peak inside a wide one has the slope of the wide one but for its own few widths.  Climbs from outside
pass it by, and end at the maximum of the wide one, or on its own shoulder.  So the likelihood is climbed by
itself from there: where it peaks twice in one place the prior moves the wide peak, not the narrow one.  And a
maximum is looked around, in all directions and nearer and nearer:

    x = log f(a + s L z) − log f(a) + ½ s² |z|²,    L Lᵀ = P⁻¹,    z ~ N(0, I),    s = ½, ¼, …

which is zero for a Gaussian, and of the order s³ for another posterior of one scale.

Symbols: ``a, P`` = end of a climb and precision there, ``x`` = excess, nats.
"""

import numpy as np

from ..history import Rows
from ..models import Model
from ._newton import find_mode
from ._target import Likelihood, Target

#: Rows that count so many times are nearly all likelihood; Newton steps that are taken on it.
LIKELIHOOD, LIKELIHOOD_STEPS = 100.0, 5
#: Directions, and how near.
N_DIRECTIONS, PROBE_WIDTHS = 256, 0.5 ** np.arange(1, 6)


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
        excess = target.value(theta) - expected
    excess = np.where(np.isfinite(excess), excess, -np.inf)
    most = int(np.argmax(excess))
    # x from which a point is something else: no skewness makes as much at half a width
    return theta[most : most + 1] if excess[most] > 3.0 else theta[:0]
