"""Priors by name: each is the distribution that scipy has, and no Jacobian is forgotten."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy import stats

from sgevidence.custom import NamedPriors
from sgevidence.models import LKJ, Dirichlet, value_and_grad

pytestmark = pytest.mark.usefixtures("double_precision")

Z = np.array([-5.0, -3.0, -1.2, -0.3, 0.4, 1.5, 3.0, 5.0])[:, None]
H = 1e-4

DISTRIBUTIONS = [
    stats.alpha(3.57),
    stats.beta(2.3, 0.6),
    stats.beta(0.5, 0.5),
    stats.betaprime(5, 6),
    stats.burr12(10, 4),
    stats.cauchy(1, 2),
    stats.chi(5),
    stats.chi2(3, scale=2),
    stats.expon(scale=0.1),
    stats.exponweib(2.9, 1.95),
    stats.f(29, 18),
    stats.fatiguelife(29),
    stats.fisk(3.1),
    stats.gamma(2, scale=3),
    stats.gamma(0.05),
    stats.genextreme(-0.1),
    stats.genpareto(0.1),
    stats.gengamma(4.4, 3.1),
    stats.gennorm(1.5),
    stats.gumbel_r(2, 3),
    stats.halfcauchy(0, 5),
    stats.halflogistic(),
    stats.halfnorm(scale=2),
    stats.hypsecant(),
    stats.foldcauchy(1.3),
    stats.invgamma(0.5, scale=3),
    stats.invgamma(1),
    stats.invgauss(0.15),
    stats.invweibull(10.6),
    stats.johnsonsu(2.5, 2.2),
    stats.laplace(0, 0.3),
    stats.levy(),
    stats.logistic(),
    stats.loggamma(0.4),
    stats.lognorm(0.95),
    stats.lomax(1.9),
    stats.loguniform(1e-3, 1e3),
    stats.maxwell(),
    stats.moyal(),
    stats.nakagami(4.97),
    stats.norm(3, 2),
    stats.pareto(2.6),
    stats.powerlaw(1.66),
    stats.rayleigh(),
    stats.skewnorm(4),
    stats.t(2.7),
    stats.triang(0.16),
    stats.truncexpon(4.7),
    stats.truncnorm(-1.1, 2.7),
    stats.tukeylambda(0.3),
    stats.uniform(-2, 5),
    stats.wald(),
    stats.weibull_min(1.8),
]


def x_of(prior, z):
    return NamedPriors({"x": prior}).natural(z)["x"][:, 0]


@pytest.mark.parametrize("prior", DISTRIBUTIONS, ids=lambda prior: prior.dist.name)
def test_a_named_prior_is_the_distribution_of_scipy(prior):
    """The density that the transform gives x is scipy's, and its derivative is the one that it has."""
    with np.errstate(all="ignore"):
        slope = (x_of(prior, Z + H) - x_of(prior, Z - H)) / (2 * H)
        density = stats.norm.logpdf(Z[:, 0]) - np.log(slope)
        fine = slope / np.abs(x_of(prior, Z)) > 1e-7  # a difference of numbers that are near each other
        np.testing.assert_allclose(density[fine], prior.logpdf(x_of(prior, Z))[fine], atol=1e-3)
        found = value_and_grad(lambda z: x_of(prior, z), Z)[1][:, 0]
        np.testing.assert_allclose(found[fine], slope[fine], rtol=1e-3)
    assert fine.sum() >= 5
    assert not NamedPriors({"x": prior}).unresolved(Z)["x"].any()


def hierarchy():
    return NamedPriors(
        {
            "mu": stats.norm(0, 5),
            "tau": stats.halfcauchy(0, 5),
            "df": stats.gamma(2, scale=10),
            "x": (lambda p: stats.t(p["df"] + 1, p["mu"], p["tau"]), 3),
            "A": (lambda p: stats.norm(p["mu"], p["tau"]), (2, 2)),
            "y": lambda p: stats.gamma(p["tau"], scale=1 + p["mu"] ** 2),
            "w": Dirichlet([0.5, 1.0, 2.0]),
            "R": LKJ(3, 2.0),
        }
    )


def test_gradients_through_a_hierarchy_are_those_of_differences(rng):
    priors = hierarchy()
    z = 0.7 * rng.standard_normal((6, priors.dimension))

    def total(t):
        p = priors.natural(t)
        rest = anp.sum(p["A"] ** 2, axis=(1, 2)) + anp.sum(p["R"] * np.arange(9).reshape(3, 3), axis=(1, 2))
        return rest + anp.sum(p["x"] ** 2, axis=1) + p["y"][:, 0] + anp.log(p["w"][:, 1])

    found, steps = value_and_grad(total, z)[1], H * np.eye(z.shape[1])
    expected = np.transpose([(total(z + step) - total(z - step)) / (2 * H) for step in steps])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_hyperparameters_are_those_that_are_not_normal_given_others():
    priors = hierarchy()
    normal = next(block.columns for block in priors.blocks if block.name == "A")
    assert (
        sorted({*range(priors.dimension)} - {*priors.hyperparameters}) == [*range(priors.dimension)][normal]
    )
    assert NamedPriors({"a": stats.norm(), "b": (stats.norm(), 3)}).hyperparameters is None


def test_a_parameter_given_others_has_the_distribution_that_the_function_returns(rng):
    priors = hierarchy()
    p = priors.named(rng.standard_normal((500, priors.dimension)))
    assert {name: value.shape[1:] for name, value in p.items()} == {
        **dict.fromkeys(["mu", "tau", "df", "y"], ()),
        **{"x": (3,), "A": (2, 2), "w": (3,), "R": (3, 3)},
    }
    u = stats.t(p["df"] + 1, p["mu"], p["tau"]).cdf(p["x"].T)
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-5
    u = stats.norm(p["mu"][:, None, None], p["tau"][:, None, None]).cdf(p["A"])
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-5


def test_dirichlet_and_lkj_have_their_marginals(rng):
    a = np.array([0.3, 1.0, 2.5])
    w = Dirichlet(a).transform(rng.standard_normal((2000, 2)))
    np.testing.assert_allclose(w.sum(axis=1), 1.0)
    for k in range(3):  # Aitchison: each share is a beta variate
        assert stats.kstest(w[:, k], stats.beta(a[k], a.sum() - a[k]).cdf).pvalue > 1e-5
    for n, eta in [(2, 0.7), (4, 1.0), (3, 4.0)]:
        R = LKJ(n, eta).transform(rng.standard_normal((2000, n * (n - 1) // 2)))
        b = eta + n / 2 - 1  # of every correlation: Lewandowski, Kurowicka and Joe (2009)
        for i, j in zip(*np.tril_indices(n, -1)):
            assert stats.kstest((R[:, i, j] + 1) / 2, stats.beta(b, b).cdf).pvalue > 1e-5
        np.testing.assert_allclose(R[:, range(n), range(n)], 1.0)
        assert np.linalg.eigvalsh(R).min() > 0


def test_ends_of_the_support_are_never_reached_and_not_resolved():
    priors = NamedPriors({"q": stats.beta(0.5, 0.5), "r": stats.gamma(0.001), "x": stats.norm()})
    z = np.array([[9.0, -1.0, 9.0], [1.0, 2.0, -40.0]])
    p = priors.named(z)
    assert np.all((p["q"] < 1) & (p["q"] > 0)) and np.all(p["r"] > 0)
    assert {name: where.tolist() for name, where in priors.unresolved(z).items()} == {
        "q": [True, False],
        "r": [True, False],
        "x": [False, False],
    }


@pytest.mark.parametrize("dist", [stats.invgamma(0.5), stats.foldcauchy(0.0), stats.foldcauchy(4.0)])
def test_closed_forms_are_the_quantiles_of_scipy(dist):
    """In both tails, and at the median."""
    z = np.r_[-6.0, -2.0, -1e-9, 0.0, 1e-9, 1.0, 6.0]
    found = x_of(dist, z[:, None])
    np.testing.assert_allclose(
        np.where(z < 0, dist.cdf(found), dist.sf(found)), stats.norm.sf(abs(z)), rtol=1e-6
    )
    assert dist.args == (4.0,) or np.allclose(found[1:6], dist.ppf(stats.norm.cdf(z[1:6])), rtol=1e-6)


def test_a_quantile_that_scipy_loses_is_the_border():
    """As of beta(3, 3) beyond 22 standard deviations, beside a wide prior; wrong shapes are still refused."""
    priors = NamedPriors({"rho": stats.beta(3, 3, loc=-1, scale=2), "x": stats.norm(0, 100)})
    z = np.array([[-30.0, 0.0], [30.0, 0.0], [0.3, 40.0]])
    with np.errstate(all="ignore"):
        rho = priors.named(z)["rho"]
        assert rho.tolist()[:2] == [-1.0, pytest.approx(1.0)] and abs(rho[2]) < 1
        assert priors.unresolved(z)["rho"].tolist() == [True, True, False]
        gradient = value_and_grad(lambda t: priors.natural(t)["rho"][:, 0], z)[1]
    assert np.isfinite(gradient).all()
    mixed = NamedPriors({"a": stats.norm(), "x": lambda p: stats.beta(p["a"], 3)})
    with pytest.raises(ValueError, match="not defined for all its shapes"):
        mixed.natural(np.array([[1.0, 0.0], [-1.0, 0.0]]))


@pytest.mark.parametrize(
    "priors, error, words",
    [
        ({"k": stats.poisson(3)}, TypeError, "prior of 'k' is discrete .poisson."),
        ({"k": stats.poisson}, TypeError, "prior of 'k' is discrete"),
        ({"k": lambda p: stats.poisson(3)}, TypeError, "prior of 'k' is discrete"),
        ({"x": 3.0}, TypeError, "prior of 'x' is a float"),
        ({"x": stats.multivariate_normal([0, 0])}, TypeError, "prior of 'x' is a multivariate_normal"),
        ({3: stats.norm()}, TypeError, "names of parameters are strings"),
        ({"x": (stats.norm(), 0)}, ValueError, "shape of 'x'"),
        ({"x": (stats.norm([0, 1]), 3)}, ValueError, "arguments of shape"),
        ({"x": (Dirichlet([1, 1]), 3)}, ValueError, "a shape of its own"),
        ({"x": stats.norm(0, -1)}, ValueError, "scale -1: it must be positive"),
        ({"x": stats.gamma(-1)}, ValueError, "not defined for all its shapes"),
        ({"x": lambda p: stats.norm(p["m"]), "m": stats.norm()}, ValueError, "asks for 'm', which"),
        ({"m": (stats.norm(), 2), "x": lambda p: stats.norm(p["m"])}, ValueError, "a scalar is .4, 1."),
        ({}, ValueError, "names no parameter"),
    ],
)  # fmt: skip
def test_priors_that_cannot_be_used_are_refused_by_name(priors, error, words):
    with pytest.raises(error, match=words):
        found = NamedPriors(priors)
        found.natural(np.ones((4, found.dimension)))


def test_a_distribution_that_is_not_frozen_and_arguments_that_are_arrays():
    priors = NamedPriors({"a": stats.norm, "b": stats.norm([0, 10], [1, 2])})
    p = priors.named(np.ones((1, 3)))
    assert p["a"].tolist() == [1.0] and p["b"].tolist() == [[1.0, 12.0]]


@pytest.mark.parametrize(
    ("prior", "given"),
    [
        (Dirichlet, [[1.0]]),
        (Dirichlet, [[[1.0, 2.0]]]),
        (Dirichlet, [[1.0, 0.0]]),
        (LKJ, [1]),
        (LKJ, [2.5]),
        (LKJ, [np.inf]),
        (LKJ, [np.nan]),
        (LKJ, [2, 0.0]),
    ],
)
def test_joint_priors_without_a_density_are_refused(prior, given):
    with pytest.raises(ValueError, match="two or more"):
        prior(*given)


def test_joint_priors_as_text_and_where_their_quantiles_are_rounded():
    assert (repr(Dirichlet([1.0, 2.0])), repr(LKJ(3))) == ("Dirichlet([1.0, 2.0])", "LKJ(3, 1.0)")
    for prior in (Dirichlet([1.0, 1.0, 1.0]), LKJ(3)):
        z = np.ones((2, prior.n_coordinates))
        z[1, -1] = 40.0
        assert np.argwhere(~prior.resolved(z)).tolist() == [[1, prior.n_coordinates - 1]]
