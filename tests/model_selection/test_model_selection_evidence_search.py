"""A search by evidence in one line: GridSearchCV's numbers, the table, a warning at the end of the grid."""

import re
import warnings

import numpy as np
import pytest
from estimator_cases import data, estimator
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import (
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceSearch,
    FullData,
    compare,
    evidence_scorer,
    evidence_scorers,
)
from sgevidence.exceptions import EvidenceWarning
from sgevidence.samplers import Exact, Progress


def test_it_is_grid_search_by_evidence():
    X, y = data("linear")
    grid = [{"noise_std": [0.3, 0.5]}, {"noise_std": [0.7], "coef_scale": [1.0, 2.0]}]
    model = BayesianLinearRegression(sampler=Exact(), random_state=0)
    ours = EvidenceSearch(model, grid).fit(X, y)
    theirs = GridSearchCV(model, grid, scoring=evidence_scorers, refit="log_evidence", cv=FullData()).fit(
        X, y
    )
    assert repr(ours.comparison_) == repr(compare(theirs)) == repr(compare(ours))
    assert ours.best_params_ == theirs.best_params_ and ours.best_score_ == theirs.best_score_
    assert ours.best_estimator_.log_evidence_ == ours.best_score_ == ours.comparison_["log_evidence"].max()
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    again = clone(ours)
    assert again.get_params(deep=False).keys() == {"estimator", "param_grid", "n_jobs", "verbose"}
    assert again.fit(X, y).best_params_ == ours.best_params_
    with pytest.raises(ValueError, match="noise_std"):
        EvidenceSearch(model, {"noise_std": [0.5, -1.0]}).fit(X, y)


CASES = [([1, 2], True), ([1, 2, 3], False), ([2], False), ([3, 2], False), ([2, 1], True)]


def check_the_end(sizes, warns):
    X, _ = data("gmm", n=200)  # two clusters
    model = make_pipeline(FunctionTransformer(), estimator("gmm", n_particles=100))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = EvidenceSearch(model, {f"{model.steps[-1][0]}__n_components": sizes}).fit(X)
    assert search.best_params_ == {f"{model.steps[-1][0]}__n_components": 2}
    ends = [w for w in caught if issubclass(w.category, EvidenceWarning) and "grid" in str(w.message)]
    assert len(ends) == warns
    assert all(w.filename == __file__ and "n_components of the grid, 2" in str(w.message) for w in ends)


@pytest.mark.parametrize("sizes, warns", CASES)
def test_the_largest_number_of_components_should_not_win(sizes, warns):
    check_the_end(sizes, warns)


def test_fits_that_warned_are_marked():
    X, y = data("linear")

    class Doubtful(BayesianLinearRegression):
        @property
        def warnings_(self):
            return ["in doubt"] if self.noise_std == 0.5 else []

    search = EvidenceSearch(Doubtful(sampler=Exact()), {"noise_std": [0.5, 0.6]}).fit(X, y)
    assert sorted(bool(w) for w in search.comparison_["warnings"]) == [False, True]
    row = next(line for line in repr(search.comparison_).splitlines() if line.startswith("0.5 "))
    assert row.endswith("warned")


def test_weights_of_rows_are_in_the_evidence():
    """A search of scikit-learn asks its scorers whether they know of weights."""
    X, weight = np.array([["a", "x"], ["b", "y"]]), np.array([3.0, 2.0])
    model = BayesianCategoricalMixture(random_state=0)
    search = EvidenceSearch(model, {"n_components": [1]}).fit(X, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, [3, 2], axis=0))
    assert search.best_estimator_.log_evidence_ == repeated.log_evidence_


def test_orders_on_rows_of_their_own_are_said():
    """A scorer sees one model at a time, so that the search of scikit-learn cannot compare the rows."""
    y = np.random.default_rng(7).standard_normal(40)
    model = BayesianAutoregression(sampler=Exact())
    search = GridSearchCV(model, {"order": [0, 1]}, scoring=evidence_scorer, cv=FullData(), refit=False)
    with pytest.warns(EvidenceWarning, match="one max_order for all orders"):
        search.fit(y[:, None])
    with pytest.raises(ValueError, match="one max_order for all orders"):
        EvidenceSearch(model, {"order": [0, 1]}).fit(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.set_params(estimator__max_order=1).fit(y[:, None])
        EvidenceSearch(model, {"order": [1], "coef_scale": [1.0, 2.0]}).fit(y)


def test_a_search_says_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(Progress.__init__, "__defaults__", (True, 0.005, None, None, 0.0))
    X = np.random.default_rng(5).standard_normal((60, 2))
    search = EvidenceSearch(
        BayesianGLM("bernoulli", random_state=0), {"coef_scale": [0.5, 1.0, 2.0]}, verbose=1
    )
    search.fit(X, (X[:, 0] > 0).astype(int))
    said = capsys.readouterr().out
    assert "[EvidenceSearch] 0 of 3 models, " in said
    assert re.search(r"\[EvidenceSearch\] [12] of 3 models, about \d+\.\d s left, ", said)
