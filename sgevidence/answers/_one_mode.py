r"""The evidence of a posterior with one mode, or few: t densities there, and a bridge.

Draws of a mixture of t densities at the modes are weighed, and the mixture is fitted to them while they do
not suffice (``_paired_draws.py``).  Where one mode is known and no mixture covers the posterior there are
bridges.  That of a log-concave posterior starts at its mode (``_log_concave.py``).  Of another either half
of the draws starts chains at the posterior, which are bridged to the t density that is fitted to the other
half (``_cross_fitted_bridge.py``): the Gaussian nearest to such a posterior may be too narrow by far.

A posterior that is not log-concave may have several modes.  The search starts at the middle of the prior, at
draws from it, and of heavy-tailed noise at lines through a few rows.  Where searches end at several modes q
has a part at each; in the end there may be no answer.

Symbols: ``a, P`` = mode and precision, ``M, d`` = draws and parameters.
"""

from functools import partial

import numpy as np

from ..history import Anchor, Rows
from ..models import Model
from ..particles import Weights, systematic
from ..targets import Likelihood, Target, concave_mode, folded_mode, gaussian
from ._answer import Answer, Declined
from ._cross_fitted_bridge import cross_fitted_bridge
from ._log_concave import MAX_STD_NATS, bridge_from_mode, in_suited_coordinates, log_joint_of_many
from ._paired_draws import TOLERANCE_NATS, adapted_draws, laplace

#: Standard error, nats, of an answer from several modes, of which annealing may lose one.
MAX_STD_OF_SEVERAL = 0.1
#: Rows on which the mode is sought from elsewhere, at most; distance from it, in posterior widths per √d, of
#: other ends, and within which a climb has come to the known one.
MAX_CHECKED_ROWS, MAX_APART, KNOWN_BASIN = 2000, 1.0, 0.5
#: Rows from which annealing by samples of them is cheaper than chains on all.
MAX_BRIDGED_ROWS = 20_000
#: Effective draws from which chains may start, chains of each half, and gradients of each of them.
MIN_EFFECTIVE_STARTS, N_CHAINS, GRADIENTS_PER_CHAIN = 50.0, 250, 200.0

#: Mode and precision.
Mode = tuple[np.ndarray, np.ndarray]


def one_mode_answer(
    model: Model, rows: Rows, rng: np.random.Generator, size: int, tolerance: float = TOLERANCE_NATS
) -> Answer | Declined | None:
    """Evidence and posterior, ``size`` draws, of a model that is log-concave, or expects one mode, or few.

    None where the curvature is too ill-conditioned for the arithmetic.
    """
    return in_suited_coordinates(partial(_answer, tolerance=tolerance), model, rows, rng, size)


def _answer(
    model: Model, rows: Rows, rng: np.random.Generator, size: int, tolerance: float
) -> Answer | Declined:
    """The answer in the coordinates of the model as it is."""
    anchor = concave_mode(model, rows, rng, np.zeros(model.n_params))
    if anchor is None:
        return Declined("no maximum was found")
    few = rows
    try:
        modes = [gaussian(model, anchor)]
        if not model.is_log_concave:
            if len(rows) > MAX_CHECKED_ROWS:
                few = rows.take(np.sort(rng.choice(len(rows), MAX_CHECKED_ROWS, False)))
            modes[1:] = modes_of(model, few, modes[0][0], rng)[1:]
        if len(modes) == 1 or few is rows:
            return _from_modes(Target(model, Likelihood(rows)), anchor, modes, rng, size, tolerance)
    except np.linalg.LinAlgError:
        return Declined("the curvature at the mode is not that of a maximum")
    return Declined("searches on a sample of the rows end at several modes")


def modes_of(model: Model, rows: Rows, first: np.ndarray, rng: np.random.Generator) -> list[Mode]:
    """The mode next to ``first``, and others at which climbs from the model's starts end.

    LinAlgError if the first climb does not end at a maximum.
    """
    target = Target(model, Likelihood(rows))
    modes: list[Mode] = []

    def is_known(theta: np.ndarray, distance: float = KNOWN_BASIN) -> bool:
        return any((theta - a) @ P @ (theta - a) < distance**2 * len(a) for a, P in modes)

    with np.errstate(all="ignore"):
        end = folded_mode(target, first)
        if end is None:
            raise np.linalg.LinAlgError("the search does not end")
        modes.append(gaussian(model, end))
        for start in model.starts(rows, model.n_mode_checks, rng):
            end = folded_mode(target, start, is_known)
            if end is not None and not is_known(end.a, MAX_APART):
                modes.append(gaussian(model, end))
    return modes


def _from_modes(
    target: Target,
    anchor: Anchor,
    modes: list[Mode],
    rng: np.random.Generator,
    size: int,
    tolerance: float,
) -> Answer | Declined:
    """The mean weight of draws of t densities at the modes, or the bridge from one of them."""
    model, rows = target.model, target.likelihood.rows
    noise_var = 0.0

    def log_joint(theta: np.ndarray) -> np.ndarray:
        nonlocal noise_var
        value, noise_var = log_joint_of_many(model, rows, anchor, theta, rng)
        return value

    mass = np.ones(1)
    if len(modes) > 1:
        mass = Weights(laplace(log_joint, modes)).W
    found = adapted_draws(log_joint, modes, 0.5 * mass + 0.5 / len(modes), size, rng, tolerance)
    std = np.inf if found is None else float(np.hypot(found.draws.std, noise_var**0.5))
    if found is not None and (found.suffices or (len(modes) > 1 and std < MAX_STD_OF_SEVERAL)):
        return found.answer(std, len(rows), size, rng)
    if len(modes) > 1:
        return Declined(f"searches end at {len(modes)} modes, and t densities do not cover the posterior")
    if len(rows) > MAX_BRIDGED_ROWS:
        return Declined("t densities are too far from the posterior, and rows are many for chains")
    if model.is_log_concave:
        bridged = bridge_from_mode(target, modes[0], size, rng)
    elif found is None or not found.draws.weights.ess > MIN_EFFECTIVE_STARTS:
        return Declined("few draws of t densities fitted to the posterior are effective")
    else:
        starts = halves_by_weight(found.draws.theta, found.draws.weights, rng)
        bridged = cross_fitted_bridge(target, starts, size, GRADIENTS_PER_CHAIN * N_CHAINS, rng)
    if bridged is None:
        return Declined("chains from the mode remember their start, or few of their draws carry a bridge")
    if bridged.log_evidence_std > MAX_STD_NATS * max(len(anchor.a), 30) ** 0.5:
        return Declined(f"a bridge from the mode is uncertain by {bridged.log_evidence_std:.2g} nats")
    return bridged


def halves_by_weight(
    theta: np.ndarray, weights: Weights, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws by weight of the even and of the odd draws, (C, d) each."""
    parts = [slice(0, None, 2), slice(1, None, 2)]
    first, second = (theta[part][systematic(Weights(weights.log_w[part]).W, rng, N_CHAINS)] for part in parts)
    return first, second
