"""The answer for mixtures of any family: strata of the components in use.

They give evidence, draws, and the evidences of all smaller numbers of components.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ...answers import Answer, ComponentEvidence
from ...history import Rows
from ...models import Model
from ...samplers import shared
from ._evidence import Strata, strata_up_to
from ._limits import why_not_affordable


def mixture_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and ``size`` draws; None where strata do not answer for such rows."""
    strata = mixture_strata(model, rows, rng)
    return None if strata is None else answer_from(strata, model, rows, rng, size)


def answer_from(strata: Strata, model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer:
    """Evidence and ``size`` draws of a mixture with at most as many components as the strata go up to."""
    found = strata.posterior(model.n_components, size, rng)  # type: ignore[attr-defined]
    theta = model.from_components(found.log_weights, found.components, rng)  # type: ignore[attr-defined]
    components = ComponentEvidence(rows.total_weight, found.log_evidence, found.covariance, found.in_use[-1])
    return Answer(
        theta,
        np.zeros(size),
        float(found.log_evidence[-1]),
        float(found.log_evidence_std[-1]),
        found.n_likelihoods,
        components=components,
        doubts=() if found.doubt is None else (found.doubt,),
    )


def mixture_strata(model: Model, rows: Rows, rng: np.random.Generator) -> Strata | None:
    """Strata of the rows, up to the model's number of components; None where they do not answer for these."""
    if not is_known(model, rows):
        return None
    if (walk := shared.get()) is not None:
        return walk.strata(model, rows)
    family, K, a = model.family, model.n_components, model.weight_concentration  # type: ignore[attr-defined]
    return strata_up_to(family, rows.X, K, a, rng, rows.weight)


def is_known(model: Model, rows: Rows) -> bool:
    """Whether the rows are few enough, and not too far out."""
    K = model.n_components  # type: ignore[attr-defined]
    return why_not_affordable(model.family, rows.X, K, rows.weight) is None


class SharedWalk:
    """Strata up to the largest of these numbers of components, found when they are first asked for.

    Digits are those of the seed and of the rows alone, whichever model asks first, or in which process.
    """

    def __init__(self, numbers: Sequence[int], rng: np.random.Generator) -> None:
        self.numbers, self.rng = numbers, rng
        self.known: dict[Any, Strata] = {}

    def strata(self, model: Any, rows: Rows) -> Strata:
        """Strata of rows that are affordable for the model, with at least as many components as it has."""
        family, a, X, weight = model.family, model.weight_concentration, rows.X, rows.weight
        key = family, a, X.shape, X.tobytes(), weight.tobytes()
        if key not in self.known or self.known[key].n_components < model.n_components:
            numbers = (*self.numbers, model.n_components)
            K = max(k for k in numbers if why_not_affordable(family, X, k, weight) is None)
            self.known[key] = strata_up_to(family, X, K, a, deepcopy(self.rng), weight)
        return self.known[key]
