"""Evidence by a Student t at the mode: by quadrature, many rows, far columns, and where there is none."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sgevidence import SGAIS, BayesianGLM
from sgevidence.answers import Answer, Declined, _one_mode
from sgevidence.history import Rows
from sgevidence.models import Bounded, FarColumns, Gamma, GLMModel, NegativeBinomial, StudentT, Weibull
from sgevidence.models._glm import fits_of_few
from sgevidence.targets import Likelihood, Target, folded_mode


def answer(model, rows, seed=0, size=800):
    return _one_mode.one_mode_answer(model, rows, np.random.default_rng(seed), size)


def quadrature(model, rows, low=-5.0, high=5.0, n=220):
    """log ∫ over one coefficient and one own parameter, in the coordinates of the model."""
    axis = np.linspace(low, high, n)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return logsumexp(model.log_joint(grid, rows)) + 2 * np.log(axis[1] - axis[0])


def skewed(family, n):
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 1))
    y = np.exp(0.5 * x[:, 0]) * rng.gamma(1.5, size=n)
    y = rng.poisson(2 * y).astype(float) if isinstance(family, NegativeBinomial) else y
    if not isinstance(family, Weibull):
        return GLMModel(1, family, fit_intercept=False), Rows.of(x, y)
    bounds = [y, np.where(rng.random(n) < 0.7, y, np.inf), np.full(n, -np.inf)]
    return GLMModel(1, Bounded(family), fit_intercept=False), Rows.of(np.column_stack([x, *bounds]), y)


@pytest.mark.parametrize("n", [1, pytest.param(4, marks=pytest.mark.slow), 40])
@pytest.mark.parametrize("family", [NegativeBinomial(), Gamma(), Weibull()], ids=lambda f: type(f).__name__)
def test_two_parameters_by_quadrature(family, n):
    """Eight seeds: the mean error and its spread are those of the error bars."""
    model, rows = skewed(family, n)
    exact, z = quadrature(model, rows), []
    for seed in range(8):
        found = answer(model, rows, seed)
        assert isinstance(found, Answer) and found.log_evidence_std < 0.025
        z.append((found.log_evidence - exact) / np.hypot(found.log_evidence_std, 2e-4))
    assert abs(np.mean(z)) < 1.6 and np.std(z) < 2.0


def test_draws_are_of_the_posterior():
    model, rows = skewed(Gamma(), 12)
    axis = np.linspace(-5, 5, 300)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    W = np.exp(model.log_joint(grid, rows) - logsumexp(model.log_joint(grid, rows)))
    mean, sd = W @ grid, np.sqrt(W @ (grid - W @ grid) ** 2)
    theta = answer(model, rows, size=4000).theta
    assert np.all(abs(theta.mean(axis=0) - mean) < 5 * sd / np.sqrt(4000))
    np.testing.assert_allclose(theta.std(axis=0), sd, rtol=0.08)


@pytest.mark.slow
def test_many_rows_by_samples_of_them():
    """Sums at the mode and a sample of what they leave have the digits of all rows."""
    model, rows = skewed(Gamma(), 6000)
    found = answer(model, rows)
    theta = np.asarray(found.theta)
    center, cov = theta.mean(axis=0), np.cov(theta.T)
    half = 6 * np.sqrt(np.diag(cov))
    axes = [np.linspace(c - h, c + h, 60) for c, h in zip(center, half)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    exact = logsumexp(model.log_joint(grid, rows)) + np.log(cell)
    assert abs(found.log_evidence - exact) < 4 * found.log_evidence_std < 0.08


def test_far_columns_have_the_evidence_of_near_ones():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 1))
    y = np.exp(0.3 * x[:, 0]) * rng.gamma(2.0, size=30)
    far = GLMModel(1, Gamma(), coef_scale=1e-3, intercept_scale=1.0)
    near = GLMModel(1, Gamma(), coef_scale=1e-3, intercept_scale=float(np.hypot(1.0, 1e3)))
    one, other = answer(far, Rows.of(x + 1e6, y)), answer(near, Rows.of(x, y))
    std = np.hypot(one.log_evidence_std, other.log_evidence_std)
    assert abs(one.log_evidence - other.log_evidence) < 4 * std
    starts = FarColumns(GLMModel(1, StudentT()), (1e6,)).starts(Rows.of(x + 1e6, y), 6, rng)
    assert starts.shape == (6, 4) and np.isfinite(starts).all()


def two_groups():
    """Rows on either of two values: the mode of wide noise between them has 15 nats less."""
    y = np.r_[2 + 0.01 * np.linspace(-1.5, 1.5, 9), -2 + 0.01 * np.array([-1.0, 0.0, 1.0])]
    return GLMModel(1, StudentT(), fit_intercept=False, coef_scale=2.0), Rows.of(np.ones((len(y), 1)), y)


def over_three(y):
    """log ∫ over w, log σ and log ν, finest in w around both groups."""
    near = 2 + 0.08 * np.linspace(-1, 1, 81)
    w = np.unique(np.r_[np.linspace(-8, 8, 121), near, -near])
    log_s, log_nu = np.linspace(-8, 4, 90), np.linspace(-4, 6.5, 36)
    cells = np.gradient(w)[:, None, None] * (log_s[1] - log_s[0]) * (log_nu[1] - log_nu[0])
    W, log_S, log_NU = np.meshgrid(w, log_s, log_nu, indexing="ij")
    S, NU = np.exp(log_S), np.exp(log_NU)
    value = stats.norm.logpdf(W, 0, 2) + np.log(2) + stats.t(3).logpdf(S) + log_S
    value = value + stats.gamma(2, scale=10).logpdf(NU) + log_NU
    for one in y:
        value = value + stats.t.logpdf(one, NU, W, S)
    return logsumexp(value + np.log(cells))


def check_two_groups():
    model, rows = two_groups()
    exact, n = over_three(rows.y), 0
    for seed in range(4):
        found = answer(model, rows, seed)
        if isinstance(found, Answer):
            assert abs(found.log_evidence - exact) < 4 * found.log_evidence_std + 0.01
            n += 1
        else:
            assert "modes" in found.words
    assert n > 1


@pytest.mark.slow
def test_two_groups_of_rows_are_answered_from_both_or_not_at_all():
    check_two_groups()


@pytest.mark.slow
def test_fits_of_a_few_rows_find_groups_more_often_than_the_prior():
    """Two planes in four columns, the first of 28 rows of 44."""
    found = np.zeros(2, dtype=int)
    for seed in (5, 6, 7):
        rng = np.random.default_rng(seed)
        X, w, other = rng.standard_normal((44, 4)), rng.standard_normal(4), rng.standard_normal(4)
        y = np.where(np.arange(44) < 28, X @ w, X @ other) + 0.03 * rng.standard_normal(44)
        model, rows = GLMModel(4, StudentT()), Rows.of(X, y)
        target = Target(model, Likelihood(rows))
        few = fits_of_few(model.inputs(X).Phi, y, model.scales, model.family, 24, rng)
        for k, starts in enumerate((few, model.sample_prior(rng, 24))):
            ends = [folded_mode(target, start) for start in starts]
            found[k] += sum(end is not None and np.max(abs(end.a[:4] - w)) < 0.1 for end in ends)
    assert found[0] > 2 * found[1] > 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_a_posterior_that_is_far_from_its_mode_is_covered(seed):
    """Three rows, whose noise and degrees of freedom have long tails, by quadrature."""
    x, y = np.array([[1.0], [-0.5], [2.0]]), np.array([0.9, -0.6, 1.9])
    model, rows = GLMModel(1, StudentT(), fit_intercept=False), Rows.of(x, y)
    axes = [np.linspace(-4, 5, 300), np.linspace(-6, 4, 50), np.linspace(-5, 5, 30)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    exact = logsumexp(model.log_joint(grid, rows)) + np.log(np.prod([axis[1] - axis[0] for axis in axes]))
    found = answer(model, rows, seed)
    assert isinstance(found, Answer) and found.log_evidence_std < 0.03
    assert abs(found.log_evidence - exact) < 4 * found.log_evidence_std + 0.002


def test_the_line_of_progress_says_why_it_is_annealed(monkeypatch, capsys):
    monkeypatch.setattr(_one_mode, "_answer", lambda *arguments, tolerance: Declined("because of a test"))
    _, rows = skewed(Gamma(), 12)
    BayesianGLM("gamma", sampler=SGAIS(30, max_particles=30), verbose=True, random_state=0).fit(
        rows.X, rows.y
    )
    assert "annealing steps (because of a test)" in capsys.readouterr().out
