"""A saved estimator."""

import pytest
from estimator_cases import data

from sgevidence import BayesianLinearRegression, save


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "one.sge"
    save(BayesianLinearRegression(random_state=0).fit(*data("linear", 20)), path)
    return path
