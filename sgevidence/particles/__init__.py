"""A cloud of particles: weights, effective sample size, resampling, the annealing step."""

from ._annealing import next_step, step_bias
from ._cloud import RESAMPLING, Cloud, multinomial, spread, systematic
from ._weights import Genealogy, Weights, ess, log_mixture, log_sum_exp, mixture_moments, siblings

__all__ = [
    "RESAMPLING",
    "Cloud",
    "Genealogy",
    "Weights",
    "ess",
    "log_mixture",
    "log_sum_exp",
    "mixture_moments",
    "multinomial",
    "next_step",
    "siblings",
    "spread",
    "step_bias",
    "systematic",
]
