r"""The prequential log score of models whose weights change on the way, and its standard error.

Before chunk t model k has the weight π_kt, whose log is β_t times that after the chunk before, normalised; it
predicts the chunk with ℓ_kt = log p_k(y_t | y_<t), the growth of its log evidence:

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
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..particles import log_sum_exp


def evidences(models: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Log evidences of fitted models and their standard errors, nats; an error that is not told is nan."""
    log_Z = np.array([model.log_evidence_ for model in models], dtype=float)
    return log_Z, np.array([getattr(model, "log_evidence_std_", np.nan) for model in models], dtype=float)


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
