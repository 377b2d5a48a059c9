"""The answer for mixtures of any family: strata of the components in use.

They give evidence, draws, and the evidences of all smaller numbers of components: to ``SGAIS``, to mixtures
that share a walk, and to a sampler of their own, which says why it refuses rows.
"""

from copy import deepcopy
from hashlib import sha256
from numbers import Integral
from typing import Any

import numpy as np

from ..._compat import Interval
from ...answers import Answer, ComponentEvidence
from ...history import Rows
from ...models import Model
from ...particles import Weights
from ...samplers import EvidenceResult, Progress, Sampler, answer, shared
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
        doubts=(found.doubt,) if found.doubt else (),
    )


def mixture_strata(model: Model, rows: Rows, rng: np.random.Generator) -> Strata | None:
    """Strata of the rows, up to the model's number of components; None where they do not answer for these."""
    if not is_known(model, rows):
        return None
    if (walk := shared.get()) is not None:
        return walk.strata(model, rows, rng)
    family, K, a = model.family, model.n_components, model.weight_concentration  # type: ignore[attr-defined]
    return strata_up_to(family, rows.X, K, a, rng, rows.weight)


def is_known(model: Model, rows: Rows) -> bool:
    """Whether the rows are few enough, and not too far out."""
    K = model.n_components  # type: ignore[attr-defined]
    return why_not_affordable(model.family, rows.X, K, rows.weight) is None


class SharedWalk:
    """Strata of the rows of several fits, which are taken as far as any of these has asked.

    With ``rng``, of a search over models, these are the random numbers of all walks.  Without it fits share a
    walk if their random numbers are equal, as those of clones with an int as ``random_state`` are, and have
    the digits that each has alone.
    """

    #: Walks that are kept, one for the rows of each fold of a cross-validation.
    MAX_WALKS = 10

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.rng = rng
        self.known: dict[Any, Strata] = {}

    def strata(self, model: Any, rows: Rows, rng: np.random.Generator) -> Strata:
        """Strata of rows that are affordable for the model, with at least as many components as it has."""
        family, a, X, weight = model.family, model.weight_concentration, rows.X, rows.weight
        in_search, rng = self.rng is not None, rng if self.rng is None else deepcopy(self.rng)
        seed = str(rng.bit_generator.seed_seq)  # type: ignore[attr-defined]
        key = family, a, seed, X.shape, sha256(X.tobytes()).digest(), sha256(weight.tobytes()).digest()
        found = self.known.pop(key, None)  # put back as the last one: the first has not been used for longest
        if found is None or found.n_components < model.n_components:
            found = strata_up_to(family, X, model.n_components, a, rng, weight, found, in_search)
        self.known[key] = found
        for oldest in list(self.known)[: -self.MAX_WALKS]:  # which another thread may have taken
            self.known.pop(oldest, None)
        return found


class MixtureEvidence(Sampler):
    """Strata of the components in use, for mixtures: the evidence of K components and of all smaller numbers.

    Parameters
    ----------
    n_particles : int, default=1000
        Draws from the posterior.  The evidence does not depend on them.

    Notes
    -----
    A component without rows is a factor of one, so that the sums B_k over allocations with exactly k
    components in use tell the evidence of every number of components.  Each is found by two halves
    that know nothing of each other: searches by splits and mergers, Gibbs chains in which all components stay
    in use, and a bridge for each basin to conditionals whose labels are summed over.  Up to fourteen rows are
    summed over all partitions, without error.  How many chains and sweeps are needed is decided by what
    halves differ by, so that there is nothing to set.

    ``SGAIS``, the default, asks the same strata; it anneals where these have no answer, and learns online.
    This sampler does one thing, as an independent answer to hold others against.

    Rows whose weights are no whole numbers, or too heavy for a copy each time they count, are followed with
    all components at once, by sweeps with a Metropolis test, and bridged in the same way.

    *Diagnostics* of the result: ``n_strata`` that were visited; of those that hold a hundredth of the
    posterior, the smallest share of chains that carry the answer, ``effective``, and the largest difference
    of the halves, ``halves_gap``, nats.

    *Cost*: some 10⁴ sweeps of one chain for each number of components in use.

    *When not to use it*: for other models than mixtures, more than ten components, and more than 1.2 million
    rows · components · features of a row, which are 2p + 1 for p columns of diagonal components.

    References
    ----------
    A. Nobile (2004), On the posterior distribution of the number of components in a
    finite mixture, Annals of Statistics 32, 2044.
    S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models
    using bridge sampling techniques, Econometrics Journal 7, 143.
    J. E. Lee, C. P. Robert (2016), Importance sampling schemes for evidence approximation in mixture
    models, Bayesian Analysis 11, 573.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGMM
    >>> from sgevidence.samplers import MixtureEvidence
    >>> X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[-3], [3]], 15, axis=0)
    >>> model = BayesianGMM(3, sampler=MixtureEvidence(), random_state=0).fit(X)
    >>> int(model.component_evidence_["log_evidence"].argmax()) + 1, model.diagnostics_["n_strata"]
    (2, 3)
    """

    _parameter_constraints: dict = {"n_particles": [Interval(Integral, 2, None, closed="left")]}

    def __init__(self, n_particles: int = 1000) -> None:
        self.n_particles = n_particles

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        if not model.has_components:
            raise ValueError(
                f"MixtureEvidence() is for mixtures, and {type(model).__name__} has no components: "
                "use SGAIS()"
            )
        family, K = model.family, model.n_components  # type: ignore[attr-defined]
        why = why_not_affordable(family, rows.X, K, rows.weight)
        if why is not None:
            raise ValueError(f"MixtureEvidence() has no answer: {why}; use SGAIS()")
        progress(f"strata of up to {K} components in use")
        strata = mixture_strata(model, rows, rng)
        assert strata is not None
        found = answer_from(strata, model, rows, rng, self.n_particles)
        assert found.components is not None
        weights, counts = Weights(found.log_w), dict(n_likelihoods=found.n_likelihoods)
        result = answer(
            found.log_evidence, found.log_evidence_std, found.theta, weights, rows, start, **counts
        )
        # posterior probability from which diagnostics are of a stratum
        known = [one for one, p in zip(strata.visited, found.components.in_use) if p > 0.01]
        more: dict[str, Any] = dict(
            n_strata=len(strata.visited),
            effective=min(one.effective for one in known),
            halves_gap=max(one.halves_gap for one in known),
        )
        result = result._replace(diagnostics=result.diagnostics | more, components=found.components)
        return result.doubted(found.doubts)
