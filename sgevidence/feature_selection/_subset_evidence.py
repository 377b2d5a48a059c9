"""Evidences of log-concave regressions on subsets of columns: by Newton's steps, and by few draws.

**Newton's method.**  All subsets take their steps together.  For a thousand rows a step costs less than what
calls it.  Steps of many are over all columns, masked by those that are in; one subset alone has its own
columns.

**Draws.**  Newton's method has found the modes already.  Draws of a t there, or around the nearest Gaussian,
with control variates (``answers``), take milliseconds where a run of a sampler takes hundredths of a second.

Symbols: ``theta`` = points, 0 where a column is not in (S, q), or draws of one subset, coefficients and
intercept, (M, d); ``inside`` = whether a column is in (S, q); ``precision`` = λ, of the prior (q,).
"""

from typing import Any, NamedTuple

import numpy as np

from ..answers import (
    MAX_PARETO_K,
    MIN_PAIRS_PER_CONTROL,
    TOLERANCE_NATS,
    Gaussian,
    TDensity,
    TMixture,
    paired_draws,
    refined,
)
from ..history import Rows
from ..models import Family, GLMModel
from ..samplers import EvidenceResult

#: Subsets whose weighted columns stay in the cache; products of a curvature over all columns, at most.
SUBSETS_PER_BLOCK, MAX_CURVATURE_PRODUCTS = 64, 4_000_000
#: Newton steps, after which a subset is left to a search with a line search; half the squared step in
#: posterior widths at which a mode is found, nats.
MAX_SUBSET_STEPS, SUBSET_TOLERANCE_NATS = 8, 1e-4


class Design(NamedTuple):
    """A regression and its rows, as sums over these ask for them."""

    family: Family
    Phi: np.ndarray  #: columns and the intercept, (n, q)
    offset: np.ndarray | float
    known: tuple[np.ndarray, ...]
    y: Any
    weight: np.ndarray
    precision: np.ndarray  #: (q,)

    @classmethod
    def of(cls, model: GLMModel, rows: Rows) -> "Design":
        """On all columns of the rows."""
        Phi, offset, known = model.inputs(rows.X)
        return cls(model.family, Phi, offset, known, rows.y, rows.weight, model.scales**-2.0)

    def of_columns(self, inside: np.ndarray) -> "Design":
        """On some of the columns."""
        return self._replace(Phi=np.ascontiguousarray(self.Phi[:, inside]), precision=self.precision[inside])

    def value_and_grad(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log joint (M,) but for constants, and its gradient, (M, q)."""
        return derivatives_of_many(self, theta, np.ones(theta.shape, dtype=bool))[:2]

    def mean_curvature(self, theta: np.ndarray) -> np.ndarray:
        """Mean of −∇∇ log joint, (q, q)."""
        return derivatives_of_many(self, theta, np.ones(theta.shape, dtype=bool))[2].mean(axis=0)

    @property
    def is_small(self) -> bool:
        """Whether rows and columns are few enough for steps over all columns."""
        return len(self.Phi) * self.Phi.shape[1] ** 2 < MAX_CURVATURE_PRODUCTS


def laplace_of_many(design: Design, inside: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Modes (S, q) next to ``start``, and Laplace's evidences (S,); nan where steps do not lead there."""
    if len(inside) == 1:  # a chain asks for one at a time
        theta, here = np.zeros_like(start), inside[0]
        few = np.ones((1, int(here.sum())), dtype=bool)
        theta[:, here], value = _climbed(design.of_columns(here), few, start[:, here])
        return theta, value
    parts = [slice(k, k + SUBSETS_PER_BLOCK) for k in range(0, len(inside), SUBSETS_PER_BLOCK)]
    i, j = np.triu_indices(inside.shape[1])
    pairs = design.Phi[:, i] * design.Phi[:, j]
    found = [_climbed(design, inside[part], start[part], pairs) for part in parts]
    modes, values = zip(*found)
    return np.concatenate(modes), np.concatenate(values)


def _climbed(
    design: Design, inside: np.ndarray, start: np.ndarray, pairs: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    active = np.arange(len(start))
    theta, value, last = start * inside, np.full(len(start), np.nan), np.full(len(start), -np.inf)
    for _ in range(MAX_SUBSET_STEPS):
        f, g, P = derivatives_of_many(design, theta[active], inside[active], pairs)
        try:
            step = np.linalg.solve(P, g[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # a curvature beyond the numbers: these are left to a line search
            break
        gain = np.sum(g * step, axis=1)
        is_up = f >= last[active]  # not if nan
        done = is_up & (gain < 2 * SUBSET_TOLERANCE_NATS)
        if done.any():
            half_log_prior = 0.5 * inside[active[done]] @ np.log(design.precision)
            log_det = np.linalg.slogdet(P[done])[1]
            value[active[done]] = f[done] + 0.5 * gain[done] + half_log_prior - 0.5 * log_det
        theta[active[is_up]] += step[is_up]
        last[active] = f
        active = active[is_up & ~done]
        if not len(active):
            break
    return theta, value


def derivatives_of_many(
    design: Design, theta: np.ndarray, inside: np.ndarray, pairs: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log joint but for the constants of its prior (S,), gradient (S, q) and curvature, 1 for what is out.

    ``pairs`` are the products of all pairs of columns, (n, q (q + 1) / 2): with them the curvatures of many
    subsets are one product.
    """
    family, Phi, offset, known, y, weight, precision = design
    columns = np.arange(theta.shape[1])
    with np.errstate(all="ignore"):
        eta = theta @ Phi.T + offset
        f = family.log_density(eta, y, *known) @ weight - 0.5 * theta**2 @ precision
        g = (family.score(eta, y, *known) * weight) @ Phi - theta * precision
        curvature = family.curvature(eta, y, *known) * weight
        if pairs is None:
            P = (curvature[:, None] * Phi.T) @ Phi
        else:
            i, j = np.triu_indices(len(columns))
            P = np.empty((len(theta), len(columns), len(columns)))
            P[:, i, j] = P[:, j, i] = curvature @ pairs
    P[:, columns, columns] += precision
    P *= inside[:, :, None] * inside[:, None]
    P[:, columns, columns] += ~inside
    return f, g * inside, P


#: Each round of draws: pairs, pairs per parameter, and the standard error, nats, and the Pareto k up to which
#: it is the last; a subset beyond the third is answered by a sampler.  Errors of the first two are for a
#: tolerance of TOLERANCE_NATS.  A round that cannot carry control variates of all second moments is left out:
#: twice the pairs with these say more.
#: The last is around the nearest Gaussian: of 28 subsets of thirty columns that nearly separate the rows, six
#: had no error bar around the mode, and ± 0.01 to 0.18 there.
SUBSET_ROUNDS = ((256, 20, 0.03, 0.2), (1024, 40, 0.06, 0.4), (2048, 80, 0.3, MAX_PARETO_K))
#: Standard error, nats, of one subset at most, however little probability it has.
ROUGH_SUBSET_NATS = 0.3
#: Error, nats, that pairs as few may hide: of 216 small problems, half of them skew, three were five of their
#: standard errors off, by up to .04 nats.
HIDDEN_ERROR_NATS = 0.01
#: Rows up to which draws are weighed by all of them; a sampler takes samples of more.
MAX_ROWS_OF_DRAWS = 5000
#: Draws × rows of a piece, whose arrays stay in the cache.
NUMBERS_OF_A_CACHED_PIECE = 50_000


def drawn_subset(
    design: Design,
    inside: np.ndarray,
    mode: np.ndarray,
    log_units: float,
    rng: np.random.Generator,
    tolerance: float,
) -> EvidenceResult | None:
    """The evidence on the columns ``inside`` with this mode (q,); None where few draws do not tell it."""
    few, center = design.of_columns(inside), mode[inside]
    d, scale = len(center), few.precision
    log_constant = 0.5 * float(np.sum(np.log(scale))) - 0.5 * d * np.log(2 * np.pi) - log_units
    size = max(NUMBERS_OF_A_CACHED_PIECE // len(few.y), 1)

    def log_joint(theta: np.ndarray) -> np.ndarray:
        pieces = [theta[k : k + size] @ few.Phi.T + few.offset for k in range(0, len(theta), size)]
        log_L = [few.family.log_density(eta, few.y, *few.known) @ few.weight for eta in pieces]
        return np.concatenate(log_L) - 0.5 * theta**2 @ scale + log_constant

    with np.errstate(all="ignore"):
        P = derivatives_of_many(few, center[None], np.ones((1, d), dtype=bool))[2][0]
        try:
            at, wish = Gaussian.of_precision(center, P), tolerance / TOLERANCE_NATS
            n_controlled = MIN_PAIRS_PER_CONTROL * (1 + d * (d + 1) // 2)
            for round_ in SUBSET_ROUNDS:
                n_pairs, per_parameter, max_std, max_tail = round_
                n, is_last = max(n_pairs, per_parameter * d), round_ is SUBSET_ROUNDS[-1]
                if is_last:
                    at = refined(few, at, rng)  # type: ignore[arg-type]  # has all that it asks for
                elif n < n_controlled:
                    continue
                else:
                    max_std = min(wish * max_std, ROUGH_SUBSET_NATS)
                q = TMixture([TDensity.at_mode(at.m, at.P)], np.ones(1))
                found = paired_draws(log_joint, q, n, rng)
                if found is None:
                    return None
                if found.std < max_std and found.tail < max_tail:
                    std = float(np.hypot(found.std, HIDDEN_ERROR_NATS))
                    n_likelihoods = float(2 * n * len(few.y))
                    draws = found.theta, found.weights.W
                    return EvidenceResult(found.log_Z, std, *draws, {}, n_likelihoods, 0.0, 0.0)
        except np.linalg.LinAlgError:
            pass
    return None
