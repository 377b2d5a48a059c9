"""A search by evidence in one line: GridSearchCV's numbers, the table, a warning at the end of the grid."""

import re
import warnings

import numpy as np
import pytest
from estimator_cases import data, estimator
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import (
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianHMM,
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
    assert again.get_params(deep=False).keys() == {
        "estimator",
        "param_grid",
        "tolerance",
        "n_jobs",
        "verbose",
    }
    assert again.fit(X, y).best_params_ == ours.best_params_
    with pytest.raises(ValueError, match="noise_std"):
        EvidenceSearch(model, {"noise_std": [0.5, -1.0]}).fit(X, y)


CASES = [([2], False), ([3, 2], False), ([2, 1], True)]
CASES += [pytest.param(*case, marks=pytest.mark.slow) for case in (([1, 2], True), ([1, 2, 3], False))]


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


class Known(BaseEstimator):
    """A model of known evidence, which errs by ``sign`` times two and a half standard errors."""

    def __init__(self, log_Z=0.0, sign=0.0, tolerance=0.03):
        self.log_Z, self.sign, self.tolerance = log_Z, sign, tolerance

    def fit(self, X, y=None):
        self.log_evidence_ = self.log_Z + 2.5 * self.sign * self.tolerance
        self.log_evidence_std_, self.n_samples_seen_, self.data_fingerprint_ = self.tolerance, len(X), 7
        return self

    def predict(self, X):
        return np.zeros(len(X))


X_OF_KNOWN = np.zeros((5, 1))


def check_no_wrong_winner(seed):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-20.0, 0.0, 7)
    signs = rng.choice([-1.0, 1.0], 7)
    grid = [{"log_Z": [z], "sign": [s]} for z, s in zip(truth.tolist(), signs.tolist())]
    search = EvidenceSearch(Known(), grid, tolerance=0.001).fit(X_OF_KNOWN)
    std = search.cv_results_["mean_test_log_evidence_std"]
    found = search.cv_results_["mean_test_log_evidence"]
    assert set(std) <= {0.001, 0.5} and len(std) == 7
    assert np.all(
        std[truth > truth.max() - 8.0] == 0.001
    )  # those that are close, whatever the first fits said
    assert np.all(std[truth < truth.max() - 8.0 - 8.0] == 0.5)  # errors of 2.5 and 3 are allowed for, twice
    np.testing.assert_allclose(found, truth + 2.5 * signs * std)
    assert search.best_index_ == np.argmax(truth) == np.argmin(search.cv_results_["rank_test_log_evidence"])
    assert search.best_params_ == search.cv_results_["params"][np.argmax(truth)]
    assert search.best_params_.keys() == {"log_Z", "sign"} and search.best_estimator_.tolerance == 0.001
    assert search.best_score_ == search.best_estimator_.log_evidence_ == found.max()
    assert not any("tolerance" in name for name in search.cv_results_)


@pytest.mark.parametrize("seed", range(12))
def test_those_that_are_close_are_taken_to_the_tolerance(seed):
    check_no_wrong_winner(seed)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "log_Z + ALLOWED_STD * std > log_Z[best] - ALLOWED_STD * std[best] - CLOSE_NATS",
            "log_Z > log_Z[best] - 1",
        ),
        ("close & stopped", "stopped"),
    ],
)
def test_a_wrong_cut_is_seen(right, wrong, install_broken):
    install_broken(EvidenceSearch, "_unfinished", right, wrong)
    with pytest.raises(AssertionError):
        for seed in range(12):
            check_no_wrong_winner(seed)


def test_without_a_tolerance_that_of_the_estimator_holds():
    grid = {"log_Z": [0.0, -2.0, -100.0]}
    std = EvidenceSearch(Known(tolerance=0.1), grid).fit(X_OF_KNOWN).cv_results_["mean_test_log_evidence_std"]
    assert std.tolist() == [0.1, 0.1, 0.5]
    pipe = make_pipeline(FunctionTransformer(), Known())
    search = EvidenceSearch(pipe, {"known__log_Z": [0.0, -2.0, -100.0]}, tolerance=0.2).fit(X_OF_KNOWN)
    assert search.comparison_["log_evidence_std"].tolist() == [0.2, 0.2, 0.5]
    with pytest.raises(ValueError, match="tolerance"):
        EvidenceSearch(Known(), grid, tolerance=0.0).fit(X_OF_KNOWN)


def test_states_far_behind_are_left_early(monkeypatch):
    rng = np.random.default_rng(4101)
    z = np.repeat(rng.integers(3, size=10), 12)
    X = np.array([[-4.0, 0.0], [0.0, 4.0], [4.0, 0.0]])[z] + rng.standard_normal((len(z), 2))
    model, grid = BayesianHMM(random_state=0), {"n_states": [1, 2, 3]}
    search = EvidenceSearch(model, grid).fit(X)
    alone = [clone(model).set_params(n_states=K).fit(X) for K in (1, 2, 3)]
    found, std = (search.cv_results_[f"mean_test_log_evidence{word}"] for word in ("", "_std"))
    for K, one in enumerate(alone):
        assert abs(found[K] - one.log_evidence_) < 4 * np.hypot(std[K], one.log_evidence_std_) + 1e-9
    assert search.best_params_ == {"n_states": 3} and found[2] == alone[2].log_evidence_
