r"""The evidence of a posterior with one mode that is not log-concave: a Student t there, and a bridge.

Draws of the t density q at the mode are weighed by ω = p(x | θ) p(θ) / q(θ).  Where enough of them are
effective their mean is the evidence.  Where they are not, either half of them starts chains at the posterior,
which are bridged to the t density that is fitted to the other half (``_cross_fitted_bridge.py``).

Nothing says that there is one mode.  The search starts at the middle of the prior, at draws from it, and of
heavy-tailed noise at lines through a few rows.  Where searches end at several modes q is a mixture of t
densities at all of them, which are fitted to the draws where these do not cover the posterior (O. Cappé and
others 2008, adaptive importance sampling in general mixture classes); in the end there may be no answer.

Symbols: ``a, P`` = mode and precision, ``phi`` = distances from the mode in its widths, ``M, d`` = draws and
parameters.
"""

import numpy as np

from ..history import Anchor, Rows
from ..kernels import Coordinates
from ..models import Model
from ..particles import Weights, log_sum_exp, systematic
from ..targets import Likelihood, Target, concave_mode, folded_mode, gaussian
from ._answer import Answer, Declined
from ._bridge import importance
from ._cross_fitted_bridge import cross_fitted_bridge
from ._importance import TDensity, importance_draws, pareto_k
from ._log_concave import MAX_BRIDGED_ROWS, MAX_STD_NATS, in_suited_coordinates, log_joint_of_many

#: Draws of q, and more of them for each parameter; standard error, nats, and Pareto k of an answer by them.
N_PROPOSAL_DRAWS, N_DRAWS_PER_PARAMETER, SHARP_DRAWS_NATS, SHARP_PARETO_K = 4000, 200, 0.012, 0.6
#: Standard error, nats, and Pareto k of an answer from several modes, of which annealing may lose one; rounds
#: of draws: the skew modes of few rows ask for two or three.
MAX_STD_OF_SEVERAL, MAX_TAIL_OF_SEVERAL, MAX_DRAW_ROUNDS = 0.1, 0.8, 4
#: Degrees of freedom of q: tails of a posterior with few parameters, and of as many more with more of them.
MIN_DEGREES = 6.0
#: Rows on which the mode is sought from elsewhere, at most, and distance of the ends from it, in posterior
#: widths per √d.
MAX_CHECKED_ROWS, MAX_APART = 2000, 1.0
#: Effective draws from which chains may start, chains of each half, and gradients of each of them.
MIN_EFFECTIVE_STARTS, N_CHAINS, GRADIENTS_PER_CHAIN = 50.0, 250, 200.0

#: Mode and precision.
Mode = tuple[np.ndarray, np.ndarray]


def one_mode_answer(
    model: Model, rows: Rows, rng: np.random.Generator, size: int
) -> Answer | Declined | None:
    """Evidence and posterior, ``size`` draws, of a model that expects one mode, or few."""
    return in_suited_coordinates(_answer, model, rows, rng, size)


def _answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | Declined:
    """The answer in the coordinates of the model as it is."""
    anchor = concave_mode(model, rows, rng, np.zeros(model.n_params))
    if anchor is None:
        return Declined("no maximum was found")
    try:
        a, P = gaussian(model, anchor)
        few = (
            rows
            if len(rows) <= MAX_CHECKED_ROWS
            else rows.take(np.sort(rng.choice(len(rows), MAX_CHECKED_ROWS, False)))
        )
        modes = modes_of(model, few, a, rng)
        if len(modes) == 1:
            return _by_importance(Target(model, Likelihood(rows)), anchor, a, P, rng, size)
        if few is rows:
            return _around_all(model, rows, modes, rng, size)
    except np.linalg.LinAlgError:
        return Declined("the curvature at the mode is not that of a maximum")
    return Declined("searches on a sample of the rows end at several modes")


def modes_of(model: Model, rows: Rows, a: np.ndarray, rng: np.random.Generator) -> list[Mode]:
    """Modes at which climbs from ``a`` and from the model's starts end, that of ``a`` first.

    LinAlgError if the first climb does not end at a maximum.
    """
    target = Target(model, Likelihood(rows))
    modes: list[Mode] = []
    with np.errstate(all="ignore"):
        for start in [a, *model.starts(rows, model.n_mode_checks, rng)]:
            end = folded_mode(target, start)
            if end is None and modes:
                continue
            if end is None:
                raise np.linalg.LinAlgError("the search does not end")
            a = end.a
            if all((a - b) @ P @ (a - b) > MAX_APART**2 * len(a) for b, P in modes):
                modes.append(gaussian(model, end))
    return modes


def _around_all(
    model: Model, rows: Rows, modes: list[Mode], rng: np.random.Generator, size: int
) -> Answer | Declined:
    """The mean weight of draws of a mixture of t densities at several modes, if they cover the posterior."""
    d, K = len(modes[0][0]), len(modes)
    a, C = np.array([mode for mode, _ in modes]), np.array([np.linalg.inv(P) for _, P in modes])
    mass = Weights(model.log_joint(a, rows) + 0.5 * np.linalg.slogdet(C)[1]).W
    M = 2 * (2 * size + N_PROPOSAL_DRAWS + N_DRAWS_PER_PARAMETER * d)
    for n_rounds in range(1, MAX_DRAW_ROUNDS + 1):
        share = 0.5 * mass + 0.5 / K
        around = [TDensity(m, Coordinates.from_covariance(c), MIN_DEGREES) for m, c in zip(a, C)]
        sizes = np.bincount(rng.choice(K, M, p=share), minlength=K)
        theta = np.concatenate([q.draws(n, rng) for q, n in zip(around, sizes)])
        each = np.array([np.log(p) + q.log_density(theta) for p, q in zip(share, around)])
        log_q = log_sum_exp(each, axis=0)
        weights = Weights(model.log_joint(theta, rows) - log_q)
        found, tail = importance(weights.log_w), pareto_k(weights.log_w)
        std = (
            found.std if tail < SHARP_PARETO_K else 2 * found.std
        )  # heavy tails are known less than they say
        if std < MAX_STD_OF_SEVERAL and tail < MAX_TAIL_OF_SEVERAL:
            theta = theta[systematic(weights.W, rng, size)]
            return Answer(theta, np.zeros(size), found.log_Z, std, float(n_rounds * M * len(rows)))
        mass = _refitted(theta, weights.W * np.exp(each - log_q), a, C)
    return Declined(f"a search ends at {K} modes, and t densities there do not cover the posterior")


def _refitted(theta: np.ndarray, W: np.ndarray, a: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Mass of each component, (K,); its a and C become those of its part W (K, M) of the draws.

    One of which few draws count stays as it is.
    """
    mass = W.sum(axis=1)
    for k, part in enumerate(W):
        if mass[k] ** 2 > MIN_EFFECTIVE_STARTS * theta.shape[1] * np.sum(part**2):
            a[k] = part @ theta / mass[k]
            away = theta - a[k]
            C[k] = (part[:, None] * away).T @ away / mass[k]
    return mass / mass.sum()


def _by_importance(
    target: Target, anchor: Anchor, a: np.ndarray, P: np.ndarray, rng: np.random.Generator, size: int
) -> Answer | Declined:
    """The mean weight of draws of q, or the bridge where these are few or their weights have a heavy tail."""
    model, rows, d = target.model, target.likelihood.rows, len(a)
    noise_var = 0.0

    def log_joint(theta: np.ndarray) -> np.ndarray:
        nonlocal noise_var
        value, noise_var = log_joint_of_many(model, rows, anchor, theta, rng)
        return value

    M = max(2 * size, N_PROPOSAL_DRAWS + N_DRAWS_PER_PARAMETER * d)
    theta, weights = importance_draws(log_joint, a, P, 0.0, M, rng, nu=MIN_DEGREES + d)
    found = importance(weights.log_w)
    std = float(np.sqrt(found.var_q + noise_var))
    if std < SHARP_DRAWS_NATS * max(1.0, d / 10) ** 0.5 and pareto_k(weights.log_w) < SHARP_PARETO_K:
        theta = theta[systematic(weights.W, rng, size)]  # of many, so that few are there twice
        return Answer(theta, np.zeros(size), found.log_Z, std, float(M * len(rows)))
    if not found.n_effective > MIN_EFFECTIVE_STARTS:
        return Declined(f"{found.n_effective:.0f} draws of a t density at the mode are effective")
    if len(rows) > MAX_BRIDGED_ROWS:
        return Declined("a t density at the mode is too far from the posterior, and rows are many for chains")
    starts = halves_by_weight(theta, weights, rng)
    bridged = cross_fitted_bridge(target, starts, size, GRADIENTS_PER_CHAIN * N_CHAINS, rng)
    if bridged is None:
        return Declined("chains from the mode remember their start, or few of their draws carry a bridge")
    if bridged.log_evidence_std > MAX_STD_NATS * max(d, 30) ** 0.5:
        return Declined(f"a bridge from the mode is uncertain by {bridged.log_evidence_std:.2g} nats")
    return bridged


def halves_by_weight(
    theta: np.ndarray, weights: Weights, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws by weight of the even and of the odd draws, (C, d) each."""
    parts = [slice(0, None, 2), slice(1, None, 2)]
    first, second = (theta[part][systematic(Weights(weights.log_w[part]).W, rng, N_CHAINS)] for part in parts)
    return first, second
