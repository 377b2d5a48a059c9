"""Evidence by strata of rows that could be summed: all allocations of few, closed forms, gold, and bounds."""

import numpy as np
import pytest
from enumeration import enumerated
from made_data import MAKE
from scipy import special, stats
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.mixture.components import DiagonalGaussian
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import MixtureEvidence, _allocation_draws, _search
from sgevidence.mixture.strata._sweeps import Problem
from sgevidence.particles import Weights

pytestmark = pytest.mark.usefixtures("never_summed")  # chains and not the exact sums


def few(n, p=1, spread=2.0, offset=0.0, seed=3):
    rng = np.random.default_rng([seed, n, p])
    return offset + spread * rng.standard_normal((n, p))


GROUPS = np.r_[few(3, 2, 0.3), few(4, 2, 0.3, offset=8.0)]
CASES = {
    "one row": (2, Rows.of([[0.7]])),
    "one row, eight components": (8, Rows.of([[0.7]])),
    "two rows": (2, Rows.of([[-3.0], [3.0]])),
    "overlapping": (2, Rows.of(few(8))),
    "separated": (2, Rows.of(GROUPS)),
    "separated, one component to spare": (3, Rows.of(GROUPS)),
    "separated, three to spare": (5, Rows.of(GROUPS)),
    "four components": (4, Rows.of(few(7, 2))),
    "five components": (5, Rows.of(few(8, 2))),
    "six components": (6, Rows.of(few(6))),
    "eight components": (8, Rows.of(few(7, 2))),
    "duplicates": (3, Rows.of(np.repeat([[0.0], [5.0]], 4, axis=0))),
    "all the same": (3, Rows.of(np.full((6, 1), 2.5))),
    "weights": (3, Rows.of(few(4), None, [1.0, 0.0, 4.0, 2.0])),
    "far": (3, Rows.of(few(7, 1, 1.0, offset=2024.0))),
    "very far": (2, Rows.of(few(6, 1, 1e5, offset=1.7e9))),
    "constant column": (2, Rows.of(np.column_stack([few(8), np.full(8, 1.7e9)]))),
}


SLOW = {
    "separated, three to spare",
    "four components",
    "one row, eight components",
    "eight components",
    "six components",
    "five components",
}
EACH = [pytest.param(case, marks=[pytest.mark.slow] * (case in SLOW)) for case in CASES]


def check(model, rows, expected, rng):
    found = MixtureEvidence(2).run(model, rows, rng)
    assert found.log_evidence_std < 0.15
    assert abs(found.log_evidence - expected) < 4.5 * found.log_evidence_std + 1e-5, found
    return found


@pytest.mark.parametrize("case", EACH)
def test_evidence_is_the_sum_over_all_allocations(rng, case):
    K, rows = CASES[case]
    model = MixtureModel(K, rows.X.shape[1])
    check(model, rows, enumerated(model, rows), rng)


def test_other_priors(rng):
    model = MixtureModel(3, 1, weight_concentration=0.3, mean_scale=5.0, variance_prior=(2.5, 0.5))
    rows = Rows.of(few(7))
    check(model, rows, enumerated(model, rows), rng)


def test_enumeration_is_the_closed_form_of_one_component():
    """The reference itself."""
    rows = Rows.of(few(6, 2))
    assert enumerated(MixtureModel(1, 2), rows) == pytest.approx(MixtureModel(1, 2).exact_log_evidence(rows))


@pytest.mark.parametrize(
    "case", ["overlapping", "separated, one component to spare", "five components", "all the same"]
)
def test_power_one_labelling_is_not_enough(rng, monkeypatch, case):
    """Z of one labelling times K!, right for separated components alone, is seen to be wrong elsewhere."""
    one = lambda log_A, A, least: np.sum([log_A[k, k] for k in range(len(A))], axis=0)  # noqa: E731
    monkeypatch.setattr(_allocation_draws, "log_permanent", one)
    with pytest.raises(AssertionError):
        test_evidence_is_the_sum_over_all_allocations(rng, case)


class Broad:
    """A density that covers the posterior of two components on a line: t about particles, and one empty.

    Importance sampling from it owes nothing to allocations; θ = [z₁, z₂, μ₁, μ₂, log σ₁², log σ₂²].
    """

    def __init__(self, theta, x):
        both = np.concatenate([theta, theta[:, [1, 0, 3, 2, 5, 4]]])
        self.near = GaussianMixture(20, random_state=0, reg_covar=1e-4).fit(both)
        self.t = [
            stats.multivariate_t(m, 1.5 * C, 5) for m, C in zip(self.near.means_, self.near.covariances_)
        ]
        n, var = len(x), x.var()
        self.full = stats.norm(x.mean(), 3 * np.sqrt(var / n)), stats.norm(np.log(var), 3 * np.sqrt(2 / n))

    def draw(self, n, rng):
        parts = rng.multinomial(n, self.near.weights_)
        near = np.concatenate([t.rvs(m, random_state=rng).reshape(m, 6) for t, m in zip(self.t, parts)])
        z, s = np.log(rng.gamma(1, size=n)), -np.log(rng.gamma(1, size=n))
        empty = [z, z - 4 + 2 * rng.standard_normal(n), self.full[0].rvs(n, random_state=rng)]
        empty += [2 * np.exp(s / 2) * rng.standard_normal(n), self.full[1].rvs(n, random_state=rng), s]
        return np.concatenate([near, np.column_stack(empty)])

    def log_density(self, theta):
        near = np.logaddexp.reduce([t.logpdf(theta) + w for t, w in zip(self.t, np.log(self.near.weights_))])
        z1, z2, m1, m2, s1, s2 = theta.T
        empty = z1 - np.exp(z1) + stats.norm.logpdf(z2, z1 - 4, 2) + self.full[0].logpdf(m1)
        empty += self.full[1].logpdf(s1) + stats.norm.logpdf(m2, 0, 2 * np.exp(s2 / 2)) - s2 - np.exp(-s2)
        return np.logaddexp(near, empty) - np.log(2)


def check_beside_importance_sampling(rng, n=550, N=20_000):
    """Two components, one standard deviation apart, of which one may be nearly empty."""
    x = rng.standard_normal(n) * 0.8 + rng.integers(2, size=n)
    rows, model = Rows.of(x[:, None]), MixtureModel(2, 1).in_double_precision()
    found = MixtureEvidence(2000).run(model, rows, rng)
    q = Broad(found.theta, x)
    theta = q.draw(N, rng)
    w = Weights(model.sum_log_likelihood(theta, rows) + model.log_prior(theta) - q.log_density(theta))
    assert w.ess > 0.1 * N
    error = found.log_evidence - w.log_mean
    assert abs(error) < 4 * np.sqrt(found.log_evidence_std**2 + w.relative_variance) < 0.3, error


def test_beside_importance_sampling(rng):
    check_beside_importance_sampling(rng)


@pytest.mark.parametrize(
    "K", [pytest.param(2, marks=pytest.mark.slow), 3, pytest.param(4, marks=pytest.mark.slow)]
)
def test_gold(rng, K):
    gold, X = MAKE["GOLD"][f"G_petal_K{K}"], MAKE["rebuild"](f"G_petal_K{K}")["X"]
    found = MixtureEvidence(2).run(MixtureModel(K, X.shape[1]), Rows.of(X), rng)
    assert abs(found.log_evidence - gold["logZ"]) < 4.5 * np.hypot(found.log_evidence_std, gold["se"]) + 1e-5


FIVE = np.array([[0.0, 0.0], [4, 4], [-4, 4], [4, -4], [-4, -4]])
UNDERFITTED = Rows.of(FIVE[np.arange(200) % 5] + np.random.default_rng(4).standard_normal((200, 2)))


def check_basins(rng, seeds=4):
    """K = 3 on five groups, where one basin in eight is easily lost; by sequential runs −1029.856 ± 0.012."""
    for g in rng.spawn(seeds):
        found = MixtureEvidence(2).run(MixtureModel(3, 2), UNDERFITTED, g)
        assert abs(found.log_evidence + 1029.856) < 4 * np.hypot(found.log_evidence_std, 0.012) < 0.6


def test_no_basin_is_lost(rng):
    check_basins(rng, seeds=1)


@pytest.mark.slow
def test_no_basin_is_lost_over_seeds(rng):
    check_basins(rng)


def check_tight_groups(rng, searches=30):
    """K = 3 on digits, 8 principal components: two tight groups, and a wide one around them."""
    X = PCA(8, random_state=0).fit_transform(load_digits().data)
    family = DiagonalGaussian(8).at(X / X.std(axis=0))
    X, lost = X / X.std(axis=0), 0
    problem = Problem(family, X, family.points(X), family.features(X), 1.0)
    two = problem.subset(np.arange(len(X)))
    ways = special.gammaln(3) - special.gammaln(3 + len(X))
    for g in rng.spawn(searches):
        fewer = _search.starts(two.points, 2, 8, g).astype(np.int16)
        lost += _search.search(problem, 3, fewer, g).scores[0] + ways < -19385  # the best is −19378
    assert lost < searches / 10


@pytest.mark.slow
def test_tight_groups_inside_a_wide_one_are_found(rng):
    check_tight_groups(rng)


@pytest.mark.slow
def test_power_splits_between_two_rows_alone(rng, monkeypatch):
    for name, value in {"BETWEEN_SHARE": 1.0, "ALONG_SHARE": 0.0, "SLICED_SHARE": 0.0}.items():
        monkeypatch.setattr(_search, name, value)
    with pytest.raises(AssertionError):
        check_tight_groups(rng)


def test_least_alike_does_not_see_labels(rng):
    """Two partitions under all their labellings, one of them once: both are among the first two."""
    one, other = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 2])
    z = np.array([rng.permutation(3)[one] for _ in range(20)] + [rng.permutation(3)[other]])
    first, second, *rest = _search.least_alike(z, 3, 6)
    assert len(rest) == 4 and np.array_equal(first, z[0])
    assert len({*zip(other, second)}) == 3


def unspread(seed=9007):
    """Three groups in two dimensions, all within two standard deviations of each other; 1065 rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 1200))
    mu = rng.normal(size=(3, 2)) * rng.uniform(0.3, 2)
    return mu[rng.integers(3, size=n)] + rng.normal(size=(n, 2)) * 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_chains_that_spread_slowly(seed):
    """Six runs of annealing alone and three chains of 1536 sweeps have -2844.56 ± 0.04."""
    fitted = BayesianGMM(3, random_state=seed, standardize=False).fit(unspread())
    assert abs(fitted.log_evidence_ + 2844.56) < 4 * fitted.log_evidence_std_ < 1.2


def far_apart(rng, n, p, K):
    """Groups so far apart that one partition has all of the evidence: rows, and that in closed form."""
    z = rng.integers(K, size=n)
    X = rng.normal(0, 3, (K, p))[z] + rng.standard_normal((n, p))
    one, counts = MixtureModel(1, p), np.bincount(z)
    log_Z = sum(one.exact_log_evidence(Rows.of(X[z == k])) for k in range(K))
    allocations = special.gammaln(counts + 1).sum() + special.gammaln(K) - special.gammaln(n + K)
    return Rows.of(X), log_Z + allocations + special.gammaln(K + 1)


@pytest.mark.parametrize(
    "n, p, K",
    [(400, 30, 3), *(pytest.param(*p, marks=pytest.mark.slow) for p in ((900, 60, 3), (4000, 20, 5)))],
)
def test_wide_rows_of_groups_far_apart(rng, n, p, K):
    """Hundreds of parameters, for which annealing takes minutes (30 columns, K = 6: six)."""
    rows, expected = far_apart(rng, n, p, K)
    check(MixtureModel(K, p), rows, expected, rng)
