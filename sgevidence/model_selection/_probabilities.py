"""Posterior probabilities of models, and what the evidences' errors leave of them.

    p_k = π_k Z_k / Σ_j π_j Z_j,        log Z ~ N(log Ẑ, C),  C = diag(std²) where errors are independent,

gives draws of p_k whose quantiles are an interval: the Monte-Carlo error of the evidences, not the
uncertainty between the models, which p_k itself is.

Symbols
-------
=========  =======================  ==============================
symbol     meaning                  name
=========  =======================  ==============================
Z_k        evidence of model k      ``log_evidences`` (nats)
std_k      standard error of log Z  ``log_evidences_std`` (nats)
C          covariance of the errors ``covariance`` (nats²)
π_k        prior of model k         ``log_prior``
p_k        posterior probability    ``probabilities``
=========  =======================  ==============================
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..particles import log_sum_exp

#: Draws of the evidences: the 5 % quantile is then known to 0.2 percentage points of its level.
N_DRAWS = 10_000


def log_model_prior(model_prior: ArrayLike | Mapping[str, float] | None, names: Sequence[str]) -> np.ndarray:
    """Normalised log prior probabilities of models, (n_models,).

    Prior weights are in the order of ``names`` or by name; None is uniform.  ValueError if they are not one
    positive number per model.
    """
    if model_prior is None:
        model_prior = np.ones(len(names))
    elif isinstance(model_prior, Mapping):
        if set(model_prior) != set(names):
            raise ValueError(f"model_prior has keys {sorted(model_prior)}, the models are {sorted(names)}")
        model_prior = [model_prior[name] for name in names]
    prior = np.asarray(model_prior, dtype=float)
    if prior.shape != (len(names),) or not np.all(np.isfinite(prior) & (prior > 0)):
        raise ValueError(
            f"model_prior must be {len(names)} positive numbers, one a model, got {model_prior!r}"
        )
    log_prior = np.log(prior)
    return log_prior - log_sum_exp(log_prior)


def probabilities(log_joint: np.ndarray) -> np.ndarray:
    """exp(log_joint) normalised over the last axis; (..., n_models)."""
    p = np.exp(log_joint - log_joint.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def probability_interval(
    log_evidences: ArrayLike,
    log_evidences_std: ArrayLike,
    log_prior: ArrayLike | None = None,
    *,
    level: float = 0.9,
    covariance: ArrayLike | None = None,
) -> np.ndarray:
    """Monte-Carlo interval of models' posterior probabilities from the errors of their evidences.

    Parameters
    ----------
    log_evidences, log_evidences_std : array-like of shape (n_models,)
        Log evidences and their standard errors, nats.  With a nan among the errors all bounds are nan.
    log_prior : array-like of shape (n_models,), optional
        Log prior probabilities; uniform by default.
    level : float, default=0.9
        Probability of the central interval.
    covariance : array-like of shape (n_models, n_models), optional
        Covariance of the errors where they are shared, nats²; by default they are independent.

    Returns
    -------
    ndarray of shape (2, n_models)
        Lower and upper bounds.  The draws have a fixed seed: the same evidences give the same interval.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1, or an error is negative.

    Examples
    --------
    >>> from sgevidence.model_selection import probability_interval
    >>> probability_interval([-10.0, -11.0], [0.1, 0.2]).round(2)
    array([[0.65, 0.2 ],
           [0.8 , 0.35]])
    """
    log_Z, std = np.asarray(log_evidences, dtype=float), np.asarray(log_evidences_std, dtype=float)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    if np.any(std < 0):
        raise ValueError(f"standard errors cannot be negative, got {std}")
    if np.any(np.isnan(std)):
        return np.full((2, len(log_Z)), np.nan)
    log_joint = log_Z if log_prior is None else log_Z + np.asarray(log_prior, dtype=float)
    noise = np.random.default_rng(0).standard_normal((N_DRAWS, len(log_Z)))
    draws = probabilities(log_joint + (std * noise if covariance is None else noise @ _root(covariance)))
    return np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)


def _root(covariance: ArrayLike) -> np.ndarray:
    """A symmetric R with R R = C, which may be singular; that of a diagonal C has the standard errors."""
    size, directions = np.linalg.eigh(np.asarray(covariance, dtype=float))
    return (directions * np.sqrt(np.maximum(size, 0.0))) @ directions.T
