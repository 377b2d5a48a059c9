"""Three ways to weight models on one stream: what theory says of each, and the manners they share."""

import copy
import pickle
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from estimator_cases import data, estimator, part
from forecasters import Coin, Constant, constants, gains, stream
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import BayesianLinearRegression, EvidenceModelAverager
from sgevidence.averaging import _learning, _pipelines
from sgevidence.averaging._learning import Dynamic
from sgevidence.averaging._pipelines import chunks
from sgevidence.averaging._stacking import RowScores, stacking_weights
from sgevidence.samplers import Exact

METHODS = ["bma", "stacking", "dynamic"]
ONLINE = pytest.mark.parametrize("method", ["stacking", "dynamic"])


def column(j):
    return make_pipeline(FunctionTransformer(_take, kw_args={"j": j}), estimator("linear", noise_std=1.0))


def _take(X, j):
    return X[:, [j]]


def same(a, b):
    np.testing.assert_array_equal(a.weights_, b.weights_)
    np.testing.assert_array_equal(a.log_evidences_, b.log_evidences_)
    assert (a.log_evidence_, a.log_evidence_std_) == (b.log_evidence_, b.log_evidence_std_)
    for name, values in a.weights_path_.items():
        np.testing.assert_array_equal(values, b.weights_path_[name])


# -- what theory says ------------------------------------------------------------------------------


def changing_stream(rng, n=400):
    """The first model is right for n rows, the second for half as many."""
    return np.r_[rng.normal(0.8, 1.0, n), rng.normal(-0.8, 1.0, n // 2)]


def check_a_stream_that_changes(rng):
    y = changing_stream(rng)
    models = {method: stream(constants(0.8, -0.8, method=method), y, 10) for method in METHODS}
    ell = gains(models["bma"], y)
    # all rows speak for the first model by some 250 nats, each part for shares, the last for the second model
    np.testing.assert_allclose(models["bma"].weights_, softmax(ell.sum(axis=0)))
    assert models["bma"].weights_[0] > 0.999
    best = stacking_weights(ell[10:], np.ones(len(y) - 10), np.array([0.5, 0.5]))
    np.testing.assert_allclose(models["stacking"].weights_, best, atol=1e-4)
    assert 0.5 < models["stacking"].weights_[0] < 0.8
    assert models["dynamic"].weights_[1] > 0.999
    path = models["dynamic"].weights_path_
    turned = path["n_samples"][np.argmax((path["n_samples"] > 400) & (path["weights"][:, 1] > 0.5))]
    assert 430 < turned < 520  # 69 rows on average
    scores = {method: model.weights_path_["log_evidence"] for method, model in models.items()}
    last = {method: score[-1] - score[path["n_samples"] == 520][0] for method, score in scores.items()}
    assert last["dynamic"] > last["stacking"] + 10 and last["stacking"] > last["bma"] + 10


def test_the_right_model_changes_half_way(rng):
    check_a_stream_that_changes(rng)


def test_methods_that_are_mixed_up_are_seen(rng, monkeypatch):
    for method, other in [("dynamic", "bma"), ("stacking", "dynamic"), ("bma", "stacking")]:
        with monkeypatch.context() as patch:
            patch.setitem(_learning.METHODS, method, _learning.METHODS[other])
            with pytest.raises(AssertionError):
                check_a_stream_that_changes(rng)


def check_regressions_that_take_turns(rng):
    X = rng.standard_normal((450, 2))
    y = np.r_[X[:300, 0], X[300:, 1]] * 2 + rng.standard_normal(450)
    pairs = [("first", column(0)), ("second", column(1))]
    weights = {}
    for method in METHODS:
        average = EvidenceModelAverager(pairs, method=method, forgetting=0.97, chunk_size=25)
        average.fit(X[:150], y[:150])
        for start in range(150, 450, 25):
            average.partial_fit(X[start : start + 25], y[start : start + 25])
        weights[method] = average.weights_[1]
        scores = average.score_samples(X, y)
        p = np.exp([m[-1].score_samples(X[:, [j]], y) for j, m in enumerate(average.estimators_)])
        np.testing.assert_allclose(scores, np.log(average.weights_ @ p))
    assert weights["bma"] < 0.01 and weights["dynamic"] > 0.99 and 0.1 < weights["stacking"] < 0.6


def test_regressions_that_take_turns(rng):
    check_regressions_that_take_turns(rng)


def test_scores_are_of_rows_not_yet_learnt(rng):
    """Stacking by what models say after they have seen the row would prefer the one that fits closest."""
    X, y = rng.standard_normal((120, 1)), rng.standard_normal(120)
    models = [("prior", Constant(0.0)), ("echo", Echo())]
    honest = EvidenceModelAverager(models, method="stacking", chunk_size=10).fit(X, y)
    assert honest.weights_[0] > 0.9


class Echo(Constant):
    """Sure of the rows that it has seen, wrong of all others."""

    def __init__(self, error=0.0):
        self.error = error

    def partial_fit(self, X, y, sample_weight=None, classes=None):
        self.known_ = set(np.asarray(y).tolist())
        return super().partial_fit(X, y, sample_weight, classes)

    def score_samples(self, X, y):
        return np.where([value in self.known_ for value in np.asarray(y).tolist()], 0.0, -9.0)


# -- manners ---------------------------------------------------------------------------------------


def test_rows_are_cut_into_chunks_that_double(rng):
    X = rng.standard_normal((500, 1))
    sizes = [len(c.X) for c in chunks(X, None, None, 0, 100)]
    assert sizes == [10, 10, 20, 40, 80, 100, 100, 100, 40]
    assert [len(c.X) for c in chunks(X[:30], None, None, 25, 100)] == [25, 5]
    assert [len(c.X) for c in chunks(X[:3], None, None, 0, 1)] == [1, 1, 1]
    y, weight = rng.standard_normal(500), rng.integers(0, 2, 500)
    pieces = list(chunks(X.tolist(), y, weight, 0, 100))
    np.testing.assert_array_equal(np.concatenate([c.y for c in pieces]), y[weight > 0])
    np.testing.assert_array_equal(np.concatenate([c.X for c in pieces]), X[weight > 0])
    assert all(np.all(c.weight == 1) for c in pieces)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(_pipelines.chunks(X, y[:-1], None, 0, 100))


@ONLINE
def test_rows_in_any_container(method):
    X, y = data("linear")
    average = EvidenceModelAverager(
        [("a", estimator("linear")), ("b", estimator("linear", fit_intercept=False))]
    )
    average.set_params(method=method).fit(X, y)
    for given in [(X.tolist(), y.tolist()), (pd.DataFrame(X, columns=["u", "v"]), pd.Series(y))]:
        same(average, clone(average).fit(*given))
    for wrong, message in [
        ((np.empty((0, 2)), np.empty(0)), "minimum of 1 is required"),
        ((X, y[:-1]), "inconsistent numbers of samples"),
        ((coo_array(X), y), "[Ss]parse"),
        ((X, None), "y"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            clone(average).fit(*wrong)


def test_a_row_of_weight_three_is_forgotten_for_as_three():
    y = np.array([0.3, -0.2, 0.9, 0.4])
    once = EvidenceModelAverager(
        [("a", Constant(0.0)), ("b", Constant(1.0))], method="dynamic", forgetting=0.5
    )
    thrice = clone(once)
    for value in y:
        once.partial_fit([[0.0]], [value], sample_weight=[3.0])
        thrice.partial_fit(np.zeros((3, 1)), np.full(3, value))
    np.testing.assert_allclose(once.weights_, thrice.weights_)


@ONLINE
def test_fit_is_the_first_partial_fit_and_forgets(method):
    pairs = [("a", estimator("linear")), ("b", estimator("linear", fit_intercept=False))]
    average = EvidenceModelAverager(pairs, method=method, random_state=3).fit(*data("linear"))
    assert average.weights_path_["n_samples"].tolist() == [10, 20, 40, 80, 90]
    same(average, EvidenceModelAverager(pairs, method=method, random_state=3).partial_fit(*data("linear")))
    same(average, copy.copy(average).fit(*data("linear")))
    for name in ("weights", "log_evidence", "log_evidence_std"):
        np.testing.assert_array_equal(average.weights_path_[name][-1], getattr(average, f"{name}_"))
    low, high = average.weights_interval_
    assert np.all((0 <= low) & (low <= high) & (high <= 1))


@pytest.mark.parametrize("copied", [copy.copy, lambda a: pickle.loads(pickle.dumps(a))])
@ONLINE
def test_a_copy_taken_mid_stream_continues_bit_for_bit(method, copied, rng):
    y = rng.normal(0.2, 1.0, 90)
    average = stream(constants(0.0, 0.5, errors=(0.1, 0.1), method=method), y[:50], 20)
    branch = stream(copied(average), y[50:], 20)
    assert average.n_samples_seen_ == 50
    same(branch, stream(average, y[50:], 20))


@ONLINE
def test_an_interrupt_in_a_later_chunk_leaves_all_as_it_was(method, monkeypatch):
    average = EvidenceModelAverager([("a", Constant(0.0)), ("b", Constant(1.0))], method=method)
    y = np.zeros(200)
    average.partial_fit(y[:50, None], y[:50])
    before, calls = pickle.dumps(vars(average)), iter(range(10**6))
    with monkeypatch.context() as patch:
        real = Constant.partial_fit

        def interrupted(self, *args, **kwargs):
            if next(calls) == 3:
                raise KeyboardInterrupt
            return real(self, *args, **kwargs)

        patch.setattr(Constant, "partial_fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            average.partial_fit(y[50:, None], y[50:])
    assert pickle.dumps(vars(average)) == before
    assert average.partial_fit(y[50:, None], y[50:]).n_samples_seen_ == 200


@pytest.mark.parametrize(
    "method, change, message",
    [
        ("bma", dict(method="dynamic"), "method was 'bma', is 'dynamic'"),
        ("dynamic", dict(forgetting=0.5), "forgetting was 0.99, is 0.5"),
        ("dynamic", dict(model_prior=[1, 3]), r"model_prior was \(0.5, 0.5\), is \(0.25, 0.75\)"),
        ("stacking", dict(model_prior=[1, 3]), "model_prior was"),
    ],
)
def test_what_the_rows_before_were_weighted_by_does_not_change(method, change, message):
    average = stream(constants(0.0, 1.0, method=method), np.zeros(20), 20)
    with pytest.raises(ValueError, match=f"parameters changed.*{message}"):
        stream(average.set_params(**change), np.zeros(20), 20)


@ONLINE
def test_what_has_no_meaning_for_it_may_change(method):
    average = stream(constants(0.0, 1.0, method=method), np.zeros(20), 20)
    average.set_params(chunk_size=7, n_jobs=1)
    if method == "stacking":
        average.set_params(forgetting=0.5)
    assert stream(average, np.zeros(20), 20).weights_path_["n_samples"].tolist() == [10, 20, 27, 34, 40]


@ONLINE
def test_models_that_cannot_learn_online_are_refused(method):
    X, y = data("linear")
    for model in (
        BayesianLinearRegression(sampler=Exact()),
        FrozenEstimator(estimator("linear").fit(X, y)),
    ):
        average = EvidenceModelAverager([("a", estimator("linear")), ("b", model)], method=method)
        with pytest.raises(ValueError, match="estimator 'b' cannot learn from rows as they come"):
            average.fit(X, y)


@ONLINE
def test_labels_that_come_late_in_a_call_are_known_from_its_start(method):
    y = np.r_[np.zeros(40), np.ones(10), np.full(5, 2)]
    weight = np.r_[np.ones(50), np.zeros(5)]
    average = EvidenceModelAverager([("a", Coin(0.3)), ("b", Coin(0.6))], method=method)
    assert average.fit(np.zeros((55, 1)), y, sample_weight=weight).classes_.tolist() == [0, 1]
    average = EvidenceModelAverager([("soft", estimator("softmax"))], method=method)
    X, y = data("softmax")
    order = np.argsort(y)
    assert average.fit(X[order], y[order]).predict_proba(X).shape == (90, 3)


def test_densities_and_an_average_in_an_average():
    method = "stacking"
    models = [("a", estimator("gmm")), ("b", estimator("gmm", mean_scale=1.0))]
    inner = EvidenceModelAverager(models, method=method)
    outer = EvidenceModelAverager([("inner", inner), ("single", estimator("gmm"))], method=method)
    outer.fit(*part("gmm", 0, 20)).partial_fit(*part("gmm", 20, 30))
    assert outer.score_samples(part("gmm", 0, 9)[0]).shape == (9,)
    assert outer.log_evidences_[0] == outer.estimators_[0].log_evidence_


def test_bma_has_the_interval_of_the_evidences_and_names_complaints(rng):
    y = rng.normal(0.2, 1.0, 30)
    average = stream(constants(0.0, 0.4, errors=(0.05, 0.1)), y, 30)
    noise = rng.standard_normal((200_000, 2)) * average.log_evidences_std_
    draws = softmax(average.log_evidences_ + noise, axis=1)
    np.testing.assert_allclose(
        average.weights_interval_, np.quantile(draws, [0.05, 0.95], axis=0), atol=0.015
    )
    assert average.warnings_ == []
    average.estimators_[1].warnings_ = ["too few particles"]
    assert stream(average, y, 30).warnings_ == ["m1: too few particles"]
    few = stream(constants(0.0, 0.4, method="stacking", model_prior=[1, 3]), y[:10], 10)
    assert few.weights_[1] == pytest.approx(0.75) and "no row was predicted" in few.warnings_[0]
    assert few.weights_interval_.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(AttributeError, match="no weights_interval_ before it is fitted"):
        constants(0.0).weights_interval_  # noqa: B018


def test_metadata_is_for_bma():
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = estimator("linear").set_fit_request(sample_weight=True)
        average = EvidenceModelAverager([("a", model)], method="dynamic")
        with pytest.raises(ValueError, match=r"takes no metadata but sample_weight, got .'colour'"):
            average.fit(*data("linear"), colour="red")


@pytest.mark.parametrize(
    "wrong", [dict(method="vote"), dict(forgetting=0.0), dict(forgetting=1.5), dict(chunk_size=0)]
)
def test_parameters_out_of_range(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        constants(0.0, **wrong).fit(np.zeros((3, 1)), np.zeros(3))


def test_the_path_of_a_long_stream_is_thinned(monkeypatch, rng):
    monkeypatch.setattr(_learning, "MAX_WEIGHT_PATH", 4)
    X, y = rng.standard_normal((15, 2)), rng.standard_normal(15)
    models = [("one", BayesianLinearRegression()), ("other", BayesianLinearRegression(noise_std=1.0))]
    average = EvidenceModelAverager(models).partial_fit(X[:10], y[:10])
    for row in range(10, 15):
        average.partial_fit(X[row : row + 1], y[row : row + 1])
    assert average.weights_path_["n_samples"].tolist() == [10, 12, 14, 15]
    assert average.weights_path_["weights"].shape == (4, 2)


# -- dynamic averages -------------------------------------------------------------------------------


MEANS, ERRORS = (0.0, 0.4, -1.0), (0.02, 0.05, 0.01)


def same_to_digits(a, b, **tolerance):
    np.testing.assert_allclose(a.weights_, b.weights_, **tolerance)
    np.testing.assert_allclose(a.log_evidence_, b.log_evidence_, **tolerance)
    np.testing.assert_allclose(a.log_evidence_std_, b.log_evidence_std_, **tolerance)
    np.testing.assert_allclose(a.weights_interval_, b.weights_interval_, **tolerance)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_without_forgetting_it_is_the_posterior(size, rng):
    y = rng.normal(0.2, 1.0, 60)
    params = dict(errors=ERRORS, model_prior=[1, 2, 3])
    bma = stream(constants(*MEANS, **params), y, size)
    dynamic = stream(constants(*MEANS, **params, method="dynamic", forgetting=1.0), y, size)
    same_to_digits(bma, dynamic, rtol=1e-12, atol=1e-12)


def score_by_hand(ell, log_prior, memory):
    """Σ_t log Σ_k π_kt e^{ℓ_kt} and the last log weights, by the two lines of the paper."""
    total, log_w = 0.0, log_prior
    for t, row in enumerate(ell):
        log_pi = log_softmax((1.0 if t == 0 else memory[t]) * log_w)
        total += logsumexp(log_pi + row)
        log_w = log_softmax(log_pi + row)
    return total, log_w


def check_recursion(rng, sizes=(1, 1, 4, 2, 1, 9)):
    y, alpha = rng.normal(0.0, 1.0, sum(sizes)), 0.8
    average = constants(*MEANS, model_prior=[2, 1, 1], method="dynamic", forgetting=alpha)
    cuts = np.r_[0, np.cumsum(sizes)]
    ell = np.array([gains(average, y[a:b]).sum(axis=0) for a, b in pairwise(cuts)])
    for a, b in pairwise(cuts):
        average.partial_fit(np.zeros((b - a, 1)), y[a:b])
    total, log_w = score_by_hand(ell, np.log([0.5, 0.25, 0.25]), alpha ** np.array(sizes))
    assert average.log_evidence_ == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(average.weights_, np.exp(log_w), rtol=1e-10)
    # and by the sum of what fades
    age = np.array([sum(sizes[t + 1 :]) for t in range(len(sizes))])
    faded = alpha ** (len(y) - sizes[0]) * np.log([2, 1, 1]) + alpha**age @ ell
    np.testing.assert_allclose(average.weights_, softmax(faded), rtol=1e-10)


def test_weights_and_score_are_those_of_the_paper(rng):
    check_recursion(rng)


def check_error(rng, T=6):
    """The standard error against the gradient by finite differences."""
    ell, v = rng.normal(size=(T, 3)), rng.uniform(0.5, 1.0, (T, 3)) ** 2
    memory, log_prior = rng.uniform(0.3, 1.0, T), log_softmax(rng.normal(size=3))
    weighing = Dynamic.start(log_prior, 0.5)
    for t in range(T):
        known = zip(ell[: t + 1].sum(axis=0), np.sqrt(v[: t + 1].sum(axis=0)))
        models = [SimpleNamespace(log_evidence_=z, log_evidence_std_=s) for z, s in known]
        weighing = weighing.after(models, -np.log2(memory[t]), None)
    gradient, h = np.empty((T, 3)), 1e-5
    for place in np.ndindex(T, 3):
        ends = []
        for sign in (1, -1):
            moved = ell.copy()
            moved[place] += sign * h
            ends.append(score_by_hand(moved, log_prior, memory)[0])
        gradient[place] = (ends[0] - ends[1]) / (2 * h)
    assert weighing.log_evidence_std == pytest.approx(np.sqrt(np.sum(gradient**2 * v)), rel=1e-6)


def test_the_error_of_the_score_is_that_of_the_delta_method(rng):
    check_error(rng)


def test_the_interval_is_that_of_the_faded_evidences(rng):
    y = rng.normal(0.0, 1.0, 30)
    average = stream(constants(*MEANS, errors=ERRORS, method="dynamic", forgetting=0.9), y)
    faded = np.sqrt(np.sum(0.9 ** (2 * np.arange(30)))) * np.array(ERRORS)
    draws = softmax(np.log(average.weights_) + faded * rng.standard_normal((200_000, 3)), axis=1)
    np.testing.assert_allclose(average.weights_interval_, np.quantile(draws, [0.05, 0.95], axis=0), atol=2e-3)


def test_an_old_model_is_forgotten_after_log_two_over_minus_log_alpha_rows():
    """Each row speaks by 2 nats for one model, then for the other: α^t = 1/2 when they are level."""
    alpha, n = 0.99, 700
    average = constants(1.0, -1.0, method="dynamic", forgetting=alpha)
    path = stream(average, [1.0] * n + [-1.0] * 100).weights_path_
    crossed = np.flatnonzero((path["weights"][:, 1] > 0.5) & (path["n_samples"] > n))[0]
    assert path["n_samples"][crossed] == n + np.ceil(np.log(2) / -np.log(alpha))  # 69 rows


# -- stacking ---------------------------------------------------------------------------------------


def value(w, log_p, v):
    return v @ np.log(np.exp(log_p) @ w) / v.sum()


def by_scipy(log_p, v):
    K = log_p.shape[1]
    found = minimize(
        lambda w: -value(w, log_p, v),
        np.full(K, 1 / K),
        bounds=[(1e-12, 1)] * K,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options=dict(ftol=1e-14, maxiter=1000),
    )
    return found.x


def problems(rng):
    """Scores of rows with models that are good, hopeless, equal or complementary."""
    for K in (1, 2, 3, 6):
        yield rng.normal(0.0, 1.0, (200, K)) - np.linspace(0.0, 0.6, K), rng.uniform(0.2, 3.0, 200)
    twins = rng.normal(0.0, 1.0, (100, 2))
    yield twins[:, [0, 1, 1]], np.ones(100)
    yield np.where(rng.random((80, 1)) < 0.3, [0.0, -30.0], [-30.0, 0.0]), np.ones(80)
    yield np.column_stack([np.zeros(50), np.full(50, -900.0)]), np.ones(50)


def test_the_optimum_is_that_of_another_optimiser(rng):
    for log_p, v in problems(rng):
        w = stacking_weights(log_p, v, np.full(log_p.shape[1], 1 / log_p.shape[1]))
        assert w.min() >= 0 and w.sum() == pytest.approx(1.0)
        other = by_scipy(log_p, v)
        assert value(w, log_p, v) >= value(other, log_p, v) - 1e-8
        if np.linalg.matrix_rank(log_p) == log_p.shape[1]:  # the optimum is one point
            np.testing.assert_allclose(w, other, atol=2e-3)


def test_two_coins_of_known_optimum():
    """The mixture of p = 0.9 and 0.2 says what was seen, p = 0.55: half of each."""
    y = np.array([0, 1] * 10 + ([1] * 11 + [0] * 9) * 20)  # the first twenty rows in two chunks
    average = EvidenceModelAverager([("bold", Coin(0.9)), ("shy", Coin(0.2))], method="stacking")
    average.fit(np.zeros((len(y), 1)), y)
    share = np.mean(y[10:])  # nothing is said of the first chunk
    np.testing.assert_allclose(average.weights_, [(share - 0.2) / 0.7, (0.9 - share) / 0.7], atol=1e-4)
    bma = EvidenceModelAverager(average.estimators).fit(np.zeros((len(y), 1)), y)
    assert bma.weights_.max() > 0.999


def test_rows_count_as_often_as_their_weight(rng):
    y, weight = rng.integers(0, 2, 60), rng.integers(0, 4, 60)
    models = [("bold", Coin(0.9)), ("shy", Coin(0.2))]
    average = EvidenceModelAverager(models, method="stacking").fit(np.zeros((60, 1)), y, sample_weight=weight)
    kept_y, kept = y[weight > 0], weight[weight > 0]
    share = np.average(kept_y[10:], weights=kept[10:])
    assert average.weights_[0] == pytest.approx(np.clip((share - 0.2) / 0.7, 0, 1), abs=1e-4)
    assert average.n_samples_seen_ == len(kept)


@pytest.mark.parametrize("size", [1, 5, 10])
def test_the_score_is_that_of_the_mixture_with_the_weights_before_each_chunk(size, rng):
    y = rng.normal(0.3, 1.5, 40)
    average = stream(constants(-1.0, 1.5, errors=(0.1, 0.2), method="stacking"), y, size)
    path = average.weights_path_
    log_p = np.column_stack([model.score_samples(None, y) for model in average.estimators_])
    first = 0.5 * np.exp(log_p[:size].sum(axis=0))
    before = np.repeat(path["weights"][:-1], size, axis=0)
    joint = before * np.exp(log_p[size:])
    score = np.log(first.sum()) + np.sum(np.log(joint.sum(axis=1)))
    assert average.log_evidence_ == pytest.approx(score)
    shares = (joint / joint.sum(axis=1, keepdims=True)).reshape(-1, size, 2).mean(axis=1)
    shares = np.vstack([first / first.sum(), shares])
    assert average.log_evidence_std_ == pytest.approx(np.sqrt(size * np.sum(shares**2 * [0.01, 0.04])))
    weights = stacking_weights(log_p[size:], np.ones(40 - size), np.array([0.5, 0.5]))
    np.testing.assert_allclose(path["weights"][-1], weights, atol=1e-5)


@pytest.mark.slow
def test_the_interval_covers_the_best_weight(rng):
    """That of infinitely many rows lies within in about nine of ten samples of 120."""
    models = [("bold", Coin(0.9)), ("shy", Coin(0.2))]
    inside = []
    for _ in range(12):
        y = (rng.random(130) < 0.55).astype(int)
        average = EvidenceModelAverager(models, method="stacking").fit(np.zeros((130, 1)), y)
        low, high = average.weights_interval_[:, 0]
        inside.append(low <= 0.5 <= high)
    assert 0.9 - 4 * np.sqrt(0.09 / 12) < np.mean(inside)


def test_the_kept_rows_are_a_uniform_sample_of_bounded_size():
    rows = None
    for start in range(0, 40_000, 1000):
        place = np.arange(start, start + 1000.0)
        new = RowScores.of(np.column_stack([place, -place]), np.ones(1000), start)
        rows = new if rows is None else rows.join(new)
        assert len(rows.key) <= 4096
    assert kstest(rows.log_p[:, 0] / 40_000, "uniform").pvalue > 1e-3


def test_a_sample_is_enough(rng):
    """The price that the documentation names: (K−1)/(2·SCORED_ROWS) nats a row on average."""
    log_p = rng.normal(0.0, 1.0, (40_000, 5))
    everything = stacking_weights(log_p, np.ones(len(log_p)), np.full(5, 0.2))
    kept = log_p[rng.choice(len(log_p), 4096, replace=False)]
    sampled = stacking_weights(kept, np.ones(4096), np.full(5, 0.2))
    loss = value(everything, log_p, np.ones(len(log_p))) - value(sampled, log_p, np.ones(len(log_p)))
    assert 0 <= loss < 5 * 4 / (2 * 4096)


def test_rows_that_no_model_thinks_possible_tell_nothing():
    scores = RowScores.of(
        np.array([[-np.inf, -np.inf], [-1.0, -np.inf], [-1.0, -1.0]]), np.array([1.0, 1, 0]), 0
    )
    assert scores.log_p.tolist() == [[-1.0, -np.inf]]
    assert stacking_weights(scores.log_p, scores.weight, np.array([0.5, 0.5]))[0] == pytest.approx(1.0)
