"""A fit of a user's model says after a hundred calls what it will cost, and can be limited."""

import numpy as np
import pytest
from scipy import stats

from sgevidence import BayesianModel, CallLimitError, EvidenceWarning
from sgevidence.custom import _base as _custom_price
from sgevidence.custom._base import Price, price
from sgevidence.history import Rows
from sgevidence.samplers import Laplace

ROW = Rows.of(np.zeros((1, 1)))


class Counted:
    """A log likelihood that counts the parameter vectors that it is given."""

    def __init__(self):
        self.n = 0

    def __call__(self, p, *rows):
        self.n += len(p["a"])
        value = stats.norm.logpdf(p["a"], 0.5, 0.3).sum(axis=1)
        return value if not rows else np.repeat(value[:, None], len(rows[0]), axis=1) / 40


def model(log_likelihood, d=5, **kw):
    kw = dict(gradient="numerical", random_state=0) | kw
    return BayesianModel(log_likelihood, {"a": (stats.norm(0, 1), d)}, **kw)


def check_count(**kw):
    function = Counted()
    fitted = model(function, **kw).fit()
    assert fitted.diagnostics_["n_calls"] == function.n


@pytest.mark.parametrize("kw", [dict(d=1), dict(d=2), dict(d=4, sampler=Laplace())])
def test_calls_are_counted_with_those_of_the_check_and_of_differences(kw):
    check_count(**kw)


def test_a_limit_far_below_the_estimate_is_refused_after_a_hundred_calls():
    function = Counted()
    refused = model(function, max_calls=2000)
    with pytest.raises(CallLimitError, match=r"max_calls=2000 will not .* about \de\+04 .*by 4096 draws"):
        refused.fit()
    assert function.n < 200 and not hasattr(refused, "log_evidence_")


def test_a_limit_below_the_estimate_is_said_before_the_fit_begins():
    function = Counted()
    limited = model(function, d=2, max_calls=4000)
    with pytest.warns(
        EvidenceWarning, match=r"max_calls=4000 may not do, .*: about 8e\+03 evaluations"
    ) as found:
        with pytest.raises(CallLimitError, match="nothing has changed"):
            limited.fit()
    assert len(found) == 1 and found[0].filename == __file__


def test_a_limit_that_is_reached_leaves_all_as_it_was():
    function = Counted()
    X = np.zeros((40, 1))
    stream = model(function, d=1, max_calls=3000).partial_fit(X)
    before = stream.log_evidence_, stream.particles_.copy(), stream.diagnostics_["n_calls"]
    assert before[2] < 3000
    stream.set_params(max_calls=10)
    function.n = 0
    with pytest.raises(CallLimitError, match="nothing has changed"):
        stream.partial_fit(X)
    assert function.n <= 10 and stream.log_evidence_ == before[0] and stream.n_samples_seen_ == 40
    np.testing.assert_array_equal(stream.particles_, before[1])
    stream.set_params(max_calls=3000).partial_fit(X)  # of each call
    assert stream.n_samples_seen_ == 80


def test_verbose_says_what_to_expect(capsys):
    model(Counted(), d=1, verbose=True).fit()
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("[BayesianModel] expects about 1e+03 evaluations of log_likelihood (boxes")


def test_a_long_fit_is_announced(monkeypatch):
    monkeypatch.setattr(_custom_price, "ANNOUNCED_SECONDS", 0.0)
    with pytest.warns(EvidenceWarning, match="this fit is long: about .* max_calls= sets a limit"):
        fitted = model(Counted(), d=1).fit()
    assert fitted.warnings_ == []  # the answer is as good as any


def test_estimates_are_right_to_a_factor_of_four():
    for d in (1, 2, 5):
        estimator = model(Counted(), d=d).fit()
        expected = price(estimator._model, ROW, estimator, 1.0).n_calls
        assert 1 / 4 < estimator.diagnostics_["n_calls"] / expected < 4
    assert price(estimator._model, ROW, estimator.set_params(sampler=Laplace()), 1.0) is None


@pytest.mark.parametrize("most, n_draws", [(15_000, 4096), (30_000, 8192), (None, 16_384)])
def test_the_limit_chooses_the_size_of_the_survey(most, n_draws, capsys):
    estimator = model(Counted(), d=4, max_calls=most, verbose=True).fit()
    assert f"a survey of the prior by {n_draws} draws" in capsys.readouterr().out.splitlines()[0]
    assert n_draws < estimator.diagnostics_["n_calls"] < 4 * n_draws
    exact = 4 * stats.norm.logpdf(0.5, 0, 1.09**0.5)
    assert abs(estimator.log_evidence_ - exact) < 4 * estimator.log_evidence_std_ < 0.1


def test_times_are_words():
    words = [str(Price(1000, seconds, "")).rpartition(" each ")[2] for seconds in (2e-6, 2e-4, 0.2, 10, 500)]
    assert words == ["2 ms", "200 ms", "3.3 min", "2.8 h", "5.8 days"]
