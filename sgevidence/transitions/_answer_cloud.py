"""Clouds of answers: particles that a density which covers the posterior gives, in the place of moved ones.

A posterior in closed form is drawn from when its particles are looked at, which those of a stream of single
rows seldom are; and so is the prior, of which a closed form asks nothing.

Symbols: ``theta`` = independent draws (M, d).
"""

from copy import deepcopy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ..answers import Answer, exact_answer
from ..models import Model
from ..particles import Cloud, Genealogy, Weights


@dataclass(frozen=True)
class ExactCloud:
    """Particles of unit weight from a posterior in closed form; a value, never changed in place."""

    model: Model
    sums: Any  #: of the model
    rng: np.random.Generator  #: of the draws, which takes no step
    M: int

    log_evidence_std = 0.0

    @cached_property
    def posterior(self) -> Any:
        """The posterior in closed form."""
        with np.errstate(all="ignore"):
            return self.model.posterior(self.sums)

    @property
    def log_evidence(self) -> float:
        """log p(y), nats."""
        return float(self.posterior.log_evidence)

    @cached_property
    def theta(self) -> np.ndarray:
        """Particles, (M, d)."""
        with np.errstate(all="ignore"):
            return self.posterior.sample(deepcopy(self.rng), self.M)

    @property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights of which means are those of the posterior, without a draw."""
        return self.posterior.nodes

    @property
    def weights(self) -> Weights:
        return Weights.ones(self.M)

    @property
    def W(self) -> np.ndarray:
        return self.weights.W

    def __getstate__(self) -> dict[str, Any]:
        """Without anything that can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class PriorCloud:
    """The cloud before the first row: draws of the prior, which most densities that answer never ask for.

    Where nothing but M and the evidence of no rows is asked, 10⁵ levels of a group are not drawn 2000 times.
    """

    model: Model
    rng: np.random.Generator  #: of the draws, which takes no step
    M: int

    log_evidence = 0.0

    @cached_property
    def planted(self) -> Cloud:
        """With its particles."""
        return Cloud.planted(self.model.sample_prior(deepcopy(self.rng), self.M))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copies and pickles
            raise AttributeError(name)
        return getattr(self.planted, name)

    def __getstate__(self) -> dict[str, Any]:
        """Without anything that can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def exact_cloud(model: Model, sums: Any, rng: np.random.Generator, size: int) -> Cloud | None:
    """The posterior in closed form, from the model's sums over rows.

    None where these are too large for the arithmetic.  Draws may wait where double precision is known to do,
    and so may the posterior where the model knows that without it.
    """
    cloud = ExactCloud(model, sums, rng, size)
    if model.posterior_can_wait(sums):
        return cloud  # type: ignore[return-value]  # it has all that the state of a closed form is asked for
    try:
        with np.errstate(all="ignore"):
            posterior = cloud.posterior
            nodes = getattr(posterior, "nodes", None)
    except (np.linalg.LinAlgError, ArithmeticError, ValueError):
        return None
    if nodes is None or not (np.isfinite(posterior.log_evidence) and np.isfinite(nodes[0]).all()):
        found = exact_answer(model, sums, rng, size)
        return None if found is None else without_history(found)
    return cloud  # type: ignore[return-value]


def without_history(found: Answer) -> Cloud:
    """The cloud of an answer: its error is shared by all particles, but for what their weights say."""
    weights = Weights(found.log_w)
    weights = weights.add(-weights.log_mean)
    genealogy = Genealogy.planted(weights.M)
    rest = found.log_evidence_std**2 - genealogy.variance(weights.W)
    return Cloud(found.theta, weights, found.log_evidence, genealogy, max(rest, 0.0))
