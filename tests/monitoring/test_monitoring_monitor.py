"""The monitor as scikit-learn's users know estimators, and what is declared when."""

import copy
import pickle

import numpy as np
import pytest
from segment_cases import enumerate_segmentations, normal_evidence
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import NormalSegment, RegressionSegment


@parametrize_with_checks([EvidenceMonitor(NormalSegment()), EvidenceMonitor(RegressionSegment())])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([EvidenceMonitor()])
def test_scikit_learn_of_series(estimator, check):
    check(estimator)


def steps(rng, *levels, length=100):
    return rng.normal(size=(length * len(levels), 1)) + np.repeat(levels, length)[:, None]


def test_changes_are_found_and_placed(rng):
    monitor = EvidenceMonitor(NormalSegment()).fit(steps(rng, 0.0, 5.0, -5.0))
    np.testing.assert_allclose(monitor.change_points_, [100, 200], atol=1)
    for found, place in zip(monitor.detections_, monitor.change_points_):
        assert place == found.change_row <= found.declared_row <= place + 10
        assert found.probability > 0.9
        assert found.log_bayes_factor > 0


def test_what_is_declared_is_the_posterior(rng):
    """The first detection against all segmentations of the rows up to it."""
    X = np.append(rng.normal(size=6), rng.normal(size=4) + 6.0)[:, None]
    monitor = EvidenceMonitor(NormalSegment(), hazard=0.05).fit(X)
    found = monitor.detections_[0]
    n = found.declared_row + 1
    _, last, _, _ = enumerate_segmentations(n, 0.05, lambda s, t: normal_evidence(X[s:t]))
    assert last[1:].sum() == pytest.approx(found.probability, rel=1e-7)
    assert last[1:].argmax() + 1 == found.change_row
    prior = 1 - 0.95 ** (n - 1)
    odds = np.log(last[1:].sum() / last[0]) - np.log(prior / (1 - prior))
    assert found.log_bayes_factor == pytest.approx(odds, rel=1e-7)
    before = enumerate_segmentations(n - 1, 0.05, lambda s, t: normal_evidence(X[s:t]))[1]
    assert before[1:].sum() <= 0.9


def test_restart_forgets_what_was_before(rng):
    monitor = EvidenceMonitor(NormalSegment(), reaction="restart").fit(steps(rng, 0.0, 5.0))
    assert monitor.run_length_posterior_["start"].min() == monitor.change_points_[0]
    assert monitor.run_length_posterior_["probability"].sum() == pytest.approx(1.0)
    kept = EvidenceMonitor(NormalSegment()).fit(steps(rng, 0.0, 1.0))
    assert kept.run_length_posterior_["probability"].sum() == pytest.approx(1.0)


def test_a_callable_hears_of_each_detection_when_the_update_is_complete(rng):
    heard = []

    def reaction(monitor, detection):
        heard.append((monitor.n_samples_seen_, detection))

    monitor = EvidenceMonitor(NormalSegment(), reaction=reaction).fit(steps(rng, 0.0, 5.0, -5.0))
    assert heard == [(300, d) for d in monitor.detections_]


def same(a, b):
    assert a.log_evidence_ == b.log_evidence_
    assert a.detections_ == b.detections_
    for name, value in a.run_length_posterior_.items():
        np.testing.assert_array_equal(value, b.run_length_posterior_[name])


@pytest.mark.parametrize("model", [None, NormalSegment()])
def test_a_pickle_goes_on_bit_for_bit(model, rng):
    X = steps(rng, 0.0, 3.0)[60:140]
    monitor = EvidenceMonitor(model).partial_fit(X[:35])
    other = pickle.loads(pickle.dumps(monitor))
    same(monitor.partial_fit(X[35:]), other.partial_fit(X[35:]))


@pytest.mark.parametrize(
    "model", [None, NormalSegment(), RegressionSegment()], ids=["series", "normal", "regression"]
)
@pytest.mark.parametrize("value, n", [(1e200, 25), (-1e300, 3)], ids=["later", "among the first"])
def test_a_row_beyond_floating_point_is_refused(model, value, n, rng):
    """By its place in the stream; what was before it stays as it was, and the stream goes on."""
    X = rng.normal(size=(60, 1))
    y = X[:, 0].copy() if isinstance(model, RegressionSegment) else None

    def rows(start, stop):
        return X[start:stop].copy(), None if y is None else y[start:stop]

    monitor = EvidenceMonitor(model).partial_fit(*rows(0, n))
    before = monitor.log_evidence_
    bad = rows(n, n + 5)
    bad[0][2] = value
    with pytest.raises(ValueError, match=f"row {n + 2} of the stream"):
        monitor.partial_fit(*bad)
    assert monitor.log_evidence_ == before and monitor.n_samples_seen_ == n
    monitor.partial_fit(*rows(n, 60))
    whole = EvidenceMonitor(model).fit(*rows(0, 60))
    assert monitor.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)


def test_a_bad_row_changes_nothing(rng):
    X = steps(rng, 0.0, 3.0)
    monitor = EvidenceMonitor(NormalSegment()).partial_fit(X[:50])
    before = copy.deepcopy(monitor)
    for bad in ([[np.inf]], [[1.0, 2.0]], [["a"]]):
        with pytest.raises(ValueError):
            monitor.partial_fit(bad)
        with pytest.raises(ValueError):
            clone(monitor).set_params(hazard=2.0).fit(bad)
    same(monitor, before)
    same(monitor.partial_fit(X[50:]), before.partial_fit(X[50:]))


@pytest.mark.parametrize("model", [None, NormalSegment()])
def test_a_buffer_may_be_used_again(model, rng):
    X = steps(rng, 0.0, 3.0)
    buffer, monitor = np.empty((10, 1)), EvidenceMonitor(model)
    for i in range(40, 160, 10):
        buffer[:] = X[i : i + 10]
        monitor.partial_fit(buffer)
        buffer[:] = np.nan
    fresh = EvidenceMonitor(model)
    for i in range(40, 160, 10):
        fresh.partial_fit(X[i : i + 10].copy())
    same(monitor, fresh)


def test_fit_forgets_and_partial_fit_does_not(rng):
    X = steps(rng, 0.0, 3.0)
    once = EvidenceMonitor(NormalSegment()).fit(X)
    again = EvidenceMonitor(NormalSegment()).fit(X[::-1]).fit(X)
    same(once, again)
    assert once.n_samples_seen_ == 200
    assert once.partial_fit(X[:7]).n_samples_seen_ == 207


def test_memory_is_bounded(rng):
    monitor = EvidenceMonitor(NormalSegment(), max_runs=20).partial_fit(rng.normal(size=(3500, 1)))
    # the record of the predictions is all but full after the first of these
    sizes = [len(pickle.dumps(monitor.partial_fit(rng.normal(size=(500, 1))))) for _ in range(12)]
    assert max(sizes[1:]) <= 1.02 * sizes[0] + 500 * len(monitor.detections_)


def test_regression_needs_targets(rng):
    with pytest.raises(ValueError, match="requires y"):
        EvidenceMonitor(RegressionSegment()).fit(rng.normal(size=(5, 2)))


@pytest.mark.parametrize(
    "params, message",
    [
        ({"hazard": 0.0}, "hazard"),
        ({"hazard": 1.0}, "hazard"),
        ({"threshold": 0.4}, "threshold"),
        ({"max_runs": 1}, "max_runs"),
        ({"reaction": "panic"}, "reaction"),
        ({"model": NormalSegment(variance_prior=(1.0, -1.0))}, "variance_prior"),
        ({"model": NormalSegment(mean_scale=0.0)}, "mean_scale"),
    ],
)
def test_parameters_are_validated(params, message):
    with pytest.raises(ValueError, match=message):
        EvidenceMonitor(**params).fit(np.zeros((30, 1)))


def test_attributes_come_with_rows():
    with pytest.raises(AttributeError, match="run_length_posterior_"):
        _ = EvidenceMonitor().run_length_posterior_
