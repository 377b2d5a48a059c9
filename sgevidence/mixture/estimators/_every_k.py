"""Mixtures that differ in their number of components only: one walk over strata answers for all of them.

Strata of components in use do not know how many components there are (:mod:`sgevidence.mixture.strata`).
Every candidate is fitted from its own share of the strata, with an evidence, particles and a stream of its
own, and the evidences share their errors.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from ...answers import ComponentEvidence
from ...rows import generator
from ..strata import SharedWalk
from ._mixture import MixtureEstimator


@contextmanager
def one_walk(models: Sequence[Any]) -> Iterator[None]:
    """Mixtures among these models, and clones of them, share their walks in the fits meanwhile."""
    mixtures = [model for model in models if isinstance(model, MixtureEstimator)]
    if mixtures:  # the first three streams of random numbers are those of a fit
        walk = SharedWalk(generator(deepcopy(mixtures[-1].random_state)).spawn(4)[-1])  # type: ignore[attr-defined]
    for model in mixtures:
        model._walk = walk
    try:
        yield
    finally:
        for model in mixtures:
            model.__dict__.pop("_walk", None)


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
