"""A test of a proportion, whose logit has a logistic prior about the null hypothesis; log integrals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit, logsumexp

from ..models import rscale_of
from ._result import BayesFactorResult, count_of, number_of

#: Nats below the maximum at which an integrand is nothing.
PROPORTION_TAIL_NATS = 40.0
#: Steps between the ends of the first grid.
FIRST_STEPS = 128


@dataclass(frozen=True)
class Proportion:
    successes: int
    trials: int
    null: float
    rscale: float
    name: str = "Test of a proportion"

    def with_rows(self, successes: Any, trials: Any) -> "Proportion":
        successes, trials = _counts(successes, trials)
        return replace(self, successes=self.successes + successes, trials=self.trials + trials)

    def with_rscale(self, rscale: Any) -> "Proportion":
        return replace(self, rscale=rscale_of("proportion", rscale))

    @property
    def n_samples(self) -> int:
        return self.trials

    @property
    def statistics(self) -> dict[str, float]:
        return {"successes": self.successes, "trials": self.trials}

    @property
    def hypotheses(self) -> tuple[str, str]:
        return f"the probability is not {self.null:g}", f"the probability is {self.null:g}"

    @property
    def prior(self) -> str:
        return f"logit ~ logistic({logit(self.null):.3g}, {self.rscale:.3g})"

    def log_bayes_factor(self) -> tuple[float, float]:
        s, f, centre = self.successes, self.trials - self.successes, float(logit(self.null))

        def log_joint(x: np.ndarray) -> np.ndarray:
            z = np.abs(x - centre) / self.rscale
            log_prior = -z - 2 * np.log1p(np.exp(-z)) - np.log(self.rscale)
            return log_prior - s * np.logaddexp(0, -x) - f * np.logaddexp(0, x)

        observed = float(logit((s + 0.5) / (self.trials + 1)))
        beyond = 1.5 * PROPORTION_TAIL_NATS * max(self.rscale, 1.0)
        value, error = log_integral(log_joint, min(observed, centre) - beyond, max(observed, centre) + beyond)
        return value - s * np.log(self.null) - f * np.log1p(-self.null), error


def proportion(
    successes: int, trials: int, *, null: float = 0.5, rscale: float | str = "medium"
) -> BayesFactorResult:
    """Does a probability differ from a number?

    Parameters
    ----------
    successes : int
    trials : int
    null : float, default=0.5
        The probability under the null hypothesis.
    rscale : float or {"medium", "wide", "ultrawide"}, default="medium"
        Scale r of the prior logit p ~ logistic(logit null, r), which is uniform in p where null is ½ and r is
        1.  The words are those of the R package BayesFactor: ½ (its default), √2/2, 1.

    Returns
    -------
    BayesFactorResult
        Log Bayes factor, nats, of another probability against this one.

    Raises
    ------
    ValueError
        Naming the argument: negative counts, more successes than trials, no trials.

    Notes
    -----
    By quadrature of the prior, right to about 10⁻⁹ nats, however many trials there are.

    Examples
    --------
    >>> from sgevidence.hypothesis_tests import proportion
    >>> proportion(15, 25)
    Test of a proportion: successes = 15, trials = 25
    Bayes factor 0.66 (log: -0.42 ± <0.01); logit ~ logistic(0, 0.5)
    The data are 1.52 times as probable if the probability is 0.5 as if the
    probability is not 0.5: not worth more than a bare mention.
    """
    successes, trials = _counts(successes, trials)
    if trials < 1:
        raise ValueError("trials must be at least 1")
    null, rscale = number_of("null", null, 0, 1), rscale_of("proportion", rscale)
    return BayesFactorResult(Proportion(successes, trials, null, rscale))


def _counts(successes: Any, trials: Any) -> tuple[int, int]:
    successes, trials = count_of("successes", successes), count_of("trials", trials)
    if successes > trials:
        raise ValueError(f"successes must be at most trials, got {successes} of {trials}")
    return successes, trials


def log_integral(log_f: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> tuple[float, float]:
    """log ∫ exp(log_f), and the difference of the last two rules, nats.

    ``log_f`` falls on both sides of its maximum, and is nothing beyond ``low`` and ``high``.
    """
    while True:  # closer around the hump
        u = np.linspace(low, high, FIRST_STEPS + 1)
        f = log_f(u)
        near = np.flatnonzero(f > f.max() - PROPORTION_TAIL_NATS)
        ends = u[max(near[0] - 1, 0)], u[min(near[-1] + 1, FIRST_STEPS)]
        if ends[1] - ends[0] > 0.5 * (high - low):
            break
        low, high = ends
    step = u[1] - u[0]
    value = float(logsumexp(f) + np.log(step))
    while True:
        between = log_f(np.linspace(low + step / 2, high - step / 2, round((high - low) / step)))
        finer = float(np.logaddexp(value, logsumexp(between) + np.log(step)) - np.log(2))
        value, gap, step = finer, abs(finer - value), step / 2
        if gap < 1e-9 or (high - low) / step > 2**14:  # two rules may differ by a billionth of a nat
            # rounding of a log integrand, relative
            return value, gap + np.finfo(float).eps * float(np.abs(f).max())
