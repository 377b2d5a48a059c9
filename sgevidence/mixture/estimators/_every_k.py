"""Mixtures that differ in their number of components only: one walk over strata answers for all of them.

Strata of components in use do not know how many components there are (:mod:`sgevidence.mixture.strata`).
The walk is that of the largest candidate.  Every candidate is then fitted from its own share of the strata,
with an evidence, particles and a stream of its own, and the evidences share their errors.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from ...answers import ComponentEvidence
from ...estimators import settings
from ...rows import generator
from ..strata import SharedWalk
from ._mixture import MixtureEstimator


@contextmanager
def one_walk(models: Sequence[Any]) -> Iterator[None]:
    """Models that differ in their number of components only share one walk in the fits meanwhile."""
    with ExitStack() as stack:
        for group in _alike(models):
            walk = _walk_up_to([model.n_components for model in group], group[-1].random_state)
            for model in group:
                stack.enter_context(_lent(model, walk))
        yield


@contextmanager
def one_walk_of_clones(model: Any, n_components: Sequence[int]) -> Iterator[None]:
    """Clones of a mixture with any of these numbers of components share one walk in the fits meanwhile."""
    if not isinstance(model, MixtureEstimator) or len(set(n_components)) < 2:
        yield
        return
    with _lent(model, _walk_up_to(n_components, model.random_state)):  # type: ignore[attr-defined]
        yield


@contextmanager
def _lent(model: Any, walk: SharedWalk) -> Iterator[None]:
    model._walk = walk
    try:
        yield
    finally:
        vars(model).pop("_walk", None)


def _walk_up_to(n_components: Sequence[int], random_state: Any) -> SharedWalk:
    *_, rng = generator(deepcopy(random_state)).spawn(4)  # the first ones are those of the fit
    return SharedWalk(n_components, rng)


def error_covariance(models: Sequence[Any]) -> np.ndarray:
    """Covariance of the errors of fitted models' log evidences, nats², (n_models, n_models).

    Mixtures whose evidences are from the same strata share errors, and only these have equal digits for every
    number of components.
    """
    std = np.array([getattr(model, "log_evidence_std_", np.nan) for model in models], dtype=float)
    out, known = np.diag(std**2), [_known(model) for model in models]
    for i, one in enumerate(known):
        for j, other in enumerate(known[:i]):
            if one is not None and other is not None:
                out[i, j] = out[j, i] = _shared(one, other)
    return out


def _shared(one: ComponentEvidence, other: ComponentEvidence) -> float:
    smaller, larger = sorted((one, other), key=lambda found: len(found.log_evidence))
    K = len(smaller.log_evidence)
    same = np.array_equal(smaller.log_evidence, larger.log_evidence[:K])
    same = same and np.array_equal(smaller.covariance, larger.covariance[:K, :K])
    return float(larger.covariance[K - 1, -1]) if same else 0.0


def _known(model: Any) -> ComponentEvidence | None:
    """Evidences of every number of components, if that of the model is one of them."""
    if not isinstance(model, MixtureEstimator) or not hasattr(model, "log_evidence_"):
        return None
    found = model._components_of_run()
    return found if found is not None and found.n == model._weight_seen else None


def _alike(models: Sequence[Any]) -> list[list[Any]]:
    """Models of each group that differ in their components only, the largest last.

    A single component has a closed form, which needs no strata.
    """
    groups: list[tuple[Any, list[Any]]] = []
    for model in models:
        K = getattr(model, "n_components", None)
        if not isinstance(model, MixtureEstimator) or not isinstance(K, (int, np.integer)) or K < 2:
            continue
        key = type(model), settings(model) | {"n_components": None}
        for other, members in groups:
            if other == key:
                members.append(model)
                break
        else:
            groups.append((key, [model]))
    ordered = [sorted(members, key=lambda model: model.n_components) for _, members in groups]
    return [members for members in ordered if members[0].n_components < members[-1].n_components]
