"""The record of a run: costs that add up however it is thinned."""

import numpy as np
import pytest
from softmax_reference import log_evidence

from sgevidence import SGAIS, BayesianGMM, EvidenceWarning
from sgevidence.history import Memory, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import MixtureEvidence
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.particles import Cloud, Weights
from sgevidence.samplers import (
    AIS,
    SIR,
    ChunkRecord,
    NestedSampling,
    SequentialSGMCMC,
    UntilPrecise,
    diagnostics,
    evidence_path,
    thinned,
)
from sgevidence.samplers import _records as module
from sgevidence.samplers._records import doubts_of_records
from sgevidence.transitions import COUNTS, Adaptation, Info, State

M = 40
GOOD = ChunkRecord(100, -50.0, 0.1, -50.0, ess=30.0, n_particles=M, n_moves=2)


def state(log_Z, log_w=0.0, sample_noise=np.nan):
    cloud = Cloud.planted(np.zeros((M, 1)))._replace(log_Z=log_Z, weights=Weights(np.zeros(M) + log_w))
    return State(cloud, Memory.empty(), Adaptation(sample_noise=sample_noise))


def check_record():
    """From the states around a chunk, and the cost and outcome of each transition."""
    weighed = Info(n_likelihoods=100.0, ess=12.0, lambdas=())
    refused = Info(n_refused=1, n_likelihoods=50.0, ess=np.nan)
    annealed = Info(
        lambdas=(0.3, 1.0), ess=20.0, n_moves=2, n_likelihoods=7.0, n_gradients=9.0, acceptance=0.8
    )
    again = Info(lambdas=(1.0,), acceptance=np.nan, missed_mode=3.0, n_renewals=1)
    record = ChunkRecord.of(state(-10.0), state(-14.0, 1.0, 0.2), [weighed, refused, annealed, again])
    assert record.log_evidence == pytest.approx(-13.0) and record.log_predictive == pytest.approx(-3.0), (
        "nats"
    )
    assert record.n_likelihoods == 157.0 and record.n_gradients == 9.0 and record.n_moves == 2, "costs"
    assert record.lambdas.tolist() == [0.3, 1.0, 1.0] and record.n_annealing_steps == 3
    assert record.ess == 12.0 and record.acceptance == 0.8, "the worst and the last that is known"
    assert (record.n_refused, record.n_renewals, record.missed_mode) == (1, 1, 3.0)
    assert record.sample_noise == 0.2 and np.isnan(record.noise_to_injection) and record.n_particles == M


def test_record_of_a_chunk():
    check_record()


def run_of(rng, n):
    """A run of n chunks, every number of it another."""
    numbers = rng.normal(size=(n, 3))
    return [
        ChunkRecord(
            n_samples=10 * (i + 1),
            log_evidence=float(numbers[: i + 1, 0].sum()),
            log_evidence_std=0.1,
            log_predictive=float(numbers[i, 0]),
            n_annealing_steps=int(rng.integers(1, 9)),
            ess=float(rng.uniform(20, M)),
            n_particles=M,
            acceptance=float(rng.choice([np.nan, 0.5])),
            sample_noise=float(rng.choice([np.nan, rng.uniform()])),
            missed_mode=float(rng.choice([0.0, np.nan, rng.uniform()])),
            **{name: int(rng.integers(9)) for name in COUNTS},
        )
        for i in range(n)
    ]


def check_thinned(rng, monkeypatch):
    """What adds up adds up to the same, the worst is kept, and so is the evidence at the rows kept."""
    monkeypatch.setattr(module, "MAX_EVIDENCE_PATH", 16)
    monkeypatch.setattr(ChunkRecord, "after", ChunkRecord.after)
    records = run_of(rng, 53)
    few, path, whole = thinned(records), evidence_path(thinned(records)), evidence_path(records)
    assert len(few) <= 16 and few[-1].n_samples == 530
    kept = np.searchsorted(whole["n_samples"], path["n_samples"])
    np.testing.assert_array_equal(whole["log_evidence"][kept], path["log_evidence"])
    for name in (*COUNTS, "n_annealing_steps", "log_predictive"):
        assert path[name].sum() == pytest.approx(whole[name].sum()), f"{name} does not add up"
    assert path["ess"].min() == whole["ess"].min()
    assert np.nanmax(path["sample_noise"]) == np.nanmax(whole["sample_noise"])
    one, other = diagnostics(few), diagnostics(records)
    same = [name for name in other if name not in ("ess", "sample_noise")]  # these are the last chunk's own
    assert [one[name] for name in same] == pytest.approx([other[name] for name in same], nan_ok=True)


def test_a_thinned_path_adds_up_to_the_same(rng, monkeypatch):
    check_thinned(rng, monkeypatch)


def test_a_path_is_the_caller_s_own(rng):
    """Writing to it does not change the records."""
    records = run_of(rng, 3)
    evidence_path(records)["lambdas"][0][:] = 7.0
    assert records[0].lambdas.tolist() == [1.0]


def test_a_missed_mode_is_the_verdict_of_the_last_look():
    def missed(*looks):
        records = [GOOD._replace(missed_mode=nats, n_renewals=renewed) for nats, renewed in looks]
        assert diagnostics(records)["missed_mode"] == diagnostics([after_all(records)])["missed_mode"]
        return diagnostics(records)["missed_mode"]

    def after_all(records):
        whole = records[0]
        for record in records[1:]:
            whole = record.after(whole)
        return whole

    none, taken = (np.nan, 0), (np.nan, 1)
    assert missed(none, (9.0, 0), none) == 9.0, "nobody has looked since"
    assert missed((9.0, 0), (0.0, 0), none) == 0.0, "found by the particles themselves"
    assert missed((9.0, 0), taken, none) == 0.0, "taken in"
    assert missed(taken, (9.0, 0)) == missed((9.0, 1), none) == 9.0, "what was taken in was another"
    assert missed(none, taken) == missed(none, none) == 0.0


# -- streams that move away from their sums ---------------------------------------------------------


N, CALL, RESERVOIR = 1500, 25, 300


def linear(rng, shift):
    model = LinearModel(4)
    X = rng.standard_normal((N, 4))
    y = X @ rng.standard_normal(4) + rng.standard_normal(N)
    y[N // 2 :] += shift
    rows = Rows.of(X, y)
    return model, rows, model.exact_log_evidence(rows), 0.0


def one_component(rng, shift):
    model = MixtureModel(1, 4)
    X = 5.0 + rng.standard_normal((N, 4))
    X[N // 2 :] += shift
    rows = Rows.of(X)
    return model, rows, model.exact_log_evidence(rows), 0.0


def softmax(rng, shift):
    X, B = rng.standard_normal((N, 3)), rng.standard_normal((3, 3))
    logits = X @ B + np.outer(np.arange(N) >= N // 2, [shift, 0.0, -shift])
    rows = Rows.of(X, np.argmax(logits + rng.gumbel(size=(N, 3)), axis=1))
    model = SoftmaxModel(3, 3)
    return model, rows, *log_evidence(model, rows, rng, n=4000)


def stream(problem, rng, **settings):
    """Error in nats, the state and the records."""
    model, rows, exact, _ = problem
    sampler = SGAIS(proposal=None, reservoir_size=RESERVOIR, **settings)
    state, records = sampler.init(model, rng), []
    for piece in rows.chunks(CALL):
        state, new = sampler.update(state, model, piece, rng)
        records += new
    return state.log_evidence - exact, state, records


def check_says_so(rng, problem, shift, n_seeds, wanted=True):
    """RMS of z, and a complaint wherever the sample leaves more than a nat in doubt."""
    z, said = [], []
    for g in rng.spawn(n_seeds):
        made = problem(g, shift)
        error, state, records = stream(made, g)
        assert not state.memory.complete
        z.append(error / np.hypot(state.log_evidence_std, made[3]))
        said.append(bool(doubts_of_records(records)) or state.log_evidence_std < 1.0)
    rms = np.sqrt(np.mean(np.square(z)))
    assert rms < 1 + 2 / np.sqrt(n_seeds) + 0.1, f"RMS of z {rms:.2f}: {np.round(z, 1)}"
    assert all(said), "uncertain by more than a nat without a word"


SHIFTS = [(linear, 3.0), (one_component, 1.0), (softmax, 2.0)]
every_shift = pytest.mark.parametrize("problem, shift", SHIFTS, ids=[p.__name__ for p, _ in SHIFTS])


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.0, 0.2, 1.0], ids=["no shift", "a small one", "large"])
@every_shift
def test_the_bar_covers(rng, problem, shift, size):
    check_says_so(rng, problem, size * shift, n_seeds=10)


@pytest.mark.slow
@every_shift
def test_the_bar_is_no_wider_than_it_must_be(rng, problem, shift):
    """Without a shift a sample costs nothing to speak of."""
    made = problem(rng, 0.0)
    assert stream(made, rng)[1].log_evidence_std < 0.3


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("self.sums.moved_by_blocks", "self.sums._replace(doubt=None).moved_by_blocks"),
        (
            "self.sums.moved_by_blocks(model, a, kept.scaled(n / weight), weight / n, self.high_leverage)",
            "self.sums.moved_by_blocks(model, a, kept.scaled(n / weight), 1.0, self.high_leverage)",
        ),
    ],
    ids=["forgotten at each move", "a sample of all rows"],
)
def test_a_broken_memory_is_caught(rng, install_broken, right, wrong):
    install_broken(Memory, "moved", right, wrong)
    with pytest.raises(AssertionError):
        check_says_so(rng, linear, 3.0, n_seeds=3)


# -- doubts that records give rise to ---------------------------------------------------------------


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


def test_streams_that_strata_no_longer_answer_for(rng, walk_numbers):
    model, X = BayesianGMM(2, random_state=0), rng.normal(size=(200, 1))
    model.partial_fit(X[:60])
    walk_numbers(60 * 2 * 3)
    model.partial_fit(X[60:110])
    assert model.warnings_ == []
    with pytest.warns(EvidenceWarning, match="carry the evidence on from 60 rows"):
        model.partial_fit(X[110:])


NO_DOUBT = ChunkRecord(100, -50.0, 0.1, -50.0, ess=30.0, n_particles=40, n_moves=2)
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
    (found,) = doubts_of_records([NO_DOUBT._replace(**what)], SGAIS())
    assert message in found


def test_no_doubt_without_a_reason():
    borderline = dict(log_evidence=-2e13, log_evidence_std=1.0, ess=4.0, sample_noise=0.5, n_refused=8)
    assert doubts_of_records([NO_DOUBT, NO_DOUBT._replace(**borderline)], SGAIS()) == []


def test_advice_names_what_the_sampler_has():
    (found,) = doubts_of_records([NO_DOUBT._replace(log_evidence_std=2.0)], SequentialSGMCMC())
    assert "raise the sampler's n_particles" in found and "max_particles" not in found
    (bare,) = doubts_of_records([NO_DOUBT._replace(log_evidence_std=2.0)])
    assert bare == "the log evidence is uncertain by 2.0 nats"
