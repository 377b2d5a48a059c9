"""The averager takes models as ``compare`` does: a dict, a list, or pairs of names and models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from sgevidence import BayesianLinearRegression, EvidenceModelAverager, compare
from sgevidence.samplers import Exact

X, y = load_diabetes(return_X_y=True)


def models():
    return {
        name: BayesianLinearRegression(columns=one, sampler=Exact()) for name, one in (("a", [2]), ("b", [8]))
    }


def test_a_dict_and_a_list_are_what_pairs_are():
    pairs = EvidenceModelAverager(list(models().items()), random_state=0).fit(X, y)
    named = EvidenceModelAverager(models(), random_state=0).fit(X, y)
    listed = EvidenceModelAverager(list(models().values()), random_state=0).fit(X, y)
    for other in (named, listed):
        assert other.weights_.tolist() == pairs.weights_.tolist()
        assert other.predict(X).tolist() == pairs.predict(X).tolist()
    assert list(named.named_estimators_) == ["a", "b"]
    assert list(listed.named_estimators_) == list(
        compare(list(pairs.estimators_)).sort_values("columns").index
    )
    np.testing.assert_array_equal(
        EvidenceModelAverager(models(), model_prior={"a": 1, "b": 3}).fit(X, y).weights_,
        EvidenceModelAverager(list(models().items()), model_prior=[1, 3]).fit(X, y).weights_,
    )


@pytest.mark.parametrize("form", [dict, lambda named: list(named.items())])
def test_parameters_of_the_models_are_reached_by_name(form):
    averager = clone(EvidenceModelAverager(form(models())))
    assert averager.get_params()["b__columns"] == [8]
    averager.set_params(a__columns=[3], b=BayesianLinearRegression(2.0))
    assert averager.get_params()["a__columns"] == [3] and averager.get_params()["b__noise_std"] == 2.0
    assert type(averager.estimators) is type(form({}))
    averager.set_params(estimators=form({"c": BayesianLinearRegression()}), c__columns=[1])
    assert averager.get_params()["c__columns"] == [1] and "a" not in averager.get_params()


@pytest.mark.parametrize("wrong", [{}, [], [BayesianLinearRegression], ["ab"], [("a", 1, 2)]])
def test_other_things_are_refused(wrong):
    with pytest.raises(ValueError, match="a dict of estimators by name, a list of them"):
        EvidenceModelAverager(wrong).fit(X, y)


def test_the_summary_has_the_parameters_of_the_summary_of_a_model(rng):
    """Effects of factors stood there as fixed_effects[0], in another coding."""
    pytest.importorskip("formulae")
    frame = pd.DataFrame(
        {"x": rng.normal(size=60), "y": rng.normal(size=60), "g": np.resize(list("abc"), 60)}
    )
    models = {name: BayesianLinearRegression(formula=f"y ~ {name} + g") for name in ("1", "x")}
    averager = EvidenceModelAverager(models, random_state=0).fit(frame)
    own = averager.named_estimators_["x"].summary()
    assert list(averager.summary().parameters.index) == list(own.index)
