r"""The function that answers for a model with effects.

Gaussian y have a closed form given the hyperparameters, and the model says so itself.  Effects of one
grouping factor are integrated level by level; crossed ones and curves from a Gaussian given the
hyperparameters.  Where the points do not suffice there is no answer, and the model is annealed, and that
is tested.

**One grouping factor.**  Effects are integrated by quadrature, and the few parameters that are left by
points:

    log p(y, b, z) = Σ_g log ∫ p(y_g | b, z, v_g) N(v_g) dv_g + log N(b, z; 0, I)

has as many dimensions as there are fixed columns and hyperparameters, whatever the number of levels.

**A curve of the noise.**  Its effects c and their standard deviation τ make a funnel, in which points around
a mode do not suffice.  Given τ its columns are like others, and

    Z = ∫ Z(τ(z)) N(z; 0, 1) dz,        τ = F⁻¹(Φ(z)),

is a sum over evenly spaced z, each of whose terms is an answer as above.

Symbols: ``x`` = (b, z) (M, p + k).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..answers import Answer
from ..history import Rows
from ..models import HalfStudentT, Model, Predicted, from_normal
from ..particles import Weights, log_sum_exp, systematic
from ._conditional import conditional_answer
from ._integral import check, integrate, widened
from ._model import EffectsModel
from ._quadrature import OrderedRows, enough_nodes, level_draws, level_modes, log_integrals

#: Rows × draws, and draws at least: each draw of the effects of all levels looks at all rows a few times.
MAX_DRAWN_NUMBERS, MIN_EFFECT_DRAWS = 3_000_000, 200


def effects_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and at most ``size`` draws, fewer of many rows; None where they cannot be trusted."""
    assert isinstance(model, EffectsModel)
    one_factor = len(model.layout.blocks) == 1 and model.layout.largest is not None
    # fixed columns and hyperparameters up to which they are integrated together
    few = model.layout.n_fixed + model.layout.n_hyperparameters + model.n_own <= 12
    answer = levelwise_answer if one_factor and few else conditional_answer
    size = min(size, max(MIN_EFFECT_DRAWS, MAX_DRAWN_NUMBERS // max(len(rows), 1)))
    family = model.family
    try:
        if isinstance(family, Predicted) and family.curves:
            return over_scale(answer, model, rows, rng, size)
        return answer(model, model.ordered(rows), rng, size)
    except (ArithmeticError, np.linalg.LinAlgError):
        return None


#: Steps of z = Φ⁻¹(F(τ)), the first and the last; nats below the largest term, at which the sum ends; and
#: nats by which sums over even and odd terms may differ before the step h is halved: the error of the whole
#: sum, about exp(−c/h²), is the fourth power of theirs.
SCALE_STEP, MIN_SCALE_STEP, MAX_SCALE_DROP_NATS, MAX_HALVES_GAP_NATS = 0.5, 0.0625, 9.0, 0.5
#: Largest |z|: beyond, the prior has 10⁻¹⁵, and Φ is 0 or 1 in double precision.
MAX_SCALE_Z = 8.0
#: Share of terms without an answer beyond which the sum is doubted: the largest standard error of a term.
MAX_UNANSWERED_SHARE = 0.1


def over_scale(
    answer: Callable, model: EffectsModel, rows: Rows, rng: np.random.Generator, size: int
) -> Answer:
    """The sum over τ of the curve of another parameter, z being the last column of the draws.

    A term without an answer is put between its neighbours, and counts as uncertain by its own size.  Points
    are spent on the error of the sum: a term of a small share among those before it may have a larger one.
    ArithmeticError where the one at z = 0 has none.
    """
    family, step = model.family, SCALE_STEP
    found: dict[float, Answer | None] = {}
    assert isinstance(family, Predicted)

    def log_prior(z: float) -> float:
        return -0.5 * z**2 - 0.5 * float(np.log(2 * np.pi))

    def ask(z: float) -> Answer | None:
        tau = float(from_normal(np.array([z]), HalfStudentT(family.curves[0][1]))[0])
        given = replace(model, family=family.given(tau))
        try:
            before = [one.log_evidence + log_prior(at) for at, one in found.items() if one is not None]
            log_rest = np.logaddexp.reduce([-np.inf, *before]) - log_prior(z)
            one = answer(given, given.ordered(rows), rng, size, log_rest)
        except (ArithmeticError, np.linalg.LinAlgError):
            return None
        return one if np.isfinite(one.log_evidence + one.log_evidence_std) else None

    def term(z: float) -> float:
        if z not in found:
            found[z] = ask(z)
        known = {at: one.log_evidence for at, one in sorted(found.items()) if one is not None}
        if not known:
            raise ArithmeticError("points do not suffice in the middle of the scale of a curve")
        log_Z = np.interp(z, list(known), list(known.values()))
        return float(log_Z + log_prior(z))

    best = term(0.0)
    while True:
        z = [0.0]
        for sign in (step, -step):
            for at in sign * np.arange(1, MAX_SCALE_Z / step + 1):
                best = max(best, term(at))
                if term(at) < best - MAX_SCALE_DROP_NATS:
                    break
                z.append(float(at))
        z.sort()
        log_terms = np.array([term(one) for one in z])
        gap = abs(np.logaddexp.reduce(log_terms[::2]) - np.logaddexp.reduce(log_terms[1::2]))
        if gap < MAX_HALVES_GAP_NATS or step == MIN_SCALE_STEP:
            break
        step /= 2
    is_whole = gap < MAX_HALVES_GAP_NATS and max(-z[0], z[-1]) < MAX_SCALE_Z
    summed = sum_of_terms(z, log_terms, [found[one] for one in z], rng, size)
    doubts = summed.doubts if is_whole else ("the sum over the scale of a curve has no end", *summed.doubts)
    cost = sum(one.n_likelihoods for one in found.values() if one is not None)
    log_Z = summed.log_evidence + float(np.log(step))
    return summed._replace(log_evidence=log_Z, n_likelihoods=cost, doubts=doubts)


def sum_of_terms(
    z: list[float], log_terms: np.ndarray, answers: list[Answer | None], rng: np.random.Generator, size: int
) -> Answer:
    """Σ of terms, some of which have no answer, with draws of the others."""
    W, is_known = Weights(log_terms).W, np.array([one is not None for one in answers])
    lost = float(W[~is_known].sum())
    n_draws = np.bincount(systematic(W * is_known / (1 - lost), rng, size), minlength=len(z))
    known = [(at, w, one, n) for at, w, one, n in zip(z, W, answers, n_draws) if one is not None]
    parts = [np.column_stack([one.theta[:n], np.full(n, at)]) for at, _, one, n in known]
    draws = rng.permutation(np.concatenate(parts))
    std = float(np.sqrt(sum((w * one.log_evidence_std) ** 2 for _, w, one, _ in known) + lost**2))
    words = f"points do not suffice at scales of a curve with {lost:.0%} of the evidence"
    doubts = (words,) if lost > MAX_UNANSWERED_SHARE else ()
    return Answer(draws, np.zeros(len(draws)), float(log_sum_exp(log_terms)), std, doubts=doubts)


#: Nodes for each effect of a level on the way to the mode, and points at which those after it are chosen.
FEW_NODES, N_TRIED_POINTS = 5, 4


class Levelwise:
    """log p(y, x) of batches."""

    def __init__(self, model: EffectsModel, rows: OrderedRows) -> None:
        self.model, self.rows, self.p = model, rows, model.layout.n_fixed
        self.start = np.zeros((len(rows.starts), rows.W.shape[1]))
        # rows × draws of one batch: arrays of this size stay in the cache
        self.batch = max(1, 30_000 // len(rows.y))
        self.n_evaluations = 0
        self.n_nodes: int | None = None
        self.node_error = 0.0  #: nats

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The rest of η, Λ, and own parameters, for which quadrature asks."""
        b, z = x[:, : self.p], x[:, self.p :]
        offset = (self.rows.R @ (b * self.model.layout.scales).T).T + self.rows.offset
        return offset, self.model.layout.factors(z)[0], self.model.own_of(z)

    def search(self, x: np.ndarray) -> np.ndarray:
        """log p(y, x) with few nodes, (M,)."""
        return self.log_density(x, FEW_NODES)

    def log_density(self, x: np.ndarray, n_nodes: int | None = None) -> np.ndarray:
        """log p(y, x), (M,), with as many nodes as the first points have asked for."""
        if n_nodes is None:
            if self.n_nodes is None:
                tried = partial(self.log_density, x[:N_TRIED_POINTS])
                self.n_nodes, self.node_error = enough_nodes(tried, self.rows.W.shape[1])
            n_nodes = self.n_nodes
        self.n_evaluations += len(x)
        out = [self._log_density(part, n_nodes) for part in np.array_split(x, -(-len(x) // self.batch))]
        return np.concatenate(out)

    def _log_density(self, x: np.ndarray, n_nodes: int) -> np.ndarray:
        log_prior = -0.5 * np.sum(x**2 + np.log(2 * np.pi), axis=1)
        return log_prior + log_integrals(self.rows, *self.parts(x), self.start, n_nodes)

    def remember(self, x: np.ndarray) -> None:
        """Start the modes of all levels from those at x (p + k,)."""
        self.start = level_modes(self.rows, *self.parts(x[None]), self.start).v[0]

    def draws(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """θ with a draw of the effects, (M, d)."""
        out = []
        for part in np.array_split(x, -(-len(x) // self.batch)):
            v = level_draws(self.rows, *self.parts(part), self.start, rng)
            out.append(
                np.concatenate([part[:, : self.p], v.reshape(len(part), -1), part[:, self.p :]], axis=1)
            )
        return np.concatenate(out)


def levelwise_answer(
    model: EffectsModel, rows: OrderedRows, rng: np.random.Generator, size: int, log_rest: float = -np.inf
) -> Answer:
    """Evidence and draws; ``log_rest`` is the logarithm of the other terms of a sum."""
    f = Levelwise(model, rows)
    start = np.zeros(f.p + model.layout.n_hyperparameters + model.n_own)
    # points of the integral over up to five dimensions; twice as many over eight, over more four times
    n_points = 256 * (1 if len(start) <= 5 else 2 if len(start) <= 8 else 4)
    found = integrate(f.log_density, start, rng, n_points, f.search, log_rest=log_rest)
    found = check(widened(found, f.node_error))
    chosen = rng.permutation(systematic(Weights(found.log_w).W, rng, size))
    theta = f.draws(found.x[chosen], rng)
    cost = float(f.n_evaluations * len(rows.y))
    return Answer(theta, np.zeros(size), found.log_Z, found.std, cost)
