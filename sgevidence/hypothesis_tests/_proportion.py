"""A test of a proportion, whose logit has a logistic prior about the null hypothesis."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit

from ..models import rscale_of
from ._result import NULLS_TAIL_NATS, PLAIN_NULLS, BayesFactorResult, Effect, Nulls, count_of, number_of


@dataclass(frozen=True)
class Proportion:
    successes: int
    trials: int
    null: float
    rscale: float
    nulls: Nulls = PLAIN_NULLS
    scales: ClassVar[str] = "proportion"  #: the names that its rscale may have
    name: str = "Test of a proportion"

    def with_rows(self, successes: Any, trials: Any) -> "Proportion":
        successes, trials = _counts(successes, trials)
        return replace(self, successes=self.successes + successes, trials=self.trials + trials)

    @property
    def n_samples(self) -> int:
        return self.trials

    @property
    def statistics(self) -> dict[str, float]:
        return {"successes": self.successes, "trials": self.trials}

    @property
    def hypotheses(self) -> tuple[str, str]:
        what, null = "the probability", f"{self.null:g}"
        plain = f"{what} is not {null}", f"{what} is {null}"
        return self.nulls.hypotheses(what, f"{what} is", null, plain)

    @property
    def prior(self) -> str:
        return f"logit ~ logistic({logit(self.null):.3g}, {self.rscale:.3g})"

    def log_bayes_factor(self) -> tuple[float, float]:
        s, f, centre = self.successes, self.trials - self.successes, float(logit(self.null))

        def log_prior(x: np.ndarray) -> np.ndarray:
            z = np.abs(x - centre) / self.rscale
            return -z - 2 * np.log1p(np.exp(-z)) - np.log(self.rscale)

        def log_joint(x: np.ndarray) -> np.ndarray:
            log_ratio = s * (np.logaddexp(0, -centre) - np.logaddexp(0, -x))
            return log_prior(x) + log_ratio + f * (np.logaddexp(0, centre) - np.logaddexp(0, x))

        observed = float(logit((s + 0.5) / (self.trials + 1)))
        beyond = 1.5 * NULLS_TAIL_NATS * max(self.rscale, 1.0)
        low, high = min(observed, centre) - beyond, max(observed, centre) + beyond
        return self.nulls.log_bayes_factor(
            Effect(lambda p: float(logit(p)), log_prior, log_joint, low, high, centre)
        )


def proportion(
    successes: int,
    trials: int,
    *,
    null: float | tuple[float, float] = 0.5,
    alternative: str = "two-sided",
    rscale: float | str = "medium",
) -> BayesFactorResult:
    """Does a probability differ from a number?

    Parameters
    ----------
    successes : int
    trials : int
    null : float or (float, float), default=0.5
        The probability under the null hypothesis.  A pair: all probabilities between the two are compared
        with all others, and the prior is about ½.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        A probability greater or less than ``null`` alone is compared with it.
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
    nulls = Nulls.of(alternative, null, 0.0, 1.0)
    null = number_of("null", 0.5 if nulls.interval else null, 0, 1)
    return BayesFactorResult(Proportion(successes, trials, null, rscale_of("proportion", rscale), nulls))


def _counts(successes: Any, trials: Any) -> tuple[int, int]:
    successes, trials = count_of("successes", successes), count_of("trials", trials)
    if successes > trials:
        raise ValueError(f"successes must be at most trials, got {successes} of {trials}")
    return successes, trials
