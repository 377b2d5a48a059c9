r"""The evidence of a posterior with one mode that is not log-concave: a Student t there, and a bridge.

Draws of the t density q at the mode are weighed by ω = p(x | θ) p(θ) / q(θ).  Where enough of them are
effective their mean is the evidence.  Where they are not, either half of them starts chains at the posterior,
which are bridged to the t density that is fitted to the other half (``_cross_fitted_bridge.py``).

Nothing says that there is one mode.  The search starts at the middle of the prior, at draws from it, and of
heavy-tailed noise at lines through a few rows; where a search ends elsewhere there is no answer.

Symbols: ``a, P`` = mode and precision, ``phi`` = distances from the mode in its widths, ``M, d`` = draws and
parameters.
"""

import numpy as np

from ..history import Anchor, Rows
from ..models import Model
from ..particles import Weights, systematic
from ._anchoring import gaussian
from ._answer import Answer, Declined
from ._bridge import importance
from ._cross_fitted_bridge import cross_fitted_bridge
from ._importance import importance_draws
from ._log_concave import MAX_BRIDGED_ROWS, MAX_STD, in_suited_coordinates, log_joint_of_many
from ._newton import concave_mode, folded_mode
from ._pareto import pareto_k
from ._target import Likelihood, Target

#: Draws of q, and more of them for each parameter; standard error, nats, and Pareto k of an answer by them.
N_DRAWS, N_DRAWS_PER_PARAMETER, SHARP_NATS, MAX_PARETO_K = 4000, 200, 0.012, 0.6
#: Degrees of freedom of q: tails of a posterior with few parameters, and of as many more with more of them.
MIN_DEGREES = 6.0
#: Rows on which the mode is sought from elsewhere, at most, and distance of the ends from it, in posterior
#: widths per √d.
SEARCH_ROWS, MAX_APART = 2000, 1.0
#: Effective draws from which chains may start, chains of each half, and gradients of each of them.
MIN_EFFECTIVE, N_CHAINS, GRADIENTS_PER_CHAIN = 50.0, 250, 200.0


def one_mode_answer(
    model: Model, rows: Rows, rng: np.random.Generator, size: int
) -> Answer | Declined | None:
    """Evidence and posterior, ``size`` draws, of a model that expects one mode."""
    return in_suited_coordinates(_answer, model, rows, rng, size)


def _answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | Declined:
    """The answer in the coordinates of the model as it is."""
    anchor = concave_mode(model, rows, rng, np.zeros(model.n_params))
    if anchor is None:
        return Declined("no maximum was found")
    try:
        a, P = gaussian(model, anchor)
        if has_another_mode(model, rows, a, rng):
            return Declined("a search from elsewhere ends at another mode")
        return _by_importance(Target(model, Likelihood(rows)), anchor, a, P, rng, size)
    except np.linalg.LinAlgError:
        return Declined("the curvature at the mode is not that of a maximum")


def has_another_mode(model: Model, rows: Rows, a: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether climbs from the model's starts end elsewhere, on a sample where rows are many.

    ``a`` is the mode of all rows.
    """
    if len(rows) > SEARCH_ROWS:
        rows = rows.take(np.sort(rng.choice(len(rows), SEARCH_ROWS, replace=False)))
    target = Target(model, Likelihood(rows))
    with np.errstate(all="ignore"):
        starts = [a, *model.starts(rows, model.n_mode_checks, rng)]
        here, *elsewhere = [folded_mode(target, start) for start in starts]
        if here is None:
            return True
        a, P = gaussian(model, here)
    apart = [(end.a - a) @ P @ (end.a - a) for end in elsewhere if end is not None]
    return any(distance > MAX_APART**2 * len(a) for distance in apart)


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

    M = max(2 * size, N_DRAWS + N_DRAWS_PER_PARAMETER * d)
    theta, weights = importance_draws(log_joint, a, P, 0.0, M, rng, nu=MIN_DEGREES + d)
    found = importance(weights.log_w)
    std = float(np.sqrt(found.var_q + noise_var))
    if std < SHARP_NATS * max(1.0, d / 10) ** 0.5 and pareto_k(weights.log_w) < MAX_PARETO_K:
        theta = theta[systematic(weights.W, rng, size)]  # of many, so that few are there twice
        return Answer(theta, np.zeros(size), found.log_Z, std, float(M * len(rows)))
    if not found.n_effective > MIN_EFFECTIVE:
        return Declined(f"{found.n_effective:.0f} draws of a t density at the mode are effective")
    if len(rows) > MAX_BRIDGED_ROWS:
        return Declined("a t density at the mode is too far from the posterior, and rows are many for chains")
    starts = halves_by_weight(theta, weights, rng)
    bridged = cross_fitted_bridge(target, starts, size, GRADIENTS_PER_CHAIN * N_CHAINS, rng)
    if bridged is None:
        return Declined("chains from the mode remember their start, or few of their draws carry a bridge")
    if bridged.log_evidence_std > MAX_STD * max(d, 30) ** 0.5:
        return Declined(f"a bridge from the mode is uncertain by {bridged.log_evidence_std:.2g} nats")
    return bridged


def halves_by_weight(
    theta: np.ndarray, weights: Weights, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws by weight of the even and of the odd draws, (C, d) each."""
    parts = [slice(0, None, 2), slice(1, None, 2)]
    first, second = (theta[part][systematic(Weights(weights.log_w[part]).W, rng, N_CHAINS)] for part in parts)
    return first, second
