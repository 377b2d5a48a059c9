"""Evidence from allocations: the sum over all of them for few rows, closed forms, gold, and saying no."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from enumeration import enumerated
from scipy import special, stats
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.mixtures import (
    _allocation_proposal,
    _allocation_search,
    _global_bridge,
    _independent_searches,
    _merge_split,
)
from sgevidence.mixtures import _allocations as target
from sgevidence.mixtures import _conditionals as allocations
from sgevidence.mixtures._allocations import allocation_evidence, doubling_until
from sgevidence.mixtures._global_bridge import MIN_EFFECTIVE_CHAINS
from sgevidence.models import LinearModel, MixtureModel, _permanents
from sgevidence.particles import Weights, systematic

DATA = runpy.run_path(str(Path(__file__).parents[1] / "data" / "make_data.py"))


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


SLOW = {"one row, eight components", "eight components", "six components"}
EACH = [pytest.param(case, marks=[pytest.mark.slow] * (case in SLOW)) for case in CASES]


def check(model, rows, expected, rng):
    found = allocation_evidence(model, rows, rng)
    assert found.reliable and found.n_effective > MIN_EFFECTIVE_CHAINS
    assert found.log_evidence_std < 0.15
    assert abs(found.log_evidence - expected) < 4.5 * found.log_evidence_std + 1e-5, found
    return found


@pytest.mark.parametrize("case", EACH)
def test_evidence_is_the_sum_over_all_allocations(rng, case):
    K, rows = CASES[case]
    model = MixtureModel(K, rows.X.shape[1])
    check(model, rows, enumerated(model, rows), rng)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["overlapping", "separated, three to spare", "four components", "weights"])
def test_error_bars_are_true(rng, case):
    """Twenty seeds: the error bar is at least as large as the errors, and not ten times as large."""
    K, rows = CASES[case]
    model = MixtureModel(K, rows.X.shape[1])
    found = [allocation_evidence(model, rows, g) for g in rng.spawn(20)]
    error = np.array([one.log_evidence for one in found]) - enumerated(model, rows)
    std = np.array([one.log_evidence_std for one in found])
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(20) + 1e-5
    assert 0.1 < np.sqrt(np.mean((error / std) ** 2)) < 1.5


def test_other_priors(rng):
    model = MixtureModel(3, 1, weight_concentration=0.3, mean_scale=5.0, variance_prior=(2.5, 0.5))
    rows = Rows.of(few(7))
    check(model, rows, enumerated(model, rows), rng)


def test_enumeration_is_the_closed_form_of_one_component():
    """The reference itself."""
    rows = Rows.of(few(6, 2))
    assert enumerated(MixtureModel(1, 2), rows) == pytest.approx(MixtureModel(1, 2).exact_log_evidence(rows))


def test_fractional_weights_add_up(rng):
    """Four rows that count a half each are one that counts twice."""
    X, whole = few(4), Rows.of(few(4), None, [2.0, 2.0, 2.0, 2.0])
    model = MixtureModel(2, 1)
    check(model, Rows.of(np.tile(X, (4, 1)), None, np.full(16, 0.5)), enumerated(model, whole), rng)


def test_tempered_rows(rng):
    """Weights below one, as of a path to the posterior: against draws from the prior."""
    model, rows = MixtureModel(2, 1), Rows.of(few(3), None, [0.3, 0.5, 0.2])
    w = np.exp(model.sum_log_likelihood(model.sample_prior(rng, 400_000), rows))
    std = w.std() / w.mean() / np.sqrt(len(w))
    found = allocation_evidence(model, rows, rng)
    assert abs(found.log_evidence - np.log(w.mean())) < 4.5 * np.hypot(std, found.log_evidence_std)


@pytest.mark.parametrize("K", [2, 3])
def test_any_allocations_will_do(rng, monkeypatch, K):
    """What is searched changes the variance alone: here allocations are drawn blindly."""

    def blind(model, found, F, origin, size, rng):
        return allocations.statistics(rng.integers(K, size=(size, len(F))), F, K)

    monkeypatch.setattr(_allocation_proposal, "sampled_allocations", blind)
    rows, model = Rows.of(few(6)), MixtureModel(K, 1)
    check(model, rows, enumerated(model, rows), rng)


@pytest.mark.parametrize(
    "case", ["overlapping", "separated, one component to spare", "five components", "all the same", "far"]
)
def test_power_one_labelling_is_not_enough(rng, monkeypatch, case):
    """Z of one labelling times K!, right for separated components alone, is seen to be wrong elsewhere."""
    one = lambda log_A, A, least: np.sum([log_A[k, k] for k in range(len(A))], axis=0)  # noqa: E731
    monkeypatch.setattr(allocations, "log_permanent", one)
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
    found = allocation_evidence(model, rows, rng)
    q = Broad(found.theta[systematic(Weights(found.log_weights).W, rng, 2000)], x)
    theta = q.draw(N, rng)
    w = Weights(model.sum_log_likelihood(theta, rows) + model.log_prior(theta) - q.log_density(theta))
    assert w.ess > 0.1 * N
    error = found.log_evidence - w.log_mean
    assert abs(error) < 4 * np.sqrt(found.log_evidence_std**2 + w.relative_variance) < 0.3, error


def test_beside_importance_sampling(rng):
    check_beside_importance_sampling(rng)


def test_power_labellings_that_single_precision_loses(rng, monkeypatch):
    monkeypatch.setattr(_permanents, "SMALL", 0.0)
    with pytest.raises(AssertionError), np.errstate(divide="ignore"):
        for _ in range(4):
            check_beside_importance_sampling(rng)


@pytest.mark.parametrize("case", ["G_petal_K1", "G_petal_K2", "G_petal_K3", "G_petal_K4"])
def test_gold(rng, case):
    gold, X = DATA["GOLD"][case], DATA["rebuild"](case)["X"]
    found = allocation_evidence(MixtureModel(gold["K"], X.shape[1]), Rows.of(X), rng)
    assert found.reliable
    assert abs(found.log_evidence - gold["logZ"]) < 4.5 * np.hypot(found.log_evidence_std, gold["se"]) + 1e-5


def test_draws_are_the_posterior(rng):
    """Mean of the likelihood-symmetric parameters, by the enumeration of rows with one more."""
    model, rows, new = MixtureModel(3, 1), Rows.of(few(6)), Rows.of([[0.5]])
    found = allocation_evidence(model, rows, rng)
    W = np.exp(found.log_weights - found.log_weights.max())
    predictive = W @ np.exp(model.log_likelihood(found.theta, new)[:, 0]) / W.sum()
    expected = np.exp(enumerated(model, rows.join(new)) - enumerated(model, rows))
    assert predictive == pytest.approx(expected, rel=0.05)


def test_a_basin_that_one_half_has_missed_shows(rng, monkeypatch):
    """Two groups of ten in one component, and far apart: the other half never sees them apart."""
    rows = Rows.of(np.r_[few(10, 2, 0.3), few(10, 2, 0.3, offset=8.0)])
    model = MixtureModel(2, 2)
    together = target.searched_together

    def one_is_lost(*args):
        found = together(*args)
        lost = np.tile(np.arange(20) % 2, (len(found[0].z), 1))
        lost[:, ::2], lost[:, 1::2] = 0, 0
        return [found[0], found[1]._replace(z=lost)]

    def frozen(model, found, F, origin, size, rng):
        return allocations.statistics(np.resize(found.z, (size, len(F))), F, 2)

    monkeypatch.setattr(target, "searched_together", one_is_lost)
    monkeypatch.setattr(_allocation_proposal, "sampled_allocations", frozen)
    monkeypatch.setattr(target.Problem, "grown", lambda self, T, sample, rng: T)
    monkeypatch.setattr(target.Problem, "swept", lambda self, theta, n_sweeps, rng: (theta, None))
    found = allocation_evidence(model, rows, rng)
    assert not found.reliable and found.log_evidence_std > 1


FIVE = np.array([[0.0, 0.0], [4, 4], [-4, 4], [4, -4], [-4, -4]])
UNDERFITTED = Rows.of(FIVE[np.arange(200) % 5] + np.random.default_rng(4).standard_normal((200, 2)))


def check_basins(rng, seeds=4):
    """K = 3 on five groups, where one basin in eight is easily lost; by sequential runs −1029.856 ± 0.012.

    In one search of twenty (3 of 60) a half finds that one alone, and says so.
    """
    found = [allocation_evidence(MixtureModel(3, 2), UNDERFITTED, g) for g in rng.spawn(seeds)]
    assert sum(not one.reliable for one in found) < 2
    for one in found:
        assert one.log_evidence_std < 0.15 or not one.reliable  # 0.07 if one half alone has lost it
        assert abs(one.log_evidence + 1029.856) < 4 * np.hypot(one.log_evidence_std, 0.012)


def test_no_basin_is_lost(rng):
    check_basins(rng)


def test_power_basins_of_the_last_round_alone(rng, monkeypatch):
    """As it was: five searches in six ended 0.13 low at 0.01."""

    def last(z, K, size):
        return np.resize(z[-_allocation_search.STAY :], (size, z.shape[1]))

    monkeypatch.setattr(_allocation_search, "least_alike", last)
    with pytest.raises(AssertionError):
        check_basins(rng)


def check_tight_groups(rng, searches=60):
    """K = 3 on digits, 8 principal components: two tight groups, and a wide one around them."""
    X = PCA(8, random_state=0).fit_transform(load_digits().data)
    X, model = X / X.std(axis=0), MixtureModel(3, 8)
    F, origin, lost = allocations.features(X, np.ones(len(X)), X.mean(axis=0)), X.mean(axis=0), 0
    for g in rng.spawn(searches):
        found = _allocation_search.search(
            model, X, F, origin, g, _allocation_search.starts(X, 3, _allocation_search.CHAINS, g)
        )
        lost += found.score < -19385  # the best is −19378, the next −19515
    assert lost < searches / 10


@pytest.mark.slow
def test_tight_groups_inside_a_wide_one_are_found(rng):
    check_tight_groups(rng)


@pytest.mark.slow
def test_power_splits_between_two_rows_alone(rng, monkeypatch):
    for name, value in {"BETWEEN": 1.0, "ALONG": 0.0, "SLICED": 0.0}.items():
        monkeypatch.setattr(_merge_split, name, value)
    with pytest.raises(AssertionError):
        check_tight_groups(rng)


def test_least_alike_does_not_see_labels(rng):
    """Two partitions under all their labellings, one of them once: both are among the first two."""
    one, other = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 2])
    z = np.array([rng.permutation(3)[one] for _ in range(20)] + [rng.permutation(3)[other]])
    first, second, *rest = _allocation_search.least_alike(z, 3, 6)
    assert len(rest) == 4 and np.array_equal(first, z[0])
    assert len({*zip(other, second)}) == 3


@pytest.mark.slow
def test_few_effective_draws_are_not_believed(rng, monkeypatch):
    """Overlapping components and many rows: each conditional is much narrower than the posterior."""
    monkeypatch.setattr(_allocation_search, "ROUNDS", 0)
    monkeypatch.setattr(_independent_searches, "MORE", 0)
    centers = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5], [-1.5, 0.0], [0.0, -1.5]])
    X = centers[rng.integers(5, size=5000)] + rng.standard_normal((5000, 2))
    found = allocation_evidence(MixtureModel(5, 2), Rows.of(X), rng)
    assert not found.reliable and found.n_effective < MIN_EFFECTIVE_CHAINS


def unspread(seed=9007):
    """Three groups in two dimensions, all within two standard deviations of each other; 1065 rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 1200))
    mu = rng.normal(size=(3, 2)) * rng.uniform(0.3, 2)
    return mu[rng.integers(3, size=n)] + rng.normal(size=(n, 2)) * 0.8


@pytest.mark.slow
def test_chains_that_have_not_spread_are_not_believed(rng):
    """They rise from -2846.1 to -2844.5 in a thousand sweeps, at a claimed 0.15 to 0.2 everywhere."""
    found = allocation_evidence(MixtureModel(3, 2), Rows.of(unspread()), rng)
    assert not found.reliable and found.log_evidence_std > _global_bridge.UNSPREAD


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_strata_or_annealing_answer_instead(seed):
    """Six runs of annealing alone and three chains of 1536 sweeps have -2844.56 ± 0.04."""
    fitted = BayesianGMM(3, random_state=seed).fit(unspread())
    assert abs(fitted.log_evidence_ + 2844.56) < 4 * fitted.log_evidence_std_ < 1.2


def check_heavy(rng, K, n, weight):
    """One row outweighs all others, and is in one component as a whole: so the sum is of few terms."""
    rows = Rows.of(rng.standard_normal((n, 2)), None, np.r_[weight, np.ones(n - 1)])
    model, origin = MixtureModel(K, 2), rows.X[0]
    F, z = allocations.features(rows.X, rows.weight, origin), np.array(list(np.ndindex((K,) * n)))
    T = allocations.statistics(z, F, K)
    expected = special.logsumexp(allocations.log_complete_evidence(model, T, origin))
    found = allocation_evidence(model, rows, rng)
    assert found is not None, "declined"
    assert found.reliable and abs(found.log_evidence - expected) < 3 * found.log_evidence_std < 0.3


@pytest.mark.parametrize("K, n, weight", [(2, 10, 1e6), (3, 7, 1e5), (2, 10, 1e8)])
def test_one_heavy_row(rng, K, n, weight):
    check_heavy(rng, K, n, weight)


def test_all_copies_of_a_heavy_row_are_declined(rng, monkeypatch):
    monkeypatch.setattr(target, "MOST_COPIES", np.inf)
    with pytest.raises(AssertionError, match="declined"):
        check_heavy(rng, 2, 10, 1e6)


@pytest.mark.parametrize("K, n, weight", [(5, 10_000, 2.0), (11, 20, 1.0), (2, 3, 1e30), (2, 3, 0.0)])
def test_too_much_is_declined(rng, K, n, weight):
    rows = Rows.of(rng.standard_normal((n, 2)), None, np.full(n, weight))
    assert allocation_evidence(MixtureModel(K, 2), rows, rng) is None


def far_apart(rng, n, p, K):
    """Groups so far apart that one partition has all of the evidence: rows, and that in closed form."""
    z = rng.integers(K, size=n)
    X = rng.normal(0, 3, (K, p))[z] + rng.standard_normal((n, p))
    one, counts = MixtureModel(1, p), np.bincount(z)
    log_Z = sum(one.exact_log_evidence(Rows.of(X[z == k])) for k in range(K))
    allocations = special.gammaln(counts + 1).sum() + special.gammaln(K) - special.gammaln(n + K)
    return Rows.of(X), log_Z + allocations + special.gammaln(K + 1)


@pytest.mark.parametrize("n, p, K", [(900, 60, 3), pytest.param(4000, 20, 5, marks=pytest.mark.slow)])
def test_wide_rows_are_asked(rng, n, p, K):
    """Hundreds of parameters, for which annealing takes minutes (30 columns, K = 6: six)."""
    rows, expected = far_apart(rng, n, p, K)
    check(MixtureModel(K, p), rows, expected, rng)


def test_far_rows_have_more_time(rng, monkeypatch):
    """Particles lose their way to them; far from each other is not far."""
    monkeypatch.setattr(target, "MOST_ROWS", 50)
    X = rng.standard_normal((100, 2))
    groups = X + 1000.0 * (-1.0) ** np.arange(100)[:, None]
    for rows in (X, groups, X + np.array([0.0, 5.0])):
        assert allocation_evidence(MixtureModel(2, 2), Rows.of(rows), rng) is None
    for rows in (X + np.array([0.0, 30.0]), X - 1000.0):
        assert allocation_evidence(MixtureModel(2, 2), Rows.of(rows), rng).reliable


def test_same_seed_same_answer():
    rows, model = Rows.of(few(8)), MixtureModel(2, 1)
    first, second = (allocation_evidence(model, rows, np.random.default_rng(5)) for _ in range(2))
    assert first.log_evidence == second.log_evidence and first.n_likelihoods == second.n_likelihoods > 0


def test_rows_that_are_far_out_do_not_double_beyond_allocations(rng):
    X = rng.normal(size=(5001, 2))
    for K, far, until in ((3, 0.0, np.inf), (3, 300.0, 20 * 5000), (1, 300.0, np.inf), (11, 300.0, np.inf)):
        assert doubling_until(MixtureModel(K, 2), Rows.of(X + far)) == until
    assert doubling_until(LinearModel(2, noise_std=1.0), Rows.of(X + 300.0, X[:, 0])) == np.inf
    for n in (0, 5000):  # what comes is no more than a small part of what is too much
        assert doubling_until(MixtureModel(3, 2), Rows.of(X[:n] + 300.0)) == np.inf
