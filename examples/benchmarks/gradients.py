"""Time of one likelihood gradient: autograd through the fused primitive, by hand, and through plain autograd.

The hand-written gradients below use the fused primitives' layout (component, particle, row) and return
only the gradient.  Bars: fused ≤ 1.5 × hand + 35 µs (autograd's fixed cost) at 10 particles × 500 rows,
and fused ≤ 1.2 × hand at 100 × 2000.  Run with OMP_NUM_THREADS=1.
"""

from time import perf_counter

import numpy as np

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, Model, SoftmaxModel, value_and_grad
from sgevidence.models._regression import design_matrix


def linear_by_hand(model, theta, rows):
    Phi = design_matrix(rows.X, True)
    r = theta @ Phi.T
    np.subtract(rows.y, r, out=r)
    return (r @ (Phi * rows.weight[:, None])) / model.noise_std**2


def softmax_by_hand(model, theta, rows):
    Phi = design_matrix(rows.X, True)
    M, K, (n, q) = len(theta), model.n_classes, Phi.shape
    W = theta.reshape(M, K, q).transpose(1, 0, 2).reshape(K * M, q)
    P = (W @ Phi.T).reshape(K, M, n)
    P -= P.max(axis=0)
    np.exp(P, out=P)
    P /= P.sum(axis=0)
    wPhi = rows.weight[:, None] * Phi
    observed = (rows.y == np.arange(K)[:, None]).astype(float) @ wPhi
    expected = (P.reshape(K * M, n) @ wPhi).reshape(K, M, q).transpose(1, 0, 2)
    return (observed - expected).reshape(M, -1)


def mixture_by_hand(model, theta, rows):
    M, K, (n, p) = len(theta), model.n_components, rows.X.shape
    x = rows.X - rows.weight @ rows.X / rows.weight.sum()
    F = np.column_stack([x * x, x, np.ones(n)])
    z, mu, s = theta[:, :K], theta[:, K : K + K * p].reshape(M, K, p), theta[:, K + K * p :].reshape(M, K, p)
    mu = mu - rows.weight @ rows.X / rows.weight.sum()
    precision = np.exp(-s)
    constant = z - 0.5 * np.sum(mu**2 * precision + s, axis=2)
    A = np.concatenate([-0.5 * precision, mu * precision, constant[:, :, None]], axis=2).transpose(1, 0, 2)
    R = (A.reshape(K * M, -1) @ F.T).reshape(K, M, n)
    R -= R.max(axis=0)
    np.exp(R, out=R)
    R /= R.sum(axis=0)
    T = (R.reshape(K * M, n) @ (F * rows.weight[:, None])).reshape(K, M, -1).transpose(1, 0, 2)
    T2, T1, T0 = T[:, :, :p], T[:, :, p : 2 * p], T[:, :, -1:]
    pi = np.exp(z - z.max(axis=1, keepdims=True))
    grad_z = T0[:, :, 0] - pi / pi.sum(axis=1, keepdims=True) * rows.weight.sum()
    grad_mu = precision * (T1 - mu * T0)
    grad_s = 0.5 * (precision * (T2 - 2 * mu * T1 + mu**2 * T0) - T0)
    return np.column_stack([grad_z, grad_mu.reshape(M, -1), grad_s.reshape(M, -1)])


def median_times(functions, repeats, run=10):
    """Medians over short runs that take turns, so that a slow spell of the machine meets all of them.

    Runs rather than single calls: a call that allocates much leaves its page faults to the next one.
    """
    times = np.empty((repeats, len(functions)))
    for first in range(0, repeats, run):
        for i, f in enumerate(functions):
            for k in range(first, min(first + run, repeats)):
                start = perf_counter()
                f()
                times[k, i] = perf_counter() - start
    return np.median(times, axis=0)


CASES = [
    ("linear d=6", LinearModel(5, noise_std=1.0), linear_by_hand),
    ("softmax 10 x 4", SoftmaxModel(10, 4), softmax_by_hand),
    ("mixture K=5 p=2", MixtureModel(5, 2), mixture_by_hand),
]
SIZES = [(10, 500, 1.5, 35e-6, 1000, 20), (100, 2000, 1.2, 0.0, 100, 3)]


def main():
    rng = np.random.default_rng(0)
    print(
        f"{'model':16} {'M x n':>10} {'fused':>9} {'hand':>9} {'plain':>10}  {'bar':>9}    (µs per gradient)"
    )
    for name, model, by_hand in CASES:
        for M, n, factor, fixed, repeats, plain_repeats in SIZES:
            X = rng.standard_normal((n, getattr(model, "n_features", 0)))
            rows = Rows.of(X, rng.integers(4, size=n) if "softmax" in name else rng.standard_normal(n))
            theta = model.sample_prior(rng, M)

            def fused(model=model, theta=theta, rows=rows):
                return value_and_grad(lambda t: model._block_log_likelihood(t, rows, []), theta)[1]

            def hand(model=model, theta=theta, rows=rows, by_hand=by_hand):
                return by_hand(model, theta, rows)

            def plain(model=model, theta=theta, rows=rows):
                return value_and_grad(lambda t: Model._block_log_likelihood(model, t, rows, None), theta)[1]

            np.testing.assert_allclose(hand(), plain(), rtol=1e-8, atol=1e-8 * np.abs(plain()).max())
            np.testing.assert_allclose(fused(), plain(), rtol=1e-8, atol=1e-8 * np.abs(plain()).max())
            t_fused, t_hand = median_times([fused, hand], repeats)
            (t_plain,) = median_times([plain], plain_repeats)
            bar = factor * t_hand + fixed
            print(
                f"{name:16} {f'{M} x {n}':>10} {1e6 * t_fused:9.0f} {1e6 * t_hand:9.0f} {1e6 * t_plain:10.0f}"
                f"  {1e6 * bar:9.0f} {'pass' if t_fused <= bar else 'FAIL'}  ratio {t_fused / t_hand:.2f}"
            )


if __name__ == "__main__":
    main()
