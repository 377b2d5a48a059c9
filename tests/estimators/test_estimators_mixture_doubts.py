"""Samplers that know nothing of allocations are held against them; else rows that are far out are doubted."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from sgevidence import AIS, SGAIS, SIR, BayesianGMM, EvidenceWarning, NestedSampling, UntilPrecise
from sgevidence.estimators import CONFLICT, _mixture_doubts
from sgevidence.history import Rows
from sgevidence.models import MixtureModel

FEW = {
    "annealing": AIS(n_particles=300),
    "nested": NestedSampling(n_live=100),
    "online": SGAIS(n_particles=50, mode_search=None, proposal=None),
    "iterated": SIR(n_particles=100),
}


def groups(rng, scale, n=90):
    """Three groups, eight of their widths apart."""
    centres = np.array([[0.0, 0.0], [8.0, 8.0], [-8.0, 8.0]])
    return scale * (centres[np.arange(n) % 3] + rng.normal(size=(n, 2)))


def words(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert all(w.filename == __file__ for w in caught)
    assert [str(w.message) for w in caught] == model.warnings_
    return [word for word in model.warnings_ if "allocations" in word]


def of_sampling(model):
    """Warnings but for that of the prior, which rows so far out contradict."""
    return [words for words in model.warnings_ if not words.startswith(CONFLICT)]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", FEW.values(), ids=FEW)
def test_particles_that_lost_a_group(rng, sampler):
    """Ten times the scale of the prior: two groups end in one component, tens of nats low."""
    X = groups(rng, 10.0)
    model = BayesianGMM(3, sampler=sampler, random_state=0, standardize=False)
    (said,) = words(model, X)
    truth = BayesianGMM(3, random_state=0, standardize=False).fit(X)
    assert of_sampling(truth) == [] and truth.log_evidence_ - model.log_evidence_ > 10.0
    told = float(said.split("evidence of ")[1].split()[0])
    assert abs(told - truth.log_evidence_) < 0.3 and "use SGAIS()" in said


@pytest.mark.parametrize("sampler", FEW.values(), ids=FEW)
def test_particles_that_did_not(rng, sampler):
    assert (
        words(BayesianGMM(2, sampler=sampler, random_state=0, standardize=False), rng.normal(size=(40, 1)))
        == []
    )


@pytest.mark.parametrize("shift, expected", [(0.0, False), (40.0, True)])
def test_where_there_are_no_allocations_far_rows_are_doubted(rng, monkeypatch, shift, expected):
    for name in ("allocation_evidence", "mixture_answer"):
        monkeypatch.setattr(_mixture_doubts, name, lambda *_: None)
    X = rng.normal(size=(60, 1)) + shift
    for sampler in (AIS(n_particles=100), SGAIS(mode_search=None, proposal=None)):
        model = BayesianGMM(2, sampler=sampler, random_state=0, standardize=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        assert any("scale X" in word for word in model.warnings_) is expected


def test_no_second_opinion_of_allocations_themselves(rng, monkeypatch):
    def asked(*args):
        raise RuntimeError("asked")

    monkeypatch.setattr(_mixture_doubts, "allocation_evidence", asked)
    X = rng.normal(size=(30, 1))
    for sampler in (None, SGAIS(), UntilPrecise(target_std=0.5)):
        assert BayesianGMM(2, sampler=sampler, random_state=0, standardize=False).fit(X).warnings_ == []
    assert (
        BayesianGMM(1, sampler=AIS(n_particles=100), random_state=0, standardize=False).fit(X).warnings_ == []
    )
    with pytest.raises(RuntimeError, match="asked"):
        BayesianGMM(2, sampler=AIS(n_particles=100), random_state=0, standardize=False).fit(X)


@pytest.mark.slow
def test_far_rows_by_particles_alone(rng):
    """In a stream, whose first call alone is held against allocations; and not where these are asked."""
    X, alone = rng.normal(size=(200, 1)), SGAIS(mode_search=None, proposal=None)
    apart = X + 40.0 * (-1.0) ** np.arange(200)[:, None]
    for K, rows, sampler in ((2, X + 40.0, None), (2, X, alone), (2, apart, alone), (1, X + 40.0, alone)):
        model = BayesianGMM(K, sampler=sampler, random_state=0, standardize=False)
        assert of_sampling(model.partial_fit(rows[:100]).partial_fit(rows[100:])) == []
    model = BayesianGMM(2, sampler=alone, random_state=0, standardize=False).fit(X[:100] + 40.0)
    assert not any("scale X" in word for word in model.warnings_)  # allocations have answered
    with pytest.warns(EvidenceWarning, match=r"lie \d\d standard deviations from zero") as caught:
        model.partial_fit(X[100:] + 40.0)
    assert any("scale X" in str(w.message) and w.filename == __file__ for w in caught)


def test_streams_are_doubted_beyond_what_allocations_take(rng, monkeypatch):
    """Or where rows are gone; not where the rows before say that allocations have twenty times the time."""
    model, X = BayesianGMM(2, random_state=0, standardize=False), rng.normal(size=(60, 1)) + 40.0
    model.partial_fit(X[:30]).partial_fit(X[30:])
    state = model._stream.state
    mixture, rows = MixtureModel(2, 1), Rows.of(X[30:])
    assert _mixture_doubts.of_stream(mixture, rows, state, n_renewals=0) is None
    gone = state._replace(memory=state.memory._replace(reservoir=_without_a_row(state.memory.reservoir)))
    assert "scale X" in _mixture_doubts.of_stream(mixture, rows, gone, n_renewals=0)
    assert _mixture_doubts.of_stream(mixture, rows, gone, n_renewals=1) is None
    monkeypatch.setattr(_mixture_doubts, "most_rows", lambda model: 2.0)  # 40 of 60
    assert "scale X" in _mixture_doubts.of_stream(mixture, rows, state, n_renewals=0)


def _without_a_row(reservoir):
    return replace(reservoir, rows=reservoir.rows[:-1])
