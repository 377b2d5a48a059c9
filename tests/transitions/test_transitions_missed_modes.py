"""What no particle has met: a spike inside a slab, a mode that was lost, a narrow one that wins late."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy.special import logsumexp

from sgevidence import SGAIS
from sgevidence.custom import CustomModel
from sgevidence.history import Memory, Rows
from sgevidence.particles import Cloud
from sgevidence.targets import Path
from sgevidence.transitions import Adaptation, Mode, State, Step, Streams, _missed_modes
from sgevidence.transitions._watchlist import Usual, Watchlist

UNKNOWN = Usual(*np.full((3, 1), np.nan), n=1.0)
RIVALLED = State(
    Cloud.planted(np.zeros((3, 1))),
    Memory.empty(),
    Adaptation(rivals=Watchlist(np.zeros((1, 1)), np.array([-1.0]), UNKNOWN)),
)


def log_normal(u, s):
    return -0.5 * (u / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)


def normal_prior(d, mean=0.0):
    return (
        lambda rng, size: mean + rng.standard_normal((size, d)),
        lambda theta: anp.sum(log_normal(theta - mean, 1.0), axis=1),
    )


def spike(rng, d, c=None, narrow=0.02, wide=0.3):
    """log [100 N(c, narrow²) + N(c, wide²)], which two Gaussian integrals give.

    The prior moves the slab: three quarters of a unit out its maximum is three widths of the spike away.
    """
    c = rng.normal(scale=0.3) if c is None else c

    def log_likelihood(theta, X, y):
        parts = [anp.sum(log_normal(theta - c, s), axis=1) for s in (narrow, wide)]
        return anp.reshape(anp.logaddexp(np.log(100.0) + parts[0], parts[1]), (-1, 1)) + 0.0 * X[:, 0]

    parts = [d * log_normal(c, np.sqrt(1 + s**2)) for s in (narrow, wide)]
    rows = Rows.of(np.zeros((1, 1)))
    return (
        CustomModel(*normal_prior(d), log_likelihood, d),
        rows,
        np.logaddexp(np.log(100.0) + parts[0], parts[1]),
    )


def curve(rng, n, mu, y_mean, prior_mean=0.0):
    """y ~ N(μ(θ), 1), θ ~ N(prior_mean, 1), on a grid."""
    y = y_mean + rng.standard_normal(n)
    model = CustomModel(
        *normal_prior(1, prior_mean), lambda theta, X, y: log_normal(y - mu(theta[:, :1]), 1.0), 1
    )
    t = np.linspace(-5, 5, 2_000_001)
    value = -0.5 * (np.sum(y**2) - 2 * np.sum(y) * mu(t) + n * mu(t) ** 2) - 0.5 * n * np.log(2 * np.pi)
    value = value + log_normal(t - prior_mean, 1.0)
    return model, Rows.of(np.zeros((n, 1)), y), logsumexp(value) + np.log(t[1] - t[0])


def unequal(rng):
    """Modes at ±1 of 77 and 23 %."""
    return curve(rng, 500, lambda t: t**2, 1.0, 0.6)


def late(rng):
    """A bump of a tenth of the width, which is right, beside one that is nearly so."""
    bumps = [(-1.0, 0.5, 0.3), (1.2, 0.05, 0.4)]
    return curve(rng, 2500, lambda t: sum(h * anp.exp(-0.5 * ((t - c) / w) ** 2) for c, w, h in bumps), 0.39)


CASES = {
    **{f"spike in {d} dimensions": (lambda rng, d=d: spike(rng, d)) for d in (2, 5, 8, 15)},
    **{f"spike beside its slab, {d} dimensions": (lambda rng, d=d: spike(rng, d, 0.75)) for d in (2, 5, 10)},
    "unequal modes": unequal,
    "a narrow one": late,
}


def check(rng, case, n_seeds=1, cuts=(1, 3), **settings):
    z = []
    for g in rng.spawn(n_seeds):
        model, rows, exact = CASES[case](g)
        for k in cuts if len(rows) > 1 else (1,):
            sampler = SGAIS(**settings)
            state = sampler.init(model, g)
            for part in np.array_split(np.arange(len(rows)), k):
                state, _ = sampler.update(state, model, rows.take(part), g)
            z.append((state.log_evidence - exact) / (state.log_evidence_std + 0.01))
    assert np.max(np.abs(z)) < 4.5, f"standard errors off: {np.round(z, 1)}"


@pytest.mark.parametrize(
    "case",
    [f"spike in {d} dimensions" for d in (2, 5)] + ["spike beside its slab, 5 dimensions", "unequal modes"],
)
def test_nothing_is_overlooked(rng, case):
    check(rng, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_over_many_seeds(rng, case):
    check(rng, case, n_seeds=12)


def test_particles_alone_overlook_it(rng):
    with pytest.raises(AssertionError):
        check(rng, "spike in 5 dimensions", n_seeds=6, mode_search=None, proposal=None)


@pytest.mark.parametrize(
    "method, right, wrong",
    [
        ("renewed", "claimed = ...; mass = mode.log_evidence", "claimed = ...; mass = claimed"),
        (
            "renewed",
            "abs(mass - claimed) > max(DOUBTFUL_MASS_NATS, SIGNIFICANT_ERRORS * std)",
            "abs(mass - claimed) < max(DOUBTFUL_MASS_NATS, SIGNIFICANT_ERRORS * std)",
        ),
        (
            "added",
            "log_Z_A, log_Z_B = ..., draws.weights.log_mean",
            "log_Z_A, log_Z_B = ..., draws.weights.log_mean + 1.0",
        ),
    ],
)
def test_broken_looks_are_caught(rng, install_broken, method, right, wrong):
    install_broken(_missed_modes.MissedModes, method, right, wrong)
    with pytest.raises(AssertionError):
        check(rng, "spike in 5 dimensions", n_seeds=3, proposal=None)


def test_laplace_is_exact_for_a_gaussian(rng):
    A = rng.standard_normal((4, 4))
    P, a = A @ A.T + np.eye(4), rng.standard_normal(4)
    value = -1.5  # the log of a density that is not normalised
    mode = Mode(a, P, value, 4.0)
    assert mode.log_evidence == pytest.approx(
        value + 0.5 * 4 * np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(P))
    )


def test_models_of_one_mode_are_left_alone(rng):
    from sgevidence.mixture.models import MixtureModel
    from sgevidence.models import LinearModel, SoftmaxModel

    rows = Rows.of(np.zeros((8, 1)), np.zeros(8))
    for model in (LinearModel(1), SoftmaxModel(1, 2), MixtureModel(2, 1)):
        assert not _missed_modes.MissedModes.is_due(RIVALLED, Path(model, Memory.empty(), rows))
    custom = CASES["unequal modes"](rng)[0]
    memory = Memory.empty()
    due = []
    nobody = Watchlist(np.empty((0, 1)), np.empty(0), Usual(*np.empty((3, 0)), n=1.0))
    looked_at = State(RIVALLED.cloud, memory, Adaptation(rivals=nobody))
    four = memory.absorb(rows[:1], rng).absorb(rows[:1], rng).absorb(rows[:1], rng).absorb(rows[:1], rng)
    assert _missed_modes.MissedModes.is_due(State(RIVALLED.cloud, four), Path(custom, four, rows[:1]))
    for _ in range(8):
        path = Path(custom, memory, rows[:1])
        due.append(_missed_modes.MissedModes.is_due(looked_at._replace(memory=memory), path))
        assert _missed_modes.MissedModes.is_due(RIVALLED, path)
        memory = memory.absorb(rows[:1], rng)
    assert due == [True, True, False, True, False, False, False, True]  # n = 1, 2, 4, 8


def two_widths(rng, wall=0.0):
    """y ~ N(|θ|, 1) right of the wall and N(|θ|, 1.4²) left of it: a shift makes the second overtake.

    Returns the model, the rows in order, and a function that integrates over a grid after so many of them.
    """
    y = 2.0 + np.concatenate([rng.standard_normal(350), 1.5 * rng.standard_normal(600)])
    t = np.linspace(-6, 6, 24_001)

    def log_likelihood(theta, X, y):
        return log_normal(y - anp.abs(theta[:, :1]), anp.where(theta[:, :1] > wall, 1.0, 1.4))

    def exact(n):
        s, m = np.where(t > wall, 1.0, 1.4), np.abs(t)
        value = -0.5 * (np.sum(y[:n] ** 2) - 2 * m * np.sum(y[:n]) + n * m**2) / s**2
        value += log_normal(t, 2.0) - n * np.log(s * np.sqrt(2 * np.pi))
        return logsumexp(value) + np.log(t[1] - t[0])

    prior = (
        lambda rng, size: 2 * rng.standard_normal((size, 1)),
        lambda theta: anp.sum(log_normal(theta, 2.0), axis=1),
    )
    return CustomModel(*prior, log_likelihood, 1), Rows.of(np.zeros((len(y), 1)), y), exact


def check_stream(rng, wall=0.0, call=25, last=None):
    """Every call of a stream in which another mode wins, not only those at which n doubles."""
    model, rows, exact = two_widths(rng, wall)
    sampler, z = SGAIS(max_particles=500), []
    state = sampler.init(model, rng)
    for piece in rows.chunks(call):
        state, _ = sampler.update(state, model, piece, rng)
        z.append((state.log_evidence - exact(state.n_rows)) / (state.log_evidence_std + 0.02))
    z = z[-last:] if last else z
    assert np.max(np.abs(z)) < 5, f"standard errors off: {np.round(z, 1)}"


@pytest.mark.parametrize(
    "wall", [0.0, pytest.param(-1.8, marks=pytest.mark.slow)], ids=["between modes", "before one"]
)
def test_a_mode_that_overtakes_is_followed(rng, wall):
    check_stream(rng, wall)


@pytest.mark.slow
@pytest.mark.parametrize("wall", [0.0, -1.8])
def test_whatever_the_call(rng, wall):
    for call in (7, 50, 130):
        for g in rng.spawn(3):
            check_stream(g, wall, call)


@pytest.mark.slow
def test_a_wall_that_overtakes_is_found(rng):
    """At −2.1 the other mode leans against the wall: nothing near it is Gaussian, all is annealed again."""
    check_stream(rng, -2.1, last=3)


def never(self, model, rows, log_predictive):
    return self


@pytest.mark.parametrize(
    "wall, mutant",
    [
        (0.0, ("sgevidence.transitions._missed_modes.Watchlist.after", never)),
        (-2.1, ("sgevidence.transitions._missed_modes.SHORT_NATS", -np.inf)),
    ],
    ids=["rivals that gain nothing", "walls that are not looked at"],
)
def test_a_mistake_is_seen(rng, monkeypatch, wall, mutant):
    monkeypatch.setattr(*mutant)
    with pytest.raises(AssertionError, match="standard errors off"):
        for g in rng.spawn(3):
            check_stream(g, wall, last=3 if wall else None)


def test_where_nothing_is_possible_nothing_is_known(rng):
    """The next look starts from what there is."""
    model = CustomModel(*normal_prior(2), lambda theta, X, y: -np.inf + 0.0 * theta[:, :1] * X[:, 0], 2)
    state = State(Cloud.planted(rng.standard_normal((20, 2))), Memory.empty())
    path, streams = Path(model, state.memory, Rows.of(np.zeros((4, 1)))), Streams.spawned(rng)
    look = _missed_modes.MissedModes(path, streams, survey=None)
    for _ in range(2):
        state = look.renewed(Step(state)).state
        assert state.adaptation.rivals.theta.shape == (0, 2) and not state.is_rivalled
