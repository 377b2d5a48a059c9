"""Evidence by the Gaussian at the mode, against quadrature, invariances and long runs."""

import mpmath as mp
import numpy as np
import pytest

from sgevidence.answers import one_mode_answer
from sgevidence.history import Rows
from sgevidence.models import GLMModel, SoftmaxModel, near


def answer(model, rows, seed=0, size=1000):
    return one_mode_answer(model, rows, np.random.default_rng(seed), size)


def quadrature(log_joint, lows, highs, n=400):
    """log ∫ by a grid over one or two parameters."""
    axes = [np.linspace(low, high, n) for low, high in zip(lows, highs)]
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    value = log_joint(theta)
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    return np.log(np.sum(np.exp(value - value.max())) * cell) + value.max()


def within(found, exact, errors=4.0):
    return abs(found.log_evidence - exact) < errors * found.log_evidence_std + 1e-3


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("counts", [[0.0] * 12, [0.0, 1.0, 0.0, 7.0, 2.0], [40.0]])
def test_counts_of_two_parameters(scale, counts):
    X = np.linspace(-1, 1, len(counts))[:, None] if len(counts) > 1 else np.ones((1, 1))
    model, rows = GLMModel(1, coef_scale=scale, intercept_scale=scale), Rows.of(X, np.array(counts))
    wide = 6 * scale
    exact = quadrature(lambda t: model.log_joint(t, rows), [-wide] * 2, [wide] * 2, int(400 + 80 * scale))
    for seed in range(3):
        found = answer(model, rows, seed)
        assert found is None or within(found, exact)
        assert found is not None or scale > 1.0


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("y", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], ids=["one class", "apart", "mixed"])
def test_two_classes_without_intercept(scale, y):
    """Only w₁ − w₀ ~ N(0, 2 s²) matters."""
    X = np.array([-2.0, -0.5, 0.7, 1.5]) + (3.0 if y == [0, 0, 0, 0] else 0.0)
    model = SoftmaxModel(1, 2, fit_intercept=False, coef_scale=scale)

    def density(w):
        log_p = sum(-mp.log1p(mp.exp(-x * w if k else x * w)) for x, k in zip(X, y))
        return mp.exp(log_p - w**2 / (4 * scale**2)) / mp.sqrt(4 * mp.pi * scale**2)

    edges = [scale * e for e in (-14, -5, -2, -0.5, 0, 0.5, 2, 5, 14)]
    exact = float(mp.log(mp.quad(density, sorted([*edges, -3, 3, -0.3, 0.3]))))
    for seed in range(3):
        found = answer(model, Rows.of(X[:, None], np.array(y)), seed)
        assert found is None or within(found, exact)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e18])
def test_a_constant_column(offset):
    """η ~ N(0, 1 + c²) is one number."""
    y = np.array([3.0, 1.0, 4.0, 2.0, 0.0, 5.0])
    X, var = np.full((len(y), 1), offset), 1 + mp.mpf(offset) ** 2

    def density(eta):
        log_p = y.sum() * eta - len(y) * mp.exp(eta) - sum(mp.loggamma(v + 1) for v in y)
        return mp.exp(log_p - eta**2 / (2 * var)) / mp.sqrt(2 * mp.pi * var)

    exact = float(mp.log(mp.quad(density, [-6, -2, 0, 0.5, 1, 1.5, 2, 4])))
    assert within(answer(near(GLMModel(1), X), Rows.of(X, y)), exact)


@pytest.mark.parametrize("model", [GLMModel(3), SoftmaxModel(3, 3)], ids=["counts", "classes"])
def test_an_offset_costs_the_width_of_its_prior(rng, model):
    """Far out each factor of the offset is one of the prior's width along a line: no more, no less."""
    X = rng.standard_normal((60, 3))
    y = rng.integers(3, size=60) if isinstance(model, SoftmaxModel) else rng.poisson(2.0, 60).astype(float)
    lines = 2 if isinstance(model, SoftmaxModel) else 1
    found = []
    for k, offset in enumerate([2.0**17, 2.0**27, 2.0**37]):
        far = offset + np.round(X * 2.0**14) / 2.0**14  # exact at every offset
        found.append(answer(near(model, far), Rows.of(far, y), k))
    for k, one in enumerate(found[1:], 1):
        lost = found[0].log_evidence - one.log_evidence
        std = np.hypot(one.log_evidence_std, found[0].log_evidence_std)
        assert abs(lost - lines * 10 * k * np.log(2)) < 4 * std + 1e-3


def test_rotated_columns_are_the_same(rng):
    """The prior of w is isotropic."""
    X = rng.standard_normal((80, 4))
    y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    one, other = answer(GLMModel(4), Rows.of(X, y), 1), answer(GLMModel(4), Rows.of(X @ Q, y), 2)
    apart = one.log_evidence - other.log_evidence
    assert abs(apart) < 4 * np.hypot(one.log_evidence_std, other.log_evidence_std)


@pytest.mark.parametrize("model", [GLMModel(2), SoftmaxModel(2, 3)], ids=["counts", "classes"])
def test_weights_are_repetitions(rng, model):
    X, times = rng.standard_normal((30, 2)), rng.integers(0, 4, 30)
    y = rng.integers(3, size=30) if isinstance(model, SoftmaxModel) else rng.poisson(1.0, 30).astype(float)
    one = answer(model, Rows.of(X, y, times.astype(float)), 1)
    other = answer(model, Rows.of(np.repeat(X, times, axis=0), np.repeat(y, times)), 2)
    assert within(one, other.log_evidence) and within(other, one.log_evidence)


def test_collinear_and_constant_columns(rng):
    """A column and its copy of one prior are one column of √2 times the width; a column of zeros is none."""
    x = rng.standard_normal((50, 1))
    y = rng.poisson(np.exp(0.5 * x[:, 0])).astype(float)
    one = answer(GLMModel(1, fit_intercept=False, coef_scale=2**0.5), Rows.of(x, y), 1)
    rows = Rows.of(np.column_stack([x, x, np.zeros(50)]), y)
    other = answer(GLMModel(3, fit_intercept=False), rows, 2)
    assert within(other, one.log_evidence)


def test_many_rows_by_a_sample_are_all_rows(rng):
    """The oracle is the evidence of the distinct rows with weights, which are few and need no sample."""
    X = rng.integers(-1, 2, (30_000, 4))
    y = rng.poisson(np.exp(X @ [0.2, 0.5, -0.4, 0.1]))
    distinct, weight = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    many, all_rows = (
        Rows.of(one[:, :4].astype(float), one[:, 4].astype(float), of_one)
        for one, of_one in ((np.column_stack([X, y]), None), (distinct, weight.astype(float)))
    )
    model = GLMModel(4)
    assert len(distinct) < 2000
    assert within(answer(model, many, 1), answer(model, all_rows, 2, 4000).log_evidence)


def test_ten_rows_that_alone_have_a_column(rng):
    """A sample would hardly have one of them."""
    X = np.column_stack([rng.standard_normal(20_000), np.zeros(20_000)])
    X[:10, 1] = 3.0
    y = np.where(X[:, 1] > 0, 1, rng.integers(2, size=len(X)))
    model, rows = SoftmaxModel(2, 2), Rows.of(X, y)
    long = np.mean([answer(model, rows, seed, 4000).log_evidence for seed in (10, 11)])
    few = [answer(SoftmaxModel(1, 2), Rows.of(X[10:, :1], y[10:]), 1), answer(model, rows, 2)]
    assert within(few[1], long)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["classes", "separable"])
def test_a_bridge_within_its_error_bar(problem):
    """Where draws alone would be far too low."""
    rng = np.random.default_rng(17)
    X = rng.standard_normal((30, 8))
    y = (X[:, 0] > 0).astype(int) if problem == "separable" else rng.integers(3, size=30)
    model = SoftmaxModel(8, 2 if problem == "separable" else 3, coef_scale=2.0)
    rows = Rows.of(X, y)
    found = [answer(model, rows, seed) for seed in range(8)]
    assert sum(one.n_gradients > 0 for one in found) >= 6, "no bridge"
    values, stds = (
        np.array([getattr(one, name) for one in found]) for name in ("log_evidence", "log_evidence_std")
    )
    z = (values - np.average(values, weights=stds**-2.0)) / stds
    assert np.max(abs(z)) < 4.0 and np.std(z) < 2.0


def check_bridge(monkeypatch):
    """From the Gaussian at a mode of two parameters, without draws of t densities, by quadrature."""
    monkeypatch.setattr("sgevidence.answers._one_mode.adapted_draws", lambda *arguments: None)
    X = np.linspace(-1, 1, 20)[:, None]
    model, rows = GLMModel(1), Rows.of(X, np.arange(20.0) % 4)
    exact = quadrature(lambda t: model.log_joint(t, rows), [-5, -5], [5, 5], 400)
    found = answer(model, rows)
    assert found.n_gradients > 0 and within(found, exact)


def test_a_bridge_by_quadrature(monkeypatch):
    check_bridge(monkeypatch)
