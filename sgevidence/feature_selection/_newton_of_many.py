r"""Laplace's evidences of many subsets at once: all of them take their Newton steps together.

For a thousand rows a step costs less than what calls it.  Steps of all subsets are over all columns, masked
by those that are in, and their curvatures are one product of the weights (S, n) and the pairs of columns
(n, q²).

Symbols: ``theta`` = points, 0 where a column is not in (S, q); ``inside`` = whether it is (S, q);
``precision`` = λ, of the prior (q,).
"""

import numpy as np

from ..history import Rows
from ..models import GLMModel

#: Subsets whose weights of rows stay in the cache; numbers in the pairs of columns, 32 MB at most.
SUBSETS_PER_BLOCK, MAX_PAIR_NUMBERS = 64, 4_000_000
#: Newton steps, after which a subset is left to a search with a line search; half the squared step in
#: posterior widths at which a mode is found, nats.
MAX_SUBSET_STEPS, SUBSET_TOLERANCE_NATS = 8, 1e-4


def is_cheaper(model: GLMModel, rows: Rows) -> bool:
    """Whether rows and columns are few enough for steps of many together."""
    return len(rows) * model.n_coefficients**2 < MAX_PAIR_NUMBERS


def laplace_of_many(
    model: GLMModel, rows: Rows, inside: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Modes (S, q) next to ``start``, and Laplace's evidences (S,); nan where steps do not lead there."""
    Phi = model.inputs(rows.X).Phi
    pairs = (Phi[:, :, None] * Phi[:, None]).reshape(len(Phi), -1)
    parts = range(0, len(inside), SUBSETS_PER_BLOCK)
    found = [
        _climbed(model, rows, pairs, inside[k : k + SUBSETS_PER_BLOCK], start[k : k + SUBSETS_PER_BLOCK])
        for k in parts
    ]
    modes, values = zip(*found)
    return np.concatenate(modes), np.concatenate(values)


def _climbed(
    model: GLMModel, rows: Rows, pairs: np.ndarray, inside: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    precision, active = model.scales**-2.0, np.arange(len(start))
    theta, value, last = start * inside, np.full(len(start), np.nan), np.full(len(start), -np.inf)
    for _ in range(MAX_SUBSET_STEPS):
        f, g, P = _derivatives(model, rows, pairs, theta[active], inside[active], precision)
        step = np.linalg.solve(P, g[:, :, None])[:, :, 0]
        gain = np.sum(g * step, axis=1)
        is_up = f >= last[active]  # not if nan
        done = is_up & (gain < 2 * SUBSET_TOLERANCE_NATS)
        half_log_prior = 0.5 * inside[active[done]] @ np.log(precision)
        log_det = np.linalg.slogdet(P[done])[1]
        value[active[done]] = f[done] + 0.5 * gain[done] + half_log_prior - 0.5 * log_det
        theta[active[is_up]] += step[is_up]
        last[active] = f
        active = active[is_up & ~done]
        if not len(active):
            break
    return theta, value


def _derivatives(
    model: GLMModel,
    rows: Rows,
    pairs: np.ndarray,
    theta: np.ndarray,
    inside: np.ndarray,
    precision: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log joint but for the constants of its prior (S,), gradient (S, q) and curvature, 1 for what is out."""
    Phi, offset, known = model.inputs(rows.X)
    S, q = theta.shape
    with np.errstate(all="ignore"):
        eta = theta @ Phi.T + offset
        f = model.family.log_density(eta, rows.y, *known) @ rows.weight - 0.5 * theta**2 @ precision
        g = (model.family.score(eta, rows.y, *known) * rows.weight) @ Phi - theta * precision
        P = ((model.family.curvature(eta, rows.y, *known) * rows.weight) @ pairs).reshape(S, q, q)
    P[:, range(q), range(q)] += precision
    P *= inside[:, :, None] * inside[:, None]
    P[:, range(q), range(q)] += ~inside
    return f, g * inside, P
