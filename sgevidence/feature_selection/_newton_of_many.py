r"""Laplace's evidences of many subsets at once: all of them take their Newton steps together.

For a thousand rows a step costs less than what calls it.  Steps are over all columns, masked by those that
are in.

Symbols: ``theta`` = points, 0 where a column is not in (S, q); ``inside`` = whether it is (S, q);
``precision`` = λ, of the prior (q,).
"""

import numpy as np

from ..history import Rows
from ..models import GLMModel

#: Subsets whose weighted columns stay in the cache; products of a curvature over all columns, at most.
SUBSETS_PER_BLOCK, MAX_CURVATURE_PRODUCTS = 16, 4_000_000
#: Newton steps, after which a subset is left to a search with a line search; half the squared step in
#: posterior widths at which a mode is found, nats.
MAX_SUBSET_STEPS, SUBSET_TOLERANCE_NATS = 8, 1e-4


def is_cheaper(model: GLMModel, rows: Rows) -> bool:
    """Whether rows and columns are few enough for steps over all columns."""
    return len(rows) * model.n_coefficients**2 < MAX_CURVATURE_PRODUCTS


def laplace_of_many(
    model: GLMModel, rows: Rows, inside: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Modes (S, q) next to ``start``, and Laplace's evidences (S,); nan where steps do not lead there."""
    parts = [slice(k, k + SUBSETS_PER_BLOCK) for k in range(0, len(inside), SUBSETS_PER_BLOCK)]
    found = [_climbed(model, rows, inside[part], start[part]) for part in parts]
    modes, values = zip(*found)
    return np.concatenate(modes), np.concatenate(values)


def _climbed(
    model: GLMModel, rows: Rows, inside: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    precision, active = model.scales**-2.0, np.arange(len(start))
    theta, value, last = start * inside, np.full(len(start), np.nan), np.full(len(start), -np.inf)
    for _ in range(MAX_SUBSET_STEPS):
        f, g, P = derivatives_of_many(model, rows, theta[active], inside[active])
        try:
            step = np.linalg.solve(P, g[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # a curvature beyond the numbers: these are left to a line search
            break
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


def derivatives_of_many(
    model: GLMModel, rows: Rows, theta: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log joint but for the constants of its prior (S,), gradient (S, q) and curvature, 1 for what is out."""
    (Phi, offset, known), precision = model.inputs(rows.X), model.scales**-2.0
    columns = np.arange(theta.shape[1])
    with np.errstate(all="ignore"):
        eta = theta @ Phi.T + offset
        f = model.family.log_density(eta, rows.y, *known) @ rows.weight - 0.5 * theta**2 @ precision
        g = (model.family.score(eta, rows.y, *known) * rows.weight) @ Phi - theta * precision
        weight = model.family.curvature(eta, rows.y, *known) * rows.weight
        P = (weight[:, None] * Phi.T) @ Phi
    P[:, columns, columns] += precision
    P *= inside[:, :, None] * inside[:, None]
    P[:, columns, columns] += ~inside
    return f, g * inside, P
