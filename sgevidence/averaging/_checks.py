"""Checks of an average: lists that are none, models of different kinds, evidences of different rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ..model_selection import ONE_MAX_ORDER, named_models
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


def check_evidences(names: Sequence[str], models: Sequence[Any]) -> None:
    """Each model has a finite evidence."""
    for name, model in zip(names, models):
        if not hasattr(model, "log_evidence_"):
            raise ValueError(f"estimator {name!r} ({type(model).__name__}) has no log_evidence_ after fit")
        if not np.isfinite(model.log_evidence_):
            raise ValueError(f"estimator {name!r} has log_evidence_ = {model.log_evidence_}")


def what_all_share(names: Sequence[str], models: Sequence[Any]) -> dict[str, Any]:
    """Rows, data and classes, as far as models tell: evidences of the same rows can be compared.

    ValueError names a model without a finite evidence, or two that differ, and in what.
    """
    check_evidences(names, models)
    relative = [bool(getattr(model, "evidence_is_relative_", False)) for model in models]
    if len(set(relative)) > 1:
        raise ValueError(
            f"the evidence of {names[relative.index(True)]!r} is relative to its null model, and that of "
            f"{names[relative.index(False)]!r} is not; they cannot be compared"
        )
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
                    f"{known[0][1]}; their evidences cannot be compared{_remedy(attribute, models)}"
                )
        if known:
            shared[attribute] = known[0][1]
    if "n_samples_seen_" not in shared:
        raise ValueError(f"estimator {names[0]!r} has no n_samples_seen_ after fit")
    return shared


def _remedy(attribute: str, models: Sequence[Any]) -> str:
    """The end of the message above."""
    of_series = attribute == "n_samples_seen_" and any(hasattr(model, "n_conditioned_") for model in models)
    return ONE_MAX_ORDER if of_series else ""
