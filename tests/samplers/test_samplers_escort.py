"""The escort, piece by piece: its weights against brute force, its noise against the spread it claims."""

import numpy as np
import pytest
from mutants import broken
from scipy.optimize import minimize
from sgevidence.samplers._escort import anchored_at_mode, escort, gaussian, history_difference
from sgevidence.samplers._mode import find_mode
from sgevidence.samplers._monitor import SampleEstimate
from sgevidence.samplers._state import Streams
from sgevidence.samplers._target import Likelihood, Target, of_history, sampled

from sgevidence import SGAIS
from sgevidence.history import Anchor, Reservoir, Rows
from sgevidence.models import LinearModel, MixtureModel, Model, SoftmaxModel
from sgevidence.particles import AffineMap, Weights
from sgevidence.samplers import _escort
from sgevidence.samplers._records import Tally

MODELS = {
    "linear": LinearModel(2),
    "softmax": SoftmaxModel(2, 3),
    "mixture": MixtureModel(2, 2),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.fixture(autouse=True)
def double_precision(request, monkeypatch):
    """Compare to ten digits in double precision; one test looks at single precision."""
    if "single_precision" not in request.node.name:
        for cls in {type(m) for m in MODELS.values()}:
            monkeypatch.setattr(cls, "evaluation", Model.evaluation)


def data(model, n, rng):
    X, y = rng.normal(size=(n, 2)), None
    if isinstance(model, LinearModel):
        y = X @ [1.0, -0.5] + rng.normal(size=n)
    elif isinstance(model, SoftmaxModel):
        W = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
        y = np.argmax(X @ W + rng.gumbel(size=(n, 3)), axis=1)
    else:
        X[: n // 3] += 4.0
        X = rng.permutation(X)
    return Rows.of(X, y)


def start(model):
    """Near the truth of :func:`data`."""
    if isinstance(model, MixtureModel):
        return np.array([-0.5, 0.3, 4.0, 4.0, 0, 0, 0, 0, 0, 0])
    return np.zeros(model.n_params)


class Problem:
    """A history of which ``capacity`` rows are kept, its anchor, a chunk, and a cloud from the Gaussian."""

    def __init__(self, model, rng, n=600, c=200, capacity=None, M=60, anchor_rows=None):
        self.model, self.rows = model, data(model, n + c, rng)
        self.history, self.chunk = Reservoir(capacity).absorb(self.rows[:n], rng), self.rows[n:]
        first = self.rows[: anchor_rows or n]
        a, P = find_mode(Target(model, Likelihood(first)), start(model))
        self.anchor = Anchor.of(model, a, self.rows[:n])
        self.theta = a + rng.normal(size=(M, len(a))) @ np.linalg.inv(np.linalg.cholesky(P))

    def escort(self, rng, escort=escort):
        return escort(self.model, self.theta, self.history, self.anchor, self.chunk, rng)

    def full_log_joint(self, theta, rows):
        """Σ_r log p(y_r | θ) + log p(θ), one row at a time."""
        return self.model.log_likelihood(theta, rows).sum(axis=1) + self.model.log_prior(theta)


# ----------------------------------------------------------------------------- the increment


def check_increment(problem, rng, escort=escort):
    """log p(y_<n+c, Tθ) |det T| / p(y_<n, θ), the Jacobian from the cloud itself."""
    step = problem.escort(rng, escort)
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
    monkeypatch.setattr(_escort, "NOISE", 0.3)
    monkeypatch.setattr(_escort, "MODE_ROWS", 1000)
    z = []
    for _ in range(10):
        problem = Problem(model, rng, 2400, 6000, M=20)
        step = problem.escort(rng)
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
    step = problem.escort(np.random.default_rng(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "evaluation", Model.evaluation)
        exact = problem.escort(np.random.default_rng(1))
    np.testing.assert_allclose(step.theta, exact.theta, atol=1e-4)  # the mode is found in doubles or not
    np.testing.assert_allclose(step.increment, exact.increment, atol=0.02)


@every_model
def test_whole_history_in_blocks(rng, model, monkeypatch):
    """A history larger than the first sample is summed block by block until nothing is left out."""
    monkeypatch.setattr(_escort, "MODE_ROWS", 400)
    monkeypatch.setattr(_escort, "FIRST_ROWS", 100)
    monkeypatch.setattr(_escort, "NOISE", 0.0)
    step = check_increment(Problem(model, rng), rng)
    assert step.noise_var == 0.0


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("+ T.log_det", "- T.log_det"),
        ("+ T.log_det", ""),
        ("+ history_part.value", ""),
        ("+ history_part.value", "- history_part.value"),
        ("+ prior", ""),
        ("L: L(moved), whole", "L: L(theta), whole"),
    ],
    ids=["sign of the Jacobian", "no Jacobian", "no history", "sign of history", "no prior", "chunk at θ"],
)
@every_model
def test_broken_increments_are_caught(rng, model, right, wrong):
    with pytest.raises(AssertionError, match="increment wrong"):
        check_increment(Problem(model, rng), rng, broken(escort, right, wrong))


def test_weights_stay_even_on_a_gaussian(rng):
    """The linear model is one: the map is exact, and so is the evidence, whatever the number of particles."""
    model = LinearModel(2, noise_std=1.0)
    problem = Problem(model, rng, M=5)
    step = problem.escort(rng)
    exact = model.exact_log_evidence(problem.rows) - model.exact_log_evidence(problem.rows[:600])
    np.testing.assert_allclose(step.increment, exact, atol=1e-6)


@every_model
def test_anchor_afterwards(rng, model):
    """Holds the sums over history and chunk, at the old point or at a new one nearer to the mode."""
    for c in (20, 600):
        problem = Problem(model, rng, 600, c)
        step = problem.escort(rng)
        direct = Anchor.of(model, step.anchor.a, problem.rows)
        for one, other in zip(step.anchor, direct):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(direct.H).max())


def test_no_gaussian_to_follow(rng):
    """A precision that is not positive definite gives None, not an error: the sampler anneals."""
    problem = Problem(MODELS["mixture"], rng)
    problem.anchor = problem.anchor._replace(H=-np.eye(len(problem.anchor.a)) * 1e6)
    assert problem.escort(rng) is None


def test_particles_without_likelihood_weigh_nothing(rng):
    """What overflows on its way gets −inf, never nan."""
    problem = Problem(MODELS["mixture"], rng)
    problem.theta[0] = 1e200
    with np.errstate(all="ignore"):
        step = problem.escort(rng)
    assert step.increment[0] == -np.inf
    assert np.isfinite(step.increment[1:]).all()


# ----------------------------------------------------------------------------- sub-samples of the history


def moved_cloud(problem):
    """Half a posterior width away, and narrower."""
    m, P = gaussian(problem.model, problem.anchor)
    shift = np.linalg.solve(np.linalg.cholesky(P).T, np.full(len(m), 0.5))
    return AffineMap.between(m, P, m + shift, 1.5 * P)(problem.theta)


def differences(problem, moved, rng, capacity, repetitions, history_difference=history_difference):
    """Errors at each particle over reservoirs of the same rows (R, M), and the variances reported (R, 2)."""
    model, theta, rows = problem.model, problem.theta, problem.rows[: problem.history.n_rows]
    true = model.sum_log_likelihood(moved, rows) - model.sum_log_likelihood(theta, rows)
    errors, reported = [], []
    for _ in range(repetitions):
        history = Reservoir(capacity).absorb(rows, rng)
        estimate = history_difference(model, moved, theta, history, problem.anchor, rng)
        errors.append(estimate.value - true)
        reported.append([estimate.common_var, estimate.spread_var])
    return np.array(errors), np.array(reported)


def check_noise(model, rng, history_difference=history_difference):
    """Unbiased over reservoirs; what all particles share, and what differs, spread as they say."""
    problem = Problem(model, rng, n=4000, c=10, M=10)
    moved = problem.theta + 3 * (moved_cloud(problem) - problem.theta)
    errors, reported = differences(problem, moved, rng, 640, 120, history_difference)
    common, n = errors.mean(axis=1), len(errors)
    own = np.mean((errors - common[:, None]) ** 2)
    spread = common.std(ddof=1)
    z = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(n))
    assert np.all(np.abs(z) < 5), f"biased by {z} standard errors"
    # the blocks are drawn without replacement from a finite history, which makes them safe by 1/√(1 − f)
    ratios = np.sqrt(np.array([spread**2, own]) / (reported.mean(axis=0) * (1 - 640 / 4000) + 1e-300))
    assert np.all((0.75 < ratios) & (ratios < 1.3)), f"noise off: spread over reported {ratios}"


@pytest.mark.parametrize("model", [MODELS["softmax"], MODELS["mixture"]], ids=["softmax", "mixture"])
def test_difference_from_a_sample(rng, model):
    check_noise(model, rng)


def test_difference_is_exact_for_a_quadratic(rng):
    """Any sample of a linear model with known noise: third-order remainders vanish."""
    model = LinearModel(2, noise_std=1.0)
    problem = Problem(model, rng, n=4000, c=10, M=10)
    errors, reported = differences(problem, moved_cloud(problem), rng, 100, 3)
    np.testing.assert_allclose(errors, 0.0, atol=1e-5)
    assert np.all(reported < 1e-10)


@pytest.mark.parametrize(
    "where, right, wrong",
    [
        ("remainder", " - own(theta)", ""),
        ("estimate", "of(anchor) + result.value", "result.value"),
        ("difference", "L(moved) - L(theta)", "L(theta) - L(moved)"),
        ("blocks", "values * (n / weights)[:, None]", "values"),
        ("blocks", "np.sum(common**2)", "np.sum(common) ** 2"),
        ("blocks", "share[:, None] * (estimates", "(estimates"),
        ("blocks", "(error - common) ** 2", "error**2"),
    ],
    ids=[
        "anchor not taken off",
        "no anchor",
        "sign",
        "factor missing",
        "squares",
        "shares",
        "common in spread",
    ],
)
def test_broken_differences_are_caught(rng, monkeypatch, where, right, wrong):
    difference = history_difference
    if where == "difference":
        difference = broken(history_difference, right, wrong)
    elif where == "estimate":
        monkeypatch.setattr(_escort, "estimate", broken(_escort.estimate, right, wrong))
    elif where == "remainder":
        monkeypatch.setattr(_escort, "remainder", broken(_escort.remainder, right, wrong))
    else:
        mutant = broken(SampleEstimate.from_blocks, right, wrong)
        monkeypatch.setattr(SampleEstimate, "from_blocks", mutant)
    with pytest.raises(AssertionError, match=r"biased|noise off"):
        check_noise(MODELS["softmax"], rng, difference)


def test_sample_grows_until_it_is_quiet(rng, monkeypatch):
    """With a loose tolerance it stops early; the variance it reports is below the tolerance squared."""
    monkeypatch.setattr(_escort, "MODE_ROWS", 400)
    problem = Problem(MODELS["softmax"], rng, n=4000, c=10, M=20)
    moved, seen = moved_cloud(problem), []
    arguments = problem.model, moved, problem.theta, problem.history, problem.anchor, rng
    count = type(problem.model)._block_log_likelihood

    def counting(self, theta, rows, *rest):
        seen.append(len(rows))
        return count(self, theta, rows, *rest)

    monkeypatch.setattr(type(problem.model), "_block_log_likelihood", counting)
    used = []
    for noise in (10.0, 0.05, 0.0):
        monkeypatch.setattr(_escort, "NOISE", noise)
        seen.clear()
        estimate = history_difference(*arguments)
        assert estimate.common_var + (estimate.spread_var / 2) ** 2 <= noise**2
        used.append(sum(seen))
    assert used[0] < used[2] and used[0] <= used[1] <= used[2]


# ----------------------------------------------------------------------------- modes and targets


@every_model
def test_mode_against_scipy(rng, model):
    rows = data(model, 800, rng)
    target = Target(model, Likelihood(rows))
    a, P = find_mode(target, start(model) + 0.1 * rng.normal(size=model.n_params))

    def negative(theta):
        value, grad = target.value_and_grad(theta[None])
        return -value[0], -grad[0]

    best = minimize(negative, a, jac=True, method="BFGS", options=dict(gtol=1e-6)).x
    distance = (a - best) @ P @ (a - best)
    assert distance < 0.03  # as Newton's decrement promises: 0.01 nats
    np.testing.assert_allclose(P, target.derivatives(a)[2])


class Hills:
    """sin x + sin y − tilt: maxima, minima and saddles; nothing of a model is needed."""

    def derivatives(self, a):
        return np.sum(np.sin(a)), np.cos(a), np.diag(np.sin(a))

    def value(self, theta):
        return np.sum(np.sin(theta), axis=1)


def test_mode_of_a_hill():
    a, P = find_mode(Hills(), np.array([1.0, 2.2]))
    np.testing.assert_allclose(a, np.pi / 2, atol=0.15)
    assert P is not None


@pytest.mark.parametrize("at", [(-np.pi / 2, -np.pi / 2), (np.pi / 2, -np.pi / 2)], ids=["minimum", "saddle"])
def test_no_precision_where_there_is_no_maximum(at):
    """A stationary point of another kind: the slope is nothing, and Newton stops there."""
    assert find_mode(Hills(), np.array(at))[1] is None


def test_no_precision_from_nowhere(rng):
    """Not finite at the start, or no iterations left on the way up."""
    model = MODELS["mixture"]
    target = Target(model, Likelihood(data(model, 50, rng)))
    with np.errstate(all="ignore"):
        assert find_mode(target, np.full(model.n_params, 1e200))[1] is None


@every_model
@pytest.mark.parametrize("kind", ["all rows", "sample and anchor", "tempered sum"])
def test_target_gradient(rng, model, kind):
    """value, value_and_grad, derivatives and curvature are those of one function, by central differences."""
    rows, a = data(model, 300, rng), start(model)
    anchor, likelihood = Anchor.of(model, a, rows), Likelihood(rows)
    if kind != "all rows":
        likelihood = sampled(model, rows, anchor, 50, rng)
    if kind == "tempered sum":
        likelihood = likelihood.scaled(0.3).plus(Likelihood(data(model, 20, rng)))
    target = Target(model, likelihood)
    theta = a + 0.3 * rng.normal(size=(3, model.n_params))
    value, grad = target.value_and_grad(theta)
    np.testing.assert_allclose(target.value(theta), value, rtol=1e-12)
    h = 1e-5
    for j, step in enumerate(h * np.eye(model.n_params)):
        slope = (target.value(theta + step) - target.value(theta - step)) / (2 * h)
        np.testing.assert_allclose(slope, grad[:, j], rtol=1e-5, atol=1e-4)
    curvature = []
    for t, v, g in zip(theta, value, grad):
        f, slope, P = target.derivatives(t)
        assert f == pytest.approx(v)
        np.testing.assert_allclose(slope, g, rtol=1e-8, atol=1e-6)
        steps = h * np.eye(model.n_params)
        numeric = (target.value_and_grad(t + steps)[1] - target.value_and_grad(t - steps)[1]) / (-2 * h)
        np.testing.assert_allclose(P, numeric, rtol=1e-4, atol=1e-3)
        curvature.append(P)
    np.testing.assert_allclose(target.mean_curvature(theta), np.mean(curvature, axis=0), rtol=1e-5, atol=1e-4)


def test_sampled_is_unbiased_over_samples(rng):
    """Rows without replacement and their anchored sums: the mean over samples is the full likelihood."""
    model = MODELS["softmax"]
    rows, theta = data(model, 200, rng), 0.3 * rng.normal(size=(4, model.n_params))
    anchor = Anchor.of(model, np.zeros(model.n_params), rows)
    full = model.sum_log_likelihood(theta, rows)

    def value(likelihood):
        return model.sum_log_likelihood(theta, likelihood.rows) + likelihood.correction(theta)

    errors = np.array([value(sampled(model, rows, anchor, 40, rng)) - full for _ in range(400)])
    assert np.all(np.abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0) / np.sqrt(400))


def test_history_is_whole_while_it_fits(rng):
    model, rows = MODELS["softmax"], data(MODELS["softmax"], 200, rng)
    anchor = Anchor.of(model, np.zeros(model.n_params), rows)
    assert of_history(model, Reservoir(50), anchor, 100, rng) is None
    whole = of_history(model, Reservoir(None).absorb(rows, rng), anchor, 200, rng)
    assert whole.correction is None and whole.rows.total_weight == 200
    part = of_history(model, Reservoir(50).absorb(rows, rng), anchor, 200, rng)
    assert part.correction is not None and len(part.rows) == 50
    assert part.rows.total_weight == pytest.approx(200)


@every_model
@pytest.mark.parametrize("capacity", [None, 400])
def test_anchored_at_mode(rng, model, capacity):
    """Near the mode of all rows seen; the sums exact while the history is, and within its noise after."""
    problem = Problem(model, rng, n=2000, c=2000, capacity=capacity)
    new, anchor = anchored_at_mode(
        model, problem.anchor.a, problem.history, problem.anchor, problem.chunk, rng
    )
    for one, other in zip(new, Anchor.of(model, anchor.a, problem.chunk)):
        np.testing.assert_allclose(one, other)
    direct = Anchor.of(model, anchor.a, problem.rows)
    m, P = gaussian(model, direct)
    if capacity is None:
        assert (anchor.a - m) @ P @ (anchor.a - m) < 0.05
        np.testing.assert_allclose(anchor.G, direct.G, rtol=1e-6, atol=1e-4 * np.abs(direct.G).max())
    got, _ = gaussian(model, anchor)
    assert (got - m) @ P @ (got - m) < 0.05 * len(m)  # where the Gaussian is, in posterior widths
    scale = np.sqrt(np.outer(np.diag(P), np.diag(P)))
    np.testing.assert_allclose(anchor.H / scale, direct.H / scale, atol=1e-6 if capacity is None else 0.2)


# ----------------------------------------------------------------------------- the canonical region


def test_particles_that_leave_the_region_weigh_nothing(rng):
    """A map made for one labelling means nothing in another: outside A the weight is zero."""
    model = MODELS["mixture"]
    problem = Problem(model, rng, M=200)
    sampler, state = SGAIS(), SGAIS().init(model, rng)
    reference = model.slot_reference(problem.theta)
    theta = model.canonicalize(problem.theta, reference)
    swapped = theta.copy()
    swapped[:3, model.slots] = swapped[:3, model.slots[::-1]]
    state = state._replace(
        theta=swapped,
        weights=Weights.ones(200),
        history=problem.history,
        anchor=problem.anchor,
        reference=reference,
    )
    streams = Streams(*rng.spawn(3))
    after = sampler._escorted(state, model, problem.chunk, None, streams, Tally(200))
    np.testing.assert_array_equal(np.isfinite(after.weights.log_w), np.arange(200) >= 3)
    np.testing.assert_array_equal(after.theta[:3], swapped[:3])
    assert np.all(model.is_canonical(after.theta[3:], reference))
    swapped[:20, model.slots] = theta[:20][:, model.slots[::-1]]  # a tenth outside: no escort at all
    assert sampler._escorted(state, model, problem.chunk, None, streams, Tally(200)) is None
