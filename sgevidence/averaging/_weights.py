r"""Posterior probabilities of models, w_k = prior_k Z_k / Σ_j prior_j Z_j, of evidences that can be compared.

Symbols
-------
=======  ==================  =======================================
Z_k      ``log_evidences``   evidence of model k, log
w_k      ``weights``         its posterior probability
=======  ==================  =======================================
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import get_tags

from ..particles import log_sum_exp

#: Most entries of a path of weights: when it is full every second one is dropped.
PATH_LENGTH = 4096


class ModelWeights(NamedTuple):
    """Evidences of models of the same rows, and what follows from them; nats."""

    log_evidences: np.ndarray
    log_evidences_std: np.ndarray
    weights: np.ndarray
    log_evidence: float  #: log Σ_k prior_k Z_k
    log_evidence_std: float  #: √Σ_k (w_k std_k)², by the delta method

    @classmethod
    def of(cls, models: Sequence[Any], log_prior: np.ndarray) -> "ModelWeights":
        """Of fitted models."""
        log_Z = np.array([model.log_evidence_ for model in models], dtype=float)
        std = np.array([getattr(model, "log_evidence_std_", np.nan) for model in models])
        log_evidence = float(log_sum_exp(log_prior + log_Z))
        weights = np.exp(log_prior + log_Z - log_evidence)
        return cls(log_Z, std, weights, log_evidence, float(np.linalg.norm(weights * std)))


def extended(
    path: list[tuple[int, np.ndarray]], entry: tuple[int, np.ndarray]
) -> list[tuple[int, np.ndarray]]:
    """The path with one more entry, thinned when it is full: a stream has no end."""
    path = [*path, entry]
    return path if len(path) <= PATH_LENGTH else path[-1::-2][::-1]


def log_model_prior(prior: Any, names: Sequence[str]) -> np.ndarray:
    """Normalised log prior of the models; normalised as logarithms, as sums may overflow.

    Raises
    ------
    ValueError
        Unless it is None, or one positive number a model, in order or by name.
    """
    given = prior
    if prior is None:
        prior = np.ones(len(names))
    elif isinstance(prior, dict):
        if set(prior) != set(names):
            raise ValueError(f"model_prior has keys {sorted(prior)}, the models are {sorted(names)}")
        prior = [prior[name] for name in names]
    prior = np.asarray(prior, dtype=float)
    if prior.shape != (len(names),) or not np.all(np.isfinite(prior) & (prior > 0)):
        raise ValueError(f"model_prior must be {len(names)} positive numbers, one a model, got {given!r}")
    return np.log(prior) - log_sum_exp(np.log(prior))


def check_pairs(estimators: Any) -> None:
    """The list of models is one of names and models.

    Raises
    ------
    ValueError
        Showing what was given.
    """
    if not estimators or not all(isinstance(p, list | tuple) and len(p) == 2 for p in estimators):
        raise ValueError(
            f"estimators must be a non-empty list of (name, estimator) pairs, got {estimators!r}"
        )


def check_kinds(named_models: Sequence[tuple[str, Any]]) -> None:
    """All models are regressors, all classifiers or all densities, as far as they say what they are.

    Raises
    ------
    ValueError
        Naming one model of each kind.
    """
    kinds: dict[str, str] = {}
    for name, model in named_models:
        kind = get_tags(model).estimator_type
        if kind is not None:
            kinds.setdefault(kind, name)
    if len(kinds) > 1:
        raise ValueError(
            "evidences of different kinds of models cannot be compared: "
            + ", ".join(f"{name!r} is a {kind}" for kind, name in kinds.items())
        )


def check_evidences(names: Sequence[str], models: Sequence[Any]) -> None:
    """Each model has a finite evidence.

    Raises
    ------
    ValueError
        Naming the model that has none.
    """
    for name, model in zip(names, models):
        if not hasattr(model, "log_evidence_"):
            raise ValueError(f"estimator {name!r} ({type(model).__name__}) has no log_evidence_ after fit")
        if not np.isfinite(model.log_evidence_):
            raise ValueError(f"estimator {name!r} has log_evidence_ = {model.log_evidence_}")


def what_all_share(names: Sequence[str], models: Sequence[Any]) -> dict[str, Any]:
    """Rows, data and classes, as far as models tell: evidences of the same rows can be compared.

    Raises
    ------
    ValueError
        Naming a model without a finite evidence, or two that differ, and in what.
    """
    check_evidences(names, models)
    shared = {}
    for attribute, meaning in [
        ("n_samples_seen_", "has seen another number of rows"),
        ("data_fingerprint_", "has seen other data"),
        ("classes_", "has other classes"),
    ]:
        known = [
            (name, getattr(model, attribute))
            for name, model in zip(names, models)
            if hasattr(model, attribute)
        ]
        for name, value in known[1:]:
            if not np.array_equal(value, known[0][1]):
                raise ValueError(
                    f"estimator {name!r} {meaning} than {known[0][0]!r}: {attribute} is {value} and "
                    f"{known[0][1]}; their evidences cannot be compared"
                )
        if known:
            shared[attribute] = known[0][1]
    if "n_samples_seen_" not in shared:
        raise ValueError(f"estimator {names[0]!r} has no n_samples_seen_ after fit")
    return shared
