"""Samplers of particles alone are doubted on mixtures, and streams that have left strata behind."""

import pytest

from sgevidence import (
    AIS,
    SGAIS,
    SIR,
    BayesianGMM,
    EvidenceWarning,
    MixtureEvidence,
    NestedSampling,
    UntilPrecise,
)

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


@pytest.mark.parametrize("sampler", [None, SGAIS(), MixtureEvidence(), UntilPrecise(target_std=0.5)])
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
    monkeypatch.setattr("sgevidence.mixtures._limits.MOST_NUMBERS", 60 * 2 * 3)
    model.partial_fit(X[60:110])
    assert model.warnings_ == []
    with pytest.warns(EvidenceWarning, match="carry the evidence on from 60 rows"):
        model.partial_fit(X[110:])
