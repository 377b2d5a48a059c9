"""What was warned of stays readable: ``warnings_`` of a fit, of a stream, in a comparison."""

import warnings

import numpy as np
import pytest
from estimator_cases import data, estimator, slope_log_prior, slope_model

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceModelAverager,
    EvidenceWarning,
    compare,
)
from sgevidence.samplers import Exact, HarmonicMean, Laplace, PriorSampling, SequentialSGMCMC

FEW = SGAIS(n_particles=4, max_particles=4, proposal=None)


def half_prior(theta):
    return 2 * slope_log_prior(theta)


CASES = {
    "few particles": (lambda: estimator("linear", sampler=FEW), "uncertain by"),
    "harmonic": (lambda: estimator("linear", noise_std=0.5, sampler=HarmonicMean(100)), "infinite variance"),
    "prior": (lambda: estimator("linear", sampler=PriorSampling(200)), "draws count"),
    "published": (
        lambda: estimator("linear", noise_std=0.5, sampler=SequentialSGMCMC.paper()),
        "fewer than five",
    ),
    "a wrong prior": (lambda: slope_model(log_prior=None), "log_prior does not seem"),
    "no counts": (lambda: estimator("glm"), "y are not counts"),
}


def given(act):
    """Texts of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, EvidenceWarning)]


def model_and_rows(case):
    make, words = CASES[case]
    X, y = data("linear")
    if case == "a wrong prior":
        model = slope_model().set_params(log_prior=half_prior)
    else:
        model = make()
    return model, X, (np.abs(y) if isinstance(model, BayesianGLM) else y), words


@pytest.mark.parametrize("case", CASES)
def test_warnings_of_a_fit_are_kept(case):
    model, X, y, words = model_and_rows(case)
    assert not hasattr(model, "warnings_")
    said = given(lambda: model.fit(X, y))
    assert any(words in one for one in said)
    assert sorted(model.warnings_) == sorted(said)
    table = compare({"poor": model})
    assert all(one in table["warnings"].iloc[0] for one in said)


def test_a_good_fit_has_none_and_forgets_the_old_ones():
    X, y = data("linear")
    model = BayesianLinearRegression(0.5, sampler=Laplace(), random_state=0).fit(X, y)
    assert model.warnings_ == []
    model = estimator("linear", sampler=FEW)
    assert given(lambda: model.fit(X, y)) and model.warnings_
    assert model.set_params(sampler=Exact()).fit(X, y).warnings_ == []


@pytest.mark.parametrize("case", ["few particles", "a wrong prior", "no counts"])
def test_in_a_stream_they_are_those_of_all_rows(case):
    model, X, y, words = model_and_rows(case)
    given(lambda: model.partial_fit(X[:60], y[:60]))
    given(lambda: model.partial_fit(X[60:], np.round(y[60:]) if case == "no counts" else y[60:]))
    assert [words in one for one in model.warnings_].count(True) == 1


def test_an_average_has_those_of_its_models_by_name():
    X, y = data("linear")
    average = EvidenceModelAverager(
        [("good", estimator("linear", n_particles=2000)), ("poor", estimator("linear", sampler=FEW))]
    )
    given(lambda: average.fit(X, y))
    assert average.warnings_ == [f"poor: {one}" for one in average.estimators_[1].warnings_] != []


def test_a_failed_call_leaves_them_as_they_were():
    model, X, y, _ = model_and_rows("no counts")
    given(lambda: model.partial_fit(X, y))
    before = model.warnings_
    with pytest.raises(ValueError, match="negative value"):
        model.fit(X, -1 - y)
    assert model.warnings_ == before
