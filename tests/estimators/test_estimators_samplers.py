"""What holds for an estimator with any sampler; a new sampler is one more line in OFFLINE or ONLINE."""

import functools
import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from estimator_cases import data, estimator, part, same_fit
from sklearn.base import clone

from sgevidence import SGAIS, EvidenceWarning
from sgevidence.samplers import (
    AIS,
    SIR,
    Exact,
    HarmonicMean,
    Laplace,
    NestedSampling,
    PriorSampling,
    SequentialNestedSampling,
    SequentialSGMCMC,
    UntilPrecise,
)

#: A closed form would answer alike with any sampler.
ANNEALED = SGAIS(n_particles=30, max_particles=30, proposal=None)
OFFLINE = {
    "exact": Exact(200),
    "laplace": Laplace(500, n_starts=3),
    "prior": PriorSampling(20_000),
    "harmonic": HarmonicMean(200),
    "nested": NestedSampling(50),
    "ais": AIS(50),
    "until precise": UntilPrecise(1.0, sampler=ANNEALED),
}
ONLINE = {
    "sgais": ANNEALED,
    "sir": SIR(100),
    "sequential": SequentialSGMCMC(100),
    "sequential nested": SequentialNestedSampling(50),
}
#: Particles enough for an answer of any kind.
FEW = {
    "nested": dict(n_live=15),
    "sequential": dict(n_particles=15),
    "sequential nested": dict(n_live=15),
}
#: How far from the truth one may be, in nats: those that promise nothing.
LOOSE = {"prior": 10.0, "harmonic": 10.0}

pytestmark = pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
offline = pytest.mark.parametrize("name", OFFLINE)
online = pytest.mark.parametrize("name", ONLINE)
every = pytest.mark.parametrize("name", [*OFFLINE, *ONLINE])

X, Y = data("linear")


def linear(name, **params):
    return estimator("linear", noise_std=1.0, sampler=clone((OFFLINE | ONLINE)[name]), **params)


@functools.cache
def fitted(name):
    """A fitted estimator that no test changes."""
    return linear(name).fit(X, Y)


@functools.cache
def begun(name):
    """The first rows, for tests that fit again and ask for the same digits."""
    return linear(name).fit(X[:20], Y[:20])


EXACT = fitted("exact")


@every
def test_all_agree_on_a_conjugate_model(name):
    est = fitted(name)
    error = abs(est.log_evidence_ - EXACT.log_evidence_)
    assert error <= LOOSE.get(name, 4 * est.log_evidence_std_)
    assert isinstance(est.log_evidence_std_, float)
    assert (est.log_evidence_std_ == 0) == (name == "exact")


@every
def test_predictions_and_reports_work(name):
    est = fitted(name)
    mean, std = est.predict(X, return_std=True)
    if name not in LOOSE:
        np.testing.assert_allclose(mean, EXACT.predict(X), atol=0.3)
    assert np.all(std > 0.9)
    assert np.all(np.isfinite(est.score_samples(X, Y))) and np.isfinite(est.log_predictive(X[:5], Y[:5]))
    assert est.sample_y(X[:3], 2).shape == (3, 2)
    assert est.posterior_samples()["coef"].shape == (len(est.particles_), 2)
    assert est.particle_weights_.sum() == pytest.approx(1) and np.all(est.particle_weights_ > 0)
    assert est.evidence_path_["n_samples"][-1] == est.n_samples_seen_ == len(X)
    assert est.evidence_path_["log_evidence"][-1] == est.log_evidence_
    assert est.diagnostics_["n_particles"] > 0


@every
def test_an_int_repeats_and_copies_are_whole(name):
    est = begun(name)
    same_fit(est, clone(est).fit(X[:20], Y[:20]))
    copied = pickle.loads(pickle.dumps(est))
    same_fit(est, copied)
    np.testing.assert_array_equal(copied.predict(X), est.predict(X))
    if name != "exact":
        assert clone(est).set_params(random_state=1).fit(X[:20], Y[:20]).log_evidence_ != est.log_evidence_


@every
def test_weights_are_repetitions(name):
    weight = np.arange(20) % 3
    repeated = np.repeat(np.arange(20), weight)
    a = linear(name).fit(X[:20], Y[:20], sample_weight=weight)
    b = linear(name).fit(X[repeated], Y[repeated])
    # a row that counts twice cannot be cut in two: where rows are taken a few at a time, the same in law
    cut = name in ("sir", "sequential", "sequential nested")
    std = np.hypot(a.log_evidence_std_, b.log_evidence_std_)
    assert a.log_evidence_ == pytest.approx(b.log_evidence_, abs=4 * std if cut else 1e-3)


@offline
def test_offline_samplers_have_no_partial_fit(name):
    est = linear(name)
    assert not hasattr(est, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        est.partial_fit(X, Y)
    assert f"{type(est.sampler).__name__} needs all rows at once: use fit" in str(raised.value.__cause__)


@online
def test_online_samplers_have_it(name):
    same_fit(begun(name), linear(name).partial_fit(X[:20], Y[:20]))


class Other(SGAIS):
    """A sampler of another type, which cannot read the state of the first."""


@pytest.mark.parametrize("first", [*OFFLINE, *ONLINE])
def test_the_type_cannot_change_mid_stream(first):
    est = linear(first).fit(X[:20], Y[:20])
    before = pickle.dumps((est.log_evidence_, est.particles_, est.n_samples_seen_))
    message = f"sampler was {type(est.sampler).__name__}, is Other: call fit"
    est.set_params(sampler=Other())
    with pytest.raises(ValueError, match=message):
        est.partial_fit(X[20:], Y[20:])
    assert pickle.dumps((est.log_evidence_, est.particles_, est.n_samples_seen_)) == before
    assert est.fit(X[:30], Y[:30]).n_samples_seen_ == 30


@every
def test_an_interrupt_changes_nothing(name, monkeypatch):
    """It comes at the end of the work, when most could have changed."""
    est = linear(name, random_state=np.random.RandomState(0)).fit(X[:10], Y[:10])
    before, drawn = dict(vars(est)), pickle.dumps(est.random_state.get_state())
    method = "update" if name in ONLINE else "run"
    complete = getattr(type(est.sampler), method)

    def interrupted(self, *args, **kwargs):
        complete(self, *args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(est.sampler), method, interrupted)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X[:20], Y[:20])
    assert vars(est).keys() == before.keys() and all(vars(est)[k] is v for k, v in before.items())
    assert pickle.dumps(est.random_state.get_state()) == drawn
    assert np.isfinite(est.fit(X[:20], Y[:20]).log_evidence_)


@every
def test_wrong_parameters_are_refused_and_nothing_changes(name):
    size = "n_live" if "nested" in name else "tolerance" if "until" in name else "n_particles"
    est = linear(name).set_params(**{f"sampler__{size}": 0})
    with pytest.raises(ValueError, match=f"'{size}' parameter of {type(est.sampler).__name__}"):
        est.fit(X, Y)
    assert not hasattr(est, "log_evidence_")


def of_every_kind():
    for name, kind in product([*OFFLINE, *ONLINE], ["linear", "softmax", "gmm", "custom"]):
        is_long = kind == "gmm" and "nested" in name
        yield pytest.param(name, kind, marks=[pytest.mark.slow] * is_long)


@pytest.mark.parametrize("name, kind", of_every_kind())
def test_every_kind_of_model(name, kind):
    """Or a clear no: in these models there is no formula."""
    est = estimator(kind, sampler=clone((OFFLINE | ONLINE)[name]).set_params(**FEW.get(name, {})))
    X, y = part(kind, 0, 12)
    if name == "exact" and kind != "linear":
        with pytest.raises(ValueError, match="exact log evidence only for linear regression and"):
            est.fit(X, y)
        return
    assert np.isfinite(est.fit(X, y).log_evidence_) and np.isfinite(est.log_evidence_std_)
    assert est.particles_.shape[1] == est._model.n_params


def test_warnings_of_a_sampler_reach_the_user():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        linear("harmonic").fit(X, Y)
    assert [w.category for w in caught] == [EvidenceWarning]
