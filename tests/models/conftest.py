"""The model tests compare to ten digits: in double precision, but for the test of single precision."""

import pytest

from sgevidence.models import MixtureModel, SoftmaxModel
from sgevidence.models._evaluation import Evaluation


@pytest.fixture(autouse=True)
def double_precision(request, monkeypatch):
    if "single_precision" not in request.node.name:
        for model in (MixtureModel, SoftmaxModel):
            monkeypatch.setattr(model, "evaluation", Evaluation())
