"""Selection by evidence with scikit-learn's search."""

import pickle

import numpy as np
import pytest
from estimator_cases import data, estimator, same_fit
from joblib import parallel_config
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sgevidence import EvidenceModelAverager, FullData, evidence_scorer


def search(model, grid, **params):
    return GridSearchCV(model, grid, scoring=evidence_scorer, cv=FullData(), **params)


def test_the_number_of_components_is_found_by_evidence():
    X, _ = data("gmm", n=200)  # two clusters
    found = search(estimator("gmm", n_particles=100), {"n_components": [1, 2, 3]}).fit(X)
    assert found.best_params_ == {"n_components": 2}
    direct = estimator("gmm", n_particles=100, n_components=2).fit(X)
    same_fit(found.best_estimator_, direct)  # an int seed: the winner's refit is the fit that won
    assert found.best_score_ == direct.log_evidence_
    assert found.cv_results_["std_test_score"].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "kind, parameter, values", [("linear", "noise_std", [0.1, 0.5, 5.0]), ("gmm", "n_components", [1, 2])]
)
def test_in_a_pipeline_and_in_parallel(kind, parameter, values):
    # the grid is of the model only: a scaler would change the density by a Jacobian
    model = make_pipeline(FunctionTransformer(), estimator(kind))
    grid = {f"{type(model[-1]).__name__.lower()}__{parameter}": values}
    with parallel_config(backend="threading"):  # processes take seconds to start
        serial, parallel = (search(model, grid, n_jobs=n).fit(*data(kind)) for n in (1, 2))
    scores = serial.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores, parallel.cv_results_["mean_test_score"])
    for value, score in zip(values, scores):
        assert score == estimator(kind, **{parameter: value}).fit(*data(kind)).log_evidence_
    assert serial.best_index_ == 1


def test_the_scorer_finds_the_evidence_behind_wrappers():
    X, y = data("linear")
    model = estimator("linear").fit(X, y)
    pipeline = make_pipeline(StandardScaler(), make_pipeline("passthrough", estimator("linear"))).fit(X, y)
    averager = EvidenceModelAverager([("one", FrozenEstimator(model))]).fit(X, y)
    expected = [(model, model.log_evidence_), (FrozenEstimator(model), model.log_evidence_)]
    expected += [(averager, model.log_evidence_), (pipeline, pipeline[-1][-1].log_evidence_)]
    expected += [(FrozenEstimator(pipeline), pipeline[-1][-1].log_evidence_)]
    for estimator_, value in expected:
        assert evidence_scorer(estimator_, X, y) == evidence_scorer(estimator_, X) == value
        assert type(evidence_scorer(estimator_, X)) is float
    assert pickle.loads(pickle.dumps(evidence_scorer)) is evidence_scorer


@pytest.mark.parametrize(
    "model", [LinearRegression(), estimator("linear"), make_pipeline(LinearRegression())]
)
def test_the_scorer_says_what_it_needs(model):
    with pytest.raises(TypeError, match="LinearRegression has no log_evidence_"):
        evidence_scorer(model, *data("linear"))


def test_full_data_is_a_splitter_like_others():
    X, y = data("linear")
    cv = FullData()
    assert repr(cv) == "FullData()"
    assert cv.get_n_splits() == cv.get_n_splits(X, y) == 1
    ((train, test),) = cv.split(X, y)
    np.testing.assert_array_equal(train, np.arange(90))
    np.testing.assert_array_equal(test, np.arange(90))
    both = cross_validate(estimator("linear"), X, y, cv=cv, scoring={"evidence": evidence_scorer, "r2": "r2"})
    assert both["test_evidence"].tolist() == [estimator("linear").fit(X, y).log_evidence_]
