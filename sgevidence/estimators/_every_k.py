"""Mixtures that differ in their number of components only: one walk over strata answers for all of them.

Strata of components in use do not know how many components there are (:mod:`sgevidence.mixtures`).  The walk
is that of the largest candidate.  Every candidate is then fitted from its own share of the strata, with an
evidence, particles and a stream of its own, and the evidences share their errors.  Where a fit would have
another answer than strata, and these are in doubt or blunt, a candidate is fitted as usual.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..history import Rows
from ..mixtures import Strata, asks_strata_first, is_sharp
from ..models import DiagonalGaussian
from ..samplers import SGAIS, MixtureEvidence, mixture_strata
from ..targets import ComponentEvidence
from ._given import collection_in
from ._input import generator
from ._mixture import MixtureEstimator
from ._settings import default_sampler, settings


def shared_strata(models: Sequence[Any], X: Any, params: Sequence[dict[str, Any]]) -> list[Strata | None]:
    """For each model the strata that it can be fitted from, None for those that are fitted as usual.

    Parameters
    ----------
    models : sequence of estimators
        Not fitted, and not changed.
    X : array-like of shape (n_samples, n_features)
    params : sequence of dict
        Other arguments of ``fit``, for each model.

    Raises
    ------
    ValueError
        If X or weights are refused by the models.
    """
    found: list[Strata | None] = [None] * len(models)
    for group in _alike(models, params):
        numbers = sorted({models[i].n_components for i in group})
        strata = _walk(models[group[-1]], X, params[group[-1]].get("sample_weight"), numbers)
        if strata is None:
            continue
        known = [K for K in numbers if K <= strata.n_components]
        if _has_another_answer(models[group[-1]].sampler, strata):
            known = [K for K in known if _is_sure(strata, K)]
        for i in group:
            found[i] = strata if models[i].n_components in known else None
    return found


def fit_from_strata(model: Any, strata: Strata, X: Any, y: Any, params: dict[str, Any]) -> Any:
    """``model.fit``, with the answer that strata of the same rows have."""
    model._strata = strata
    try:
        return model.fit(X, y, **params)
    finally:
        del model._strata


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


def _alike(models: Sequence[Any], params: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Numbers of the models of each group that differ in their components only, the largest model last.

    A single component has a closed form, which needs no strata.
    """
    groups: list[tuple[Any, list[int]]] = []
    for i, model in enumerate(models):
        if not _takes_strata(model, params[i]):
            continue
        key = type(model), settings(model) | {"n_components": None}, id(params[i].get("sample_weight"))
        for other, members in groups:
            if other == key:
                members.append(i)
                break
        else:
            groups.append((key, [i]))
    ordered = [sorted(members, key=lambda i: models[i].n_components) for _, members in groups]
    return [members for members in ordered if len({models[i].n_components for i in members}) > 1]


def _takes_strata(model: Any, params: dict[str, Any]) -> bool:
    """Whether it is a mixture of several components that would ask for an answer to all rows at once."""
    if not isinstance(model, MixtureEstimator) or params.keys() - {"sample_weight"}:
        return False
    sampler: Any = default_sampler() if model.sampler is None else model.sampler  # type: ignore[attr-defined]
    K = model.n_components  # type: ignore[attr-defined]
    if not isinstance(K, (int, np.integer)) or K < 2 or type(sampler) not in (SGAIS, MixtureEvidence):
        return False
    if isinstance(sampler, MixtureEvidence):
        return True
    return sampler.proposal is not None and sampler.proposal.first_rows == 1 and sampler.chunk_size is None


def _walk(largest: Any, X: Any, sample_weight: Any, numbers: Sequence[int]) -> Strata | None:
    """Strata up to the largest of the numbers for which they answer; None if they do for one of them only."""
    if collection_in(largest, X, None, sample_weight) is not None:
        return None
    reader = copy.copy(largest)
    rows: Rows = reader._first_rows(X, None, sample_weight)
    *_, rng = generator(largest.random_state).spawn(4)  # the first ones are those of the fit
    with np.errstate(all="ignore"):
        for K in reversed(numbers[1:]):
            reader.n_components = K
            strata = mixture_strata(reader._make_model(rows.X, None), rows, rng)
            if strata is not None:
                return strata
    return None


def _has_another_answer(sampler: Any, strata: Strata) -> bool:
    """Whether a fit asks draws of allocations before strata."""
    n_rows, n_columns = strata.problem.X.shape
    if isinstance(sampler, MixtureEvidence) or not isinstance(strata.problem.family, DiagonalGaussian):
        return False
    return not asks_strata_first(n_columns, n_rows)


def _is_sure(strata: Strata, K: int) -> bool:
    """Whether strata have no doubt of K components and know their evidence well."""
    found = strata.posterior(K, 1, np.random.default_rng(0))
    return is_sharp(float(found.log_evidence_std[-1]), found.doubt)
