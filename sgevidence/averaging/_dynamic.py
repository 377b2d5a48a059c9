r"""Dynamic model averaging: probabilities of a model that may change with every row.

    π_{t|t−1},k ∝ π_{t−1|t−1},k^α                     (Raftery, Kárný and Ettler 2010, Section 3)
    π_{t|t},k   ∝ π_{t|t−1},k p_k(y_t | y_<t)

for every row t.  A chunk of n rows is forgotten for at once, by α^n; before the first row there is nothing to
forget.  So log weight k is a sum of log predictive densities that fades with 1/(1−α) rows, and α = 1 is the
posterior.

Symbols: ``log_w`` = log π_{t|t} (K,), ``alpha`` = α per row, ``score`` = of π_{t|t−1}.

**The prequential log score** and its standard error.  Before chunk t model k has the weight π_kt, whose log
is β_t times that after the chunk before, normalised; it predicts the chunk with ℓ_kt = log p_k(y_t | y_<t),
the growth of its log evidence:

    score = Σ_t log Σ_k π_kt e^{ℓ_kt},        r_kt = π_kt e^{ℓ_kt} / Σ_j π_jt e^{ℓ_jt}

It is a log density of the rows, as an evidence is.  With independent errors of variance v_kt in ℓ_kt its
variance is Σ_kt g_kt² v_kt (delta method), where an error acts at once and through every later weight:

    g_kt = r_kt + Σ_{s>t} B_ts (r_ks − π_ks),        B_ts = β_{t+1} ⋯ β_s.

U_k = Σ_t B_ts g_kt v_kt and Q_k = Σ_t B_ts² v_kt are all that is needed of the past.  With β = 1 the sum
telescopes: g_kt is the last weight, and the score log Σ_k π_k1 Z_k.

Symbols
-------
=======  ================  ====================================================
ℓ_kt     ``ell``           log predictive density of chunk t, nats
π, r     ``log_pi, r``     weights before and after the chunk
β_t      ``memory``        share of the log weights that is kept
Q, U     ``Q, U``          nats²; Q_k is also the variance of log weight k
=======  ================  ====================================================

References
----------
A. E. Raftery, M. Kárný, P. Ettler (2010), Online Prediction Under Model Uncertainty via Dynamic Model
Averaging: Application to a Cold Rolling Mill, Technometrics 52, 52.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model_selection import probability_interval
from ..particles import log_sum_exp
from ._checks import evidences
from ._stacking import RowScores


class Prequential(NamedTuple):
    """A running score; a value, never changed in place."""

    log_Z: np.ndarray  #: log evidences so far, (K,)
    var: np.ndarray  #: their variances
    score: float
    score_var: float
    U: np.ndarray
    Q: np.ndarray

    @classmethod
    def start(cls, n_models: int) -> "Prequential":
        """Before the first row."""
        zero = np.zeros(n_models)
        return cls(zero, zero, 0.0, 0.0, zero, zero)

    def after(
        self, log_Z: np.ndarray, std: np.ndarray, log_pi: np.ndarray, memory: float
    ) -> tuple["Prequential", np.ndarray]:
        """With one more chunk, and the logs of the weights r after it."""
        ell, v = log_Z - self.log_Z, std**2 - self.var
        gain = float(log_sum_exp(log_pi + ell))
        log_r = log_pi + ell - gain
        r = np.exp(log_r)
        d, U, Q = r - np.exp(log_pi), memory * self.U, memory**2 * self.Q
        score_var = self.score_var + float(np.sum(2 * d * U + d**2 * Q + r**2 * v))
        now = type(self)(log_Z, std**2, self.score + gain, score_var, U + d * Q + r * v, Q + v)
        return now, log_r

    @property
    def std(self) -> float:
        """Standard error of the score, nats.  A variance that fell on the way may leave less than nothing."""
        return float(np.sqrt(np.maximum(self.score_var, 0.0)))


class Dynamic(NamedTuple):
    """Probabilities of the model of the last row."""

    alpha: float
    log_w: np.ndarray
    score: Prequential
    is_new: bool = True  #: no row has been seen

    @classmethod
    def start(cls, log_prior: np.ndarray, forgetting: float) -> "Dynamic":
        """Before the first row."""
        return cls(forgetting, log_prior, Prequential.start(len(log_prior)))

    def after(self, models: Sequence[Any], n_rows: float, rows: RowScores | None) -> "Dynamic":
        """Weights of models that have learnt from ``n_rows`` more rows."""
        memory = 1.0 if self.is_new else self.alpha**n_rows
        log_pi = memory * self.log_w - log_sum_exp(memory * self.log_w)
        score, log_w = self.score.after(*evidences(models), log_pi, memory)
        return self._replace(log_w=log_w, score=score, is_new=False)

    @property
    def weights(self) -> np.ndarray:
        """π_{t|t}."""
        return np.exp(self.log_w)

    @property
    def log_evidence(self) -> float:
        """Σ_t log Σ_k π_{t|t−1},k p_k(y_t | y_<t)."""
        return self.score.score

    @property
    def log_evidence_std(self) -> float:
        """Its standard error."""
        return self.score.std

    @property
    def interval(self) -> np.ndarray:
        """Interval of the weights by the errors of the evidences, (2, K)."""
        return probability_interval(self.log_w, np.sqrt(np.maximum(self.score.Q, 0.0)))

    @property
    def complaints(self) -> list[str]:
        """None of its own."""
        return []
