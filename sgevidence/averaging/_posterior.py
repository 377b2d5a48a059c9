r"""Bayesian model averaging: posterior probabilities of the models.

    w_k = prior_k Z_k / Σ_j prior_j Z_j,        log evidence of the mixture: log Σ_k prior_k Z_k

Symbols: ``log_Z, std`` = log evidences and their standard errors (K,), ``log_prior`` (K,).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model_selection import probability_interval
from ..particles import log_sum_exp
from ._prequential import evidences
from ._stacking import RowScores


class Posterior(NamedTuple):
    """Probabilities given all rows."""

    log_prior: np.ndarray
    log_Z: np.ndarray
    std: np.ndarray

    @classmethod
    def start(cls, log_prior: np.ndarray, forgetting: float) -> "Posterior":
        """Before the first row."""
        return cls(log_prior, np.zeros(len(log_prior)), np.zeros(len(log_prior)))

    def after(self, models: Sequence[Any], n_rows: float, rows: RowScores | None) -> "Posterior":
        """Weights of models that have learnt from more rows."""
        return self._replace(**dict(zip(("log_Z", "std"), evidences(models))))

    @property
    def log_evidence(self) -> float:
        """log Σ_k prior_k Z_k."""
        return float(log_sum_exp(self.log_prior + self.log_Z))

    @property
    def weights(self) -> np.ndarray:
        """w."""
        return np.exp(self.log_prior + self.log_Z - self.log_evidence)

    @property
    def log_evidence_std(self) -> float:
        """√Σ_k (w_k std_k)², by the delta method."""
        return float(np.linalg.norm(self.weights * self.std))

    @property
    def interval(self) -> np.ndarray:
        """Interval of the weights by the errors of the evidences, (2, K)."""
        return probability_interval(self.log_Z, self.std, self.log_prior)

    @property
    def complaints(self) -> list[str]:
        """None of its own."""
        return []
