r"""Bayesian model averaging: posterior probabilities of the models.

    w_k = prior_k Z_k / Σ_j prior_j Z_j,        log evidence of the mixture: log Σ_k prior_k Z_k

Symbols: ``log_Z`` = log evidences (K,), ``covariance`` = C, that of their errors (K, K), ``log_prior`` (K,).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..estimators import error_covariance
from ..model_selection import probability_interval
from ..particles import log_sum_exp
from ._prequential import evidences
from ._stacking import RowScores


class Posterior(NamedTuple):
    """Probabilities given all rows."""

    log_prior: np.ndarray
    log_Z: np.ndarray
    covariance: np.ndarray

    @classmethod
    def start(cls, log_prior: np.ndarray, forgetting: float) -> "Posterior":
        """Before the first row."""
        K = len(log_prior)
        return cls(log_prior, np.zeros(K), np.zeros((K, K)))

    def after(self, models: Sequence[Any], n_rows: float, rows: RowScores | None) -> "Posterior":
        """Weights of models that have learnt from more rows."""
        return self._replace(log_Z=evidences(models)[0], covariance=error_covariance(models))

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
        """√(wᵀ C w), by the delta method."""
        return float(np.sqrt(np.maximum(self.weights @ self.covariance @ self.weights, 0.0)))

    @property
    def interval(self) -> np.ndarray:
        """Interval of the weights by the errors of the evidences, (2, K)."""
        std = np.sqrt(np.diag(self.covariance))
        return probability_interval(self.log_Z, std, self.log_prior, covariance=self.covariance)

    @property
    def complaints(self) -> list[str]:
        """None of its own."""
        return []
