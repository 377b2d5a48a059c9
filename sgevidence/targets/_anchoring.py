r"""Where the anchor goes: near the mode of the posterior that history and chunk make.

Symbols: ``a`` = anchor, ``P`` = precision of prior times quadratic, ``H`` = curvature of the prior.
"""

import numpy as np

from ..history import Anchor
from ..models import Model
from ._newton import find_mode
from ._path import Path
from ._target import Likelihood, Target, of_history

#: Squared distance of the mode from the anchor, in posterior widths per parameter, that makes a new anchor:
#: the remainder, third order in the distance, then still has two digits.
STRAY = 0.25


def gaussian(model: Model, anchor: Anchor) -> tuple[np.ndarray, np.ndarray]:
    """Mode and precision of prior times quadratic; LinAlgError if that has no maximum."""
    _, g, H = model.prior_derivatives(anchor.a)
    P = anchor.H - H
    if not (np.isfinite(P).all() and np.isfinite(anchor.G).all()):
        raise np.linalg.LinAlgError("the derivatives are not finite")
    np.linalg.cholesky(P)
    return anchor.a + np.linalg.solve(P, anchor.G + g), P


def anchored_at_mode(
    path: Path, start: np.ndarray, rng: np.random.Generator, mode_rows: int = 20_000
) -> tuple[Anchor, Anchor]:
    """Anchored sums of the chunk, and of history and chunk, near the mode of the posterior that they make.

    The mode is sought on a sample of the history, of ``mode_rows``: one Newton step then uses the sums over
    all rows.  A chunk too large to be used whole would tell less of the mode by a sample than ``start``, the
    mode before it: from there the sums are one Newton step away.
    The sums are exact for the chunk, and for the history while its rows are at hand.
    """
    model, memory, chunk, _ = path
    a = start
    if len(chunk) <= mode_rows:
        past = of_history(model, memory, mode_rows, rng)
        a, _ = find_mode(Target(model, Likelihood(chunk).plus(past)), start)
    new = Anchor.of(model, a, chunk)
    if not memory.n_rows:
        return new, new
    return new, memory.moved(model, a).plus(new)
