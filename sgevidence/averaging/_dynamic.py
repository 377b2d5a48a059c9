r"""Dynamic model averaging: probabilities of a model that may change with every row.

    π_{t|t−1},k ∝ π_{t−1|t−1},k^α                     (Raftery, Kárný and Ettler 2010, Section 3)
    π_{t|t},k   ∝ π_{t|t−1},k p_k(y_t | y_<t)

for every row t.  A chunk of n rows is forgotten for at once, by α^n; before the first row there is nothing to
forget.  So log weight k is a sum of log predictive densities that fades with 1/(1−α) rows, and α = 1 is the
posterior.

Symbols: ``log_w`` = log π_{t|t} (K,), ``alpha`` = α per row, ``score`` = of π_{t|t−1}, see ``_prequential``.

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
from ._prequential import Prequential, evidences
from ._stacking import RowScores


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
