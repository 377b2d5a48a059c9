r"""Log evidences by other means than the package's: formulas, quadrature, and importance sampling at a mode.

Everything is written out here in numpy, likelihoods included, so that no line is shared with what is judged.

Linear regression.  With Φ = [X, 1] = U diag(s) Vᵀ and w ~ N(0, I),

    log p(y | v) = −½ [n log 2π + (n − r) log v + Σ_i log(s_i² + v) + Σ_i g_i²/(s_i² + v) + |y − Ug|²/v],

g = Uᵀy; an unknown noise v ~ InvGamma(1, 1) is a sum over t = log v.  Softmax and Poisson regression:
Newton's method, then importance sampling by a Student t around the mode; where few draws are effective,
annealed from a Gaussian with the posterior's moments.

Symbols
-------
=======  ===========  ====================================================
Φ        ``Phi``      columns and a one, (n, p)
v, t     ``v, t``     noise variance and its logarithm
=======  ===========  ====================================================
"""

from collections.abc import Callable
from math import lgamma
from typing import Any

import numpy as np
from references import Reference, Student
from scipy.special import gammaln, logsumexp

#: Below its maximum by so many nats a density is nothing.
NOTHING = 60.0
#: Numbers (draws times rows) in one array, and in all draws of importance sampling.
BLOCK, WORK = 500_000, 150_000_000
#: Draws of the pilot whose moments importance sampling takes, and most draws of it.
PILOT, MOST = 20_000, 200_000
#: Share of the draws below which they are annealed instead, in how many steps, and how often.
ENOUGH, STEPS, REPEATS = 0.3, 150, 5
#: What annealing starts from is so much wider: slices of an ellipse narrower than the posterior hardly move.
WIDER = 1.15
LOG_2PI = float(np.log(2 * np.pi))


# -- quadrature ----------------------------------------------------------------------------------------------


def log_integral(log_f: Callable, boxes: list[tuple[float, float]], points: int = 4001) -> float:
    """log ∫ f over one or two dimensions by the trapezoid rule, which is geometric for smooth f.

    The box shrinks to where f counts; half as many points must give the same.
    """
    for _ in range(6):
        grid = [np.linspace(lo, hi, points) for lo, hi in boxes]
        value = log_f(*np.meshgrid(*grid, indexing="ij"))
        counts = np.argwhere(value > value.max() - NOTHING)
        ends = zip(grid, counts.min(axis=0), counts.max(axis=0))
        shrunk = [(float(g[max(a - 1, 0)]), float(g[min(b + 1, points - 1)])) for g, a, b in ends]
        small = all(b - a > 0.9 * (hi - lo) for (a, b), (lo, hi) in zip(shrunk, boxes))
        if small:
            break
        boxes = shrunk
    log_cell = sum(np.log((hi - lo) / (points - 1)) for lo, hi in boxes)
    fine = logsumexp(value) + log_cell
    coarse = logsumexp(value[(slice(None, None, 2),) * len(boxes)]) + log_cell + len(boxes) * np.log(2)
    if not abs(fine - coarse) < 1e-4:
        raise ArithmeticError(f"quadrature does not converge: {fine} and {coarse}")
    return float(fine)


def exactly(log_evidence: float, method: str) -> Reference:
    return Reference(float(log_evidence), 0.0, 1.0, method)


# -- linear regression and one Gaussian ----------------------------------------------------------------------


def linear(X: np.ndarray, y: Any, noise_std: float | None = None) -> Reference:
    """Closed form for a known noise, a sum over log σ² for an unknown one."""
    Phi = np.column_stack([X, np.ones(len(X))])
    U, s, _ = np.linalg.svd(Phi, full_matrices=False)
    g = U.T @ y
    rest = float(np.sum((y - U @ g) ** 2)) if len(y) > len(g) else 0.0

    def log_likelihood(t):
        v = np.exp(t)
        out = len(y) * LOG_2PI + (len(y) - len(s)) * t + rest / v
        for s_i, g_i in zip(s, g):
            out = out + np.log(s_i**2 + v) + g_i**2 / (s_i**2 + v)
        return -0.5 * out

    if noise_std is not None:
        return exactly(log_likelihood(2 * np.log(noise_std)), "closed form")
    log_prior = lambda t: np.log(2 / (np.pi * 3**0.5)) + t / 2 - 2 * np.log1p(np.exp(t) / 3)  # noqa: E731
    log_joint = lambda t: log_likelihood(t) + log_prior(t)  # noqa: E731  (half-Student-t(3, 1) of σ)
    return exactly(log_integral(log_joint, [(-60.0, 40.0)], 40_001), "quadrature")


def one_gaussian(X: np.ndarray) -> Reference:
    """K = 1: σ_j² ~ InvGamma(1, 1) and μ_j | σ_j² ~ N(0, 4 σ_j²) in every column."""
    n = len(X)
    k, a = 0.25 + n, 1 + n / 2
    b = 1 + 0.5 * (np.sum((X - X.mean(axis=0)) ** 2, axis=0) + 0.25 * n / k * X.mean(axis=0) ** 2)
    each = lgamma(a) - a * np.log(b) + 0.5 * np.log(0.25 / k) - 0.5 * n * LOG_2PI
    return exactly(np.sum(each), "closed form")


# -- importance sampling -------------------------------------------------------------------------------------


def at_the_mode(log_joint: Callable, newton: Callable, d: int, numbers: int, rng: Any) -> Reference:
    """Importance sampling around the mode of a concave log joint, annealed where plain draws are too few.

    ``newton(theta)`` gives gradient and precision at one point; a draw costs so many ``numbers``.  A pilot
    from the mode and the curvature there gives the moments of the posterior, fresh draws from a t with these
    the answer: skewness moves the mean, and a t about the mode would waste half of its draws.
    """
    theta = np.zeros(d)
    for _ in range(200):
        grad, P = newton(theta)
        step = np.linalg.solve(P, grad)
        if 0.5 * grad @ step < 1e-9:
            break
        trials = theta + 0.5 ** np.arange(15)[:, None] * step
        theta = trials[log_joint(trials).argmax()]
    q = Student(theta, np.linalg.cholesky(np.linalg.inv(P)), 60.0)
    x = q.draw(rng, int(np.clip(WORK / numbers, 300, PILOT)))
    w, share = normalised(log_joint(x) - q.log_density(x))
    if share < ENOUGH or share * len(x) < 10 * d:
        return repeated(log_joint, q._replace(L=WIDER * q.L), rng)
    mean = w @ x
    q = Student(mean, np.linalg.cholesky((w * (x - mean).T) @ (x - mean)), 60.0)
    x = q.draw(rng, int(np.clip(WORK / numbers, 300, MOST)))
    log_w = log_joint(x) - q.log_density(x)
    share = normalised(log_w)[1]
    log_Z = float(logsumexp(log_w) - np.log(len(log_w)))
    return Reference(log_Z, float(np.sqrt((1 / share - 1) / len(log_w))), share, "t importance sampling")


def repeated(log_joint: Callable, q: Student, rng: Any) -> Reference:
    """Annealed ``REPEATS`` times, each from pilots of its own: what they differ by is the error.

    The weights of one repetition look more even than they are where slices move slowly: columns at 100 ± 1
    were 0.04 apart at a claimed 0.007.
    """
    each, shares = [], []
    for _ in range(REPEATS):
        base = q
        for _ in range(2):  # the moments of the posterior rather than its mode and curvature there
            x = np.concatenate(annealed(log_joint, base, rng, 200, 20, 15)[1])
            base = Student(x.mean(axis=0), WIDER * np.linalg.cholesky(np.cov(x.T)), 60.0)
        log_w = annealed(log_joint, base, rng, 400, STEPS)[0]
        each.append(logsumexp(log_w) - np.log(len(log_w)))
        shares.append(normalised(log_w)[1])
    spread = float(np.std(each, ddof=1) / np.sqrt(REPEATS))
    return Reference(float(np.mean(each)), spread, float(np.mean(shares)), "annealed importance sampling")


def normalised(log_w: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights, and the share of them that is effective."""
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    return w, float(1 / np.sum(w**2) / len(w))


def annealed(log_joint: Callable, q: Student, rng: Any, M: int, steps: int, more: int = 0) -> tuple:
    """Independent paths from N(mean, L Lᵀ) to the posterior (Neal 2001): log weights (M,), and draws.

    They move by elliptical slices (Murray, Adams and MacKay 2010), on ellipses of that Gaussian; ``more``
    times at the end, which has no part in the weights.
    """
    constant = np.sum(np.log(np.diag(q.L))) + 0.5 * len(q.L) * LOG_2PI

    def log_ratio(z):
        return log_joint(q.mean + z @ q.L.T) + 0.5 * np.sum(z**2, axis=1) + constant

    z = rng.standard_normal((M, len(q.mean)))
    f, log_w, draws = log_ratio(z), np.zeros(M), []
    for i in range(steps + more):
        beta = min(1.0, (i + 1) / steps)
        log_w += f / steps if i < steps else 0.0
        z, f = elliptical_slice(z, f, log_ratio, beta, rng)
        if i >= steps:
            draws.append(q.mean + z @ q.L.T)
    return log_w, draws


def elliptical_slice(z: np.ndarray, f: np.ndarray, log_ratio: Callable, beta: float, rng: Any) -> tuple:
    """One move of each z (M, d) that leaves N(0, I) f^β alone, and log f there."""
    M, z, f, old = len(z), z.copy(), f.copy(), z
    nu, floor = rng.standard_normal(z.shape), beta * f + np.log(rng.random(M))
    angle = rng.uniform(0, 2 * np.pi, M)
    lo, hi, active = angle - 2 * np.pi, angle.copy(), np.arange(M)
    while len(active):
        t = angle[active, None]
        trial = old[active] * np.cos(t) + nu[active] * np.sin(t)
        value = log_ratio(trial)
        good = beta * value > floor[active]
        z[active[good]], f[active[good]] = trial[good], value[good]
        active = active[~good]
        below = angle[active] < 0
        lo[active[below]], hi[active[~below]] = angle[active[below]], angle[active[~below]]
        angle[active] = rng.uniform(lo[active], hi[active])
    return z, f


def in_blocks(log_likelihood: Callable, theta: np.ndarray, numbers: int) -> np.ndarray:
    """log likelihood + log N(θ; 0, I), blocks of draws at a time."""
    parts = np.array_split(theta, max(1, len(theta) * numbers // BLOCK))
    out = np.concatenate([log_likelihood(part) for part in parts])
    return out - 0.5 * np.sum(theta**2, axis=1) - 0.5 * theta.shape[1] * LOG_2PI


def softmax(X: np.ndarray, y: Any, n_classes: int, rng: np.random.Generator) -> Reference:
    """p(y = k) ∝ exp(w_k·x + b_k), every number N(0, 1).

    What all classes have in common changes no probability, so (K − 1)(d + 1) contrasts are left, W = B u with
    orthonormal B and u ~ N(0, I).
    """
    Phi = np.column_stack([X, np.ones(len(X))])
    (n, p), K, labels = Phi.shape, n_classes, y.astype(int)
    B = np.linalg.svd(np.eye(K) - 1 / K)[0][:, : K - 1]
    size = (K - 1) * p

    def log_likelihood(theta):
        W = B @ theta.reshape(len(theta), K - 1, p)
        eta = (W.reshape(-1, p) @ Phi.T).reshape(len(theta), K, n)
        top = eta.max(axis=1, keepdims=True)
        own = eta[:, labels, np.arange(n)] - top[:, 0]
        return np.sum(own - np.log(np.exp(eta - top).sum(axis=1)), axis=1)

    def newton(theta):
        eta = Phi @ (B @ theta.reshape(K - 1, p)).T
        prob = np.exp(eta - logsumexp(eta, axis=1)[:, None])
        grad = B.T @ (np.eye(K)[labels] - prob).T @ Phi
        inner = np.einsum("nk,ka,kb->nab", prob, B, B) - (prob @ B)[:, :, None] * (prob @ B)[:, None, :]
        A = (inner[:, :, None, :, None] * Phi[:, None, :, None, None]).reshape(n, size * (K - 1))
        H = (A.T @ Phi).reshape(K - 1, p, K - 1, p).reshape(size, size)
        return grad.ravel() - theta, np.eye(size) + H

    return at_the_mode(lambda t: in_blocks(log_likelihood, t, n * K), newton, size, n * K, rng)


def poisson(X: np.ndarray, y: Any, rng: np.random.Generator) -> Reference:
    """y ~ Poisson(exp(w·x + b)), every number N(0, 1)."""
    Phi = np.column_stack([X, np.ones(len(X))])
    n, p = Phi.shape
    constant = float(gammaln(y + 1).sum())

    def log_likelihood(theta):
        eta = theta @ Phi.T
        with np.errstate(over="ignore"):
            return eta @ y - np.exp(eta).sum(axis=1) - constant

    def newton(theta):
        rate = np.exp(Phi @ theta)
        return Phi.T @ (y - rate) - theta, np.eye(p) + Phi.T @ (rate[:, None] * Phi)

    return at_the_mode(lambda t: in_blocks(log_likelihood, t, n), newton, p, n, rng)
