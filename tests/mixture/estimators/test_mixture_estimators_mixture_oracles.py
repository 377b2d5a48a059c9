"""Log evidences of mixtures that are known: sums over all allocations, long runs of other code, bounds.

Through the public doors alone, so that it does not matter how an answer is found.  References of real data
are means of many long runs of former engines and of a prototype, with their errors; where groups overlap in
20 columns, chains from the groups that made the rows (``docs/notes/experiments.md``).
"""

import re
from math import lgamma
from pathlib import Path

import numpy as np
import pytest
from enumeration import sum_over_partitions
from scipy.special import gammaln
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

from sgevidence import BayesianGMM

#: A doubt is part of some answers.
pytestmark = pytest.mark.filterwarnings("ignore:the log evidence")
#: Standard errors, of the reference, too, within which an answer without a warning must be.
BEYOND = 3.0
#: Nats that a warning says.
SAID = re.compile(r"off by ([\d.]+) nats")


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


DATA = {
    "iris": lambda: load_iris().data,
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data[:, :10],
    "digits": lambda: PCA(8, random_state=0).fit_transform(load_digits().data),
    "diabetes": lambda: load_diabetes().data,
}
KNOWN = {
    ("iris", 5): (-572.27, 0.02),
    ("iris", 6): (-574.61, 0.02),
    ("iris", 7): (-577.03, 0.02),
    ("iris", 8): (-579.47, 0.02),
    ("wine", 3): (-2784.31, 0.01),
    ("wine", 4): (-2755.15, 0.02),
    ("wine", 5): (-2749.05, 0.05),
    ("wine", 6): (-2747.21, 0.03),
    ("wine", 7): (-2747.8, 0.1),
    ("wine", 8): (-2749.27, 0.04),
    ("breast cancer", 4): (-5847.80, 0.05),
    ("digits", 4): (-18960.0, 0.1),
    ("diabetes", 6): (-5294.3, 0.15),
}
#: The calibration's cells of five groups in 20 columns, by (components, data seed).
WIDE = {
    (5, 3): (-14307.03, 0.06),
    (5, 5): (-14016.95, 0.06),
    (5, 9): (-14093.54, 0.06),
    (7, 7): (-14047.46, 0.05),
    (7, 9): (-14099.75, 0.08),
    (7, 10): (-14084.02, 0.05),
}
FAST = {("wine", 3)}
SLOW = {("breast cancer", 4), ("iris", 6), ("wine", 6), ("digits", 4)}


def marked(case, name):
    if case in FAST:
        return pytest.param(*case, id=name)
    return pytest.param(*case, id=name, marks=pytest.mark.slow if case in SLOW else pytest.mark.nightly)


def check(fitted, log_Z, std=0.0):
    """Right within its errors; a fit that warns may be further off, by what it says."""
    allowed = BEYOND * np.hypot(fitted.log_evidence_std_, std) + 0.01
    said = max((float(nats) for one in fitted.warnings_ for nats in SAID.findall(one)), default=0.0)
    error = fitted.log_evidence_ - log_Z
    assert abs(error) < max(allowed, said), (error, fitted.log_evidence_std_, fitted.warnings_)


@pytest.mark.parametrize("name, K", [marked(case, f"{case[0]} K={case[1]}") for case in KNOWN])
def test_real_data(seed, name, K):
    fitted = BayesianGMM(K, random_state=seed, standardize=False).fit(scaled(DATA[name]()))
    assert fitted.log_evidence_std_ < 0.3
    check(fitted, *KNOWN[name, K])


@pytest.mark.nightly
@pytest.mark.parametrize("name, most", [("iris", 8), ("wine", 8)])
def test_one_walk_knows_every_number_of_components(seed, name, most):
    found = BayesianGMM(most, random_state=seed + 1, standardize=False).fit(scaled(DATA[name]()))
    every = found.component_evidence_
    for K in every["n_components"]:
        if (name, K) in KNOWN:
            log_Z, std = KNOWN[name, K]
            bar = np.hypot(every["log_evidence_std"][K - 1], std)
            assert abs(every["log_evidence"][K - 1] - log_Z) < BEYOND * bar + 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("K, data_seed", WIDE)
def test_groups_that_overlap_in_many_columns(seed, monkeypatch, K, data_seed):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples" / "benchmarks"))
    from calibration import CELLS

    name = {5: "overlapping in many columns", 7: "5 groups that overlap in many columns"}[K]
    cell = CELLS[f"mixture K={K}, d=20, n=500, {name}"]
    check(cell.learn(cell.make(cell.rng(data_seed, 0)), seed), *WIDE[K, data_seed])


@pytest.mark.nightly
@pytest.mark.parametrize("K, n", [(6, 200), (5, 1000)])
def test_groups_that_overlap_in_two_columns(seed, monkeypatch, K, n):
    """Beside sequential runs on allocations, by code of its own."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples" / "benchmarks"))
    from calibration_mixture_evidence import sequential
    from calibration_mixtures import CLOSE, groups

    X = scaled(groups(np.random.default_rng([seed, n]), n, 5, CLOSE).X)
    found = sequential(X, K, np.random.default_rng(seed), runs=4, particles=300)
    check(BayesianGMM(K, random_state=seed, standardize=False).fit(X), found.log_evidence, found.std)


# -- few rows of many columns --------------------------------------------------------------------------------


def heavy_tailed(rng, n, p):
    """A third of the rows in a group of their own; any far row may be alone, or with any other."""
    X = rng.standard_t(3, (n, p))
    X[: n // 3] += 2.0
    return X


def summed(X, K):
    """log Z by the sum over all partitions: means of scale 2, InvGamma(1, 1), uniform weights."""
    n = len(X)
    rows = np.arange(2**n)[:, None] >> np.arange(n) & 1
    N, first, second = rows.sum(axis=1, keepdims=True), rows @ X, rows @ X**2
    mean, kappa = first / np.maximum(N, 1), 0.25
    beta_n = 1 + 0.5 * (second - N * mean**2 + kappa * N / (kappa + N) * mean**2)
    log_p = gammaln(1 + N / 2) - (1 + N / 2) * np.log(beta_n) + 0.5 * np.log(kappa / (kappa + N))
    log_p = np.sum(log_p - 0.5 * N * np.log(2 * np.pi), axis=1) + gammaln(1 + N[:, 0])
    log_S = sum_over_partitions(log_p, min(K, n))
    ways = [lgamma(K + 1) - lgamma(K - k) for k in range(len(log_S))]
    return np.logaddexp.reduce(log_S + ways) + lgamma(K) - lgamma(K + n)


@pytest.mark.parametrize("K, n, p", [pytest.param(4, 9, 30, marks=pytest.mark.slow), (3, 15, 20)])
def test_few_rows_of_many_columns(rng, K, n, p):
    """The second are too many to be summed by the package, too."""
    X = heavy_tailed(rng, n, p) if n > 9 else rng.standard_t(3, (n, p))
    check(BayesianGMM(K, random_state=int(rng.integers(2**31)), standardize=False).fit(X), summed(X, K))


@pytest.mark.nightly
@pytest.mark.parametrize("K, n, p", [(6, 12, 30), (4, 15, 30), (6, 15, 10), (3, 16, 20), (5, 16, 12)])
def test_more_rows_of_many_columns(rng, K, n, p):
    X = heavy_tailed(rng, n, p)
    check(BayesianGMM(K, random_state=int(rng.integers(2**31)), standardize=False).fit(X), summed(X, K))


@pytest.mark.nightly
@pytest.mark.parametrize("data_seed", [1, 2])
def test_seventy_heavy_tailed_rows_of_thirty_columns(seed, data_seed):
    """Two fits agree.  They were two nats low, at 0.2 and 0.5, where no sweep integrated parameters out."""
    rng = np.random.default_rng(data_seed)
    X = rng.normal(0, 1.5, (5, 30))[rng.integers(5, size=70)] + rng.standard_t(3, (70, 30))
    one, two = (BayesianGMM(6, random_state=seed + i, standardize=False).fit(X) for i in range(2))
    std = np.hypot(one.log_evidence_std_, two.log_evidence_std_)
    assert std < 0.3 and abs(one.log_evidence_ - two.log_evidence_) < BEYOND * std
    if data_seed == 1:
        check(one, -4305.33, 0.03)


@pytest.mark.nightly
def test_a_stream_in_calls_of_ten_ends_where_one_fit_does(seed):
    rng = np.random.default_rng([seed, 150])
    X = rng.normal(0, 1.0, (4, 20))[rng.integers(4, size=150)] + rng.standard_t(3, (150, 20))
    stream = BayesianGMM(6, random_state=seed, standardize=False)
    for start in range(0, 150, 10):
        stream.partial_fit(X[start : start + 10])
        if start == 0:
            check(stream, summed(X[:10], 6))
    fitted = BayesianGMM(6, random_state=seed + 1, standardize=False).fit(X)
    check(stream, fitted.log_evidence_, fitted.log_evidence_std_)
