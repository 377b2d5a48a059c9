"""An average of mixtures that differ in their number of components: one walk over strata answers for all."""

import joblib
import numpy as np
import pytest
from enumeration import enumerated
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import (
    SGAIS,
    BayesianCategoricalMixture,
    BayesianGMM,
    EvidenceModelAverager,
    EvidenceSearch,
    compare,
)
from sgevidence.history import Rows
from sgevidence.mixture.estimators import _every_k
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import MixtureEvidence, _answer, _evidence
from sgevidence.model_selection import probability_interval

#: Fits that do not test particles.
FEW = dict(sampler=SGAIS(n_particles=30, max_particles=60))


def few_rows(seed=3):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.standard_normal((3, 2)), rng.standard_normal((3, 2)) + 2.5])


def overlapping(seed=0, n=40):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) + 2.2 * rng.integers(3, size=(n, 1))


def average(numbers, params=None, random_state=0, of=BayesianGMM, **more):
    stated = {} if of is BayesianCategoricalMixture else dict(standardize=False)  # sums know these priors
    models = [(f"K={K}", of(K, **(stated | (params or {})))) for K in numbers]
    return EvidenceModelAverager(models, random_state=random_state, **more)


@pytest.fixture
def walks(monkeypatch):
    """Numbers of components of every walk over strata."""
    found, walked = [], _answer.strata_up_to

    def counted(family, X, n_components, *more):
        found.append(n_components)
        return walked(family, X, n_components, *more)

    monkeypatch.setattr(_answer, "strata_up_to", counted)
    return found


def codes(seed=4):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(L, size=6) for L in (3, 2)])


CASES = [
    (BayesianGMM, {}, few_rows()),
    (BayesianGMM, dict(covariance_type="full", weight_concentration=0.7), few_rows(5)),
    (BayesianGMM, dict(covariance_type="spherical", mean_scale=1.0), few_rows(6)),
    (BayesianCategoricalMixture, {}, codes()),
]


@pytest.mark.parametrize("of, params, X", CASES)
def test_every_number_of_components_is_the_sum_over_all_allocations(of, params, X, walks):
    """The mean of p(x_new | θ) over particles is the ratio of sums with the new row and without it."""
    averager = average([4, 1, 2], params, of=of).fit(X)
    assert walks == [4]  # which the smaller ones are read from
    for model in averager.estimators_:
        K, one = model.n_components, model._model
        rows = Rows.of(model._encode_X(X, False) if of is not BayesianGMM else X)
        exact = enumerated(one, rows)
        assert model.log_evidence_ == pytest.approx(exact, abs=1e-8) and model.log_evidence_std_ == 0
        assert model.particles_.shape[1] == one.n_params and model.warnings_ == []
        assert model.component_evidence_["log_evidence"].shape == (K,)
        assert model.component_evidence_["log_evidence"][-1] == pytest.approx(exact, abs=1e-8)
        more = Rows.of(np.concatenate([rows.X, rows.X[:1]]))
        p = np.exp(one.log_likelihood(model.particles_, more[-1:])).ravel()
        assert abs(p.mean() - np.exp(enumerated(one, more) - exact)) < 5 * p.std() / np.sqrt(800)
    assert np.allclose(averager.weights_interval_, averager.weights_)


@pytest.mark.slow
def test_evidences_and_predictions_are_those_of_separate_fits(walks):
    X = overlapping()
    averager = average([3, 4]).fit(X)
    assert walks == [3, 4]
    model, alone = averager.estimators_[1], BayesianGMM(4, random_state=100, standardize=False).fit(X)
    std = np.hypot(alone.log_evidence_std_, model.log_evidence_std_)
    assert 0 < abs(alone.log_evidence_ - model.log_evidence_) < 4 * std < 0.6
    assert alone.score(X) == pytest.approx(model.score(X), abs=0.012)  # 0.03 with allocations at random


def test_errors_are_shared(monkeypatch):
    """One stratum in two components is known to 0.2 nats, all others exactly."""
    walked = _answer.strata_up_to

    def uncertain(*of):
        strata = walked(*of)
        visited = [one._replace(std=0.2 * (one.k == 2)) for one in strata.visited]
        return strata._replace(visited=visited)

    monkeypatch.setattr(_answer, "strata_up_to", uncertain)
    averager = average([2, 3, 4], FEW).fit(few_rows())
    log_Z, w = averager.log_evidences_, averager.weights_
    std = [0.2 * model.n_components_in_use_proba_[1] for model in averager.estimators_]
    assert np.allclose(averager.log_evidences_std_, std)
    assert averager.log_evidence_std_ == pytest.approx(w @ std)
    independent = np.ptp(probability_interval(log_Z, std), axis=0)
    assert np.all(np.ptp(averager.weights_interval_, axis=0) < 0.7 * independent)
    table = compare(averager)
    best = int(np.argmax(log_Z))
    assert np.allclose(np.sort(table["difference_std"]), np.sort(np.abs(np.array(std) - std[best])))
    listed = compare(averager.estimators_)
    assert np.array_equal(listed["difference_std"], table["difference_std"])


def test_without_the_covariance_intervals_are_too_wide(monkeypatch, install_broken):
    install_broken(_every_k, "_shared", "larger.covariance[K - 1, -1]", "0.0")
    with pytest.raises(AssertionError):
        test_errors_are_shared(monkeypatch)


def test_same_seed_same_digits_whatever_the_number_of_jobs():
    with joblib.parallel_config(backend="threading"):  # the models' own fits are tested in processes
        one, two, other = (
            average([2, 3], FEW, random_state=seed, n_jobs=n_jobs).fit(few_rows())
            for seed, n_jobs in ((1, 1), (1, 2), (2, 1))
        )
    for a, b, c in zip(one.estimators_, two.estimators_, other.estimators_):
        assert joblib.hash(a.particles_) == joblib.hash(b.particles_) != joblib.hash(c.particles_)
        assert "_walk" not in vars(a)


def test_strata_as_the_sampler(walks):
    averager = average([2, 3], dict(sampler=MixtureEvidence(300))).fit(few_rows())
    assert walks == [2, 3]
    for model in averager.estimators_:
        exact = enumerated(model._model, Rows.of(few_rows()))
        assert model.log_evidence_ == pytest.approx(exact, abs=1e-8) and len(model.particles_) == 300


def test_a_stream_continues_after_a_fit():
    X = few_rows()
    averager = average([1, 2, 3]).fit(X).partial_fit(X[:2] + 0.1)
    rows = Rows.of(np.concatenate([X, X[:2] + 0.1]))
    for model in averager.estimators_:
        exact = enumerated(model._model, rows)
        assert abs(model.log_evidence_ - exact) < 4 * model.log_evidence_std_ + 1e-8
        assert model.n_samples_seen_ == 8
    assert averager.estimators_[2].component_evidence_["log_evidence"].shape == (3,)


def test_what_strata_cannot_afford_is_fitted_as_usual(walks, monkeypatch):
    X = few_rows()
    average([2, 3], FEW).fit(X, sample_weight=np.full(6, 0.5))
    monkeypatch.setattr("sgevidence.mixture.strata._limits.MAX_WALK_NUMBERS", 6 * 3 * 5)
    averager = average([2, 3, 4], FEW).fit(X)
    assert averager.log_evidences_[1] == pytest.approx(
        enumerated(averager.estimators_[1]._model, Rows.of(X)), abs=1e-8
    )


def test_which_models_share_a_walk(walks):
    """Fits of one family to the same rows share a walk, also in a pipeline that leaves rows as they are."""
    X, piped = few_rows(), make_pipeline(FunctionTransformer(), BayesianGMM(3))
    several = [
        ("a", BayesianGMM(2)),
        ("b", BayesianGMM(3, covariance_type="full", **FEW)),
        ("c", piped),
        ("d", BayesianGMM(1)),
        ("e", BayesianGMM(2, sampler=MixtureEvidence(20))),
    ]
    EvidenceModelAverager(several, random_state=0).fit(X)
    assert sorted(walks) == [2, 3, 3]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_walks_once_and_has_the_digits_of_any_number_of_jobs(walks, n_jobs):
    X, grid = few_rows(), {"n_components": [1, 2, 4], "covariance_type": ["diag", "spherical"]}
    with joblib.parallel_config(backend="threading"):
        search = EvidenceSearch(
            BayesianGMM(random_state=0, standardize=False, **FEW), grid, n_jobs=n_jobs
        ).fit(X)
    assert sorted(walks) == ([4, 4] if n_jobs else [2, 2, 4, 4]) and "_walk" not in vars(search.estimator)
    for params, found in zip(search.cv_results_["params"], search.cv_results_["mean_test_log_evidence"]):
        if params["covariance_type"] == "diag":
            exact = enumerated(MixtureModel(params["n_components"], 2), Rows.of(X))
            assert found == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("bad", [np.full((6, 2), np.inf), np.zeros((0, 2)), [["a", "b"]] * 6])
def test_rows_that_models_refuse_change_nothing(bad):
    averager = average([2, 3], FEW).fit(few_rows())
    before = averager.log_evidences_
    with pytest.raises(ValueError) as error:
        averager.fit(bad)
    with pytest.raises(ValueError) as alone:
        BayesianGMM(2).fit(bad)
    assert str(error.value) == str(alone.value)
    np.testing.assert_array_equal(averager.log_evidences_, before)


def test_folds_of_a_grid_share_their_walks(monkeypatch):
    """Scores are those of separate fits, and no stratum is searched twice."""
    X, asked, searched = overlapping(n=30), [], _evidence.stratum

    def counted(problem, before, *more):
        asked.append((len(problem.F), before.k + 1))
        return searched(problem, before, *more)

    monkeypatch.setattr(_evidence, "stratum", counted)
    model = BayesianGMM(random_state=0, standardize=False, **FEW)
    grid = GridSearchCV(model, {"n_components": [1, 2, 3]}, cv=KFold(2), refit=False).fit(X)
    assert sorted(asked) == [(15, 2)] * 2 + [(15, 3)] * 2
    of_splits = np.column_stack([grid.cv_results_[f"split{i}_test_score"] for i in (0, 1)])
    for K, scores in zip((1, 2, 3), of_splits):
        alone = [
            BayesianGMM(K, random_state=0, standardize=False, **FEW).fit(X[train]).score(X[test])
            for train, test in KFold(2).split(X)
        ]
        np.testing.assert_array_equal(scores, alone)
