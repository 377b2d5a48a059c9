"""Which transitions a model has, beside those that every model has."""

import numpy as np
import pytest

from sgevidence.mixture.models import FullMixtureModel, MixtureModel
from sgevidence.mixture.strata import mixture_answer
from sgevidence.models import LinearModel
from sgevidence.samplers._ways import crossing_of
from sgevidence.transitions import HMC, Anneal, Proposal


@pytest.mark.parametrize(
    "model, asks_strata",
    [
        (MixtureModel(2, 2), True),
        (MixtureModel(1, 2), False),
        (FullMixtureModel(2, 2), True),
        (LinearModel(2), False),
    ],
)
def test_mixtures_of_several_components_ask_strata_before_particles_are_weighed(model, asks_strata):
    anneal = Anneal(HMC(), 0.5, None, lambda n: 10)
    found = crossing_of(model, anneal, None, None, Proposal(first_rows=3)).from_all_rows
    assert found.first_rows == 3
    assert crossing_of(model, anneal, None, None, None).from_all_rows is None
    assert (found.answers is mixture_answer) == (found.first_after < np.inf) == asks_strata
