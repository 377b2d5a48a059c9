"""Evidence of mixtures from their allocations on real and simulated data, by seed, with the time on one core.

``python examples/benchmarks/allocations.py [name ...]`` prints, for each data set and K, three seeds of the
sampler and, where data are simulated, three seeds of the data: log evidence ± standard error, effective
draws or chains, a question mark where the answer says that it is not reliable, and CPU seconds.
"""

import sys
from time import process_time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

from sgevidence.history import Rows
from sgevidence.mixtures import allocation_evidence
from sgevidence.models import MixtureModel


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def digits(n_components):
    return standardised(PCA(n_components, random_state=0).fit_transform(load_digits().data))


def two_correlated_groups(rng, n=600):
    sign = rng.choice([-1.0, 1.0], size=n)
    x = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=n)
    return np.column_stack([x[:, 0] + 2 * sign, sign * x[:, 1]])


def groups(rng, n, centers):
    return np.array(centers)[rng.integers(len(centers), size=n)] + rng.standard_normal((n, 2))


FIVE = [[0, 0], [4, 4], [-4, 4], [4, -4], [-4, -4]]
CLOSE = [[0, 0], [1.5, 0], [0, 1.5], [-1.5, 0], [0, -1.5]]
REAL = {
    "wine": (lambda: standardised(load_wine().data), range(1, 7)),
    "breast cancer, 10 columns": (lambda: standardised(load_breast_cancer().data[:, :10]), range(1, 7)),
    "iris": (lambda: standardised(load_iris().data), range(1, 7)),
    "digits, 8 components": (lambda: digits(8), range(1, 7)),
}
SIMULATED = {
    "two correlated groups, 600": (two_correlated_groups, [2, 4, 8]),
    "five groups, 150": (lambda rng: groups(rng, 150, FIVE), [3]),
    "five groups, 240": (lambda rng: groups(rng, 240, FIVE), [3]),
    "five groups, 5000": (lambda rng: groups(rng, 5000, FIVE), [3]),
    "2024 ± 1, 200": (lambda rng: 2024 + rng.uniform(-1, 1, (200, 1)), [1, 2, 3]),
    "1.7e9 ± 1e5, 200": (lambda rng: 1.7e9 + 1e5 * rng.uniform(-1, 1, (200, 1)), [1, 2, 3]),
    "overlapping, 10 000": (lambda rng: groups(rng, 10_000, CLOSE), [5]),
}


def line(name, X, K):
    cells, seconds = [], []
    for seed in range(3):
        start = process_time()
        found = allocation_evidence(MixtureModel(K, X.shape[1]), Rows.of(X), np.random.default_rng(seed))
        seconds.append(process_time() - start)
        if found is None:
            cells.append("declined")
            continue
        doubt = " " if found.reliable else "?"
        cells.append(
            f"{found.log_evidence:.3f} ± {found.log_evidence_std:.3f} {found.n_effective:4.0f}{doubt}"
        )
    print(f"| {name} | {K} | {' | '.join(cells)} | {np.mean(seconds):.1f} s |", flush=True)


def main(wanted):
    for name, (make, components) in REAL.items():
        for K in components if not wanted or name in wanted else []:
            line(name, make(), K)
    for name, (simulate, components) in SIMULATED.items():
        for K in components if not wanted or name in wanted else []:
            for data in range(3):
                line(f"{name}, data {data}", simulate(np.random.default_rng([11, data])), K)


if __name__ == "__main__":
    main(sys.argv[1:])
