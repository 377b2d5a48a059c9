"""Closed forms as answers."""

import numpy as np
import pytest

from sgevidence.answers import proposal
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel

EXACT = {
    "known noise": LinearModel(2, noise_std=1.0),
    "unknown noise": LinearModel(2),
    "one component": MixtureModel(1, 2),
}


def rows_of(rng, n=50):
    X = rng.standard_normal((n, 2))
    return Rows.of(X, X.sum(axis=1) + rng.standard_normal(n))


@pytest.mark.parametrize("model", EXACT.values(), ids=EXACT)
def test_closed_forms(rng, model):
    rows = rows_of(rng)
    found = proposal(model)(model, rows, rng, 300)
    assert found.log_evidence_std == 0.0
    assert found.log_evidence == model.exact_log_evidence(rows)
    assert found.theta.shape == (300, model.n_params) and not np.any(found.log_w)


def test_rows_too_large_for_the_arithmetic_have_no_answer(rng):
    model = EXACT["known noise"]
    assert proposal(model)(model, Rows.of(np.ones((3, 2)), [1e200, 0.0, 0.0]), rng, 10) is None
