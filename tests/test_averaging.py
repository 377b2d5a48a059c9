"""Averaging: weights from evidences, predictions from weights, over all kinds, pipelines and streams."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from estimator_cases import CASES, KINDS, data, first_call, part, same_fit, slope_model
from estimator_cases import estimator as estimator_of
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import SGAIS, EvidenceModelAverager, FullData, evidence_scorer
from sgevidence.model_selection import last_step
from sgevidence.models import Model

PREDICTIVE = pytest.mark.parametrize(
    "kind", [kind for kind, case in CASES.items() if case.kind in ("classifier", "regressor")]
)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


#: An average does with one component what it does with several, and one is fitted at once.
QUICK = {"gmm": dict(n_components=1)}


def estimator(kind, **params):
    return estimator_of(kind, **{**QUICK.get(kind, {}), **params})


def pair(kind):
    """Two models of nearly the same evidence."""
    return [("a", estimator(kind)), ("b", estimator(kind, random_state=1, **CASES[kind].other))]


def averager(kind, **params):
    return EvidenceModelAverager(pair(kind), **params)


def scaled(model):
    return Pipeline([("scale", StandardScaler()), ("model", model)])


def rows(kind):
    """X, and y where the scores want it."""
    X, y = data(kind)
    return (X,) if y is None else (X, y)


def same_average(one, other):
    for a, b in zip(one.estimators_, other.estimators_):
        same_fit(a[-1] if isinstance(a, Pipeline) else a, b[-1] if isinstance(b, Pipeline) else b)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert (one.log_evidence_, one.log_evidence_std_) == (other.log_evidence_, other.log_evidence_std_)


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior", [*(pytest.param(one, marks=pytest.mark.slow) for one in (None, [3.0, 1.0])), {"b": 1, "a": 3}]
)
@EVERY_KIND
def test_weights_are_prior_times_evidence(kind, prior):
    avg = averager(kind, model_prior=prior).fit(*data(kind))
    log_prior = np.log([0.5, 0.5] if prior is None else [0.75, 0.25])
    alone = [model.fit(*data(kind)) for _, model in pair(kind)]
    np.testing.assert_array_equal(avg.log_evidences_, [m.log_evidence_ for m in alone])
    np.testing.assert_array_equal(avg.log_evidences_std_, [m.log_evidence_std_ for m in alone])
    np.testing.assert_allclose(avg.weights_, softmax(log_prior + avg.log_evidences_))
    assert avg.log_evidence_ == pytest.approx(logsumexp(log_prior + avg.log_evidences_))
    assert avg.log_evidence_std_ == pytest.approx(np.hypot(*(avg.weights_ * avg.log_evidences_std_)))
    assert avg.n_samples_seen_ == 90 and avg.data_fingerprint_ == alone[0].data_fingerprint_
    assert avg.named_estimators_.b is avg.estimators_[1]


@pytest.mark.parametrize("prior", [[1e308, 1e308], [3e-320, 3e-320], {"a": 1.7e308, "b": 1.7e308}])
def test_a_prior_of_any_size_is_normalised(prior):
    avg, uniform = averager("linear", model_prior=prior), averager("linear")
    np.testing.assert_allclose(avg.fit(*data("linear")).weights_, uniform.fit(*data("linear")).weights_)


def test_a_hopeless_model_gets_weight_zero_without_a_nan():
    X, y = data("linear")
    hopeless = slope_model(sampler=SGAIS(n_particles=10))
    avg = EvidenceModelAverager([("good", estimator("linear")), ("bad", hopeless)]).fit(50 * X, 50 * y)
    assert avg.weights_.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(avg.score_samples(X, y), avg.estimators_[0].score_samples(X, y))


# -- predictions -----------------------------------------------------------------------------------


@EVERY_KIND
def test_score_samples_is_the_log_of_the_mixture_of_densities(kind):
    avg = averager(kind).fit(*data(kind))
    densities = [np.exp(m.score_samples(*rows(kind))) for m in avg.estimators_]
    np.testing.assert_allclose(np.exp(avg.score_samples(*rows(kind))), avg.weights_ @ densities, rtol=1e-9)
    np.testing.assert_array_equal(avg.score_samples(*rows(kind)), avg.score_samples(*rows(kind)))
    if kind in ("gmm", "custom"):
        assert avg.score(*data(kind)) == pytest.approx(np.mean(avg.score_samples(*rows(kind))))


def test_probabilities_are_averaged_and_the_rest_follows():
    X, y = data("softmax")
    avg = averager("softmax").fit(X, y)
    p = np.tensordot(avg.weights_, [m.predict_proba(X) for m in avg.estimators_], axes=1)
    np.testing.assert_allclose(avg.predict_proba(X), p, rtol=1e-9)
    np.testing.assert_allclose(avg.predict_log_proba(X), np.log(p), rtol=1e-9)
    np.testing.assert_allclose(avg.decision_function(X), np.log(p), rtol=1e-9)
    np.testing.assert_array_equal(avg.predict(X), p.argmax(axis=1))
    np.testing.assert_allclose(avg.score_samples(X), np.sum(p * np.log(p), axis=1), rtol=1e-9)
    assert avg.score(X, y) == np.mean(p.argmax(axis=1) == y)
    two = averager("softmax").fit(X, np.where(y == 0, "no", "yes"))
    log_p = two.predict_log_proba(X)
    np.testing.assert_array_equal(two.decision_function(X), log_p[:, 1] - log_p[:, 0])
    assert set(two.predict(X)) == {"no", "yes"} == set(two.classes_)
    with pytest.raises(ValueError, match="for regressors only"):
        two.predict(X, return_std=True)


def test_spread_between_models_is_in_the_standard_deviation(rng):
    X, y = data("linear")
    avg = averager("linear", model_prior=[1.0, 1.0]).fit(X, y)
    avg.weights_ = np.array([0.3, 0.7])  # a case where it matters
    (m0, s0), (m1, s1) = (m.predict(X, return_std=True) for m in avg.estimators_)
    mean, std = avg.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 0.3 * m0 + 0.7 * m1)
    np.testing.assert_array_equal(mean, avg.predict(X))
    second_moment = 0.3 * (s0**2 + m0**2) + 0.7 * (s1**2 + m1**2)
    np.testing.assert_allclose(std**2, second_moment - mean**2, rtol=1e-9)
    np.testing.assert_allclose(avg.score_samples(X), -0.5 * np.log(2 * np.pi * np.e * std**2))
    residual = y - mean
    assert avg.score(X, y) == pytest.approx(1 - residual @ residual / np.sum((y - y.mean()) ** 2))


class Prediction(RegressorMixin, BaseEstimator):
    """A Gaussian that has learnt nothing, and says what it expects."""

    def __init__(self, mean=0.0, std=1.0):
        self.mean, self.std = mean, std

    def fit(self, X, y):
        self.n_samples_seen_, self.log_evidence_, self.log_evidence_std_ = len(X), 0.0, 0.0
        return self

    def predict(self, X, return_std=False):
        return (np.full(len(X), self.mean), np.full(len(X), self.std)) if return_std else self.mean

    def score_samples(self, X, y=None):
        return np.full(len(X), -0.5 * np.log(2 * np.pi * np.e) - np.log(self.std))


@pytest.mark.parametrize("prior", [[1, 1], [1, 9], [7, 2]])
@pytest.mark.parametrize("mean, std, slack", [(0, 1, 1e-9), (0.3, 1.2, 0.03), (2, 1, 0.25), (50, 0.1, 1e-6)])
def test_expected_score_of_regressors_by_quadrature(mean, std, slack, prior):
    """Exact for predictions that are equal or far apart, and never above the truth."""
    check_expected_score(mean, std, slack, prior)


def check_expected_score(mean, std, slack, prior):
    models = [("a", Prediction()), ("b", Prediction(mean, std))]
    avg = EvidenceModelAverager(models, model_prior=prior).fit(np.ones((1, 1)), [0.0])
    y = np.linspace(-12, 62, 2_000_001)
    density = avg.weights_ @ np.exp(
        [-0.5 * ((y - m) / s) ** 2 - np.log(s * np.sqrt(2 * np.pi)) for m, s in [(0, 1), (mean, std)]]
    )
    score = np.sum(density * np.log(np.maximum(density, 1e-300))) * (y[1] - y[0])
    assert score - slack - 1e-6 <= avg.score_samples(np.ones((1, 1)))[0] <= score + 1e-6


def test_methods_are_those_of_the_kind():
    expected = {
        "linear": {"predict"},
        "softmax": {"predict", "predict_proba", "predict_log_proba", "decision_function"},
        "gmm": set(),
        "custom": set(),
    }
    everything = set.union(*expected.values())
    for kind, methods in expected.items():
        avg = averager(kind)
        assert {name for name in everything if hasattr(avg, name)} == methods
        assert (is_regressor(avg), is_classifier(avg)) == (kind == "linear", kind == "softmax")
        with pytest.raises(NotFittedError):
            avg.score_samples(*rows(kind))


def test_a_custom_model_beside_a_regressor_is_weighted_and_scored():
    X, y = data("linear")
    avg = EvidenceModelAverager([("linear", estimator("linear")), ("custom", slope_model())]).fit(X, y)
    assert avg.weights_.sum() == pytest.approx(1.0)
    assert avg.score_samples(X, y).shape == (90,)
    assert not hasattr(avg, "predict") and not is_regressor(avg)


# -- the stream ------------------------------------------------------------------------------------


@EVERY_KIND
def test_partial_fit_is_that_of_each_model(kind):
    avg = averager(kind)
    for start, stop in [(0, 30), (30, 60), (60, 90)]:
        avg.partial_fit(*part(kind, start, stop), **(first_call(kind) if start == 0 else {}))
    alone = [m.partial_fit(*part(kind, 0, 30), **first_call(kind)) for _, m in pair(kind)]
    path = avg.weights_path_
    assert path["n_samples"].tolist() == [30, 60, 90]
    np.testing.assert_allclose(path["weights"][0], softmax([m.log_evidence_ for m in alone]))
    for model, mine in zip(alone, avg.estimators_):
        same_fit(model.partial_fit(*part(kind, 30, 60)).partial_fit(*part(kind, 60, 90)), mine)
    np.testing.assert_array_equal(path["weights"][2], avg.weights_)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(a__noise_std=2.0), "a__noise_std was None, is 2.0"),
        (dict(a__sampler__n_particles=31), "a__sampler__n_particles was 30, is 31"),
        (dict(b=slope_model()), "b was BayesianLinearRegression, is BayesianModel"),
        (dict(deep__scale__with_mean=False), "deep__scale__with_mean was True, is False"),
        (dict(estimators=[("a", estimator("linear"))]), "b was BayesianLinearRegression, is None"),
    ],
)
def test_parameters_of_models_do_not_change_in_mid_stream(change, message):
    avg = EvidenceModelAverager([*pair("linear"), ("deep", scaled(estimator("linear")))])
    avg.partial_fit(*part("linear", 0, 30)).set_params(**change)
    before = joblib.hash(vars(avg))
    with pytest.raises(ValueError, match=f"parameters changed.*{message}.*call fit to start anew"):
        avg.partial_fit(*part("linear", 30, 60))
    assert joblib.hash(vars(avg)) == before
    assert avg.fit(*data("linear")).n_samples_seen_ == 90


def test_equal_parameters_and_another_prior_are_no_such_change():
    avg = averager("linear").partial_fit(*part("linear", 0, 30))
    avg.set_params(a=clone(avg.estimators[0][1]), b__random_state=7, n_jobs=1, model_prior=[1, 3])
    other = averager("linear").partial_fit(*part("linear", 0, 30)).partial_fit(*part("linear", 30, 60))
    odds = np.divide(*avg.partial_fit(*part("linear", 30, 60)).weights_)
    assert odds == pytest.approx(np.divide(*other.weights_) / 3)


@EVERY_KIND
def test_fit_is_one_partial_fit_and_forgets(kind):
    avg = averager(kind, random_state=3).fit(*data(kind))
    same_average(avg, averager(kind, random_state=3).partial_fit(*data(kind)))
    same_average(avg, copy.copy(avg).fit(*data(kind)))
    assert avg.fit(*data(kind)).weights_path_["n_samples"].tolist() == [90]


@pytest.mark.parametrize("copied", [copy.copy, lambda a: pickle.loads(pickle.dumps(a))])
@EVERY_KIND
def test_a_copy_taken_mid_stream_continues_bit_for_bit(kind, copied):
    avg = averager(kind).partial_fit(*part(kind, 0, 50), **first_call(kind))
    branch = copied(avg).partial_fit(*part(kind, 50, 90))
    assert avg.n_samples_seen_ == 50
    same_average(branch, avg.partial_fit(*part(kind, 50, 90)))


@PREDICTIVE
def test_transformers_of_pipelines_are_fitted_on_the_first_chunk_and_kept(kind):
    avg = EvidenceModelAverager([("deep", scaled(make_pipeline("passthrough", estimator(kind))))])
    avg.partial_fit(*part(kind, 0, 50), **first_call(kind)).partial_fit(*part(kind, 50, 90))
    scaler = StandardScaler().fit(part(kind, 0, 50)[0])
    model = estimator(kind)
    for start, stop in [(0, 50), (50, 90)]:
        X, y = part(kind, start, stop)
        model.partial_fit(scaler.transform(X), y, **(first_call(kind) if start == 0 else {}))
    same_fit(avg.estimators_[0][-1][-1], model)
    X, y = data(kind)
    np.testing.assert_allclose(avg.predict(X), model.predict(scaler.transform(X)))
    np.testing.assert_allclose(avg.score_samples(X, y), model.score_samples(scaler.transform(X), y))


@PREDICTIVE
def test_pipelines_and_bare_models_are_averaged_together(kind):
    X, y = data(kind)
    avg = EvidenceModelAverager([("bare", estimator(kind)), ("scaled", scaled(estimator(kind)))]).fit(X, y)
    same_fit(avg.named_estimators_.scaled[-1], scaled(estimator(kind)).fit(X, y)[-1])
    assert avg.n_features_in_ == 2
    assert avg.predict(X).shape == (90,)


@EVERY_KIND
def test_an_average_of_averages(kind):
    inner = averager(kind)
    outer = EvidenceModelAverager([("inner", inner), ("single", estimator(kind))], model_prior=[2, 1])
    flat = EvidenceModelAverager([*pair(kind), ("single", estimator(kind))])
    assert outer.fit(*data(kind)).log_evidence_ == pytest.approx(flat.fit(*data(kind)).log_evidence_)
    np.testing.assert_allclose(outer.score_samples(*rows(kind)), flat.score_samples(*rows(kind)))
    outer.partial_fit(*part(kind, 0, 10))
    assert outer.n_samples_seen_ == 100


def test_frozen_models_are_used_as_they_are():
    X, y = data("linear")
    models = [(name, model.fit(X, y)) for name, model in pair("linear")]
    frozen = EvidenceModelAverager([(name, FrozenEstimator(model)) for name, model in models], random_state=5)
    same_average(frozen.fit(X, y), averager("linear").fit(X, y))
    np.testing.assert_array_equal(frozen.predict(X), averager("linear").fit(X, y).predict(X))
    assert frozen.estimators_[0].estimator is models[0][1]
    assert not hasattr(frozen, "partial_fit")  # a frozen model does not learn
    mixed = EvidenceModelAverager(
        [("frozen", FrozenEstimator(scaled(estimator("linear")).fit(X, y))), models[1]]
    )
    assert mixed.fit(X, y).predict(X).shape == (90,)


# -- seeds, jobs, parameters -----------------------------------------------------------------------


@EVERY_KIND
def test_the_result_does_not_depend_on_n_jobs(kind):
    one, two = (averager(kind, random_state=0, n_jobs=n) for n in (1, 2))
    same_average(one.fit(*data(kind)), two.fit(*data(kind)))
    same_average(one.partial_fit(*part(kind, 0, 20)), two.partial_fit(*part(kind, 0, 20)))


def test_random_state_seeds_every_child_differently_and_none_leaves_them():
    models = [("a", estimator("linear")), ("b", scaled(estimator("linear"))), ("c", estimator("linear"))]

    def seeds(children):
        return [last_step(child).random_state for child in children]

    def after_fit(random_state):
        return EvidenceModelAverager(models, random_state=random_state).fit(*data("linear"))

    first = after_fit(7)
    assert len(set(seeds(first.estimators_))) == 3
    assert first.log_evidences_[0] == first.log_evidences_[2]  # exact, by other draws
    assert not np.array_equal(first.estimators_[0].particles_, first.estimators_[2].particles_)
    same_average(first, after_fit(7))
    assert seeds(first.estimators_) != seeds(after_fit(8).estimators_)
    assert seeds(after_fit(None).estimators_) == [0, 0, 0]
    assert seeds(child for _, child in models) == [0, 0, 0]  # the user's own objects are not touched


def test_parameters_of_models_by_name():
    avg = clone(averager("linear")).set_params(
        a__sampler__n_particles=7, a__sampler__max_particles=7, b=estimator("linear", noise_std=1.0)
    )
    avg.fit(*data("linear"))
    assert len(avg.estimators_[0].particles_) == 7
    assert avg.estimators_[1].noise_std == avg.get_params()["b__noise_std"] == 1.0


# -- sample weights --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@EVERY_KIND
def test_sample_weight_reaches_models_and_last_steps(kind, method, rng):
    X, y = data(kind)
    weight = rng.integers(0, 3, size=90)
    avg = EvidenceModelAverager([("deep", make_pipeline("passthrough", estimator(kind))), *pair(kind)])
    getattr(avg, method)(X, y, sample_weight=weight)
    direct = estimator(kind).fit(X, y, sample_weight=weight)
    same_fit(avg.estimators_[0][-1], direct)
    same_fit(avg.estimators_[1], direct)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@EVERY_KIND
def test_sample_weight_is_routed_to_those_who_asked(kind, method, rng):
    X, y = data(kind)
    weight = rng.uniform(0.5, 2.0, size=90)
    with sklearn.config_context(enable_metadata_routing=True):
        model = estimator(kind).set_fit_request(sample_weight=True)
        pipeline = scaled(model)
        pipeline["scale"].set_fit_request(sample_weight=True)
        avg = EvidenceModelAverager([("deep", pipeline)])
        getattr(avg, method)(X, y, sample_weight=weight)
        scaler = StandardScaler().fit(X, sample_weight=weight)
        same_fit(avg.estimators_[0][-1], estimator(kind).fit(scaler.transform(X), y, sample_weight=weight))
        bare = estimator(kind).set_fit_request(sample_weight=True).set_partial_fit_request(sample_weight=True)
        bare = EvidenceModelAverager([("bare", bare)])
        getattr(bare, method)(X, y, sample_weight=weight)
        same_fit(bare.estimators_[0], estimator(kind).fit(X, y, sample_weight=weight))
        with pytest.raises(UnsetMetadataPassedError):
            getattr(averager(kind), method)(X, y, sample_weight=weight)
        getattr(averager(kind), method)(X, y)


def test_metadata_without_routing_is_refused():
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        averager("linear").fit(*data("linear"), colour="red")


# -- refusals --------------------------------------------------------------------------------------


class Infinite(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.n_samples_seen_, self.log_evidence_ = len(X), np.inf
        return self


def frozen(kind, start, stop):
    return FrozenEstimator(estimator(kind).fit(*part(kind, start, stop)))


@pytest.mark.parametrize(
    "models, message",
    [
        ([], "non-empty list of"),
        ([estimator("linear"), "b"], "non-empty list of"),
        ([("a", estimator("linear")), ("a", estimator("linear"))], "not unique"),
        ([("n_jobs", estimator("linear"))], "conflict with constructor arguments"),
        ([("a", estimator("linear")), ("b", estimator("softmax"))], "'b' is a classifier"),
        ([("a", estimator("linear")), ("b", estimator("gmm"))], "'b' is a density_estimator"),
        (
            [("a", estimator("linear")), ("b", LinearRegression())],
            r"'b' \(LinearRegression\) has no log_evid",
        ),
        ([("a", estimator("linear")), ("b", scaled(LinearRegression()))], "'b' .* has no log_evidence_"),
        ([("a", estimator("linear")), ("b", Infinite())], "'b' has the log evidence inf"),
        ([("a", estimator("linear")), ("b", frozen("linear", 0, 80))], "'b' has seen another number of rows"),
        (
            [("a", frozen("linear", 0, 45)), ("b", frozen("linear", 45, 90))],
            "'b' has seen other data than 'a'",
        ),
        ([("a", frozen("gmm", 0, 45)), ("b", frozen("gmm", 45, 90))], "'b' has seen other data than 'a'"),
        ([("a", estimator("gmm")), ("b", scaled(estimator("gmm")))], "'b' has seen other data than 'a'"),
    ],
)
def test_evidences_that_cannot_be_compared(models, message):
    avg = EvidenceModelAverager(models)
    with pytest.raises((TypeError, ValueError), match=message):
        avg.fit(*data("linear"))
    assert vars(avg) == vars(EvidenceModelAverager(models))


@pytest.mark.parametrize("prior", [[1.0], [1.0, 0.0], [1.0, np.nan], {"a": 1.0}, {"a": 1.0, "c": 1.0}])
def test_bad_model_priors(prior):
    with pytest.raises(ValueError, match="model_prior"):
        averager("linear", model_prior=prior).fit(*data("linear"))


def test_the_same_rows_in_other_cuts_are_the_same_rows():
    X, y = data("linear")
    cut = estimator("linear").partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    EvidenceModelAverager([("cut", FrozenEstimator(cut)), ("whole", estimator("linear"))]).fit(X, y)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_masked_entries_are_refused_before_a_transformer_sees_them(method):
    X, y = data("linear")
    avg = EvidenceModelAverager([("deep", scaled(estimator("linear")))]).fit(X, y)
    args = (np.ma.masked_greater(X, 0), y)
    with pytest.raises(ValueError, match="X is a masked array with masked entries"):
        getattr(avg, method)(*args[: 1 if method == "predict" else 2])


# -- all or nothing --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@EVERY_KIND
def test_an_error_in_one_model_leaves_all_as_they_were(kind, method, monkeypatch):
    # a closed form evaluates no likelihood
    sampler = SGAIS(n_particles=30, max_particles=30, proposal=None)
    annealed = dict(sampler=sampler) if kind in ("linear", "gmm") else {}

    def made():
        models = [(name, model.set_params(**annealed)) for name, model in pair(kind)]
        return EvidenceModelAverager(models, random_state=np.random.RandomState(0))

    avg = made().partial_fit(*part(kind, 0, 50), **first_call(kind))
    before, second, count = joblib.hash(vars(avg)), part(kind, 50, 90), iter(range(10**6))
    with monkeypatch.context() as patch:
        real = Model.sum_log_likelihood

        def fails_in_the_second_model(model, theta, rows):
            if next(count) and model is not first_model:
                raise KeyboardInterrupt("now")
            return real(model, theta, rows)

        first_model = avg.estimators_[0]._model
        patch.setattr(Model, "sum_log_likelihood", fails_in_the_second_model)
        with pytest.raises(KeyboardInterrupt, match="now"):
            getattr(avg, method)(*second)
    assert joblib.hash(vars(avg)) == before
    assert next(count) > 1
    untouched = made().partial_fit(*part(kind, 0, 50), **first_call(kind)).partial_fit(*second)
    same_average(avg.partial_fit(*second), untouched)


def test_a_failed_first_call_leaves_nothing_behind():
    X, y = part("linear", 0, 50)
    random_state = np.random.RandomState(0)
    avg = EvidenceModelAverager([("deep", scaled(estimator("linear")))], random_state=random_state)
    before = joblib.hash(vars(avg))
    with pytest.raises(ValueError, match="y contains NaN"):
        avg.partial_fit(X, np.full(50, np.nan))
    assert joblib.hash(vars(avg)) == before
    again = clone(avg)
    same_average(avg.partial_fit(X, y), again.partial_fit(X, y))
    assert not hasattr(avg.estimators[0][1]["scale"], "mean_")


# -- in company ------------------------------------------------------------------------------------


def test_in_a_pipeline_and_a_search():
    X, y = data("linear")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), averager("linear")),
        {"evidencemodelaverager__a__noise_std": [0.5, 50.0]},
        scoring=evidence_scorer,
        cv=FullData(),
    ).fit(X, y)
    assert search.best_params_ == {"evidencemodelaverager__a__noise_std": 0.5}
    assert search.best_score_ == search.best_estimator_[-1].log_evidence_


# -- models of one's own ---------------------------------------------------------------------------


def slope_mean(theta, X):
    return theta @ X[:, :1].T


def test_a_model_of_ones_own_predicts_beside_a_regressor():
    X, y = part("linear", 0, 30)
    models = [("mine", slope_model(mean=slope_mean)), ("theirs", estimator("linear"))]
    avg = EvidenceModelAverager(models, random_state=0).fit(X, y)
    expected = avg.weights_ @ [model.predict(X) for model in avg.estimators_]
    np.testing.assert_array_equal(avg.predict(X), expected)
    alone = EvidenceModelAverager(models[:1], random_state=0).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), alone.estimators_[0].predict(X))
    with pytest.raises(ValueError, match="standard deviation"):
        avg.predict(X, return_std=True)
    without = EvidenceModelAverager([("mine", slope_model()), models[1]]).fit(X, y)
    with pytest.raises(AttributeError) as error:
        without.predict(X)
    assert "a BayesianModel has none: predict needs mean=" in str(error.value.__cause__)
    assert not hasattr(EvidenceModelAverager([("mine", slope_model()), ("gmm", estimator("gmm"))]), "predict")
