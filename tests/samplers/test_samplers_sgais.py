"""The sampler as a whole: closed forms, its switches, the published settings, its state as a value."""

import json
import pickle

import numpy as np
import pytest
from made_data import DATA, rows_of

from sgevidence import SGAIS
from sgevidence.exceptions import DivergenceError
from sgevidence.history import Rows
from sgevidence.kernels import hmc
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.samplers import SGNHT, SequentialSGMCMC
from sgevidence.transitions import HMC, SGHMC, Proposal, _anneal, _hmc

LINEAR = LinearModel(5, noise_std=1.0)


def sgais(**settings):
    """By trajectories, which have to find what the linear model could draw by itself."""
    return SGAIS(**dict(move=HMC(conditional=False), proposal=None) | settings)


def stream(sampler, model, rows, chunk, rng):
    """The state after rows that come ``chunk`` at a time."""
    state = sampler.init(model, rng)
    for piece in rows.chunks(chunk):
        state, _ = sampler.update(state, model, piece, rng)
    return state


def check_against(exact, answers, small=0.01, n_sigma=4.0):
    """Each answer within 4 reported standard errors, and not merely because those are large."""
    for answer in answers:
        z = (answer.log_evidence - exact) / np.hypot(answer.log_evidence_std, small)
        assert abs(z) < n_sigma, f"off by {z:.1f} standard errors of {answer.log_evidence_std:.3f}"
        assert answer.log_evidence_std < 0.4, f"standard error {answer.log_evidence_std:.3f}"


# ----------------------------------------------------------------------------- closed forms

CASES = {"linear": (LINEAR, "sim_L", 1000), "mixture, K=1": (MixtureModel(1, 2), "sim_G", 1000)}
every_case = pytest.mark.parametrize("model, name, n", CASES.values(), ids=CASES)


@every_case
@pytest.mark.parametrize("chunk", [100, 500])
def test_closed_form_however_the_rows_are_cut(rng, model, name, n, chunk):
    rows = rows_of(name, n)
    states = [stream(sgais(), model, rows, chunk, g) for g in rng.spawn(2)]
    check_against(model.exact_log_evidence(rows), states)
    assert all(state.n_rows == n and state.n == n for state in states)


@every_case
def test_closed_form_at_once_and_shuffled(rng, model, name, n):
    rows = rows_of(name, n)
    results = [sgais().run(model, rows.take(g.permutation(n)), g) for g in rng.spawn(3)]
    check_against(model.exact_log_evidence(rows), results)


@every_case
def test_beyond_the_reservoir(rng, model, name, n):
    """Most of the rows are gone, and their sums about the anchor speak for them."""
    rows = rows_of(name, n)
    sampler = sgais(reservoir_size=400)
    check_against(
        model.exact_log_evidence(rows), [stream(sampler, model, rows, 300, g) for g in rng.spawn(3)]
    )


def test_weighted_rows_are_repeated_rows(rng):
    rows, twice = rows_of("sim_L", 300), rows_of("sim_L", 300).scaled(2.0)
    check_against(
        LINEAR.exact_log_evidence(rows.join(rows)), [sgais().run(LINEAR, twice, g) for g in rng.spawn(3)]
    )


def test_parts_of_the_evidence(rng):
    """Predictive terms add up to the evidence; the path is that of the state."""
    rows = rows_of("sim_L", 1500)
    sampler, records = sgais(), []
    state = sampler.init(LINEAR, rng)
    for piece in rows.cut(np.array([100, 200, 400, 800])):  # as one call would cut them, but in order
        state, new = sampler.update(state, LINEAR, piece, rng)
        records += new
    assert sum(r.log_predictive for r in records) == pytest.approx(state.log_evidence)
    assert records[-1].log_evidence == state.log_evidence
    assert records[-1].log_evidence_std == state.log_evidence_std
    assert [r.n_samples for r in records] == [100, 200, 400, 800, 1500]
    for r in records:
        z = (r.log_evidence - LINEAR.exact_log_evidence(rows[: r.n_samples])) / r.log_evidence_std
        assert abs(z) < 4.5


# ----------------------------------------------------------------------------- switches

NO_RESAMPLING = dict(resampling=None, mode_search=None, proposal=None)
#: So large mini-batches and short steps that what heats the published form, d·n·lr/(4α|B|), is 0.03 nats.
PLAIN = dict(
    move=SGHMC(control_variate=False, batch_size=2000, learning_rate=0.01, n_steps=60),
    reservoir_size=None,
    max_particles=500,
)
SWITCHES = {
    "own moves of the model": dict(move=HMC()),
    "no control variate": PLAIN,
    "published resampling": dict(resampling="multinomial"),
    "no resampling": NO_RESAMPLING | dict(target_ess=0.97, n_particles=1000),
    "no preconditioner": dict(move=SGHMC(preconditioner=None)),
    "sghmc": dict(move=SGHMC()),
    "sgnht": dict(move=SGNHT()),
    "in order, chunks of 100": dict(chunk_size=100),
    "few particles": dict(n_particles=100, max_particles=300),
}
LONGER = {"sgnht", "no resampling", "no control variate", "no preconditioner", "sghmc"}


@pytest.mark.parametrize(
    "settings",
    [pytest.param(of, marks=[pytest.mark.slow] * (name in LONGER)) for name, of in SWITCHES.items()],
    ids=SWITCHES,
)
def test_every_switch_agrees(rng, settings):
    """Each part is for speed or for variance, not for the answer."""
    rows = rows_of("sim_L", 800)
    results = [sgais(**settings).run(LINEAR, rows, g) for g in rng.spawn(2)]
    check_against(LINEAR.exact_log_evidence(rows), results)


def test_switches_do_what_they_say(rng):
    rows = rows_of("sim_L", 2000)

    def moves(**settings):
        return int(sgais(**settings).run(LINEAR, rows, np.random.default_rng(0)).path["n_moves"].sum())

    assert moves(**NO_RESAMPLING) > moves()  # nothing is lazy


# ----------------------------------------------------------------------------- bounded memory


@pytest.mark.parametrize("chunk", [150, 2000])
def test_memory_is_bounded(rng, chunk):
    """Rows of history and pending, whatever came; pending at most half the reservoir."""
    model, rows, size = LINEAR, rows_of("sim_L", 6000), 400
    sampler = sgais(reservoir_size=size)
    state = sampler.init(model, rng)
    for piece in rows.chunks(chunk):
        state, _ = sampler.update(state, model, piece, rng)
        assert len(state.memory.reservoir) <= size
        assert state.pending is None or len(state.pending) <= size / 2
        assert np.all(np.isin(state.memory.reservoir.rows.y, rows.y))
    assert state.n_rows == 6000


# ----------------------------------------------------------------------------- the state is a value


def snapshot(state):
    return pickle.dumps(state)


def test_update_leaves_the_old_state(rng):
    """Two branches from one state, in any order, and the state is as it was."""
    rows, sampler = rows_of("sim_L", 1200), sgais(reservoir_size=500)
    state = stream(sampler, LINEAR, rows[:700], 350, rng)
    before = snapshot(state)

    def branch(part):
        return sampler.update(state, LINEAR, part, np.random.default_rng(1))[0]

    first, _, again = branch(rows[700:1000]), branch(rows[900:1200]), branch(rows[700:1000])
    assert snapshot(state) == before
    assert again.log_evidence == first.log_evidence
    np.testing.assert_array_equal(again.theta, first.theta)
    np.testing.assert_array_equal(again.memory.reservoir.rows.X, first.memory.reservoir.rows.X)


@pytest.mark.parametrize("move", [HMC(), SGHMC(), SGNHT()])
def test_pickled_state_goes_on(rng, move):
    rows, sampler = rows_of("sim_L", 900), sgais(move=move)
    state = stream(sampler, LINEAR, rows[:500], 250, rng)
    copy = pickle.loads(pickle.dumps(state))
    one, other = (sampler.update(s, LINEAR, rows[500:], np.random.default_rng(2))[0] for s in (state, copy))
    assert one.log_evidence == other.log_evidence
    np.testing.assert_array_equal(one.theta, other.theta)


def test_rows_may_be_reused_by_their_owner(rng):
    """A caller that fills one buffer again and again does not change what was absorbed."""
    rows, sampler, state = rows_of("sim_L", 600), sgais(), None
    X, y = np.empty((200, 5)), np.empty(200)
    state = sampler.init(LINEAR, rng)
    for start in (0, 200, 400):
        X[:], y[:] = rows.X[start : start + 200], rows.y[start : start + 200]
        state, _ = sampler.update(state, LINEAR, Rows.of(X, y), rng)
        X[:], y[:] = np.nan, np.nan
    past = state.memory.reservoir.rows
    seen = past if state.pending is None else past.join(state.pending)
    np.testing.assert_array_equal(np.sort(seen.y), np.sort(rows.y))


def test_same_seed_same_answer(rng):
    rows = rows_of("sim_L", 700)
    one, other = (sgais().run(LINEAR, rows, np.random.default_rng(5)) for _ in range(2))
    assert one.log_evidence == other.log_evidence
    np.testing.assert_array_equal(one.theta, other.theta)


# ----------------------------------------------------------------------------- published settings

PATHS = json.loads((DATA / "paper_paths.json").read_text())
PAPER = {
    "linear": (LINEAR, "sim_L"),
    "softmax": (SoftmaxModel(10, 4), "sim_S"),
    "mixture": (MixtureModel(5, 2), "sim_G"),
}


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.slow] if "mixture" in c else []) for c in PATHS]
)
def test_paper_path(case):
    """paper() stays what it was: a stored path at 3000 rows, step by step."""
    name, seed = case.split("_")
    model, sim = PAPER[name]
    model = model.in_double_precision()
    path = SGAIS.paper().run(model, rows_of(sim, 3000), np.random.default_rng(int(seed))).path
    np.testing.assert_array_equal(path["n_annealing_steps"], PATHS[case]["n_annealing_steps"])
    np.testing.assert_allclose(path["log_evidence"], PATHS[case]["log_evidence"], rtol=1e-9)


def paper_errors(rng, sizes):
    """log Ẑ − log Z of the published settings on the first n rows, for each n, and log Z."""
    rows = rows_of("sim_L", max(sizes))
    path = SGAIS.paper().run(LINEAR, rows, rng).path
    found = dict(zip(path["n_samples"], path["log_evidence"]))
    exact = [LINEAR.exact_log_evidence(rows[:n]) for n in sizes]
    return np.array([found[n] for n in sizes]) - exact, np.array(exact)


def check_drift(errors, sizes):
    """d·h/(4αB) nats a row (DESIGN §4.1): mini-batch noise heats the cloud by the same factor for ever."""
    slope = (errors[-1] - errors[0]) / (sizes[-1] - sizes[0])
    predicted = -6 * 0.1 / (4 * 0.2 * 500)
    assert 0.5 < slope / predicted < 2.0, f"slope {slope:.2e}, predicted {predicted:.2e}"


@pytest.mark.slow
def test_paper_error_and_drift(rng):
    """At 10⁵ rows about 0.1 % of log Z, as published (thesis §5.2.1), and too low."""
    sizes = [20_000, 100_000]
    errors, exact = paper_errors(rng, sizes)
    assert errors[-1] < 0
    assert 0.0005 < errors[-1] / exact[-1] < 0.003
    check_drift(errors, sizes)


@pytest.mark.slow
def test_paper_drift_to_a_million(rng):
    sizes = [100_000, 1_000_000]
    check_drift(paper_errors(rng, sizes)[0], sizes)


def test_default_does_not_drift(rng):
    """The same rows: the error the published settings make at 10⁵ rows is gone."""
    rows = rows_of("sim_L", 100_000)
    check_against(LINEAR.exact_log_evidence(rows), [sgais().run(LINEAR, rows, g) for g in rng.spawn(2)])


@pytest.mark.parametrize("far", ["not centred", "not scaled"])
def test_paper_says_what_to_do_about_raw_data(rng, far):
    """One step for all directions: it must not return a number that means nothing."""
    rows = rows_of("sim_L", 1500)
    X = rows.X + 1000.0 if far == "not centred" else rows.X * 1000.0
    with pytest.raises(DivergenceError, match=r"[Ss]tandardise the columns.*preconditioner='curvature'"):
        SGAIS.paper().run(LINEAR, Rows.of(X, rows.y), rng)


def test_default_needs_no_standardised_data(rng):
    rows = rows_of("sim_L", 1500)
    raw = Rows.of(rows.X * [1e-2, 1.0, 10.0, 100.0, 1e3] + [0, 0, 50.0, 0, 1e3], rows.y)
    check_against(LINEAR.exact_log_evidence(raw), [sgais().run(LINEAR, raw, g) for g in rng.spawn(3)])


# ----------------------------------------------------------------------------- unbiased


def check_unbiased(ratios):
    """Ẑ/Z is one on average, whatever its spread."""
    error = ratios.std(ddof=1) / np.sqrt(len(ratios))
    assert abs(ratios.mean() - 1) < 3 * error + 1e-3, f"mean of Ẑ/Z {ratios.mean():.4f} ± {error:.4f}"


def ratios(sampler, rows, rng, n):
    exact = LINEAR.exact_log_evidence(rows)
    return np.exp([sampler.run(LINEAR, rows, g).log_evidence - exact for g in rng.spawn(n)])


@pytest.mark.slow
def test_unbiased_frozen(rng, monkeypatch):
    """Schedule, preconditioner, step and map fixed from a pilot run: then Ẑ is unbiased at any M."""
    rows, sampler = rows_of("sim_L", 60), sgais(n_particles=100, max_particles=100)
    steps, widths = [], []
    next_step, coordinates = _anneal.next_step, _hmc.curvature_coordinates

    def note_step(*arguments):
        steps.append(next_step(*arguments))
        return steps[-1]

    def note_coordinates(*arguments):
        widths.append(coordinates(*arguments))
        return widths[-1]

    monkeypatch.setattr(_anneal, "next_step", note_step)
    monkeypatch.setattr(_hmc, "curvature_coordinates", note_coordinates)
    sampler.run(LINEAR, rows, rng)
    played = dict(step=0, width=0)

    def replay(kind, record):
        def play(*_):
            played[kind] += 1
            return record[(played[kind] - 1) % len(record)]

        return play

    monkeypatch.setattr(_anneal, "next_step", replay("step", steps))
    monkeypatch.setattr(_hmc, "curvature_coordinates", replay("width", widths))

    def fixed_moves(self, theta, target, coordinates, log_eps, rng, guide=None):
        def value_and_grad(phi):
            value, grad = target.value_and_grad(coordinates.unwhiten(phi))
            return value, grad @ coordinates.L

        phi = coordinates.whiten(theta)
        for _ in range(3):
            phi, info = hmc(phi, value_and_grad, rng, eps=0.7 * rng.uniform(0.5, 1.2, len(phi)), L=2)
        return coordinates.unwhiten(phi), log_eps, info

    monkeypatch.setattr(HMC, "trajectories", fixed_moves)
    result = ratios(sampler, rows, rng, 200)
    check_unbiased(result)
    assert result.std() > 0.1  # where a bias of the logarithm would show


@pytest.mark.slow
def test_unbiased_adaptive(rng):
    """As it runs, at M = 1000."""
    check_unbiased(ratios(sgais(n_particles=1000, max_particles=1000), rows_of("sim_L", 60), rng, 400))


@pytest.mark.parametrize(
    "settings",
    [
        {"reservoir_size": 50},
        {"reservoir_size": 150, "chunk_size": 500},
        {"reservoir_size": 150, "move": SGHMC()},
        {"reservoir_size": 150, "move": SGNHT()},
        {"move": SGHMC(preconditioner=None)},
    ],
    ids=str,
)
def test_small_reservoirs_and_raw_coordinates_agree_too(rng, settings):
    """A chunk larger than the reservoir comes before there is an anchor."""
    rows = rows_of("sim_L", 600)
    result = sgais(**settings).run(LINEAR, rows, rng)
    assert abs(result.log_evidence - LINEAR.exact_log_evidence(rows)) < 4 * result.log_evidence_std + 0.05
    assert result.log_evidence_std < 0.4


@pytest.mark.parametrize("move", [SGHMC(control_variate=False), SGNHT(control_variate=False)])
@pytest.mark.parametrize("use", ["init", "update"])
def test_plain_mini_batches_of_a_sample_are_refused(rng, move, use):
    """Their error is that of the sample, and nothing shows it: −19 nats at a claimed 0.15, once."""
    sampler, rows = sgais(move=move, reservoir_size=300), rows_of("sim_L", 10)
    state = sgais().init(LINEAR, rng)
    with pytest.raises(ValueError, match=r"control_variate=True, or set reservoir_size=None"):
        sampler.init(LINEAR, rng) if use == "init" else sampler.update(state, LINEAR, rows, rng)
    with pytest.raises(ValueError, match=r"control_variate=True, or set reservoir_size=None"):
        SequentialSGMCMC(move=move).run(LINEAR, rows, rng)
    sgais(move=move, reservoir_size=None).init(LINEAR, rng)


@pytest.mark.parametrize(
    "part",
    [dict(mode_search=None, proposal=Proposal()), dict()],
    ids=str,
)
def test_without_resampling_nothing_else_is_added(rng, part):
    with pytest.raises(ValueError, match=r"resampling=None.* goes with mode_search=None and proposal=None"):
        sgais(resampling=None, **part).init(LINEAR, rng)


def test_a_family_of_targets_is_no_mixture(rng):
    from sgevidence.mixture.models import MixtureModel
    from sgevidence.models import GLMModel, NegativeBinomial

    model = GLMModel(n_features=1, family=NegativeBinomial())
    assert not model.has_components
    assert MixtureModel(2, 2).has_components
