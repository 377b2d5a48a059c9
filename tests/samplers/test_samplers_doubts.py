"""Doubts by records name what to change; particles alone are doubted on mixtures, and streams of them."""

import pytest

from sgevidence import SGAIS, BayesianGMM, EvidenceWarning
from sgevidence.mixture.strata import MixtureEvidence
from sgevidence.samplers import AIS, SIR, ChunkRecord, NestedSampling, SequentialSGMCMC, UntilPrecise
from sgevidence.samplers._records import doubts_of_records

FEW = {
    "annealing": AIS(n_particles=100),
    "nested": NestedSampling(n_live=50),
    "online": SGAIS(n_particles=50, mode_search=None, proposal=None),
    "iterated": SIR(n_particles=50),
}


@pytest.mark.parametrize("sampler", FEW.values(), ids=FEW)
def test_particles_alone_may_have_lost_groups(sampler, rng):
    model = BayesianGMM(2, sampler=sampler, random_state=0)
    with pytest.warns(EvidenceWarning, match="comes from particles, which may have lost groups"):
        model.fit(rng.normal(size=(30, 1)))
    assert any("MixtureEvidence()" in words for words in model.warnings_)


@pytest.mark.parametrize("sampler", [None, SGAIS(), MixtureEvidence(), UntilPrecise(tolerance=0.5)])
def test_strata_are_not_doubted(sampler, rng):
    assert BayesianGMM(2, sampler=sampler, random_state=0).fit(rng.normal(size=(30, 1))).warnings_ == []


def test_one_component_has_no_groups_to_lose(rng):
    assert (
        BayesianGMM(1, sampler=AIS(n_particles=100), random_state=0).fit(rng.normal(size=(30, 1))).warnings_
        == []
    )


def test_streams_that_strata_no_longer_answer_for(rng, monkeypatch):
    model, X = BayesianGMM(2, random_state=0), rng.normal(size=(200, 1))
    model.partial_fit(X[:60])
    monkeypatch.setattr("sgevidence.mixture.strata._limits.MAX_WALK_NUMBERS", 60 * 2 * 3)
    model.partial_fit(X[60:110])
    assert model.warnings_ == []
    with pytest.warns(EvidenceWarning, match="carry the evidence on from 60 rows"):
        model.partial_fit(X[110:])


GOOD = ChunkRecord(100, -50.0, 0.1, -50.0, ess=30.0, n_particles=40, n_moves=2)
BAD = {
    "uncertain by 1.5 nats: raise the sampler's n_particles or max_particles": dict(log_evidence_std=1.5),
    "only 3.0 of the particles counted after 100 rows": dict(ess=3.0),
    "spreads the particles by 0.7 nats: raise the sampler's reservoir_size": dict(sample_noise=0.7),
    "missed a mode that is better by 12 nats": dict(missed_mode=12.0),
    "9 proposals were refused": dict(n_refused=9),
    "of -1e+14 nats is rounded to more than a nat": dict(log_evidence=-1e14),
}


@pytest.mark.parametrize("message, what", BAD.items(), ids=[next(iter(what)) for what in BAD.values()])
def test_doubts_by_records(message, what):
    (found,) = doubts_of_records([GOOD._replace(**what)], SGAIS())
    assert message in str(found)


def test_no_doubt_without_a_reason():
    borderline = dict(log_evidence=-2e13, log_evidence_std=1.0, ess=4.0, sample_noise=0.5, n_refused=8)
    assert doubts_of_records([GOOD, GOOD._replace(**borderline)], SGAIS()) == []


def test_advice_names_what_the_sampler_has():
    (found,) = doubts_of_records([GOOD._replace(log_evidence_std=2.0)], SequentialSGMCMC())
    assert "raise the sampler's n_particles" in found.remedy and "max_particles" not in found.remedy
    (bare,) = doubts_of_records([GOOD._replace(log_evidence_std=2.0)])
    assert str(bare) == "the log evidence is uncertain by 2.0 nats"
