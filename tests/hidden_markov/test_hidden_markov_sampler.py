"""A stream of rows has the evidence of all rows at once, however it is cut."""

import numpy as np
import pytest

from sgevidence.hidden_markov import HiddenMarkovModel, HiddenStateEvidence
from sgevidence.history import Rows
from sgevidence.mixture.components import PoissonGamma


def series(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(np.where(np.arange(n) // 20 % 2, 6.0, 1.0))[:, None].astype(float)
    return Rows(X, np.isin(np.arange(n), [0, 35]).astype(float), np.ones(n))


def model(K):
    return HiddenMarkovModel(emission=PoissonGamma((2.0, 1.0), (1.0,)), n_states=K, stickiness=2.0)


def streamed(K, cuts, seed=0):
    sampler, rows, rng = HiddenStateEvidence(), series(), np.random.default_rng(seed)
    state, records = sampler.init(model(K), rng), []
    for start, stop in zip([0, *cuts], [*cuts, len(rows)]):
        state, new = sampler.update(state, model(K), rows[start:stop], rng)
        records += new
    return state, records


def check_stream(K=2):
    whole, _ = streamed(K, [])
    for cuts in ([30], [20, 21, 22, 36, 40, 50], list(range(10, 60, 7))):
        state, records = streamed(K, cuts)
        error = np.hypot(whole.log_evidence_std, state.log_evidence_std)
        assert abs(state.log_evidence - whole.log_evidence) < 4.5 * error + 1e-9
        assert state.log_evidence_std < 0.15
        assert sum(r.log_predictive for r in records) == pytest.approx(state.log_evidence)
        assert records[-1].n_samples == 60
    return records


@pytest.mark.slow
def test_a_stream_is_the_evidence_of_all_rows():
    records = check_stream()
    assert 0 < sum(r.n_proposals for r in records) < len(records)  # some rows only weigh the draws


def test_one_state_is_exact_in_a_stream():
    whole, _ = streamed(1, [])
    state, _ = streamed(1, [1, 10, 30])
    assert state.log_evidence == pytest.approx(whole.log_evidence, abs=1e-9)
    assert state.log_evidence_std == 0.0


def test_a_stream_of_two_calls_is_the_evidence_of_all_rows():
    whole, (state, _) = streamed(2, [])[0], streamed(2, [40])
    error = np.hypot(whole.log_evidence_std, state.log_evidence_std)
    assert abs(state.log_evidence - whole.log_evidence) < 4.5 * error


def test_the_filter_of_a_stream_is_that_of_all_rows():
    state, records = streamed(2, [40, 45, 50])
    assert records[-1].n_proposals == 0
    expected = model(2).last_filter(state.theta, series())
    np.testing.assert_allclose(state.alpha, expected, atol=1e-10)


def test_a_filter_that_is_forgotten_is_seen(install_broken):
    right, wrong = "model.filtered(state.theta, rows, state.alpha)", "model.filtered(state.theta, rows)"
    install_broken(HiddenStateEvidence, "_weighed", right, wrong)
    with pytest.raises(AssertionError):
        check_stream()


def test_more_rows_than_there_is_an_evidence_for(rng):
    rows = series()
    with pytest.raises(ValueError, match="up to 6 states"):
        HiddenStateEvidence().update(HiddenStateEvidence().init(model(7), rng), model(7), rows, rng)
