"""What a cloud is: weights, effective sample size, resampling, the annealing step."""

from ._annealing import next_step
from ._resampling import RESAMPLING, multinomial, spread, systematic
from ._weights import Weights, ess, log_sum_exp

__all__ = ["RESAMPLING", "Weights", "ess", "log_sum_exp", "multinomial", "next_step", "spread", "systematic"]
