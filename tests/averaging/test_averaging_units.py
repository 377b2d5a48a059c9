"""Units of an average's models: those of all rows of its first call, however it cuts them."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sgevidence import BayesianGLM, BayesianGMM, BayesianLinearRegression, EvidenceModelAverager, load, save

METHODS = pytest.mark.parametrize("method", ["bma", "stacking", "dynamic"])
CHUNKED = pytest.mark.parametrize("method", ["stacking", "dynamic"])


@pytest.fixture
def rows(rng):
    X = np.cumsum(rng.standard_normal((120, 3)), axis=0) * [1e-3, 1.0, 1e4] + [0.0, 290.0, -1e6]  # a drift
    return X, 1e3 * X[:, 1] + 500 * rng.standard_normal(120)


def models():
    stated = BayesianLinearRegression(columns=[], standardize=False)
    return [
        ("one", BayesianLinearRegression(columns=[1])),
        ("all", make_pipeline(StandardScaler(), BayesianLinearRegression(coef_scale=0.5))),
        ("stated", stated),
    ]


@CHUNKED
def test_units_are_those_of_all_rows_of_the_first_call(rows, method):
    X, y = rows
    alone = BayesianLinearRegression(columns=[1]).fit(X, y)
    for size in (40, 500):
        average = EvidenceModelAverager(models(), method=method, chunk_size=size)
        for found in (clone(average).fit(X, y), clone(average).partial_fit(X, y)):
            one, deep, _ = found.estimators_
            np.testing.assert_array_equal(one.units_.center, alone.units_.center)
            assert one.units_.y_scale == alone.units_.y_scale
            assert found.log_evidences_[0] == pytest.approx(alone.log_evidence_, abs=1e-6)
            # of all rows, as the transformer of the first chunk makes them
            Z = deep[0].transform(X)
            np.testing.assert_allclose(
                (deep[-1].units_.center - Z.mean(axis=0)) / Z.std(axis=0), 0, atol=1e-7
            )
            again = copy.copy(one).fit(X[:50], y[:50])  # nothing of the call stays with the model
            assert again.units_.center[0] == pytest.approx(X[:50, 1].mean())


@METHODS
@pytest.mark.parametrize("first", [1, 9])
def test_a_small_first_call_is_held(rows, method, first):
    """Models of both kinds wait, and no row counts."""
    X, y = rows
    average = EvidenceModelAverager(models(), method=method, random_state=0)
    buffer = X[:first].copy()
    held = clone(average).partial_fit(buffer, y[:first])
    buffer[:] = np.nan
    scaler = held._standing.children[1][1][0]
    assert not hasattr(held, "n_samples_seen_") and not hasattr(held, "weights_")
    asked = [lambda: held.log_evidence_, lambda: held.predict(X), lambda: held.weights_path_, held.summary]
    for ask in [*asked, lambda: held.warnings_, lambda: held.score_samples(X, y)]:
        with pytest.raises(NotFittedError, match=f"no row.*holds {first} rows"):
            ask()
    branch = copy.copy(held)
    found = pickle.loads(pickle.dumps(held)).partial_fit(X[first:], y[first:])
    assert found.n_samples_seen_ == 120 and found.weights_path_["n_samples"][-1] == 120
    np.testing.assert_array_equal(found.estimators_[1][0].mean_, scaler.mean_)  # not fitted again
    once = clone(average).partial_fit(X, y)
    np.testing.assert_array_equal(found.estimators_[0].units_.scale, once.estimators_[0].units_.scale)
    assert found.log_evidences_[0] == pytest.approx(once.log_evidences_[0], abs=1e-6)
    assert found.log_evidences_[2] == pytest.approx(once.log_evidences_[2], abs=0.3)
    assert found.data_fingerprint_ == once.data_fingerprint_
    same = branch.partial_fit(X[first:], y[first:])
    np.testing.assert_array_equal(same.weights_, found.weights_)
    assert same.log_evidence_ == found.log_evidence_


@METHODS
def test_one_row_at_a_time(rows, method):
    X, y = rows[0][:25], rows[1][:25]
    average = EvidenceModelAverager(
        [("a", BayesianLinearRegression(columns=[1])), models()[2]], method=method
    )
    for i in range(25):
        average.partial_fit(X[i : i + 1], y[i : i + 1])
        assert hasattr(average, "n_samples_seen_") == (i >= 9)
    assert average.weights_path_["n_samples"].tolist() == list(range(10, 26))
    given = BayesianLinearRegression(columns=[1], units=average.estimators_[0].units_).fit(X, y)
    assert average.log_evidences_[0] == pytest.approx(given.log_evidence_, abs=1e-6)


@CHUNKED
def test_fit_does_not_hold(rows, method):
    X, y = rows
    average = EvidenceModelAverager(models()[:1], method=method)
    assert average.fit(X[:5], y[:5]).n_samples_seen_ == 5
    with pytest.raises(ValueError, match="fewer than two distinct values of y"):
        average.fit(X, np.ones(120))
    assert average.n_samples_seen_ == 5
    held = clone(average).partial_fit(X, np.ones(120))  # until y varies
    assert not hasattr(held, "log_evidence_")
    assert held.partial_fit(X, y).n_samples_seen_ == 240


def test_classes_and_weights_while_held(rng):
    X = rng.standard_normal((40, 2)) * 1e3
    y, weight = np.repeat(["a", "b", "c", "b"], 10), np.arange(40) % 3
    models = [(name, BayesianGLM("bernoulli", columns=c)) for name, c in (("null", []), ("one", [0]))]
    average = EvidenceModelAverager(models, method="stacking")
    few = np.isin(y, ["a", "b"])
    X, y, weight = X[few], y[few], weight[few]
    average.partial_fit(X[:8], y[:8], classes=["a", "b"], sample_weight=weight[:8])
    assert not hasattr(average, "classes_")
    average.partial_fit(X[8:], y[8:], sample_weight=weight[8:])
    assert average.classes_.tolist() == ["a", "b"] and average.n_samples_seen_ == np.count_nonzero(weight)


@METHODS
def test_an_average_of_averages_waits(rng, method):
    X = rng.standard_normal((60, 2)) * 1e3
    inner = EvidenceModelAverager([("a", BayesianGMM(1)), ("b", BayesianGMM(1, covariance_type="full"))])
    outer = EvidenceModelAverager([("inner", inner), ("c", BayesianGMM(1, standardize=False))], method=method)
    outer.partial_fit(X[:4])
    with pytest.raises(NotFittedError, match=r"no row.*holds 4 rows"):
        outer.log_evidence_  # noqa: B018
    assert outer.partial_fit(X[4:]).n_samples_seen_ == 60


def test_a_file_keeps_what_is_held(rows, tmp_path):
    pytest.importorskip("skops")
    X, y = rows
    held = EvidenceModelAverager(models()[::2], method="dynamic", random_state=0).partial_fit(X[:7], y[:7])
    save(held, tmp_path / "held.sge")
    again = load(tmp_path / "held.sge")
    with pytest.raises(NotFittedError, match="holds 7 rows"):
        again.weights_  # noqa: B018
    found = (again.partial_fit(X[7:], y[7:]).weights_, held.partial_fit(X[7:], y[7:]).weights_)
    np.testing.assert_array_equal(*found)


def test_a_failed_call_leaves_what_is_held(rows):
    X, y = rows
    fails = []
    same = FunctionTransformer(lambda X: 1 / 0 if fails else X)
    deep = make_pipeline(same, BayesianLinearRegression(coef_scale=0.5))
    held = EvidenceModelAverager([*models(), ("deep", deep)], method="stacking").partial_fit(X[:7], y[:7])
    fails.append(True)
    with pytest.raises(ZeroDivisionError):
        held.partial_fit(X[7:], y[7:])
    fails.clear()
    with pytest.raises(NotFittedError, match="holds 7 rows"):
        held.predict(X)
    assert held.partial_fit(X[7:], y[7:]).n_samples_seen_ == 120
