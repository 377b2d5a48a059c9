"""A part of the prior that two thousand draws miss and a hundred thousand meet, and what nobody meets."""

import warnings

import autograd.numpy as anp
import numpy as np
import pytest
from mutants import broken
from path_problem import data

from sgevidence import SGAIS, EvidenceWarning
from sgevidence.custom import CustomModel
from sgevidence.exceptions import ImpossibleRowsError
from sgevidence.history import Memory, Rows
from sgevidence.models import LinearModel
from sgevidence.particles import RESAMPLING, Cloud
from sgevidence.targets import Path
from sgevidence.transitions import HMC, Anneal, State, Streams
from sgevidence.transitions._prior_survey import N_SURVEYED, PriorSurvey

ONE_ROW = Rows.of(np.zeros((1, 1)))


def log_normal(u, s):
    return -0.5 * (u / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)


def spike(rng, d):
    """A slab N(0, I) and a spike that holds 90 % in a part of 10⁻⁵ of the prior N(0, s² I)."""
    s, part, share = rng.uniform(1.5, 3.0), 10 ** rng.uniform(-5, -4.5), 0.9
    at = np.full(d, rng.uniform(2.0, 2.5) / np.sqrt(d))
    # the slab is below it in ten times as much; (w √(2π))^d times the prior's density there
    w = np.exp((np.log(part) - log_normal(at, s).sum()) / d) / np.sqrt(2 * np.pi)

    def log_likelihood(theta, X, y):
        slab = np.log(1 - share) + anp.sum(log_normal(theta, 1.0), axis=1)
        peak = np.log(share) + anp.sum(log_normal(theta - at, w), axis=1)
        return anp.logaddexp(slab, peak)[:, None] + 0.0 * X[:, 0]

    exact = np.logaddexp(
        np.log(1 - share) + d * log_normal(0.0, np.hypot(1.0, s)),
        np.log(share) + log_normal(at, np.hypot(w, s)).sum(),
    )
    prior = lambda theta: anp.sum(log_normal(theta, s), axis=1)  # noqa: E731
    return CustomModel(lambda rng, size: s * rng.standard_normal((size, d)), prior, log_likelihood, d), exact


def box(part, inside, outside, d=2):
    """Uniform prior on [0, 1]^d, a constant likelihood in a corner of mass ``part`` and outside of it."""
    edge = part ** (1 / d)

    def log_likelihood(theta, X, y):
        return anp.where(anp.all(theta < edge, axis=1), inside, outside)[:, None] + np.zeros((1, len(X)))

    def log_prior(theta):
        return anp.where(anp.all((theta > 0) & (theta < 1), axis=1), 0.0, -np.inf)

    exact = np.logaddexp(np.log(part) + inside, np.log1p(-part) + outside)
    return CustomModel(lambda rng, size: rng.random((size, d)), log_prior, log_likelihood, d), exact


def errors(rng, problem, n_seeds, **settings):
    """Standard errors off, of fits that say nothing."""
    z = []
    for g in rng.spawn(n_seeds):
        model, exact = problem(g)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = SGAIS(**settings).run(model, ONE_ROW, g)
        if not any(issubclass(w.category, EvidenceWarning) for w in caught):
            z.append((result.log_evidence - exact) / result.log_evidence_std)
    return np.array(z)


def check(rng, problem, n_seeds=4, **settings):
    z = errors(rng, problem, n_seeds, **settings)
    assert len(z) >= n_seeds - 1, "warned without need"
    assert np.max(np.abs(z)) < 4, f"standard errors off: {np.round(z, 1)}"


PROBLEMS = {
    **{f"spike in {d} dimensions": (lambda rng, d=d: spike(rng, d)) for d in (1, 2, 3, 5)},
    "plateau": lambda rng: box(10 ** rng.uniform(-4, -3.5), rng.uniform(5, 14), 0.0),
    "corner by a huge constant": lambda rng: box(10 ** rng.uniform(-4, -2), 0.0, -(10 ** rng.uniform(6, 15))),
    "corner by 1e300": lambda rng: box(10 ** rng.uniform(-4, -2), 0.0, -1e300),
}


#: Problems whose like is among those that every run has.
LONGER = {
    "spike in 1 dimensions",
    "spike in 3 dimensions",
    "spike in 5 dimensions",
    "corner by a huge constant",
}


@pytest.mark.parametrize(
    "problem", [pytest.param(one, marks=[pytest.mark.slow] * (one in LONGER)) for one in PROBLEMS]
)
def test_what_a_hundred_thousand_draws_meet_is_in_the_answer(rng, problem):
    check(rng, PROBLEMS[problem])


@pytest.mark.parametrize("problem", ["spike in 2 dimensions", "plateau"])
def test_two_thousand_draws_do_not_meet_it(rng, monkeypatch, problem):
    monkeypatch.setattr("sgevidence.transitions._prior_survey.N_SURVEYED", 0)
    with pytest.raises(AssertionError):
        check(rng, PROBLEMS[problem], n_seeds=6, proposal=None)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("weighted.log_evidence", "0.0"),
        ("weighted.log_evidence_std**2", "0.0"),
    ],
    ids=["evidence lost", "error bar lost"],
)
def test_broken_surveys_are_caught(rng, install_broken, right, wrong):
    install_broken(PriorSurvey, "__call__", right, wrong)
    with pytest.raises(AssertionError), np.errstate(divide="ignore"):
        check(rng, lambda rng: box(0.5, 2.0, 0.0))  # where the draws are the answer


@pytest.mark.parametrize("case", ["constant", "part too small", "forbidden nearly everywhere"])
def test_where_all_draws_agree_the_answer_says_so(rng, case):
    model, exact = {
        "constant": box(0.5, 1.5, 1.5),
        "part too small": box(1e-9, 40.0, 0.0),
        "forbidden nearly everywhere": box(1e-9, 0.0, -1e10),
    }[case]
    with pytest.warns(
        EvidenceWarning, match=r"equally likely at all of 100000 draws .* less than 3e-05 of the prior"
    ):
        result = SGAIS().run(model, ONE_ROW, rng)
    assert result.log_evidence_std == pytest.approx(1e-5)
    if case == "constant":
        assert result.log_evidence == pytest.approx(exact)


def test_draws_that_differ_later_take_the_warning_back(rng):
    def log_likelihood(theta, X, y):
        return X[:, 0] * theta[:, :1] - anp.log1p(anp.exp(theta[:, :1]))

    model = CustomModel(
        lambda rng, size: rng.standard_normal((size, 1)),
        lambda theta: log_normal(theta[:, 0], 1.0),
        lambda theta, X, y: anp.where(X[:, 0] > 1, -1.0, log_likelihood(theta, X, y)),
        1,
    )
    sampler = SGAIS()
    state = sampler.init(model, rng)
    said = []
    for x in (2.0, 2.0, 1.0, 2.0):
        state, records = sampler.update(state, model, Rows.of(np.array([[x]])), rng)
        said.append(len(sampler.doubts(state, model, records)))
    assert said == [1, 1, 0, 0]
    assert state.log_evidence == pytest.approx(-3 + np.log(0.5), abs=4 * state.log_evidence_std)


def test_a_part_that_only_a_survey_meets_is_not_impossible(rng):
    """−∞ elsewhere: rows that none of the particles explains are refused only if no draw explains them."""
    model, exact = box(2e-4, 0.0, -np.inf)
    assert errors(rng, lambda g: (model, exact), 3).size <= 3  # answered or warned, never refused
    with pytest.raises(ImpossibleRowsError):
        SGAIS().run(box(1e-12, 0.0, -np.inf)[0], ONE_ROW, rng)


def survey(rng, model, n_rows, M=2000, **settings):
    scheme = RESAMPLING["systematic"]
    anneal = Anneal(HMC(), 0.5, scheme, lambda n: M)
    state = State(Cloud.planted(model.sample_prior(rng, M)), Memory.empty())
    path = Path(model, state.memory, Rows.of(np.zeros((n_rows, 1))))
    return PriorSurvey(anneal), state, path


@pytest.mark.parametrize(
    "model, n_rows, M, expected",
    [
        (box(0.5, 0.0, -1.0)[0], 1, 2000, N_SURVEYED),
        (box(0.5, 0.0, -1e-9)[0], 1000, 2000, 10_000),  # nothing to anneal: ten million values
        (box(0.1, 0.0, -1.0)[0], 1000, 2000, N_SURVEYED),  # to be annealed: a quarter of that
        (box(0.1, 0.0, -1.0)[0], 1000, 200, 10_000),
        (box(0.5, 0.0, -1.0, d=200)[0], 1, 2000, 40_000),
    ],
)
def test_effort_follows_the_predicted_cost(rng, model, n_rows, M, expected):
    look, state, path = survey(rng, model, n_rows, M)
    step = look(state, path, Streams.spawned(rng))
    assert step.info.n_likelihoods == expected * n_rows
    assert step.crossed or len(step.state.theta) == len(step.state.ell) == expected


def test_it_is_for_first_rows_of_models_of_several_modes(rng):
    look, state, path = survey(rng, box(0.5, 0.0, -1.0)[0], 4)
    assert look.applies(state, path)
    seen = state.memory.absorb(path.chunk, rng)
    assert not look.applies(state._replace(memory=seen), Path(path.model, seen, path.chunk))
    assert not look.applies(state, path._replace(model=LinearModel(1)))
    assert not PriorSurvey(look.anneal._replace(resampling=None)).applies(state, path)


def test_draws_that_count_are_the_answer(rng):
    model, exact = box(0.3, 1.0, 0.0)
    look, state, path = survey(rng, model, 1)
    step = look(state, path, Streams.spawned(rng))
    cloud = step.state.cloud
    assert step.crossed and step.state.ell is None and cloud.M == 2000 and step.info.ess > 50_000
    assert abs(cloud.log_evidence - exact) < 4 * cloud.log_evidence_std < 0.02


# -- runs that begin anew ---------------------------------------------------------------------------


MODEL, M = LinearModel(2, noise_std=1.0), 400
RESTART = PriorSurvey(Anneal(HMC(), 0.5, RESAMPLING["systematic"], lambda n: M))


def wrong_cloud(rng, rows, capacity=None):
    memory = Memory.empty(capacity).absorb(rows[:60], rng)
    state = State(Cloud.planted(np.full((50, MODEL.n_params), 9.0))._replace(log_Z=-1e5), memory)
    return state, state.path(MODEL, rows[60:])


def check_restarted(rng, call=PriorSurvey.restarted):
    rows = data(MODEL, 80, rng)
    state, path = wrong_cloud(rng, rows)
    step = call(RESTART, state, path, Streams.spawned(rng))
    error = step.state.log_evidence - MODEL.exact_log_evidence(rows)
    assert abs(error) < 5 * step.state.log_evidence_std < 2.0, f"evidence off by {error:.2f}"
    assert step.crossed and step.state.cloud.M == M and step.state.memory is state.memory
    exact = MODEL.exact_posterior(rows, rng, 2000)
    off = (step.state.cloud.mean - exact.mean(axis=0)) / (exact.std(axis=0) / np.sqrt(M / 4))
    assert np.abs(off).max() < 5, "particles"


def test_nothing_of_the_cloud_before_is_left(rng):
    check_restarted(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("path.all_rows", "path.chunk"),
        ("step.state.cloud", "state.cloud"),
    ],
    ids=["the new rows only", "the old cloud"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    mutant = broken(PriorSurvey.restarted, right, wrong)
    with pytest.raises(AssertionError, match="evidence off"):
        check_restarted(rng, mutant)


def test_it_declines_where_rows_are_gone(rng):
    state, path = wrong_cloud(rng, data(MODEL, 80, rng), capacity=16)
    step = RESTART.restarted(state, path, Streams.spawned(rng))
    assert not step.crossed and step.state is state
