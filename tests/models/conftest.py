"""The model tests compare to ten digits: in double precision, but for the test of single precision."""

import pytest


@pytest.fixture(autouse=True)
def double_precision(request, monkeypatch):
    if "single_precision" not in request.node.name:
        monkeypatch.setattr("sgevidence.models._base.SINGLE_PRECISION_LIMIT", 0.0)
