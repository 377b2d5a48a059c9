"""Streams of single rows, whose evidence, records and warnings are made when somebody asks for them."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sgevidence import SGAIS, BayesianAutoregression, BayesianLinearRegression
from sgevidence.exceptions import DivergenceError, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.models import LinearModel, _linear_posterior
from sgevidence.samplers import _records

#: Rows of the first call, and single ones after it.
FIRST, SINGLE = 60, 12
N = FIRST + SINGLE


def rows_of(rng, d=3):
    X = rng.standard_normal((N, d)) * [1.0, 10.0, 0.1][:d]
    return X, X @ [1.0, -0.1, 3.0][:d] + rng.standard_normal(N)


def begun(X, y, **parameters):
    return BayesianLinearRegression(random_state=0, **parameters).partial_fit(X[:FIRST], y[:FIRST])


def in_single_rows(model, X, y, ask=lambda model: None):
    for k in range(FIRST, len(X)):
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        ask(model)
    return model


@pytest.mark.parametrize(
    "parameters", [{}, {"noise_std": 0.8}, {"noise_prior": (2.0, 1.0)}, {"fit_intercept": False}]
)
def test_the_evidence_is_that_of_one_fit(rng, parameters):
    X, y = rows_of(rng)
    model = in_single_rows(begun(X, y, **parameters), X, y)
    assert model._waits == (parameters in ({}, {"noise_std": 0.8}))
    check_is_fitted(model)
    whole = BayesianLinearRegression(units=model.units_, **parameters).fit(X, y)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)
    assert model.log_evidence_std_ == 0.0
    assert model.n_samples_seen_ == N and model.data_fingerprint_ == whole.data_fingerprint_


def test_answers_do_not_depend_on_whether_somebody_asked(rng):
    X, y = rows_of(rng)
    asked = in_single_rows(begun(X, y), X, y, ask=lambda model: (model.log_evidence_, model.predict(X[:2])))
    silent = in_single_rows(begun(X, y), X, y)
    copies = [copy.copy(silent), copy.deepcopy(silent), pickle.loads(pickle.dumps(silent))]
    for other in (silent, *copies):
        assert other.log_evidence_ == asked.log_evidence_
        assert np.array_equal(other.particles_, asked.particles_)
        path = {name: values.tolist() for name, values in asked.evidence_path_.items()}
        assert repr({name: values.tolist() for name, values in other.evidence_path_.items()}) == repr(path)
    assert not hasattr(clone(silent), "log_evidence_")


def test_the_path_has_every_call(rng):
    X, y = rows_of(rng)
    model = in_single_rows(begun(X, y), X, y)
    path = model.evidence_path_
    assert path["n_samples"].tolist() == list(range(FIRST, N + 1))
    for n in (FIRST, FIRST + 5, N):
        whole = BayesianLinearRegression(units=model.units_).fit(X[:n], y[:n])
        assert path["log_evidence"][n - FIRST] == pytest.approx(whole.log_evidence_, abs=1e-9)
    assert np.cumsum(path["log_predictive"]) == pytest.approx(path["log_evidence"], abs=1e-9)


def test_paths_of_many_columns_are_thinned_while_nobody_asks(rng, monkeypatch):
    monkeypatch.setattr(_records, "MAX_WAITING_NUMBERS", 6 * 25)
    X, y = rows_of(rng)
    model = in_single_rows(begun(X, y), X, y)
    path = model.evidence_path_
    assert len(path["n_samples"]) <= 6 and path["n_samples"][-1] == N
    assert np.sum(path["log_predictive"]) == pytest.approx(path["log_evidence"][-1], abs=1e-9)


def test_records_of_the_sampler_are_made_when_they_are_read(rng):
    X, y = rows_of(rng)
    model, sampler = LinearModel(3), SGAIS()
    rows = Rows.of(X, y)
    state, _ = sampler.update(sampler.init(model, rng), model, rows.take(np.arange(N - 1)), rng)
    state, (record,) = sampler.update(state, model, rows.take(np.array([N - 1])), rng)
    assert state.waits
    again = pickle.loads(pickle.dumps(record))
    assert state.waits and isinstance(record, _records.WaitingRecord)
    assert record.log_evidence == again.log_evidence == state.log_evidence
    assert record.n_samples == N and str(record).startswith(f"{N} rows, log evidence") and not state.waits
    assert record.log_evidence == pytest.approx(model.exact_log_evidence(rows), abs=1e-9)


def test_an_autoregression_waits_as_well(rng):
    y = rng.standard_normal(N)
    model = BayesianAutoregression(2).partial_fit(y[:FIRST])
    for k in range(FIRST, N):
        model.partial_fit(y[k : k + 1])
    assert model._waits
    whole = BayesianAutoregression(2, units=model.units_).fit(y)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)


def test_attributes_that_a_wrapper_copies_are_not_those_of_an_earlier_call(rng):
    """As ``dask_ml.wrappers.Incremental`` copies them after each call."""
    X, y = rows_of(rng)
    model, learnt = begun(X, y), {}
    for call in (slice(FIRST), slice(FIRST, FIRST + 1)):
        if call.start:
            model.partial_fit(X[call], y[call])
        learnt |= {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert model._waits and learnt["n_samples_seen_"] == FIRST + 1
    assert np.isnan(learnt["log_evidence_"]) and np.isnan(learnt["log_evidence_std_"])
    assert np.isfinite(model.log_evidence_)


# -- warnings ------------------------------------------------------------------------------------


def contradicting(rng):
    """Rows whose slope goes beyond the prior in single rows, after a first call without a sign of it."""
    X = np.linspace(-1, 1, N)[:, None]
    y = rng.standard_normal(N)
    y[FIRST:] = 40 * X[FIRST:, 0]
    return X, y


READERS = {
    "log_evidence_": lambda model: model.log_evidence_,
    "warnings_": lambda model: model.warnings_,
    "coef_": lambda model: model.coef_,
    "predict": lambda model: model.predict([[0.0]]),
    "summary": lambda model: model.summary(),
    "evidence_path_": lambda model: model.evidence_path_,
    "particles_": lambda model: model.particles_,
}


def check_warned_when_asked(rng, read):
    X, y = contradicting(rng)
    model = begun(X, y, standardize=False, noise_std=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_single_rows(model, X, y)
    with pytest.warns(EvidenceWarning, match="prior and data contradict"):
        read(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(model)
    assert any("contradict" in words for words in model.warnings_)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_who_asks_is_warned(rng, read):
    check_warned_when_asked(rng, read)


def test_who_asks_would_not_be_warned(rng, monkeypatch):
    monkeypatch.setattr(BayesianLinearRegression, "_warn_belatedly", lambda self: None)
    with pytest.raises(pytest.fail.Exception):
        check_warned_when_asked(rng, READERS["log_evidence_"])


def test_a_fit_or_a_larger_call_forgets_what_waited(rng):
    X, y = contradicting(rng)
    model = in_single_rows(begun(X, y, standardize=False, noise_std=1.0), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[:FIRST], y[:FIRST])
        assert model.warnings_ == [] and not model._waits
    in_single_rows(model, X, y)
    with pytest.warns(EvidenceWarning) as found:
        model.partial_fit(X[FIRST:], y[FIRST:])
    assert len(found) == 1 and len(model.warnings_) == 1


def test_units_that_a_stream_leaves_are_told_at_the_call(rng):
    X, y = rows_of(rng)
    model = begun(X, y)
    with pytest.warns(EvidenceWarning, match="units"):
        for _ in range(60):
            model.partial_fit(X[:1] + 1000.0, y[:1])


def test_a_row_that_double_precision_does_not_hold_is_refused_by_its_call(rng):
    X, y = rows_of(rng, 2)
    model = in_single_rows(begun(X, y, standardize=False, noise_std=1e-4, coef_scale=1e9), X, y)
    before = vars(model).copy()
    with pytest.raises(DivergenceError):
        model.partial_fit([[1e20, 1e20 + 1e5]], [1e9])
    assert vars(model) == before


# -- rounding ------------------------------------------------------------------------------------


def hostile(rng):
    """Sums of columns of any length, near multiples of one another, and far from zero."""
    d = int(rng.integers(1, 6)) if rng.random() < 0.7 else int(rng.integers(20, 40))
    n = d + int(rng.integers(5, 150))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-6, 6, d) + 10.0 ** rng.uniform(-6, 8, d)
    if d > 1:
        X[:, 1] = X[:, 0] * (1 + 10.0 ** rng.uniform(-12, 0) * rng.standard_normal(n))
    y = (X - X.mean(axis=0)) @ rng.standard_normal(d) + 10.0 ** rng.uniform(-6, 3) * rng.standard_normal(n)
    known = {} if rng.random() < 0.5 else {"noise_std": 10.0 ** rng.uniform(-3, 3)}
    model = LinearModel(
        d, coef_scale=10.0 ** rng.uniform(-4, 4), intercept_scale=10.0 ** rng.uniform(-4, 8), **known
    )
    return model, model.sums(Rows.of(X, y))


def check_bound(rng, n_problems=600):
    n_waiting = 0
    for _ in range(n_problems):
        model, sums = hostile(rng)
        if not model.posterior_can_wait(sums):
            continue
        n_waiting += 1
        posterior = model.posterior(sums)  # which raises DivergenceError where it is beyond double precision
        s = posterior.s if model.noise_std else posterior._quadrature[0]
        weight = np.ones(1) if model.noise_std else posterior._quadrature[1]
        std = model.noise_std or abs(sums.R[-1, -1]) / (2 * np.sqrt(sums.total_weight))
        bound = _linear_posterior.largest_rounding(sums, model.coef_scale, model.intercept_scale, std)
        assert weight @ posterior.spectrum.rounding(s) <= bound
        assert np.isfinite(posterior.log_evidence)
    assert n_waiting > n_problems / 5


def test_what_waits_is_right(rng):
    check_bound(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("of_columns + of_mean + residuals * (delta / std) + 0.5 * (delta / std) ** 2", "of_mean"),
        ("np.hypot(y[-1], std * W) / std", "y[-1] * 0.0"),
    ],
)
def test_a_bound_without_a_part_is_none(rng, install_broken, right, wrong):
    install_broken(_linear_posterior, "largest_rounding", right, wrong)
    with pytest.raises((AssertionError, DivergenceError)):
        check_bound(rng)
