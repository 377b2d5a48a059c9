"""Climbs from outside: all maxima, walls where the density jumps, outposts in between."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy.stats import norm
from test_transitions_missed_modes import normal_prior, spike

from sgevidence import SGAIS
from sgevidence.custom import CustomModel
from sgevidence.history import Memory, Rows
from sgevidence.particles import Cloud
from sgevidence.targets import Likelihood, Target, find_mode, likelier, outstanding
from sgevidence.transitions import Adaptation, Mode, State, _mode_search
from sgevidence.transitions._mode_search import N_CLIMBS, N_OUTPOSTS, climbed
from sgevidence.transitions._watchlist import Usual, Watchlist

ROWS = Rows.of(np.zeros((1, 1)))


def problem(shape):
    """N(0, 2²) times the exponential of a shape of θ, (M, 1) → (M,)."""
    return CustomModel(
        lambda rng, size: 2.0 * rng.standard_normal((size, 1)),
        lambda theta: anp.sum(-0.125 * theta**2, axis=1) - np.log(2.0) - 0.5 * np.log(2 * np.pi),
        lambda theta, X, y: anp.reshape(shape(theta[:, 0]), (-1, 1)) + 0.0 * X[:, 0],
        1,
    )


def ends(shape, rng, known=None):
    theta = 0.1 * rng.standard_normal((200, 1)) + 1.0
    state = State(Cloud.planted(theta), Memory.empty(), Adaptation(rivals=known))
    return climbed(problem(shape), ROWS, state, rng)


def test_all_maxima_the_best_first(rng):
    """Bumps of width 0.1 at −2, 0 and 2, of different height; particles know none of the first two."""
    heights = {-2.0: 30.0, 0.0: 25.0, 2.0: 20.0}
    found = ends(lambda t: sum(h * anp.exp(-50.0 * (t - c) ** 2) for c, h in heights.items()), rng).maxima
    assert [round(float(mode.a[0]), 1) for mode in found[:3]] == [-2.0, 0.0, 2.0]
    values = np.array([30.0, 25.0, 20.0]) + norm.logpdf([-2, 0, 2], 0, 2)
    np.testing.assert_allclose([mode.value for mode in found[:3]], values, atol=0.02)
    np.testing.assert_allclose(found[0].P, [[2 * 50 * 30 + 0.25]], rtol=0.05)


def test_a_wall_is_where_the_density_jumps(rng):
    """Rising towards 1, and nothing beyond."""
    found = ends(lambda t: anp.where(t < 1.0, 20.0 * t, -100.0), rng)
    assert len(found.walls) and np.all((found.walls > 0.9) & (found.walls < 1.0))
    at = found.walls[:, 0]
    np.testing.assert_allclose(found.values, 20.0 * at + norm.logpdf(at, 0, 2), atol=1e-9)


def test_outposts_are_apart_and_know_how_far_they_are_behind(rng):
    found = ends(lambda t: -2.0 * anp.abs(t - 1.0), rng)
    at, gap = found.outposts[:, 0], found.gap
    assert 10 < len(at) <= N_OUTPOSTS and np.diff(np.sort(at)).min() > 0.1 and gap[0] == 0.0
    log_joint = -2.0 * np.abs(at - 1.0) + norm.logpdf(at, 0, 2)
    np.testing.assert_allclose(gap, log_joint[0] - log_joint, atol=1e-9)


def test_rivals_that_are_close_are_climbed_from(rng):
    """A bump too narrow for a thousand draws, known from before."""
    shape = lambda t: 40.0 * anp.exp(-0.5 * ((t - 9.0) / 0.01) ** 2)  # noqa: E731
    known = np.array([[9.005]])
    without = ends(shape, rng).maxima
    usual = Usual(*np.zeros((3, 1)), n=1.0)
    close, far = (ends(shape, rng, Watchlist(known, np.array([left]), usual)).maxima for left in (1.0, 100.0))
    assert any(abs(mode.a[0] - 9.0) < 0.01 for mode in close)
    for maxima in (without, far):
        assert all(abs(mode.a[0] - 9.0) > 1.0 for mode in maxima)


def test_nothing_possible_is_no_end(rng):
    found = ends(lambda t: -np.inf + 0.0 * t, rng)
    assert not found.maxima and not len(found.walls) and not len(found.outposts)


@pytest.mark.parametrize("n_rows", [10, 3000])
def test_the_end_is_that_on_all_rows(rng, n_rows):
    """The way up may be found on a thousand of them."""
    y = 1.0 + rng.standard_normal(n_rows)
    model = CustomModel(
        lambda rng, size: rng.standard_normal((size, 1)),
        lambda theta: anp.sum(-0.5 * theta**2, axis=1),
        lambda theta, X, y: -0.5 * (y - theta[:, :1]) ** 2,
        1,
    )
    rows = Rows.of(np.zeros((n_rows, 1)), y)
    state = State(Cloud.planted(rng.standard_normal((50, 1))), Memory.empty())
    (mode,) = climbed(model, rows, state, rng).maxima
    assert mode.a[0] == pytest.approx(y.sum() / (n_rows + 1), abs=0.2 / np.sqrt(n_rows))
    assert mode.P[0, 0] == pytest.approx(n_rows + 1, rel=1e-6)


def test_climbs_end_in_a_rugged_posterior(rng, monkeypatch):
    """Each of thousands of maxima leads to the next: three climbs at most for each start from outside."""
    climbs = []

    def counted(*args):
        climbs.append(args)
        assert len(climbs) <= 3 * N_CLIMBS
        return find_mode(*args)

    monkeypatch.setattr(_mode_search, "find_mode", counted)
    monkeypatch.setattr(_mode_search, "likelier", lambda model, rows, a: a + 0.1)
    assert len(ends(lambda t: 40.0 * anp.cos(60.0 * t), rng).maxima) > 1


# -- probes around the ends of climbs ---------------------------------------------------------------


@pytest.mark.parametrize("d, c", [(8, 0.676), (10, 0.75)], ids=["bent by the spike", "a maximum of its own"])
def test_the_likelihood_peaks_where_the_spike_is(rng, d, c):
    model, rows, _ = spike(rng, d, c)
    target = Target(model, Likelihood(rows))
    a, P = find_mode(target, np.zeros(d))
    assert (P is None) == (d == 8) and np.all(a < c - 0.05)
    top, precision = find_mode(target, likelier(model, rows, a))
    np.testing.assert_allclose(top, c, atol=1e-3)
    np.testing.assert_allclose(np.diag(precision), 2501.0, rtol=1e-3)


def test_what_stands_out(rng):
    """A spike in three dimensions, that no slope leads to."""
    found = 0
    for g in rng.spawn(10):
        c = 0.12 * g.standard_normal(3)

        def log_likelihood(theta, X, y, c=c):
            parts = [
                -0.5 * anp.sum(theta**2, axis=1),
                12.0 - 0.5 * anp.sum((theta - c) ** 2, axis=1) / 0.02**2,
            ]
            return anp.reshape(anp.logaddexp(*parts), (-1, 1)) + 0.0 * X[:, 0]

        target = Target(
            CustomModel(*normal_prior(3), log_likelihood, 3), Likelihood(Rows.of(np.zeros((1, 1))))
        )
        points = outstanding(target, np.zeros(3), 2.0 * np.eye(3), g)
        found += len(points) == 1 and np.linalg.norm(points[0] - c) < 0.1
    assert found >= 6


def test_nothing_stands_out_of_a_skewed_posterior(rng):
    """Rates of a count each: half a width from the mode the logarithm is within a nat of its quadratic."""
    d = 30
    model = CustomModel(
        *normal_prior(d),
        lambda theta, X, y: theta[:, X[:, 0].astype(int)] - anp.exp(theta[:, X[:, 0].astype(int)]),
        d,
    )
    target = Target(model, Likelihood(Rows.of(np.arange(d)[:, None].astype(float))))
    assert not len(outstanding(target, *find_mode(target, np.zeros(d)), rng))


def test_a_region_is_without_those_inside(rng):
    model = spike(rng, 2)[0]
    inner = Mode(np.zeros(2), 2500.0 * np.eye(2), 0.0, 4.0)
    outer = Mode(0.1 * np.ones(2), 10.0 * np.eye(2), 0.0, 4.0, (inner,))
    theta = np.array([[0.0, 0.0], [0.05, 0.0], [0.5, 0.0], [9.0, 9.0]])
    assert outer.near(model, theta).tolist() == [False, False, True, False]
    assert inner.near(model, theta).tolist() == [True, True, False, False]
    assert outer.distance(model, theta)[0] == np.inf


@pytest.mark.parametrize(
    "where, name, right, wrong",
    [
        (
            _mode_search.Climbs,
            "hidden",
            "[likely, *outstanding(self.few, end.a, end.P, rng)]",
            "[*outstanding(self.few, end.a, end.P, rng)]",
        ),
        (
            _mode_search,
            "_is_same",
            "_holds(model, mode, other) and _holds(model, other, mode)",
            "_holds(model, other, mode)",
        ),
        (_mode_search, "likelier", "rows.scaled(LIKELIHOOD)", "rows"),
    ],
    ids=["not climbed", "the same as the slab", "with the prior"],
)
def test_a_spike_is_lost_by_a_mistake(rng, monkeypatch, install_broken, where, name, right, wrong):
    install_broken(where, name, right, wrong)
    if name == "likelier":
        monkeypatch.setattr(_mode_search, name, getattr(where, name))
    lost = []
    for g in rng.spawn(3):
        model, rows, exact = spike(g, 20, 0.75)
        lost.append(exact - SGAIS(proposal=None).run(model, rows, g).log_evidence)
    assert max(lost) > 3


def test_a_precision_that_is_singular_by_rounding(rng):
    """A direction of which next to nothing is known: points far along it, and no error."""
    model = spike(rng, 2)[0]
    target = Target(model, Likelihood(Rows.of(np.zeros((1, 1)))))
    assert outstanding(target, np.zeros(2), np.array([[1e16, 1e8], [1e8, 1.0]]), rng).shape[1] == 2
