"""From one partial_fit to the next: buffers that are filled again, parameters that change, two threads."""

import pickle
import threading
import time
from contextlib import nullcontext

import joblib
import numpy as np
import pytest
from estimator_cases import KINDS, data, estimator, first_call, noisy, part, same_fit, slope_log_prior
from sklearn.base import clone

from sgevidence import SGAIS, BayesianLinearRegression
from sgevidence.estimators import _calls
from sgevidence.samplers import AIS, SequentialSGMCMC

#: Regressions whose rows do not wait: all are looked at again while particles know less.

#: Rows of which some wait, where rows may.
WAITING = {"linear": 300, "gmm": 300, "custom": 300}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)

# -- buffers -------------------------------------------------------------------------------------


def in_tens(kind, reuse: bool):
    """The rows ten at a time, each in arrays of its own or all in the same ones; enough for some to wait."""
    X, y = data(kind, n=WAITING.get(kind, 60))
    weight = np.linspace(0.5, 1.5, len(X))
    est, buffers = noisy(kind), None
    for start in range(0, len(X), 10):
        rows = [None if a is None else np.array(a[start : start + 10]) for a in (X, y, weight)]
        if reuse and buffers is not None:
            for buffer, values in zip(buffers, rows):
                if buffer is not None:
                    buffer[:] = values
        else:
            buffers = rows
        est.partial_fit(buffers[0], buffers[1], sample_weight=buffers[2], **first_call(kind))
    return est


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "gmm")) for kind in KINDS]
)
def test_a_buffer_that_is_filled_again_changes_nothing(kind):
    same_fit(in_tens(kind, reuse=True), in_tens(kind, reuse=False))


@pytest.mark.parametrize("mode", ["r", "r+", None], ids=["map for reading", "map for writing", "array"])
def test_rows_of_one_call_are_not_copied(tmp_path, mode):
    """They may be larger than memory."""
    X = data("gmm")[0]
    np.save(tmp_path / "X.npy", X)
    given = np.load(tmp_path / "X.npy", mmap_mode=mode)
    seen = []

    class Spy(SGAIS):
        def update(self, state, model, rows, *args):
            seen.append(rows.X)
            return super().update(state, model, rows, *args)

    sampler = Spy(n_particles=30, max_particles=30)
    same_fit(*(estimator("gmm", standardize=False, sampler=sampler).fit(rows) for rows in (given, X)))
    assert np.shares_memory(seen[0], given)
    np.testing.assert_array_equal(given, X)


# -- parameters ------------------------------------------------------------------------------------


def other_log_prior(theta):
    return slope_log_prior(theta)


CHANGES = {
    "sampler": ("linear", dict(sampler__n_particles=31), "sampler__n_particles was 30, is 31"),
    "two": (
        "linear",
        dict(sampler__max_particles=31, noise_std=0.5),
        "noise_std was None, is 0.5; sampler__m",
    ),
    "prior": ("gmm", dict(variance_prior=(1.0, 2.0)), r"variance_prior was None, is \(1.0, 2.0\)"),
    "model": ("gmm", dict(n_components=3), "n_components was 2, is 3"),
    "intercept": ("softmax", dict(fit_intercept=False), "fit_intercept was True, is False"),
    "likelihood": ("custom", dict(log_prior=other_log_prior), "log_prior was <function slope"),
    "class": (
        "linear",
        dict(sampler=SequentialSGMCMC()),
        "were learnt: sampler was SGAIS, is Seq",
    ),
    "offline": ("linear", dict(sampler=None), "sampler__n_particles was 30, is"),
    "published": ("linear", dict(sampler=SGAIS.paper()), "sampler__"),
    "invalid": ("linear", dict(noise_std=-1.0), "noise_std was None, is -1"),
}


@pytest.mark.parametrize("kind, change, message", CHANGES.values(), ids=CHANGES)
def test_parameters_do_not_change_in_mid_stream(kind, change, message):
    est = estimator(kind).partial_fit(*part(kind, 0, 30), **first_call(kind)).set_params(**change)
    before = joblib.hash(vars(est))
    with pytest.raises(ValueError, match=f"parameters changed.*{message}.*call fit to start anew"):
        est.partial_fit(*part(kind, 30, 50))
    assert joblib.hash(vars(est)) == before
    if "noise_std" not in change:
        assert est.fit(*part(kind, 0, 20)).n_samples_seen_ == 20


def test_what_an_offline_sampler_has_learnt_is_not_gone_on_from():
    est = estimator("linear", sampler=AIS(50)).fit(*part("linear", 0, 45)).set_params(sampler=SGAIS())
    with pytest.raises(ValueError, match="sampler was AIS, is SGAIS: call fit"):
        est.partial_fit(*part("linear", 45, 90))


def test_a_list_changed_in_place_is_a_change():
    prior = [1.0, 1.0]
    est = estimator("linear", noise_prior=prior).partial_fit(*part("linear", 0, 45))
    prior[1] = 2.0
    with pytest.raises(ValueError, match=r"noise_prior was \(1.0, 1.0\), is \(1.0, 2.0\)"):
        est.partial_fit(*part("linear", 45, 90))


@EVERY_KIND
def test_equal_values_and_what_does_not_touch_the_posterior_are_no_change(kind):
    prior = dict(noise_prior=(1, 1)) if kind == "linear" else {}
    est = estimator(kind, **prior).partial_fit(*part(kind, 0, 45), **first_call(kind))
    other = pickle.loads(pickle.dumps(est))
    other.set_params(sampler=clone(est.sampler), verbose=0, random_state=5)
    if kind == "linear":
        other.set_params(noise_prior=[1, 1])
    same_fit(other.partial_fit(*part(kind, 45, 90)), est.partial_fit(*part(kind, 45, 90)))


def test_none_is_sgais():
    est = BayesianLinearRegression(random_state=0).partial_fit(*part("linear", 0, 45))
    est.set_params(sampler=SGAIS()).partial_fit(*part("linear", 45, 90))
    assert est.n_samples_seen_ == 90


# -- threads ------------------------------------------------------------------------------------------


class Slow(SGAIS):
    """Slow enough for two calls to meet."""

    def update(self, *args):
        time.sleep(0.05)
        return super().update(*args)


def two_threads(est):
    """Several threads ask at once."""
    chunks = [part("linear", start, start + 10) for start in (0, 10, 20, 30)]
    calls = [threading.Thread(target=est.partial_fit, args=chunk) for chunk in chunks]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    return est


@pytest.mark.parametrize("fitted", [False, True])
def test_threads_wait_for_each_other(fitted):
    est = estimator("linear", sampler=Slow())
    if fitted:
        est.fit(*part("linear", 40, 90))
    rows = 90 if fitted else 40
    two_threads(est)
    assert est.n_samples_seen_ == est.evidence_path_["n_samples"][-1] == rows


def test_without_a_lock_rows_are_lost(monkeypatch):
    monkeypatch.setattr(_calls, "_lock_of", lambda estimator: nullcontext())
    est = two_threads(estimator("linear", sampler=Slow()).fit(*part("linear", 40, 90)))
    assert est.n_samples_seen_ == 90 > est.evidence_path_["n_samples"][-1]
