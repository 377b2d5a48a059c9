"""Which transitions a model has, beside those that every model has."""

import numpy as np
import pytest

from sgevidence import HMC, Proposal
from sgevidence.mixtures import Allocate
from sgevidence.models import FullMixtureModel, LinearModel, MixtureModel
from sgevidence.samplers._mixture_answers import mixture_answer
from sgevidence.samplers._ways import crossing_of
from sgevidence.transitions import Anneal, FromProposal


@pytest.mark.parametrize(
    "model, way, overtakes",
    [
        (MixtureModel(2, 2), Allocate, True),
        (MixtureModel(1, 2), FromProposal, False),
        (FullMixtureModel(2, 2), FromProposal, False),
        (LinearModel(2), FromProposal, False),
    ],
)
def test_a_mixture_of_diagonal_components_has_allocations(model, way, overtakes):
    anneal = Anneal(HMC(), 0.5, None, lambda n: 10)
    found = crossing_of(model, anneal, None, None, Proposal(first_rows=3))
    assert type(found.from_all_rows) is way and found.from_all_rows.first_rows == 3
    assert (found.overtaking is not None) == overtakes
    assert crossing_of(model, anneal, None, None, None).from_all_rows is None
    if way is FromProposal:
        asks_strata = found.from_all_rows.answers is mixture_answer
        assert asks_strata == isinstance(model, FullMixtureModel)
        assert (found.from_all_rows.first_after < np.inf) == asks_strata
