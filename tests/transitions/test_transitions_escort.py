"""The escort, piece by piece: its weights against brute force, and when it declines."""

from functools import partial

import numpy as np
import pytest
from path_problem import MODELS, Problem, every_model
from precision import sum_in_double

from sgevidence.history import Anchor
from sgevidence.models import LinearModel
from sgevidence.particles import AffineMap, Cloud, Weights
from sgevidence.targets import anchored_at_mode, gaussian
from sgevidence.transitions import Escort, State, Streams, _escort
from sgevidence.transitions._escort import MapEscort, narrowest

pytestmark = pytest.mark.usefixtures("double_precision")

ESCORT = MapEscort(Escort())


def search_on(monkeypatch, mode_rows):
    """Modes are sought on so many rows."""
    monkeypatch.setattr(_escort, "anchored_at_mode", partial(anchored_at_mode, mode_rows=mode_rows))


def check_increment(problem, rng, escort=ESCORT):
    """log p(y_<n+c, Tθ) |det T| / p(y_<n, θ), the Jacobian from the cloud itself."""
    step = escort.carried(problem.path, problem.theta, rng)
    n = problem.history.n_rows
    difference = problem.full_log_joint(step.theta, problem.rows) - problem.full_log_joint(
        problem.theta, problem.rows[:n]
    )
    # T is affine: it maps differences of particles to differences of particles by A
    A = np.linalg.lstsq(problem.theta[1:] - problem.theta[0], step.theta[1:] - step.theta[0], rcond=None)[0]
    expected = difference + np.linalg.slogdet(A)[1]
    np.testing.assert_allclose(step.increment, expected, rtol=1e-10, atol=1e-8, err_msg="increment wrong")
    return step


@pytest.mark.parametrize("model", [MODELS["softmax"], MODELS["mixture"]], ids=["softmax", "mixture"])
def test_large_chunk_from_a_sample(rng, monkeypatch, model):
    """Its sums and the remainder on a part of it: right within the noise that is reported."""
    search_on(monkeypatch, 1000)
    z = []
    for _ in range(10):
        problem = Problem(model, rng, 2400, 6000, M=20)
        step = MapEscort(Escort(max_noise=0.3)).carried(problem.path, problem.theta, rng)
        m, P = gaussian(model, problem.anchor)
        T = AffineMap.between(m, P, *gaussian(model, step.anchor))
        before, after = problem.rows[:2400], problem.rows
        exact = model.log_joint(step.theta, after) - model.log_joint(problem.theta, before) + T.log_det
        z.append((step.increment - exact).mean() / step.noise_var**0.5)
    assert np.isfinite(z).all() and np.sqrt(np.mean(np.square(z))) < 2


@every_model
@pytest.mark.parametrize("n, c", [(600, 20), (600, 600), (40, 2400)], ids=["small", "doubling", "large"])
def test_increment_is_the_ratio_of_full_posteriors(rng, model, n, c):
    """To 1e-8 while the whole history is at hand; and no noise is reported."""
    step = check_increment(Problem(model, rng, n, c), rng)
    assert step.noise_var == 0.0


@every_model
def test_single_precision_is_enough(rng, model):
    """What rounding adds to a weight is far below what weights vary by, and nothing on average."""
    problem = Problem(model, rng, 5000, 5000)
    step = ESCORT.carried(problem.path, problem.theta, np.random.default_rng(1))
    with pytest.MonkeyPatch.context() as patch:
        sum_in_double(patch)
        exact = ESCORT.carried(problem.path, problem.theta, np.random.default_rng(1))
    np.testing.assert_allclose(step.theta, exact.theta, atol=1e-4)  # the mode is found in doubles or not
    np.testing.assert_allclose(step.increment, exact.increment, atol=0.02)


@every_model
def test_whole_history_in_blocks(rng, model, monkeypatch):
    """A history larger than the first sample is summed block by block until nothing is left out."""
    search_on(monkeypatch, 400)
    step = check_increment(
        Problem(model, rng), rng, MapEscort(Escort(first_rows=100, whole_rows=1, max_noise=1e-300))
    )
    assert step.noise_var == 0.0


def check_returned(problem, rng):
    """There and back again: the same weights, whatever the particles."""
    carried = ESCORT.carried(problem.path, problem.theta, rng)
    np.testing.assert_allclose(carried.T.inverse(carried.theta), problem.theta, atol=1e-8)
    back = ESCORT.returned(carried, problem.path, carried.theta, rng)
    np.testing.assert_allclose(back, carried.increment, rtol=1e-8, atol=1e-6)


@every_model
def test_the_way_back(rng, model):
    check_returned(Problem(model, rng), rng)


def test_no_way_back_from_another_labelling(rng):
    """No particle of the anchor's labelling is taken to where the labels are exchanged."""
    problem = Problem(MODELS["mixture"], rng)
    carried = ESCORT.carried(problem.path, problem.theta, rng)
    (one, other), exchanged = problem.path.model.slots, carried.theta.copy()
    exchanged[:, one], exchanged[:, other] = carried.theta[:, other], carried.theta[:, one]
    assert np.all(ESCORT.returned(carried, problem.path, exchanged, rng) == np.inf)


def test_weights_stay_even_on_a_gaussian(rng):
    """The linear model is one: the map is exact, and so is the evidence, whatever the number of particles."""
    model = LinearModel(2, noise_std=1.0)
    problem = Problem(model, rng, M=5)
    step = ESCORT.carried(problem.path, problem.theta, rng)
    exact = model.exact_log_evidence(problem.rows) - model.exact_log_evidence(problem.rows[:600])
    np.testing.assert_allclose(step.increment, exact, atol=1e-6)


@every_model
def test_anchor_afterwards(rng, model):
    """Holds the sums over history and chunk, at the old point or at a new one nearer to the mode."""
    for c in (20, 600):
        problem = Problem(model, rng, 600, c)
        step = ESCORT.carried(problem.path, problem.theta, rng)
        direct = Anchor.of(model, step.anchor.a, problem.rows)
        for one, other in zip(step.anchor[:4], direct):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(direct.H).max())


def test_no_gaussian_to_follow(rng):
    """A precision that is not positive definite gives None, not an error: the sampler anneals."""
    problem = Problem(MODELS["mixture"], rng)
    problem.anchor = problem.anchor._replace(H=-np.eye(len(problem.anchor.a)) * 1e6)
    assert ESCORT.carried(problem.path, problem.theta, rng) is None


def test_particles_without_likelihood_weigh_nothing(rng):
    """What overflows on its way gets −inf, never nan."""
    problem = Problem(MODELS["mixture"], rng)
    problem.theta[0] = 1e200
    with np.errstate(all="ignore"):
        step = ESCORT.carried(problem.path, problem.theta, rng)
    assert step.increment[0] == -np.inf
    assert np.isfinite(step.increment[1:]).all()


def test_particles_that_leave_the_region_weigh_nothing(rng):
    """A map made for one labelling means nothing in another: outside A the weight is zero."""
    model = MODELS["mixture"]
    problem = Problem(model, rng, M=200)
    problem.labels = model.slot_reference(problem.theta)
    theta = model.canonicalize(problem.theta, problem.labels)
    swapped = theta.copy()
    swapped[:3, model.slots] = swapped[:3, model.slots[::-1]]
    state, streams = State(Cloud.planted(swapped), problem.path.memory), Streams.spawned(rng)
    after = ESCORT(state, problem.path, streams).state
    np.testing.assert_array_equal(np.isfinite(after.cloud.weights.log_w), np.arange(200) >= 3)
    np.testing.assert_array_equal(after.theta[:3], swapped[:3])
    assert np.all(model.is_canonical(after.theta[3:], problem.labels))
    swapped[:20, model.slots] = theta[:20][:, model.slots[::-1]]  # a tenth outside: no escort at all
    step = ESCORT(state, problem.path, streams)
    assert not step.crossed and step.state is state and step.info.n_escorts_refused == 1


@pytest.fixture
def crossing(rng):
    """A cloud before a chunk of a third of the history, and the cloud's state."""
    problem = Problem(LinearModel(2, noise_std=1.0), rng, M=500)
    return problem.path, State(Cloud.planted(problem.theta), problem.path.memory), Streams.spawned(rng)


def test_it_crosses_and_says_so(crossing):
    path, state, streams = crossing
    step = ESCORT(state, path, streams)
    assert step.crossed and step.info.n_escorts == 1 and step.info.ess == step.state.cloud.weights.ess
    assert step.info.n_likelihoods == 2 * 500 * len(path.chunk)
    assert step.state.adaptation.map_is == "even" and step.state.ell is None and step.anchor is not None
    np.testing.assert_array_equal(state.theta, crossing[1].theta)


def test_it_declines_what_weights_alone_do_better(crossing, rng):
    """No map helps a particle that is alone, and none is needed where the chunk evens the weights out."""
    path, state, streams = crossing
    uneven = state._replace(cloud=state.cloud._replace(weights=Weights(40.0 * rng.standard_normal(500))))
    assert not ESCORT(uneven, path, streams).crossed
    even_after = path.increment(state.theta)  # weights that the chunk makes even
    cloud = state.cloud._replace(weights=Weights(-even_after))
    assert not ESCORT(state._replace(cloud=cloud, ell=even_after), path, streams).crossed


@pytest.mark.parametrize("least", [0.5, 1.0])
def test_from_even_weights_the_square_of_the_least_will_do(rng, monkeypatch, least):
    """An increment that leaves 0.4 of the particles: above 0.5², below 0.5 from weights that are not even."""
    problem = Problem(LinearModel(2, noise_std=1.0), rng, M=500)
    state, streams = State(Cloud.planted(problem.theta), problem.path.memory), Streams.spawned(rng)
    increment = np.where(np.arange(500) < 200, 0.0, -50.0)
    carried = ESCORT.carried(problem.path, problem.theta, rng)._replace(increment=increment)
    monkeypatch.setattr(MapEscort, "carried", lambda *_: carried)
    assert MapEscort(Escort(min_ess=least))(state, problem.path, streams).crossed == (least == 0.5)
    uneven = Weights(np.where(np.arange(500) % 5 == 0, -50.0, 0.0))
    state = state._replace(cloud=state.cloud._replace(weights=uneven))
    assert not MapEscort(Escort(min_ess=least))(state, problem.path, streams).crossed


def test_without_an_anchor_there_is_nothing_to_follow(crossing):
    path, state, streams = crossing
    step = ESCORT(state, path._replace(memory=path.memory._replace(anchor=None)), streams)
    assert not step.crossed and step.state is state and step.info.n_escorts_refused == 0


def test_a_cloud_behind_a_wall_is_not_carried(rng):
    """Half a Gaussian: the map keeps the weights even and takes it to half of the next posterior."""
    problem = Problem(MODELS["linear"], rng, M=4000)
    mean, P = gaussian(problem.model, problem.anchor)
    phi = rng.normal(size=(4000, len(mean)))
    taken = {}
    for name, first in (("whole", phi[:, 0]), ("half", np.abs(phi[:, 0]))):
        theta = mean + np.linalg.solve(np.linalg.cholesky(P).T, np.column_stack([first, phi[:, 1:]]).T).T
        state = State(Cloud.planted(theta), problem.path.memory)
        for width in (0.75, 0.0):
            step = MapEscort(Escort(min_width=width, max_excess=1e9))(state, problem.path, Streams.one(rng))
            taken[name, width] = step.crossed
        assert narrowest(state.cloud, P) == pytest.approx(
            {"whole": 1.0, "half": 1 - 2 / np.pi}[name], rel=0.1
        )
    assert taken == {("whole", 0.75): True, ("whole", 0.0): True, ("half", 0.75): False, ("half", 0.0): True}
