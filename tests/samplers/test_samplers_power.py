"""The accuracy checks must be able to fail: samplers with one mistake each, and every one is caught."""

import pytest
from test_samplers_sgais import LINEAR, check_against, rows_of, sgais

from sgevidence.history import Reservoir
from sgevidence.particles import Cloud
from sgevidence.targets import _target
from sgevidence.transitions import HMC, SGHMC, _anneal, _hmc

SMALL_RESERVOIR = dict(reservoir_size=400)
FROM_SAMPLES = SMALL_RESERVOIR | dict(chunk_size=300)  # moves see 400 rows of the history
FROM_BATCHES = FROM_SAMPLES | dict(move=SGHMC(batch_size=100))
#: The published mini-batches, so large and with so short steps that they heat the cloud by little.
#: A history of no more rows is used whole.
PLAIN_BATCHES = dict(
    move=SGHMC(control_variate=False, batch_size=1000, learning_rate=0.005, n_steps=80),
    reservoir_size=None,
    max_particles=400,
    chunk_size=300,
)


#: name: settings that the mistake concerns, object, attribute, right, wrong
MUTANTS = {
    "no control variate": (
        FROM_SAMPLES,
        _target,
        "sampled",
        "anchor.plus(Anchor.of(model, anchor.a, rows), -1.0)",
        "None",
    ),
    "anchor not taken off the sample": (
        FROM_SAMPLES,
        _target,
        "sampled",
        "anchor.plus(Anchor.of(model, anchor.a, rows), -1.0)",
        "anchor",
    ),
    "factor of the mini-batch missing": (
        PLAIN_BATCHES,
        Reservoir,
        "draw",
        "self.n / batch_size",
        "1.0",
    ),
    "sign of the ESS": (dict(), _anneal, "next_step", "ess(log_w + delta * ell) - target", "target"),
    "steps without moves": (
        dict(),
        HMC,
        "trajectories",
        "coordinates.unwhiten(phi), log_eps, ...",
        "theta, log_eps, ...",
    ),
    "no Metropolis test": (
        dict(),
        _hmc,
        "hmc",
        "np.log1p(-rng.random(len(theta))) < log_ratio",
        "log_ratio > -1e9",
    ),
    "mean weight not folded in": (
        dict(),
        Cloud,
        "resampled",
        "self.log_Z + self.weights.log_mean",
        "self.log_Z",
    ),
}


def check(settings, rng, n_seeds=3):
    rows = rows_of("sim_L", 3000)
    results = [sgais(**settings).run(LINEAR, rows, g) for g in rng.spawn(n_seeds)]
    check_against(LINEAR.exact_log_evidence(rows), results)


@pytest.mark.parametrize(
    "settings",
    [
        FROM_SAMPLES,
        *(
            pytest.param(s, marks=pytest.mark.slow)
            for s in ({}, SMALL_RESERVOIR, FROM_BATCHES, PLAIN_BATCHES)
        ),
    ],
)
def test_unbroken(rng, settings):
    """The same settings without the mistake pass the same check."""
    check(settings, rng)


@pytest.mark.slow
@pytest.mark.parametrize("settings, owner, name, right, wrong", MUTANTS.values(), ids=MUTANTS)
def test_broken_sampler_is_caught(rng, install_broken, settings, owner, name, right, wrong):
    install_broken(owner, name, right, wrong)
    with pytest.raises((AssertionError, RuntimeError), match=r"off by|standard error|annealing did not"):
        check(settings, rng)


def check_guided(monkeypatch, rng):
    """Trajectories that follow 150 rows of up to 1500, and the whole where they are tested."""
    guided = []
    follow = HMC.trajectories

    def noted(*args):
        guided.append(args[-1] is not None)
        return follow(*args)

    monkeypatch.setattr(HMC, "trajectories", noted)
    rows = rows_of("sim_L", 1500)
    results = [sgais(move=HMC(guide_rows=150, conditional=False)).run(LINEAR, rows, g) for g in rng.spawn(3)]
    assert sum(guided) > 3
    check_against(LINEAR.exact_log_evidence(rows), results)


def test_moves_guided_by_a_sample_follow_all_rows(monkeypatch, rng):
    check_guided(monkeypatch, rng)


def test_a_guide_without_its_anchor_is_dropped(monkeypatch, install_broken, rng):
    """The guide is then useless: few proposals pass, and the moves go back to all rows."""
    install_broken(_target, "sampled", "anchor.plus(Anchor.of(model, anchor.a, rows), -1.0)", "None")
    check_guided(monkeypatch, rng)
