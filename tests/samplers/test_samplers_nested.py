"""Nested sampling: exact where exact is known, an error bar that covers, and no mistake that goes unseen."""

import warnings
from itertools import permutations
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.scipy.stats import norm as anp_norm
from error_bars import check_normal, z_scores
from made_data import GOLD, MAKE, rows_of
from mutants import broken
from scipy.special import logsumexp
from scipy.stats import kstest, norm

from sgevidence import EvidenceWarning
from sgevidence.custom import CustomModel
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, Model, SoftmaxModel
from sgevidence.samplers import NestedSampling, _nested, bottleneck, founders
from sgevidence.samplers._nested import doubts, insertion_ranks
from sgevidence.transitions import _constrained

ROWS = Rows.of(np.linspace(-1, 1, 12)[:, None], 2 * np.linspace(-1, 1, 12))
LINE = LinearModel(1, noise_std=1.0)


def test_reported_error_covers(rng):
    """50 seeds on a line."""
    sampler = NestedSampling(n_live=60, kernel="rejection", remaining_mass=0.1)
    check_normal(z_scores(sampler, LINE, ROWS, LINE.exact_log_evidence(ROWS), rng, 50))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["reflection", "random_walk"])
def test_reported_error_covers_with_moves(rng, kernel):
    """A thousand rows, where the posterior is e⁻²⁰ of the prior."""
    model, rows = LinearModel(5, noise_std=1.0), rows_of("sim_L", 1000)
    sampler = NestedSampling(n_live=100, kernel=kernel)
    check_normal(z_scores(sampler, model, rows, model.exact_log_evidence(rows), rng, 20))


MUTANTS = {
    "shrinkage as if each had been replaced": (
        "log_X - np.cumsum(1 / n_live)",
        "log_X - (1 + np.arange(len(n_live))) / n_live[0]",
        0.1,
    ),
    "shrinkage twice": (
        "floor, log_X = ell[dead - 1], log_X_after[-1]",
        "floor, log_X = ell[dead - 1], 2 * log_X_after[-1] - log_X",
        0.01,
    ),
    "mass of the whole instead of the shell": ("np.log(np.expm1(1 / n_live))", "0.0", 0.01),
    "no remainder": ("np.full(M, log_X - np.log(M))", "np.full(M, -np.inf)", 0.5),
}


@pytest.mark.parametrize("right, wrong, tolerance", MUTANTS.values(), ids=MUTANTS)
def test_broken_accounting_is_caught(rng, install_broken, right, wrong, tolerance):
    """A remainder of half the evidence shows whether it is added."""
    install_broken(_nested, "descend", right, wrong)
    sampler = NestedSampling(n_live=60, kernel="rejection", remaining_mass=tolerance)
    with pytest.raises(AssertionError, match="claim"):
        check_normal(z_scores(sampler, LINE, ROWS, LINE.exact_log_evidence(ROWS), rng, 50))


def test_the_quadrature_is_that_of_the_sampler():
    """One at a time, the same draws: but for the remainder, log (1 + q)/2 and log q apart, q = e^{−1/M}."""
    sampler = NestedSampling(n_live=20, n_replaced=1, kernel="rejection", remaining_mass=0.05)
    upper, trapezoid, lower = (
        NestedSampling(**sampler.get_params() | {"quadrature": rule})
        .run(LINE, ROWS, np.random.default_rng(3))
        .log_evidence
        for rule in ("upper", "trapezoid", "lower")
    )
    q = np.exp(-1 / 20)
    assert trapezoid - upper == pytest.approx(np.log((1 + q) / 2), rel=0.1)
    assert lower - upper == pytest.approx(np.log(q), rel=0.1)


def test_remainder_makes_the_tolerance_harmless(rng):
    sampler = NestedSampling(n_live=60, kernel="rejection", remaining_mass=0.5)
    check_normal(z_scores(sampler, LINE, ROWS, LINE.exact_log_evidence(ROWS), rng, 50))


def test_one_at_a_time_is_the_textbook(rng):
    """k = 1: log Ẑ, and an error bar that is √(H/M)."""
    result = NestedSampling(n_live=100, n_replaced=1, kernel="rejection").run(LINE, ROWS, rng)
    assert abs(result.log_evidence - LINE.exact_log_evidence(ROWS)) < 4 * result.log_evidence_std
    H = result.diagnostics["information"]
    assert result.log_evidence_std == pytest.approx(np.sqrt(H / 100), rel=0.25)


@pytest.mark.parametrize("kernel", ["reflection", pytest.param("random_walk", marks=pytest.mark.slow)])
def test_moves_agree_with_rejection(rng, kernel):
    """Conference paper, Fig. A1: a mixture with nine parameters, here at 10 rows."""
    x = np.r_[rng.normal(-2, 0.5, 6), rng.normal(1, 1, 4)][:, None]
    model, rows = MixtureModel(3, 1), Rows.of(x)
    exact = NestedSampling(n_live=100, kernel="rejection", remaining_mass=0.1).run(model, rows, rng)
    moved = NestedSampling(n_live=200, kernel=kernel, n_steps=5).run(model, rows, rng)
    error = np.hypot(exact.log_evidence_std, moved.log_evidence_std)
    assert abs(exact.log_evidence - moved.log_evidence) < 3.5 * error
    assert moved.diagnostics["insertion_p"] > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("case", ["S_iris", "G_petal_K2", "G_petal_K3"])
def test_gold(rng, case):
    """Among them mixtures, whose evidence is over all labellings."""
    d, gold = MAKE["rebuild"](case), GOLD[case]
    p = d["X"].shape[1]
    model = SoftmaxModel(p, d["K"]) if gold["model"] == "S" else MixtureModel(gold["K"], p)
    result = NestedSampling(n_live=300).run(model, Rows.of(d["X"], d.get("y")), rng)
    assert abs(result.log_evidence - gold["logZ"]) < 3 * np.hypot(result.log_evidence_std, gold["se"])
    assert result.log_evidence_std < 0.7


def test_draws_are_from_the_posterior(rng):
    """Mean and variance of a conjugate posterior, by the draws' own effective number."""
    result = NestedSampling(n_live=400).run(LINE, ROWS, rng)
    Phi = np.column_stack([ROWS.X, np.ones(len(ROWS))])
    C = np.linalg.inv(Phi.T @ Phi + np.eye(2))
    W, theta = result.weights, result.theta
    ess = 1 / np.sum(W**2) / 2  # neighbours share their weights' errors
    z = (W @ theta - C @ Phi.T @ ROWS.y) / np.sqrt(np.diag(C) / ess)
    assert np.all(np.abs(z) < 4.5), f"mean off by {z}"
    assert W @ (theta - W @ theta) ** 2 == pytest.approx(np.diag(C), rel=6 * np.sqrt(2 / ess))


def test_ranks_of_independent_draws_are_uniform(rng):
    """Also among equals, and also with those of the same batch."""
    for draw in (rng.standard_normal, lambda size: rng.integers(3, size=size).astype(float)):
        ranks = [insertion_ranks(draw(30), draw(30), rng) for _ in range(100)]
        assert kstest(np.concatenate(ranks), "uniform").pvalue > 1e-6


def test_an_unconverged_kernel_is_flagged(rng, monkeypatch):
    """Steps of a hundredth of a width, and no second try: the live points are soon of one family."""
    monkeypatch.setattr(_constrained, "MAX_REFLECTED_WIDTHS", 0.01)
    monkeypatch.setattr(_constrained, "MAX_REPEATS", 1)
    monkeypatch.setattr(_constrained, "JUMPS", 0)
    d = MAKE["sim_L"](1000)
    model, rows = LinearModel(5, noise_std=1.0), Rows.of(d["X"], d["y"])
    with pytest.warns(EvidenceWarning, match="remember the likelihood"):
        NestedSampling(n_live=200, n_steps=2).run(model, rows, rng)


def blind_frequency(rng, n=80, scale=5.0):
    """A sine of unknown frequency, uniform in (0, 0.5), and its log evidence: amplitudes integrated out."""
    t, f0, phase = np.arange(n), rng.uniform(0.02, 0.48), rng.uniform(0, 2 * np.pi)
    y = 3.0 * np.sin(2 * np.pi * f0 * t + phase) + rng.standard_normal(n)

    def log_likelihood(theta, X, y):
        a = np.pi * anp_norm.cdf(theta[:, 2:3]) * X[:, 0]
        mean = scale * (theta[:, :1] * anp.cos(a) + theta[:, 1:2] * anp.sin(a))
        return -0.5 * (y - mean) ** 2 - 0.5 * np.log(2 * np.pi)

    def log_prior(theta):
        return -0.5 * anp.sum(theta**2, axis=1) - 1.5 * np.log(2 * np.pi)

    model = CustomModel(lambda rng, size: rng.standard_normal((size, 3)), log_prior, log_likelihood, 3)
    a = np.pi * (np.arange(5000) + 0.5)[:, None] / 5000 * t
    waves = scale * np.stack([np.cos(a), np.sin(a)], axis=1)  # (frequencies, 2, n)
    P = np.eye(2) + waves @ waves.transpose(0, 2, 1)
    b = waves @ y
    log_p = 0.5 * np.einsum("fi,fi->f", b, np.linalg.solve(P, b[:, :, None])[:, :, 0])
    log_p -= 0.5 * np.linalg.slogdet(P)[1]
    exact = logsumexp(log_p) - np.log(5000) - 0.5 * y @ y - 0.5 * n * np.log(2 * np.pi)
    return model, Rows.of(t[:, None].astype(float), y), exact


@pytest.mark.slow
def test_blind_frequency(rng):
    """Few live points are in the mode that wins while all others are still as good (dynesty #473)."""
    z = []
    for g in rng.spawn(24):
        model, rows, exact = blind_frequency(g)
        result = NestedSampling(n_live=60).run(model, rows, g)
        assert all("descend from" in words for words in result.warnings)
        z.append((result.log_evidence - exact) / result.log_evidence_std)
    check_normal(np.array(z))


def test_lost_modes_are_in_the_error_bar(rng, monkeypatch):
    """Walkers that cannot change modes: the bar is that of the modes' founders, and a doubt says so."""
    monkeypatch.setattr(_constrained, "JUMPS", 0)
    model, rows, exact = blind_frequency(rng)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = NestedSampling(n_live=40, n_steps=5).run(model, rows, rng)
    n = result.diagnostics["n_founders"]
    lost = bottleneck(n, 40, result.diagnostics["n_iterations"])
    assert n < 15 and result.log_evidence_std >= lost**0.5
    assert abs(result.log_evidence - exact) < 4.5 * result.log_evidence_std
    assert (lost > 1 / 4) == any("descend from" in str(w.message) for w in told)


def of_generations(rng, founder, times):
    """Variance beyond chance where half of the points leave, and the others have two children."""
    for _ in range(times):
        left = rng.permutation(founder)[: len(founder) // 2]
        founder = np.concatenate([left, left])
    return bottleneck(founders(np.zeros(len(founder)), founder), len(founder), times)


def test_one_population_has_no_bottleneck(rng):
    """Chance alone joins lineages; a mode that three points founded has a variance of a third."""
    assert np.mean([of_generations(rng, np.arange(200), 30) for _ in range(20)]) < 0.03  # H/M has 0.15
    assert np.mean([of_generations(rng, rng.integers(3, size=200), 30) for _ in range(20)]) > 0.2


def test_an_undersampled_boundary_is_flagged(rng):
    """SGHMC as published, but coarse: new points come too high."""
    d = MAKE["sim_L"](1000)
    model, rows = LinearModel(5, noise_std=1.0), Rows.of(d["X"], d["y"])
    with pytest.warns(EvidenceWarning, match="insertion ranks"):
        NestedSampling(n_live=400, learning_rate=1e-2).run(model, rows, rng)


def test_covariance_over_labellings(rng):
    """The mean over all K! permutations of the components, by brute force."""
    slots = MixtureModel(3, 2).slots
    C = np.cov(rng.standard_normal((40, 15)).T)
    orders = [np.argsort(slots[list(p)].ravel()[np.argsort(slots.ravel())]) for p in permutations(range(3))]
    np.testing.assert_allclose(
        _constrained.over_labellings(C, slots), np.mean([C[np.ix_(o, o)] for o in orders], axis=0), atol=1e-12
    )


class Plateau(Model):
    """Likelihood a on one part of the unit square, b on the rest, nothing outside."""

    n_params = 2

    def __init__(self, a, b, part=0.3):
        self.a, self.b, self.part = a, b, part

    def sample_prior(self, rng, size):
        return rng.standard_normal((size, 2))

    def log_prior(self, theta):
        return -0.5 * (theta**2).sum(axis=1) - np.log(2 * np.pi)

    def log_likelihood(self, theta, rows):
        return np.where(norm.cdf(theta[:, 0]) < self.part, self.a, self.b)[:, None]

    def _value_and_grad_log_likelihood(self, theta, rows, precise=True):
        return self.sum_log_likelihood(theta, rows), np.zeros_like(theta)


PLATEAUS = [(0.0, 0.0), (0.0, -3.0), (-np.inf, 2.0), (5.0, -np.inf), (np.nan, 0.0)]


@pytest.mark.parametrize(
    "kernel, a, b",
    [("reflection", *levels) for levels in PLATEAUS]
    + [(kernel, *levels) for kernel in ("random_walk", "rejection") for levels in PLATEAUS[1:3]],
)
def test_plateaus(rng, kernel, a, b):
    """Ties leave together: a constant, two levels, and a prior most of which is impossible."""
    levels = np.array([a, b])
    exact = np.log(np.nansum(np.array([0.3, 0.7]) * np.exp(levels)))
    result = NestedSampling(n_live=200, kernel=kernel).run(Plateau(a, b), Rows.of(np.zeros((1, 1))), rng)
    assert abs(result.log_evidence - exact) < 4.5 * result.log_evidence_std + 1e-9
    assert result.log_evidence_std < 0.2


def test_impossible_rows(rng):
    with pytest.raises(ValueError, match="all 50 draws from the prior"):
        NestedSampling(n_live=50).run(Plateau(-np.inf, np.nan), Rows.of(np.zeros((1, 1))), rng)
    with pytest.raises(ValueError, match="must be below n_live"):
        NestedSampling(n_live=50, n_replaced=50).run(LINE, ROWS, rng)


def test_published_settings(rng):
    """Two particles: an answer within some nats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        results = [NestedSampling.paper().run(LINE, ROWS, g) for g in rng.spawn(6)]
    errors = np.array([r.log_evidence for r in results]) - LINE.exact_log_evidence(ROWS)
    assert np.mean(np.abs(errors)) < 6
    assert 0.3 < np.mean([r.log_evidence_std for r in results]) < 3


@pytest.mark.slow
def test_published_stopping_rule_stops_too_early_with_many_points(rng):
    d = MAKE["sim_L"](1000)
    model, rows = LinearModel(5, noise_std=1.0), Rows.of(d["X"], d["y"])
    sampler = NestedSampling(n_live=1000, stopping="term")
    result = sampler.run(model, rows, rng)
    assert result.log_evidence < model.exact_log_evidence(rows) - 5


def test_same_seed_same_answer():
    a, b = (NestedSampling(n_live=50).run(LINE, ROWS, np.random.default_rng(1)) for _ in range(2))
    assert a.log_evidence == b.log_evidence
    np.testing.assert_array_equal(a.theta, b.theta)


# -- doubts of nested sampling ----------------------------------------------------------------------


M, K, TIMES = 20, 10, 400


def ranks_of(rng, shift=0.0, insertion=insertion_ranks, levels=None):
    """Of K new log L among M, all draws of one distribution; of few ``levels``, where many are equal."""
    out = []
    for _ in range(TIMES):
        ell, new = rng.standard_normal(M), rng.standard_normal(K) + shift
        if levels is not None:
            ell, new = np.round(ell * levels) / levels, np.round(new * levels) / levels
        out.append(insertion(ell, new, rng))
    return np.concatenate(out)


def check_uniform(ranks):
    assert np.all((ranks > 0) & (ranks < 1))
    p = kstest(ranks, "uniform").pvalue
    assert p > 1e-6, f"p = {p}"


@pytest.mark.parametrize("levels", [None, 1])
def test_ranks_of_right_draws_are_uniform(rng, levels):
    """Plateaus of the likelihood included, and each is independent of those before it."""
    ranks = ranks_of(rng, levels=levels)
    check_uniform(ranks)
    by_place = ranks.reshape(TIMES, K)
    correlation = np.corrcoef(by_place.T)[np.triu_indices(K, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(TIMES)


@pytest.mark.parametrize(
    "right, wrong, levels",
    [
        (
            "np.sum(ell < new[:, None], axis=1) + np.sum((new < new[:, None]) & earlier, axis=1)",
            "np.sum(ell < new[:, None], axis=1)",
            None,
        ),
        ("(len(ell) + i + 1)", "(len(ell) + 1)", None),
        ("rng.random(len(new)) * (1 + equal)", "rng.random(len(new))", 1),
    ],
    ids=["earlier ones do not count", "nor in the number", "the first among equals"],
)
def test_a_mistake_is_seen(rng, right, wrong, levels):
    with pytest.raises(AssertionError):
        check_uniform(ranks_of(rng, insertion=broken(insertion_ranks, right, wrong), levels=levels))


def said(ranks, memory=0.1, stuck=0, moved=100, n_founders=np.inf, thinnest=1.0, above=0.0):
    moves = SimpleNamespace(memory=[memory], n_stuck=stuck, n_moved=moved, thinnest=thinnest)
    return doubts(ranks, moves, n_founders, above)


def test_what_is_wrong_is_said(rng):
    """Draws that are too good by a third of a width, that remember, or that do not move."""
    right = ranks_of(rng)
    assert said(right) == [] and said(np.empty(0)) == []
    (one,) = said(ranks_of(rng, shift=0.3))
    assert "not draws from the prior" in one
    (two,) = said(right, memory=0.6)
    assert "remember" in two
    (three,) = said(right, stuck=11)
    assert "11 of 100 moves ended where they began" in three
    (four,) = said(right, n_founders=2.34)
    assert "descend from 2.3 draws" in four
    (five,) = said(right, thinnest=1e-9)
    assert "so correlated" in five
    (six,) = said(right, above=7.5)
    assert "7.5 nats above" in six
    assert said(right, memory=0.5, stuck=10, n_founders=4.0, thinnest=1e-4, above=3.0) == []
