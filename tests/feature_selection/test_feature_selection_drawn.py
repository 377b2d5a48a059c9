"""Evidences of subsets by few draws around the mode: held against quadrature, and many plain draws."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

from sgevidence import BayesianGLM, BayesianSoftmaxRegression, EvidenceFeatureSelector, EvidenceWarning
from sgevidence.answers import TDensity
from sgevidence.feature_selection import _regressions, _subset_evidence
from sgevidence.feature_selection._regressions import Regressions
from sgevidence.feature_selection._subset_evidence import derivatives_of_many
from sgevidence.kernels import Coordinates

#: Nothing here is tuned to a seed: any other will do.
SEED = 20261128
KINDS = ["plain", "separated", "collinear", "sparse", "repeated", "far"]
FAMILIES = ["bernoulli", "binomial", "poisson", "exponential"]


def regressions(kind, family, n, p, rng):
    """Rows of a family whose columns are of a kind."""
    X, known = rng.standard_normal((n, p)), {}
    if kind == "collinear":
        X = X @ rng.standard_normal((p, p)) + 0.01 * rng.standard_normal((n, p))
    elif kind == "sparse":
        X = (rng.random((n, p)) < 0.05) * X
        X[0] = 1.0
    elif kind == "repeated":
        X = np.round(0.7 * X)
    elif kind == "far":
        X = X + 20 * rng.standard_normal(p)
    eta = (
        (X - X.mean(axis=0))
        @ rng.standard_normal(p)
        / np.sqrt(p)
        / X.std()
        * (4 if kind == "separated" else 0.7)
    )
    if family == "bernoulli":
        y = (eta + (kind != "separated") * rng.logistic(size=n) > 0).astype(int)
        y[:2] = 0, 1
    elif family == "binomial":
        known["trials"] = rng.integers(1, 6, n)
        y = rng.binomial(known["trials"], 1 / (1 + np.exp(-eta)))
    elif family == "exponential":
        y = rng.exponential(np.exp(np.clip(eta, -5, 5))) + 1e-3
    else:
        y = rng.poisson(np.exp(np.clip(eta, -6, 4)))
        y[0] = 1
    weight = rng.integers(1, 3, n).astype(float)
    return Regressions(BayesianGLM(family, random_state=0), X, y, weight, known, rng)


def drawn_and_mode(found, columns, rng):
    mode, _ = found.laplace(columns, None)
    inside = np.array([*columns, *range(found.n_features, mode.shape[1])])
    drawn = _subset_evidence.drawn_subset(found.design, inside, mode[0], found._log_units, rng, 0.03)
    assert drawn is not None
    return drawn, mode[0][inside], inside


def log_joint(found, inside, theta):
    """From the definition, by the model of all columns, with zeros where a column is out."""
    whole = np.zeros((len(theta), found.design.Phi.shape[1]))
    whole[:, inside] = theta
    scale = found.design.precision[inside] ** -0.5
    log_prior = -0.5 * (theta / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)
    log_L = found._model.sum_log_likelihood(whole, found.rows)
    return log_L + log_prior.sum(axis=1) - found._log_units


def grid_or_draws(found, inside, mode, rng):
    """Log evidence by quadrature of two parameters, of more by 20 000 plain draws; and its standard error."""
    few, d = found.design.of_columns(inside), len(mode)
    P = derivatives_of_many(few, mode[None], np.ones((1, d), dtype=bool))[2][0]
    q = TDensity(mode, Coordinates.from_precision(P), 5.0)
    if d <= 2:
        nodes, step = np.linspace(-12, 12, 121, retstep=True)
        theta = q.theta(np.stack(np.meshgrid(*[nodes] * d), axis=-1).reshape(-1, d))
        log_volume = np.sum(np.log(np.diag(q.coordinates.L))) + d * np.log(step)
        return logsumexp(log_joint(found, inside, theta)) + log_volume, 0.0
    theta = q.draws(20_000, rng)
    log_w = log_joint(found, inside, theta) - q.log_density(theta)
    w = np.exp(log_w - log_w.max())
    return log_w.max() + np.log(w.mean()), w.std() / w.mean() / len(w) ** 0.5


def errors(kind, family, p, n_problems, seed):
    """Errors of drawn evidences, in their standard errors."""
    z = []
    for k in range(n_problems):
        rng = np.random.default_rng([SEED, seed, k])
        found = regressions(kind, family, int(rng.choice([20, 60, 150])), p, rng)
        drawn, mode, inside = drawn_and_mode(found, list(range(p)), rng)
        log_Z, std = grid_or_draws(found, inside, mode, rng)
        z.append((drawn.log_evidence - log_Z) / np.hypot(drawn.log_evidence_std, std))
        assert drawn.log_evidence_std < 0.1
    return np.array(z)


def check_small_problems():
    z = np.concatenate([errors(kind, family, 1, 1, 1) for kind in KINDS for family in FAMILIES])
    assert np.sqrt(np.mean(z**2)) < 1.3 and np.abs(z).max() < 4, z


def test_drawn_evidences_equal_quadrature():
    check_small_problems()


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("0.5 * d * np.log(2 * np.pi)", "0.0"),
        ("0.5 * theta**2 @ scale", "0.5 * theta**2 @ scale * 0.9"),
        ("few.offset", "0.0"),
    ],
)
def test_broken_draws_are_seen(right, wrong, install_broken):
    install_broken(_subset_evidence, "drawn_subset", right, wrong)
    with pytest.raises(AssertionError):
        check_small_problems()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_drawn_evidences_of_many_columns(kind):
    z = np.concatenate([errors(kind, family, p, 3, 2) for family in FAMILIES for p in (3, 8)])
    assert np.sqrt(np.mean(z**2)) < 1.5 and np.abs(z).max() < 4.5, z  # 24 problems


def test_all_draws_together_are_the_average():
    """Coefficients and shares of zeros are those of subsets one by one."""
    rng = np.random.default_rng([SEED, 3])
    X = rng.standard_normal((80, 3))
    y = (X[:, 0] + rng.logistic(size=80) > 0).astype(int)
    estimator = BayesianGLM("bernoulli", random_state=0)
    selector = EvidenceFeatureSelector(estimator, random_state=0).fit(X, y)
    whole = selector._weighed.average
    is_in = np.mean(whole.particles_[:, :3] != 0, axis=0)
    np.testing.assert_allclose(is_in, selector.inclusion_probabilities_, atol=0.02)
    table = selector.models_
    means = np.zeros((len(table), 3))
    for mean, columns in zip(means, table["columns"]):
        if columns:
            mean[list(columns)] = BayesianGLM("bernoulli", columns=list(columns)).fit(X, y).coef_
    expected = table["probability"].to_numpy() @ means
    assert np.all(np.abs(selector.coef_ - expected) < 0.15 * selector.coef_std_)
    assert whole.sampler is None and whole.predict_proba(X[:2]).shape == (2, 2)


def test_a_subset_that_draws_do_not_tell_is_fitted(monkeypatch):
    rng = np.random.default_rng([SEED, 4])
    found = regressions("plain", "poisson", 60, 2, rng)
    mode, _ = found.laplace([0, 1], None)
    drawn = found.answered([0, 1], mode)
    monkeypatch.setattr(_subset_evidence, "SUBSET_ROUNDS", ((64, 5, 0.0, 0.0),))
    fitted = found.answered([0, 1], mode)
    error = np.hypot(drawn.log_evidence_std, fitted.log_evidence_std)
    assert abs(drawn.log_evidence - fitted.log_evidence) < 4 * error
    assert len(fitted.weights) == len(fitted.theta) and len(fitted.theta) != len(drawn.theta)


def test_doubts_of_the_average_are_said():
    """Weights that were normalised are seen by the regression that predicts, and said by the selector."""
    rng = np.random.default_rng([SEED, 5])
    X, y = rng.standard_normal((40, 2)), rng.integers(2, size=40)
    with pytest.warns(EvidenceWarning, match="count as one row"):
        EvidenceFeatureSelector(BayesianGLM("bernoulli"), random_state=0).fit(X, y, np.full(40, 1 / 40))


def of_two_classes(seed, n=60, p=3):
    rng = np.random.default_rng([SEED, 7, seed])
    X = rng.standard_normal((n, p)) * [1.0, 5.0, 0.3][:p]
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")


def check_two_classes(seed):
    """Evidences, coefficients and probabilities of a softmax by the difference of its two classes."""
    X, y = of_two_classes(seed)
    one = BayesianSoftmaxRegression(coef_scale=2.0, random_state=seed)
    selector = EvidenceFeatureSelector(one, always=[0], random_state=seed).fit(X, y)
    listed = (selector.models_[name] for name in ("columns", "log_evidence", "log_evidence_std"))
    for columns, log_Z, std in zip(*listed):
        alone = clone(one).set_params(columns=list(columns)).fit(X, y)
        assert abs(log_Z - alone.log_evidence_) < 4 * np.hypot(std, alone.log_evidence_std_)
    selector = EvidenceFeatureSelector(one, always=[0, 1, 2], random_state=seed).fit(X, y)
    whole = clone(one).fit(X, y)
    # 2000 draws each: means to a fortieth of a standard deviation, and that to a fortieth
    std = whole.coef_std_
    assert np.all(np.abs(selector.coef_ - whole.coef_) < 5 * std * (2 / 2000) ** 0.5)
    assert np.all(np.abs(selector.coef_std_ / std - 1) < 5 * (1 / 2000) ** 0.5)
    np.testing.assert_allclose(selector.predict_proba(X), whole.predict_proba(X), atol=0.03)


@pytest.mark.parametrize("seed", [0, 1])
def test_two_classes_are_weighed_by_their_difference(seed):
    check_two_classes(seed)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("difference_of_classes", "2**0.5 * model.coef_scale", "model.coef_scale"),
        ("difference_of_classes", "2**0.5 * model.intercept_scale", "model.intercept_scale"),
        ("difference_of_classes", "second - first", "first - second"),
        ("of_both_classes", "0.5 * scales", "scales"),
        (
            "of_both_classes",
            "[middle - 0.5 * delta, middle + 0.5 * delta]",
            "[middle + 0.5 * delta, middle - 0.5 * delta]",
        ),
    ],
)
def test_a_wrong_difference_is_seen(name, right, wrong, install_broken):
    install_broken(_regressions, name, right, wrong)
    with pytest.raises(AssertionError):
        check_two_classes(0)


def test_the_tolerance_says_when_subsets_are_known_well_enough(monkeypatch):
    X, y = of_two_classes(3, n=100)
    X = np.column_stack([X, X + np.random.default_rng(4).standard_normal(X.shape)])  # 64 subsets
    answered, asked, found = Regressions.answered, [], {}
    monkeypatch.setattr(Regressions, "answered", lambda *args: (asked.append(nats), answered(*args))[1])
    for nats in (0.5, 0.03, 0.003):
        selector = EvidenceFeatureSelector(BayesianGLM("bernoulli"), tolerance=nats, random_state=0)
        found[nats] = selector.fit(X, y == "yes")
    assert asked.count(0.5) <= asked.count(0.03) < asked.count(0.003) <= 64
    best = found.pop(0.003)
    for nats, one in found.items():
        assert one.log_evidence_std_ < nats
        error = np.hypot(one.log_evidence_std_, best.log_evidence_std_)
        assert abs(one.log_evidence_ - best.log_evidence_) < 4 * error
        np.testing.assert_allclose(
            one.inclusion_probabilities_, best.inclusion_probabilities_, atol=4 * error
        )


@pytest.mark.parametrize("seed", range(3))
def test_draws_around_the_nearest_gaussian(seed):
    """Twenty columns and few rows: errors of draws around the nearest Gaussian, by bridges of a fit."""
    rng = np.random.default_rng([SEED, 8, seed])
    found = regressions("separated", "bernoulli", 60, 20, rng)
    drawn, _, _ = drawn_and_mode(found, list(range(20)), rng)
    fitted = clone(found.estimator).set_params(random_state=seed).fit(**found.given)
    assert abs(drawn.log_evidence - fitted.log_evidence_) < 4 * np.hypot(
        drawn.log_evidence_std, fitted.log_evidence_std_
    )
