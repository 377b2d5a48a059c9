"""The escort and the way back, from exact draws of a skewed posterior, beside a sum over a grid."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
from mutants import broken
from scipy.special import gammaln
from scipy.stats import norm

from sgevidence import SGAIS, BayesianModel
from sgevidence.history import Anchor, Memory, Reservoir, Rows
from sgevidence.models import GLMModel
from sgevidence.particles import RESAMPLING, Cloud, Weights, log_sum_exp
from sgevidence.targets import Likelihood, Path, Target, find_mode
from sgevidence.transitions import HMC, Anneal, Escort, State, Streams, TwoSidedEscort
from sgevidence.transitions._escort import MapEscort

D = 12
MODEL = GLMModel(D, fit_intercept=False, coef_scale=3.0)
ESCORT = MapEscort(Escort())
SIDE = np.linspace(-35.0, 8.0, 8601)


class Sparse:
    """A count a row, each of one of D rates: zero in the first rows, one in the last two.

    The posterior is a product over rates: sums over a line know all of it.  It has a wall, where the rate is
    too high for the zeros, and a long tail before.
    """

    def __init__(self, zeros=5, ones=2):
        X = np.tile(np.eye(D), (zeros + ones, 1))
        self.rows, n = Rows.of(X, np.repeat([0.0, 1.0], [zeros * D, ones * D])), zeros * D
        history, self.chunk = self.rows[:n], self.rows[n:]
        a, _ = find_mode(Target(MODEL, Likelihood(history)), np.zeros(D))
        memory = Reservoir(None).absorb(history, np.random.default_rng(0))
        self.memory = Memory(memory, Anchor.of(MODEL, a, history), None)
        prior = -0.5 * SIDE**2 / MODEL.coef_scale**2
        self.before, after = prior - zeros * np.exp(SIDE), prior - (zeros + ones) * np.exp(SIDE) + ones * SIDE
        self.log_Z = D * float(log_sum_exp(after) - log_sum_exp(self.before))

    @property
    def path(self):
        return Path(MODEL, self.memory, self.chunk)

    def state(self, rng, M=400, tilt=0.0):
        """Draws of the posterior of the history; of one that is tilted, with weights."""
        W = np.exp(self.before - self.before.max())
        theta = SIDE[rng.choice(len(SIDE), (M, D), p=W / W.sum())]
        W = W * np.exp(tilt * SIDE)
        if tilt:
            theta[:, 0] = SIDE[rng.choice(len(SIDE), M, p=W / W.sum())]
        cloud, weights = Cloud.planted(theta), Weights(-tilt * theta[:, 0])
        return State(cloud._replace(weights=weights, log_Z=-weights.log_mean), self.memory)


PROBLEM = Sparse()


def both_ways(**settings):
    return TwoSidedEscort(
        Anneal(HMC(), 0.5, RESAMPLING["systematic"], lambda n: 400), MapEscort(Escort(**settings))
    )


def errors(rng, call, seeds=150, **how):
    """Of log p(y_n | y_<n), and what is claimed, of the steps that cross."""
    found = []
    for g in rng.spawn(seeds):
        step = call(PROBLEM.state(g, **how), PROBLEM.path, Streams.spawned(g))
        if step.crossed:
            cloud = step.state.cloud
            found.append((cloud.log_evidence - PROBLEM.log_Z, cloud.log_evidence_std))
    assert len(found) > 0.5 * seeds
    return np.array(found).T


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_evidence_of_a_chunk(rng, tilt):
    """Right from exact draws, weighted or not, and nearer than the way there alone."""
    error, std = errors(rng, both_ways(min_ess=0.3), tilt=tilt)
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error)) + 0.003
    assert error.std() < std.mean() < 0.15
    assert error.std() < 0.6 * errors(rng, MapEscort(Escort(min_ess=0.3)), tilt=tilt)[0].std()


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("before.log_evidence", "before.log_Z"),
        ("bridge(there, back[None], before.W)", "bridge(there, back[None])"),
        (
            "theta, info = ..., step.info.with_move(moved); "
            "back = self.escort.returned(carried, path, theta, rng.rows)",
            "theta, info = ..., step.info.with_move(moved); "
            "back = self.escort.returned(carried, path, step.state.cloud.theta, rng.rows)",
        ),
        (
            "self.anneal.renewed(escorted, move, 1.0, step.state.adaptation, path, rng)",
            "self.anneal.renewed(escorted, move, 0.0, step.state.adaptation, path, rng)",
        ),
    ],
    ids=["weights before", "weights in the bridge", "back from where the map ends", "another posterior"],
)
def test_power(rng, monkeypatch, right, wrong):
    monkeypatch.setattr(TwoSidedEscort, "__call__", broken(TwoSidedEscort.__call__, right, wrong))
    with pytest.raises(AssertionError):
        test_evidence_of_a_chunk(rng, 0.0)
        test_evidence_of_a_chunk(rng, 0.3)


def check_stream(rng, seeds=40):
    """Chunk after chunk, a particle's place comes from the last escort: errors that are not seen add up."""
    counts, rest = [0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 0.0], []
    sampler, model = SGAIS(n_particles=400, max_particles=400, proposal=None), replace(MODEL, coef_scale=5.0)
    log_p = -0.5 * SIDE**2 / model.coef_scale**2
    log_p = [log_p + sum(c * SIDE - np.exp(SIDE) - gammaln(c + 1) for c in counts[: k + 1]) for k in (0, 6)]
    truth = D * float(log_sum_exp(log_p[1]) - log_sum_exp(log_p[0]))
    for g in rng.spawn(seeds):
        state, found = sampler.init(model, g), []
        for count in counts:
            state, _ = sampler.update(state, model, Rows.of(np.eye(D), np.full(D, count)), g)
            found.append(state.log_evidence)
        rest.append(found[-1] - found[0] - truth)
    assert abs(np.mean(rest)) < 0.03 + 2 * np.std(rest) / np.sqrt(seeds), f"off by {np.mean(rest):.3f}"


@pytest.mark.slow
def test_a_stream(rng):
    check_stream(rng)


@pytest.mark.slow
def test_power_one_way_is_too_low(rng, monkeypatch):
    """What the way back is for."""
    monkeypatch.setattr(
        TwoSidedEscort, "__call__", lambda self, *state_path_rng: self.escort(*state_path_rng)
    )
    with pytest.raises(AssertionError, match="off by -"):
        check_stream(rng)


def test_a_map_from_nowhere_is_declined(rng, monkeypatch):
    """All draws of the new posterior are where the map leads from no particle."""
    monkeypatch.setattr(
        MapEscort, "returned", lambda self, carried, path, theta, rng: np.full(len(theta), np.inf)
    )
    step = both_ways(min_ess=0.1)(PROBLEM.state(rng), PROBLEM.path, Streams.spawned(rng))
    assert not step.crossed and step.info.n_escorts_refused == step.info.n_moves == 1


def test_even_weights_need_no_move(rng):
    """A zero more changes little: the escort as it is."""
    path = PROBLEM.path._replace(chunk=PROBLEM.rows[:1])
    step = both_ways()(PROBLEM.state(rng), path, Streams.spawned(rng))
    assert step.crossed and step.info.n_escorts == 1 and step.info.n_moves == 0
    assert step.info.n_likelihoods == 2 * 400  # of one row


def test_likelihoods_of_both_ways_count(rng):
    step = both_ways(min_ess=0.3)(PROBLEM.state(rng), PROBLEM.path, Streams.spawned(rng))
    assert step.crossed and step.info.n_moves == 1
    assert step.info.n_likelihoods == 2 * 2 * 400 * len(PROBLEM.chunk)


class Wall:
    """A normal mean, positive in the first dimension: the posterior ends at zero until rows are many."""

    @staticmethod
    def log_likelihood(theta, X, y):
        each = -0.5 * anp.sum((X[None] - theta[:, None]) ** 2, axis=2) - np.log(2 * np.pi)
        return anp.where((theta[:, :1] < 0.0), -np.inf, each)

    @staticmethod
    def log_evidence(X):
        n, s = len(X), X.sum(axis=0)
        each = -0.5 * (n * np.log(2 * np.pi) + np.log(n + 1) + np.sum(X**2, axis=0) - s**2 / (n + 1))
        return each.sum() + norm.logcdf(s[0] / np.sqrt(n + 1))

    @classmethod
    def errors(cls, seeds):
        """Of a stream whose first row leaves a tenth or so of the Gaussian behind the wall, in errors."""
        z = []
        for seed in seeds:
            rng = np.random.default_rng([seed, 4])
            X = rng.standard_normal((30, 2)) + np.array([2.0, -1.5])
            X[0] = 2.0, -1.5
            model = BayesianModel(
                cls.log_likelihood,
                sample_prior=lambda g, size: g.standard_normal((size, 2)),
                log_prior=lambda theta: -0.5 * anp.sum(theta**2, axis=1) - np.log(2 * np.pi),
                random_state=seed,
            )
            for part in (X[:1], X[1:14], X[14:19], X[19:]):
                model.partial_fit(part)
            z.append((model.log_evidence_ - cls.log_evidence(X)) / model.log_evidence_std_)
        return np.array(z)


def test_a_stream_past_a_wall_loses_nothing_behind_it():
    z = Wall.errors(range(6))
    assert abs(z.mean()) < 4 / np.sqrt(6) and np.abs(z).max() < 4


def test_power_of_mirror_images(monkeypatch):
    monkeypatch.setattr(TwoSidedEscort, "_is_near_a_wall", lambda *_: False)
    assert Wall.errors(range(3)).mean() < -4
