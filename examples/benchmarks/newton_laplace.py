"""
The default beside Newton and Laplace
=====================================

Softmax and Poisson regression: the log evidence by the default sampler, and by a plain Newton script that
ends in the Laplace approximation, on the same rows.  The script has no error bar; how far it is off is the
difference.

``python examples/benchmarks/newton_laplace.py [--digits] [--million]``: seconds of processor time, one core.
"""

import argparse
from time import process_time

import numpy as np
from newton import newton_laplace_softmax
from scipy.special import gammaln
from sklearn.datasets import load_digits

from sgevidence import BayesianGLM, BayesianSoftmaxRegression


def classes(rng, n, p, K):
    """Rows of a softmax whose coefficients are draws from the prior."""
    X, W = rng.standard_normal((n, p)), rng.standard_normal((K, p + 1))
    Z = X @ W[:, :-1].T + W[:, -1]
    return X, np.argmax(Z + rng.gumbel(size=Z.shape), axis=1)


def counts(rng, n, p):
    """Rows of a Poisson regression with coefficients of 0.3."""
    X = rng.standard_normal((n, p))
    return X, rng.poisson(np.exp(X @ rng.normal(0, 0.3, p))).astype(float)


def newton_laplace_poisson(X, y, tolerance=1e-8, max_iterations=50):
    """Laplace log evidence of Poisson regression with N(0, 1) priors, and seconds."""
    start = process_time()
    Phi, w = np.column_stack([X, np.ones(len(X))]), np.zeros(X.shape[1] + 1)
    for _ in range(max_iterations):
        mean = np.exp(Phi @ w)
        P = (Phi.T * mean) @ Phi + np.eye(len(w))
        step = np.linalg.solve(P, Phi.T @ (y - mean) - w)
        w = w + step
        if 0.5 * step @ P @ step < tolerance:
            break
    value = y @ (Phi @ w) - np.sum(np.exp(Phi @ w)) - gammaln(y + 1).sum() - 0.5 * w @ w
    return value - 0.5 * np.linalg.slogdet(P)[1], process_time() - start


def timed(estimator, X, y):
    """The fitted estimator and seconds."""
    start = process_time()
    return estimator.fit(X, y), process_time() - start


def report(name, model, seconds, laplace, laplace_seconds):
    """One line: evidence, its error, seconds, and those of the script."""
    print(
        f"{name:28s} {model.log_evidence_:12.3f} ± {model.log_evidence_std_:.3f} {seconds:7.2f} s   "
        f"Laplace {laplace:12.3f} {laplace_seconds:7.2f} s",
        flush=True,
    )


def main():
    """All cells, or the large ones that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--digits", action="store_true", help="650 parameters, 300 rows")
    parser.add_argument("--million", action="store_true", help="10⁶ rows of 44 parameters")
    args = parser.parse_args()
    rng = np.random.default_rng(37)
    cells = [(n, 10, 4) for n in (100, 300, 1000, 10**4, 10**5)] + [(1000, 5, 10), (2000, 20, 10)]
    softmax = [(f"softmax {K * (p + 1)} parameters, {n} rows", *classes(rng, n, p, K)) for n, p, K in cells]
    if args.digits:
        X, y = load_digits(return_X_y=True)
        some = rng.permutation(len(X))[:300]
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        softmax = [("digits", X[some], y[some])]
    if args.million:
        softmax = [("softmax, 10⁶ rows", *classes(rng, 10**6, 10, 4))]
    for name, X, y in softmax:
        start = process_time()
        laplace = newton_laplace_softmax(X, y, int(y.max()) + 1)[0]
        seconds = process_time() - start
        report(
            name, *timed(BayesianSoftmaxRegression(random_state=0, standardize=False), X, y), laplace, seconds
        )
    for n, p in [] if args.digits or args.million else [(100, 10), (100, 30), (1000, 50), (10**5, 10)]:
        X, y = counts(rng, n, p)
        model = timed(BayesianGLM(random_state=0, standardize=False), X, y)
        report(f"Poisson {p + 1} parameters, {n} rows", *model, *newton_laplace_poisson(X, y))


if __name__ == "__main__":
    main()
