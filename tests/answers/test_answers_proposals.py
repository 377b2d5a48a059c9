"""Which models answer for themselves."""

import pytest

from sgevidence.answers import one_mode_answer, proposal
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import FarColumns, GLMModel, LinearModel, NegativeBinomial, SoftmaxModel, Weibull


@pytest.mark.parametrize("model", [SoftmaxModel(3, 2), GLMModel(2), FarColumns(GLMModel(1), (1e9,))])
def test_log_concave_models_answer_from_their_mode(model):
    assert proposal(model).func is one_mode_answer


@pytest.mark.parametrize("family", [NegativeBinomial(), Weibull()])
def test_families_with_one_mode_answer_from_there(family):
    assert proposal(GLMModel(2, family)).func is one_mode_answer
    assert proposal(FarColumns(GLMModel(1, family), (1e9,))).func is one_mode_answer


def test_linear_models_have_a_closed_form_and_mixtures_none():
    assert not hasattr(proposal(LinearModel(2)), "func")
    assert proposal(MixtureModel(2, 2)) is None
