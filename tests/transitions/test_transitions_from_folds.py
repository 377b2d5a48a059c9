"""The first state of a stream, from sums over parts."""

import numpy as np
import pytest

from sgevidence import SGAIS
from sgevidence.answers import FoldsDoNotSuffice
from sgevidence.custom import CustomModel
from sgevidence.history import FoldedRows, Rows, add_in_order
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.transitions import FromFolds, Streams


class Two:
    def __init__(self, rows):
        self.rows = [rows[:20], rows[20:]]

    def fold(self, function):
        return add_in_order(map(function, self.rows))


def of_two(rows):
    return FoldedRows(
        Two(rows), np.array([20, len(rows) - 20]), rows.total_weight, True, rows[:0], np.zeros(0)
    )


def test_a_closed_form_is_that_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    model, rows = LinearModel(2), Rows.of(X, X[:, 0] + rng.standard_normal(50))
    state = SGAIS().init(model, rng)
    state, infos = FromFolds(model, 100)(state, of_two(rows), Streams.one(rng))
    assert state.log_evidence == pytest.approx(model.exact_log_evidence(rows), rel=1e-13)
    assert state.n_rows == 50 and state.memory.statistics is not None and infos[0].n_proposals == 1
    with pytest.raises(FoldsDoNotSuffice):  # which have come first
        FromFolds(model, 100)(state, of_two(rows), Streams.one(rng))


def test_mixtures_are_refused_where_modes_are_not_looked_for():
    rng, model = np.random.default_rng(0), MixtureModel(n_components=2, n_features=1)
    with pytest.raises(FoldsDoNotSuffice, match="sums over the rows"):
        FromFolds(model, 100)(SGAIS().init(model, rng), of_two(Rows.of(np.zeros((30, 1)))), Streams.one(rng))


def test_a_model_of_several_modes_is_refused_and_one_mode_found():
    rng, rows = (
        np.random.default_rng(1),
        Rows.of(np.ones((400, 1)) + np.random.default_rng(1).normal(size=(400, 1))),
    )
    for power, n_modes in ((1, 1), (2, 2)):
        model = CustomModel(
            lambda rng, size: rng.standard_normal((size, 1)),
            lambda theta: -0.5 * theta[:, 0] ** 2 - 0.5 * np.log(2 * np.pi),
            lambda theta, X, y, power=power: -0.5 * (X[:, 0] - theta**power) ** 2,
            1,
        )
        state = SGAIS().init(model, rng)
        modes = FromFolds(model, 100, True).modes(state, rows, Streams.one(rng))
        assert len(modes) == n_modes
