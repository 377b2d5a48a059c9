"""The anchored sums: exact where they must be, unbiased over samples, and third order where they are not."""

import itertools

import numpy as np
import pytest
from mutants import broken

from sgevidence.history import Anchor, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel

MODELS = {
    "linear": LinearModel(2, noise_std=0.7),
    "linear, unknown noise": LinearModel(2),
    "softmax": SoftmaxModel(2, 3),
    "mixture": MixtureModel(2, 2),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def data(model, n, rng):
    X, y = rng.normal(size=(n, 2)), None
    if isinstance(model, LinearModel):
        y = X @ [1.0, -0.5] + rng.normal(size=n)
    elif isinstance(model, SoftmaxModel):
        y = np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(n, 3)), axis=1)
    return Rows.of(X, y, rng.gamma(3.0, 1 / 3.0, size=n))


def value_and_grad(model, theta, rows):
    """Of the likelihood alone."""
    value, grad = model.value_and_grad_log_joint(theta, rows)
    none = rows[:0]
    prior, grad_prior = model.value_and_grad_log_joint(theta, none)
    return value - prior, grad - grad_prior


def corrected(model, anchor, theta, sample):
    """Sample plus correction, as the kernels use it: value (M,) and gradient (M, d)."""
    correction = anchor.plus(Anchor.of(model, anchor.a, sample), -1.0)
    value, grad = value_and_grad(model, theta, sample)
    return value + correction(theta), grad + correction.grad(theta)


def first_order(anchor):
    return anchor._replace(H=np.zeros_like(anchor.H))


@every_model
def test_sums_over_all_rows(rng, model):
    """Against sums of single rows, and G and H against central differences."""
    rows, a = data(model, 40, rng), model.sample_prior(rng, 1)[0]
    anchor = Anchor.of(model, a, rows)
    log_p = model.log_likelihood(a[None], rows)[0]
    assert anchor.S == pytest.approx(rows.weight @ log_p, rel=1e-12)
    steps = 1e-5 * np.eye(model.n_params)
    up, down = (value_and_grad(model, a + s * steps, rows) for s in (1, -1))
    np.testing.assert_allclose(anchor.G, (up[0] - down[0]) / 2e-5, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(anchor.H, -(up[1] - down[1]) / 2e-5, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(anchor.H, anchor.H.T)


@every_model
def test_quadratic_and_its_gradient(rng, model):
    """At the anchor S and G themselves, and the gradient is that of the value."""
    anchor = Anchor.of(model, model.sample_prior(rng, 1)[0], data(model, 30, rng))
    assert anchor(anchor.a[None])[0] == pytest.approx(anchor.S)
    np.testing.assert_allclose(anchor.grad(anchor.a[None])[0], anchor.G)
    theta = anchor.a + 0.3 * rng.normal(size=(4, model.n_params))
    for j, step in enumerate(1e-4 * np.eye(model.n_params)):
        slope = (anchor(theta + step) - anchor(theta - step)) / 2e-4
        np.testing.assert_allclose(slope, anchor.grad(theta)[:, j], rtol=1e-6, atol=1e-4)


@every_model
def test_plus_and_minus(rng, model):
    rows, a = data(model, 30, rng), model.sample_prior(rng, 1)[0]
    whole, front, back = (Anchor.of(model, a, part) for part in (rows, rows[:12], rows[12:]))
    theta = model.sample_prior(rng, 3)
    for sums, expected in [
        (front.plus(back), whole),
        (whole.plus(back, -1.0), front),
        (Anchor.empty(a).plus(whole, 0.25), Anchor.of(model, a, rows.scaled(0.25))),
    ]:
        for one, other in zip(sums[:4], expected[:4]):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-7 * np.abs(whole.H).max())
        np.testing.assert_allclose(sums(theta), expected(theta), rtol=1e-6)
    assert np.all(Anchor.empty(a)(theta) == 0)


# ----------------------------------------------------------------------------- unbiased, by enumeration

N, B = 6, 3
SAMPLES = {
    "all mini-batches drawn i.i.d.": list(itertools.product(range(N), repeat=B)),
    "all subsets": list(itertools.combinations(range(N), B)),
}


def check_unbiased(model, rng, samples, correct=corrected):
    """The mean over ALL equally likely samples is the full sum, for value and gradient, at any θ."""
    rows = data(model, N, rng)
    rows = Rows(rows.X, rows.y, np.ones(N))  # drawn uniformly: each stands for as many as any other
    anchor = Anchor.of(model, model.sample_prior(rng, 1)[0], rows)
    theta = np.concatenate(
        [model.sample_prior(rng, 3), anchor.a + 0.1 * rng.normal(size=(2, model.n_params))]
    )
    value, grad = np.zeros(len(theta)), np.zeros(theta.shape)
    for sample in samples:
        v, g = correct(model, anchor, theta, rows.take(np.array(sample)).scaled(N / B))
        value, grad = value + v / len(samples), grad + g / len(samples)
    full_value, full_grad = value_and_grad(model, theta, rows)
    rounding = 1e-7 * np.abs(anchor(theta)).max()  # what cancels, far from the anchor
    np.testing.assert_allclose(value, full_value, rtol=1e-9, atol=rounding, err_msg="value biased")
    scale = np.abs(full_grad).max()
    np.testing.assert_allclose(
        grad, full_grad, rtol=1e-7, atol=1e-8 * scale + rounding, err_msg="gradient biased"
    )


@every_model
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_unbiased_for_an_anchor_fixed_before_the_sample(rng, model, samples):
    check_unbiased(model, rng, samples)


@every_model
@pytest.mark.parametrize(
    "wrong",
    [
        "anchor",
        "anchor.plus(Anchor.of(model, anchor.a, sample))",
        "anchor.plus(Anchor.of(model, anchor.a, sample.scaled(0.5)), -1.0)",
    ],
    ids=["sample not taken off", "wrong sign", "mini-batch factor missing"],
)
def test_broken_corrections_are_caught(rng, model, wrong):
    mutant = broken(corrected, "anchor.plus(Anchor.of(model, anchor.a, sample), -1.0)", wrong)
    with pytest.raises(AssertionError, match="value biased"):
        check_unbiased(model, rng, SAMPLES["all subsets"], mutant)


def spread_over_samples(model, rows, anchor, theta, correct):
    full = value_and_grad(model, theta, rows)[0]
    samples = [rows.take(np.array(s)).scaled(N / B) for s in SAMPLES["all subsets"]]
    return np.sqrt(np.mean([(correct(model, anchor, theta, s) - full) ** 2 for s in samples], axis=0))


@pytest.mark.parametrize("model", [MODELS["softmax"], MODELS["mixture"]], ids=["softmax", "mixture"])
def test_noise_is_third_order_in_the_distance(rng, model):
    """Halving u divides the noise of a sample by eight, by four without H, by two without the anchor."""

    def second(model, anchor, theta, sample):
        return corrected(model, anchor, theta, sample)[0]

    def first(model, anchor, theta, sample):
        of_sample = first_order(Anchor.of(model, anchor.a, sample))
        return value_and_grad(model, theta, sample)[0] + first_order(anchor).plus(of_sample, -1.0)(theta)

    def none(model, anchor, theta, sample):
        """The difference to the anchor, which is what a move sees."""
        both = np.concatenate([theta, anchor.a[None]])
        value = value_and_grad(model, both, sample)[0]
        return value[:-1] - value[-1] + anchor.S

    rows = data(model, N, rng)
    rows = Rows(rows.X, rows.y, np.ones(N))
    a = 0.3 * model.sample_prior(rng, 1)[0]
    anchor, u = Anchor.of(model, a, rows), rng.normal(size=(20, model.n_params))
    for correct, order in [(second, 3), (first, 2), (none, 1)]:
        # far enough that rounding (1e-14 of the sums) is nothing beside the noise
        sizes = 0.02 * 0.5 ** np.arange(3)
        noise = [np.median(spread_over_samples(model, rows, anchor, a + s * u, correct)) for s in sizes]
        np.testing.assert_allclose(np.log2(np.divide(noise[:-1], noise[1:])), order, atol=0.15)


def test_second_order_is_exact_for_the_linear_model(rng):
    """A quadratic log-likelihood leaves no remainder: any sample gives the full sum."""
    model, rows = MODELS["linear"], data(MODELS["linear"], 50, rng)
    anchor, theta = Anchor.of(model, model.sample_prior(rng, 1)[0], rows), model.sample_prior(rng, 5)
    value, grad = corrected(model, anchor, theta, rows[:3].scaled(7.0))
    full_value, full_grad = value_and_grad(model, theta, rows)
    np.testing.assert_allclose(value, full_value, rtol=1e-7)
    np.testing.assert_allclose(grad, full_grad, rtol=1e-5, atol=1e-5 * np.abs(full_grad).max())


# ----------------------------------------------------------------------------- re-anchoring


def check_moved_exact(model, rng):
    """With all rows in the sample the sums at the new point are those of a pass over the rows."""
    rows, (a, b) = data(model, 40, rng), model.sample_prior(rng, 2)
    sums, direct = Anchor.moved(Anchor.of(model, a, rows), model, b, rows), Anchor.of(model, b, rows)
    scale = np.abs(direct.H).max() + np.abs(direct.G).max()
    np.testing.assert_array_equal(sums.a, b)
    for one, other in zip(sums[1:4], direct[1:4]):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-6 * scale, err_msg="not exact")


@every_model
def test_moved_is_exact_when_the_sample_holds_all_rows(rng, model):
    check_moved_exact(model, rng)


def test_moved_is_exact_for_the_linear_model_from_any_sample(rng):
    model, rows = MODELS["linear"], data(MODELS["linear"], 40, rng)
    a, b = model.sample_prior(rng, 2)
    moved, direct = Anchor.of(model, a, rows).moved(model, b, rows[:2].scaled(9.0)), Anchor.of(model, b, rows)
    assert moved.S == pytest.approx(direct.S, rel=1e-6)
    np.testing.assert_allclose(moved.G, direct.G, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(moved.H, direct.H, rtol=1e-5, atol=1e-4)


def check_moved_orders(model, rng):
    """Errors of S, G, H are of third, second, first order in Δ: half the step leaves an eighth, and so on."""
    rows = data(model, 60, rng)
    sample = rows[:20].scaled(rows.total_weight / rows[:20].total_weight)
    here = Anchor.of(model, 0.3 * model.sample_prior(rng, 1)[0], rows)

    def errors(step):
        sums, direct = Anchor.moved(here, model, here.a + step, sample), Anchor.of(model, here.a + step, rows)
        return [np.linalg.norm(one - other) for one, other in zip(sums[1:4], direct[1:4])]

    steps = rng.normal(size=(20, model.n_params))
    steps = np.concatenate([steps, -steps])  # the next order drops out of the squares
    squares = [np.mean([np.square(errors(s * step)) for step in steps], axis=0) for s in (0.04, 0.02, 0.01)]
    orders = 0.5 * np.log2(np.divide(squares[:-1], squares[1:]))
    np.testing.assert_allclose(orders, [[3, 2, 1]] * 2, atol=0.25, err_msg="order of the error")


@pytest.mark.parametrize("model", [MODELS["softmax"], MODELS["mixture"]], ids=["softmax", "mixture"])
def test_error_of_moved_shrinks_with_the_step(rng, model):
    check_moved_orders(model, rng)
