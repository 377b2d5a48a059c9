"""One fitted mixture, or one selector of columns, side by side with itself.

A mixture has an evidence for every number of components, a selector one for each of its best subsets.  Those
of a mixture come from one walk over the number of components in use, so that their errors are shared.
"""

from typing import Any

import numpy as np

from ..estimators import error_covariance
from ._candidates import Candidate, candidate, candidates, is_search, last_step, named_models


def side_by_side(models: Any) -> tuple[list[Candidate], np.ndarray]:
    """Evidences of models of the same rows, and the covariance of their errors, (n_models, n_models), nats².

    ``models`` and errors are those of :func:`compare`, or one selector, or one mixture: AttributeError if the
    evidences of its numbers of components are not known, with the reason.
    """
    if knows_components(models):
        model = last_step(models)
        found, seen = model.component_evidence_, candidate("the mixture", model)
        rows = zip(found["n_components"], found["log_evidence"], found["log_evidence_std"])
        of_each = [
            seen._replace(
                name=f"n_components={k}",
                log_evidence=float(log_Z),
                log_evidence_std=float(std),
                parameters={"n_components": k},
            )
            for k, log_Z, std in rows
        ]
        return of_each, model.component_evidence_covariance_
    if knows_subsets(models):
        model = last_step(models)
        found, seen = model.models_, candidate("the selector", model)
        rows = zip(found.index, found["log_evidence"], found["log_evidence_std"])
        of_each = [
            seen._replace(name=str(name), log_evidence=float(log_Z), log_evidence_std=float(std))
            for name, log_Z, std in rows
        ]
        return of_each, np.diag([one.log_evidence_std**2 for one in of_each])
    of_each = candidates(models)
    if is_search(models):
        return of_each, np.diag([one.log_evidence_std**2 for one in of_each])
    return of_each, error_covariance([last_step(model) for model in named_models(models).values()])


def knows_subsets(models: Any) -> bool:
    """Whether it is one selection of columns, which has an evidence for each of its subsets."""
    return hasattr(type(last_step(models)), "inclusion_probabilities_")


def knows_components(models: Any) -> bool:
    """Whether it is one mixture, which has an evidence for every number of components."""
    return hasattr(type(last_step(models)), "component_evidence_")
