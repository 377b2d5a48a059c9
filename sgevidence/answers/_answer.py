"""An answer: the evidence and draws that a density covering the posterior gives.

Where the density is the posterior, both are exact.

Symbols: ``theta`` = draws (M, d), ``log_w`` = their log-weights, ``M`` = ``size``.
"""

from typing import Any, NamedTuple

import numpy as np

from ..models import Model


class ComponentEvidence(NamedTuple):
    """Log evidences of mixtures of 1 … K components, which share their errors, nats."""

    n: float  #: rows, by total weight
    log_evidence: np.ndarray  #: (K,)
    covariance: np.ndarray  #: of their errors, (K, K)
    in_use: np.ndarray  #: p(k components have rows | x, K), (K,)


class Answer(NamedTuple):
    """Evidence and posterior of rows, from a density that covers the posterior."""

    theta: np.ndarray  #: draws, (M, d)
    log_w: np.ndarray  #: their log-weights as draws from the posterior, up to a constant, (M,)
    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    n_likelihoods: float = 0.0  #: particles × rows
    n_gradients: float = 0.0  #: particles × rows
    components: ComponentEvidence | None = None  #: of a mixture, where the answer knows them
    doubts: tuple[str, ...] = ()  #: why the evidence should not be trusted as it is


class Declined(NamedTuple):
    """A density that does not cover the posterior."""

    words: str  #: why
    known: Answer | None = None  #: of the modes that are known, where others may be not


def exact_answer(model: Model, sums: Any, rng: np.random.Generator, size: int) -> Answer | None:
    """Closed form, from the model's sums over rows; None where these are too large for the arithmetic."""
    try:
        with np.errstate(all="ignore"):
            posterior = model.posterior(sums)
            log_Z, theta = float(posterior.log_evidence), posterior.sample(rng, size)
    except (np.linalg.LinAlgError, ArithmeticError, ValueError):
        return None
    if not (np.isfinite(log_Z) and np.all(np.isfinite(theta))):
        return None
    return Answer(theta, np.zeros(len(theta)), log_Z, getattr(posterior, "log_evidence_std", 0.0))
