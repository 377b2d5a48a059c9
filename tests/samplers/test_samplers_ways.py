"""Which transitions a model has, beside those that every model has."""

import numpy as np
import pytest
from mixture_kinds import FullMixture

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import mixture_answer
from sgevidence.models import GLMModel, LinearModel, NegativeBinomial
from sgevidence.samplers._sgais import crossing_of
from sgevidence.transitions import HMC, Anneal, Proposal


@pytest.mark.parametrize(
    "model, asks_strata",
    [
        (MixtureModel(2, 2), True),
        (MixtureModel(1, 2), False),
        (FullMixture(2, 2), True),
        (LinearModel(2), False),
    ],
)
def test_mixtures_of_several_components_ask_strata_before_particles_are_weighed(model, asks_strata):
    anneal = Anneal(HMC(), 0.5, None, lambda n: 10)
    found = crossing_of(model, anneal, None, None, Proposal(first_rows=3)).from_all_rows
    assert found.first_rows == 3
    assert crossing_of(model, anneal, None, None, None).from_all_rows is None
    assert (found.answers is mixture_answer) == (found.first_after < np.inf) == asks_strata


def test_a_small_tolerance_asks_a_regression_for_draws_and_is_no_reason_to_anneal(rng):
    model, X = GLMModel(3, NegativeBinomial()), rng.standard_normal((60, 3))
    rows = Rows.of(X, rng.poisson(np.exp(X[:, 0]) * rng.gamma(0.5, 2.0, 60)).astype(float))
    rough, default, fine = (
        SGAIS(tolerance=one).run(model, rows, np.random.default_rng(1)) for one in (1.0, 0.03, 0.001)
    )
    assert rough.n_likelihoods <= default.n_likelihoods < fine.n_likelihoods
    assert fine.diagnostics["n_proposals"] == 1 and fine.log_evidence_std < 0.03
    for one in (rough, default):
        std = np.hypot(one.log_evidence_std, fine.log_evidence_std)
        assert abs(one.log_evidence - fine.log_evidence) < 4 * std
