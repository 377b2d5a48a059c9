"""The record of a run: costs that add up however it is thinned."""

from types import SimpleNamespace

import numpy as np
import pytest

from sgevidence.history import Memory
from sgevidence.particles import Cloud, Weights
from sgevidence.samplers import ChunkRecord, diagnostics, evidence_path, thinned
from sgevidence.samplers import _records as module
from sgevidence.samplers._records import COUNTS
from sgevidence.transitions import Adaptation, State

M = 40
GOOD = ChunkRecord(100, -50.0, 0.1, -50.0, ess=30.0, n_particles=M, n_moves=2)


def state(log_Z, log_w=0.0, sample_noise=np.nan):
    cloud = Cloud.planted(np.zeros((M, 1)))._replace(log_Z=log_Z, weights=Weights(np.zeros(M) + log_w))
    return State(cloud, Memory.empty(), Adaptation(sample_noise=sample_noise))


def check_record():
    """From the states around a chunk, and what each transition had to say of it in its own words."""
    weighed = SimpleNamespace(n_likelihoods=100.0, ess=12.0, lambdas=())
    refused = SimpleNamespace(n_refused=1, n_likelihoods=50.0, ess=np.nan)
    annealed = SimpleNamespace(
        lambdas=(0.3, 1.0), ess=20.0, n_moves=2, n_likelihoods=7.0, n_gradients=9.0, acceptance=0.8
    )
    again = SimpleNamespace(lambdas=(1.0,), acceptance=np.nan, missed_mode=3.0, n_renewals=1)
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
