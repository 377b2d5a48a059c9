"""Checks of an average before it learns: lists that are none, models of different kinds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ..model_selection import named_models
from ._pipelines import is_online


def as_pairs(estimators: Any) -> Any:
    """Names and models of a mapping or of a list of models, named as :func:`compare` does; else as it is."""
    if isinstance(estimators, Mapping):
        return list(estimators.items())
    if isinstance(estimators, list | tuple) and estimators:
        if all(hasattr(model, "get_params") and not isinstance(model, type) for model in estimators):
            return list(named_models(estimators).items())
    return estimators


def check_pairs(estimators: Any) -> None:
    """The list of models is one of names and models."""
    if (
        not estimators
        or not isinstance(estimators, list | tuple)
        or not all(isinstance(p, list | tuple) and len(p) == 2 for p in estimators)
    ):
        raise ValueError(
            "estimators must be a dict of estimators by name, a list of them, or a non-empty list of (name, "
            f"estimator) pairs, got {estimators!r}"
        )


def check_kinds(named_models: Sequence[tuple[str, Any]]) -> None:
    """All models are regressors, all classifiers or all densities, as far as they say what they are."""
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


def check_online(named_models: Sequence[tuple[str, Any]], method: str) -> None:
    """All models learn from rows as they come."""
    for name, model in named_models:
        if not is_online(model):
            raise ValueError(
                f"method={method!r} has models predict rows before they learn from them, but estimator "
                f"{name!r} cannot learn from rows as they come: it has no partial_fit"
            )


def evidences(models: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Log evidences of fitted models and their standard errors, nats; an error that is not told is nan."""
    log_Z = np.array([model.log_evidence_ for model in models], dtype=float)
    return log_Z, np.array([getattr(model, "log_evidence_std_", np.nan) for model in models], dtype=float)
