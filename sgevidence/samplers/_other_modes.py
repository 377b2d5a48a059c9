"""Modes of a posterior that climbs find, and what those hold that a sampler has no draws in.

Particles and live points that all missed a mode agree with each other, and their error bar says nothing.

Symbols: ``a, P`` = maximum (d,) and precision (d, d), ``W`` = normalised weights of draws ``theta`` (M, d).
"""

import numpy as np
from scipy.stats import chi2

from ..answers import importance_draws
from ..history import Rows
from ..models import Model
from ..particles import Weights
from ..targets import Likelihood, Target, peaks, sampled
from ..transitions import Climbs, Mode
from ._base import SILENT, Progress

#: Prior draws of which a start is the best, at least; likelihood values (draws × rows) and draws, at most.
BEST_OF, VALUES, MOST_DRAWS = 100, 5e6, 100_000
#: Rows on which modes are sought first.
N_SEARCH_ROWS = 1000
#: Share of the evidence in other modes that is not said.
NEGLIGIBLE_SHARE = 0.01
#: Starts of a second look; importance draws of a mode, and the share of them that must count.
N_CLIMB_STARTS, N_IMPORTANCE_DRAWS, RELIABLE_SHARE = 24, 2000, 0.05
#: Part of a mode's mass that is outside its region; nats, and standard errors beside them, by which draws
#: must misrepresent a mode.
OUTSIDE_SHARE, DOUBTFUL_NATS, DOUBTFUL_ERRORS = 0.01, 0.5, 3.0


def starts(model: Model, search: Target, n: int, rng: np.random.Generator) -> np.ndarray:
    """Where climbs begin, (n, d): the best of many prior draws, the best of their neighbours, and any."""
    if model.slots is not None:
        return model.starts(search.likelihood.rows, n, rng)
    fewest = BEST_OF * n
    n_draws = int(np.clip(VALUES / len(search.likelihood.rows), fewest, MOST_DRAWS))
    draws = model.sample_prior(rng, n_draws)
    value = np.concatenate([search.value(draws[i : i + fewest]) for i in range(0, n_draws, fewest)])
    order = np.argsort(-np.nan_to_num(value, nan=-np.inf))[:fewest]
    third = -(-n // 3)
    local = draws[order][
        peaks(draws[order], value[order], third)
    ]  # a spike has the best draws, and need not have the mass
    return np.concatenate([draws[order[:third]], local, draws[: n - third - len(local)]])[:n]


def modes_from_starts(
    model: Model, rows: Rows, n_starts: int, rng: np.random.Generator, progress: Progress = SILENT
) -> list[Mode]:
    """Maxima in which climbs end, the best first: sought on a sample of the rows, then on all of them."""
    few = sampled(model, rows, None, N_SEARCH_ROWS, rng).rows
    radius = chi2.isf(OUTSIDE_SHARE, model.n_params) / model.n_params
    climbs = Climbs(model, rows, few, float(radius))
    for i, start in enumerate(starts(model, climbs.few, n_starts, rng)):
        progress(f"search {i} of {n_starts}")
        climbs.up(start)
    return climbs.regions()


def doubts_of_missed_modes(
    model: Model,
    rows: Rows,
    theta: np.ndarray,
    W: np.ndarray,
    log_Z: float,
    std: float,
    rng: np.random.Generator,
) -> list[str]:
    """Whether modes that climbs find hold evidence that the draws, and their error bar, do not have."""
    if model.has_one_mode or model.slots is not None:
        return []
    missed, target = 0.0, Target(model, Likelihood(rows))
    with np.errstate(all="ignore"):
        modes = modes_from_starts(model, rows, N_CLIMB_STARTS, rng)
    for mode in modes:
        near = float(W[mode.near(model, theta)].sum())
        draws, weights = importance_draws(target.value, mode.a, mode.P, 0.0, N_IMPORTANCE_DRAWS, rng)
        mass = Weights(np.where(mode.near(model, draws), weights.log_w, -np.inf))
        share = np.exp(min(mass.log_mean - log_Z, 700.0))
        is_more = share > near * np.exp(DOUBTFUL_NATS + DOUBTFUL_ERRORS * std)
        if mass.ess > RELIABLE_SHARE * N_IMPORTANCE_DRAWS and is_more:
            missed += share - near
    if not missed > NEGLIGIBLE_SHARE:
        return []
    return [
        f"modes in which there are too few draws hold {missed:.2g} times the evidence that is reported, "
        "which is too low: use more draws, or SGAIS()"
    ]
