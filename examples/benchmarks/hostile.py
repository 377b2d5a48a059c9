"""Hostile inputs beside references of fifty digits: is a wrong number ever silent?

    python hostile.py --first 1000 --count 200                # one JSON line per case, a summary at the end
    python hostile.py --first 1000 --count 200 --kinds linear poisson

A case is drawn from its number alone: columns far from zero (up to 1e18), tiny and huge units, constant,
repeated and collinear columns, few rows, heavy weights, targets far from the prior, streams cut anywhere.
An answer is *silent and wrong* if it is finite, gave no EvidenceWarning and is beyond 3.5 of its own errors
and 0.01 nats.  An exception counts as readable if it is a ValueError or one of the package's own.

References, all in mpmath (the stored doubles are taken as exact):

    linear     closed form; over log σ² by the trapezoid rule, which converges geometrically
    poisson,   importance sampling from a t about the mode, in coordinates in which the posterior is a unit
    softmax    Gaussian: the mode and the coordinates have fifty digits, sums over rows are then harmless.
               Half of the draws are the prior's: at the edge of a half-space the curvature of the mode
               says nothing of its width
    mixture    the sum over all allocations of at most eight rows
    custom     conjugate normal mean with a forbidden half-space, a plateau, a spike beside a slab
"""

import argparse
import itertools
import json
import signal
import time
import warnings
from collections import Counter

import mpmath as mp
import numpy as np
from scipy.special import gammaln, logsumexp

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
    EvidenceWarning,
)
from sgevidence.exceptions import DivergenceError
from sgevidence.samplers import AIS, SIR, Exact, Laplace, NestedSampling

mp.mp.dps = 60
#: Errors and nats beyond which an answer without a warning counts as wrong.
BEYOND, NATS = 3.5, 0.01
#: Error of an importance sampling reference in nats from which it says nothing.
VAGUE = 0.1
#: Seconds of processor after which a fit is stopped: *not ended*.
PATIENCE = 120.0
#: Importance draws of the references of regressions.
DRAWS = 40_000


# -- rows -------------------------------------------------------------------------------------------------


def columns(rng, n, p):
    """Columns of every awkward kind, (n, p)."""
    X = np.empty((n, p))
    for j in range(p):
        x = rng.choice([rng.standard_normal(n), rng.integers(0, 3, n).astype(float), rng.standard_t(2, n)])
        kind = rng.integers(7)
        if kind == 1:
            x = x + 10.0 ** rng.integers(2, 13) * rng.choice([-1, 1])
        elif kind == 2:
            x = 1.7 * 10.0 ** rng.integers(9, 19) + 10.0 ** rng.integers(2, 14) * np.sort(rng.random(n))
        elif kind == 3:
            x = x * 10.0 ** rng.integers(-9, 10)
        elif kind == 4:
            x = np.full(n, rng.choice([0.0, 1.0, 10.0 ** rng.integers(1, 12)]))
        elif kind == 5 and j:
            x = X[:, j - 1] * rng.choice([1.0, 2.0, -1.0]) + rng.choice([0.0, 1e-6]) * x
        X[:, j] = x
    if n > 3 and rng.random() < 0.2:
        X[n // 2 :] = X[: n - n // 2]
    return X


def weights_of(rng, n):
    kind = rng.integers(6)
    if kind == 0:
        return rng.integers(1, 6, n).astype(float)
    if kind == 1:
        w = np.ones(n)
        w[rng.integers(n)] = 10.0 ** rng.integers(2, 6)
        return w
    return np.ones(n)


def linear_predictor(X, rng):
    """A linear predictor of order one in columns that vary."""
    Z = X - X.mean(0)
    sd = Z.std(0)
    Z = np.divide(Z, sd, out=np.zeros_like(Z), where=sd > 1e-12 * (1 + np.abs(X).max(0)))
    return Z @ rng.standard_normal(X.shape[1])


# -- references -------------------------------------------------------------------------------------------


def design(X, intercept):
    rows = [[mp.mpf(float(v)) for v in x] + ([mp.mpf(1)] if intercept else []) for x in X]
    return mp.matrix(rows)


def linear_reference(X, y, w, scales, intercept, noise_std, prior):
    """log p(y | X): closed form, or a sum over log σ² with the coefficients integrated out."""
    Phi, d = design(X, intercept), X.shape[1] + intercept
    wm, ym, S = (
        [mp.mpf(float(v)) for v in w],
        [mp.mpf(float(v)) for v in y],
        [mp.mpf(float(s)) for s in scales],
    )
    A = mp.matrix(d, d)
    b = mp.matrix(d, 1)
    for r in range(len(y)):
        for i in range(d):
            b[i] += wm[r] * Phi[r, i] * S[i] * ym[r]
            for j in range(d):
                A[i, j] += wm[r] * Phi[r, i] * S[i] * Phi[r, j] * S[j]
    n, yy = mp.fsum(wm), mp.fsum(v * t * t for v, t in zip(wm, ym))
    lam, U = mp.eigsy(A)
    lam = [max(v, mp.mpf(0)) for v in lam]
    g = [(U.T * b)[i] ** 2 for i in range(d)]

    def log_given(s):
        v = mp.e**s
        quad = yy / v - mp.fsum(g[i] / (v * (lam[i] + v)) for i in range(d))
        return -(n * (s + mp.log(2 * mp.pi)) + quad + mp.fsum(mp.log1p(l / v) for l in lam)) / 2

    if noise_std is not None:
        return float(log_given(2 * mp.log(mp.mpf(noise_std)))), 0.0

    def log_joint(s):
        return log_given(s) + log_noise_prior(s, prior)

    grid = [mp.mpf(k) / 2 for k in range(-130, 320)]
    values = [log_joint(s) for s in grid]
    top = max(values)
    inside = [s for s, v in zip(grid, values) if v > top - 60]
    low, high, step = min(inside) - 1, max(inside) + 1, mp.mpf(1) / 4
    last = None
    while True:
        m = int((high - low) / step)
        total = mp.fsum(mp.e ** (log_joint(low + step * k) - top) for k in range(m + 1)) * step
        out = top + mp.log(total)
        if last is not None and abs(out - last) < mp.mpf(10) ** -10 * (1 + abs(out)):
            return float(out), 0.0
        last, step = out, step / 2
        if step < 1e-3:
            return float(out), 1e-6


def log_noise_prior(s, prior):
    """log density of s = log σ²: inverse gamma (a, b), or half-Student-t(3, scale) of σ."""
    if isinstance(prior, tuple):
        a, b = map(mp.mpf, prior)
        return a * mp.log(b) - mp.loggamma(a) - a * s - b * mp.e ** (-s)
    sigma = mp.e ** (s / 2)
    half_t = mp.log(4 / (mp.pi * mp.sqrt(3) * prior)) - 2 * mp.log(1 + (sigma / prior) ** 2 / 3)
    return half_t + mp.log(sigma / 2)  # dσ/ds


def glm_reference(X, y, w, scales, intercept, rng, K=1):
    """log p(y | X) of Poisson (K = 1) or softmax by importance sampling about the mode."""
    Phi, p = design(X, intercept), X.shape[1] + intercept
    n, d = len(y), K * p
    S = [mp.mpf(float(s)) for s in scales]
    for i in range(n):
        for j in range(p):
            Phi[i, j] *= S[j]  # θ in prior widths
    theta = mp.matrix(d, 1)

    def predictor(t):
        """(K, n); of classes relative to the first, since what they share may be 1e15 and says nothing."""
        exact = [[mp.fsum(Phi[r, j] * t[k * p + j] for j in range(p)) for r in range(n)] for k in range(K)]
        if K == 1:
            return np.array([[float(v) for v in exact[0]]])
        return np.array([[float(v - first) for v, first in zip(row, exact[0])] for row in exact])

    def value(t):
        eta = predictor(t)
        if K == 1:
            fit = np.sum(w * (y * eta[0] - np.exp(np.minimum(eta[0], 700)) - gammaln(y + 1)))
        else:
            fit = np.sum(w * (eta[y, np.arange(n)] - logsumexp(eta, axis=0)))
        return fit - 0.5 * float(mp.fsum(v * v for v in t))

    def derivatives(t):
        eta = predictor(t)
        if K == 1:
            mu = np.exp(eta)
            score, H = (w * (y - mu[0]))[None], [[[mp.mpf(v) for v in w * mu[0]]]]
        else:
            pi = np.exp(eta - logsumexp(eta, axis=0))
            score, H = w * (np.eye(K)[y].T - pi), class_curvature(pi, w)
        G, P = mp.matrix(d, 1), mp.matrix(d, d)
        for k in range(K):
            for i in range(p):
                G[k * p + i] = mp.fsum(mp.mpf(score[k, r]) * Phi[r, i] for r in range(n)) - t[k * p + i]
                for m in range(K):
                    for j in range(p):
                        P[k * p + i, m * p + j] = mp.fsum(
                            H[k][m][r] * Phi[r, i] * Phi[r, j] for r in range(n)
                        )
        for i in range(d):
            P[i, i] += 1
        return G, P

    now = value(theta)
    for _ in range(200):
        G, P = derivatives(theta)
        step, t = mp.lu_solve(P, G), mp.mpf(1)
        while not (new := value(theta + t * step)) >= now and t > 1e-80:
            t /= 2
        gain, now, theta = new - now, max(new, now), theta + t * step
        if gain < 1e-10:
            break
    _, P = derivatives(theta)
    L = mp.cholesky(P)  # P = L Lᵀ; θ = mode + L⁻ᵀ z
    T = mp.matrix(d, d)
    for j in range(d):
        e = mp.matrix(d, 1)
        e[j] = 1
        T[:, j] = mp.lu_solve(L.T, e)
    eta0 = predictor(theta)
    rows = np.array([predictor(T[:, j]) for j in range(d)])  # (d, K, n), of order one
    to_prior = np.array([[float(T[i, j]) for j in range(d)] for i in range(d)])
    mode = np.array([float(v) for v in theta])
    df, half = 6.0, DRAWS // 2
    z = rng.standard_normal((DRAWS, d)) / np.sqrt(rng.chisquare(df, (DRAWS, 1)) / df)
    theta = mode + z @ to_prior.T
    theta[half:] = rng.standard_normal((DRAWS - half, d))
    z[half:] = (theta[half:] - mode) @ np.array(L.tolist(), dtype=float)
    log_p = -0.5 * np.sum(theta**2, axis=1) - d / 2 * np.log(2 * np.pi) - float(mp.log(mp.det(P))) / 2
    log_t = (
        gammaln((df + d) / 2)
        - gammaln(df / 2)
        - d / 2 * np.log(df * np.pi)
        - (df + d) / 2 * np.log1p(np.sum(z * z, axis=1) / df)
    )
    log_q = np.logaddexp(log_t, log_p) - np.log(2)
    for part in np.array_split(np.arange(DRAWS), 40):
        eta = eta0 + np.einsum("md,dkn->mkn", z[part], rows)
        if K == 1:
            each = y * eta[:, 0] - np.exp(np.minimum(eta[:, 0], 700)) - gammaln(y + 1)
        else:
            each = eta[:, y, np.arange(n)] - logsumexp(eta, axis=1)
        log_p[part] += each @ w
    log_w = log_p - log_q
    ratio = np.exp(log_w - log_w.max())
    return log_w.max() + np.log(ratio.mean()), float(ratio.std() / ratio.mean() / np.sqrt(DRAWS))


def class_curvature(pi, w):
    """w (diag π − π πᵀ) for each row, in fifty digits: a rounded one need not be positive."""
    pi = [[mp.mpf(float(v)) for v in row] for row in pi]
    total = [mp.fsum(column) for column in zip(*pi)]
    pi = [[v / t for v, t in zip(row, total)] for row in pi]
    return [
        [[mp.mpf(float(v)) * a * ((k == m) - b) for v, a, b in zip(w, pi[k], pi[m])] for m in range(len(pi))]
        for k in range(len(pi))
    ]


def mixture_reference(X, K, mean_scale=2.0, a=1.0, b=1.0, c=1.0):
    """The sum over all allocations of a diagonal mixture (rows of weight one)."""
    n, p = X.shape
    data = [[mp.mpf(float(v)) for v in x] for x in X]

    def block(rows):
        total, m = mp.mpf(0), len(rows)
        if not m:
            return total
        tau = 1 / mp.mpf(mean_scale) ** 2
        for j in range(p):
            x = [data[r][j] for r in rows]
            mean = mp.fsum(x) / m
            ss = mp.fsum((v - mean) ** 2 for v in x) + m * tau / (m + tau) * mean**2
            shape = mp.mpf(b) + mp.mpf(m) / 2
            total += mp.log(tau / (m + tau)) / 2 - mp.mpf(m) / 2 * mp.log(2 * mp.pi)
            total += b * mp.log(mp.mpf(c)) - mp.loggamma(b) + mp.loggamma(shape) - shape * mp.log(c + ss / 2)
        return total

    known = {}
    terms = []
    for z in itertools.product(range(K), repeat=n):
        groups = tuple(tuple(np.flatnonzero(np.array(z) == k)) for k in range(K))
        total = mp.loggamma(K * a) - mp.loggamma(K * a + n)
        for group in groups:
            if group not in known:
                known[group] = block(group) + mp.loggamma(a + len(group)) - mp.loggamma(a)
            total += known[group]
        terms.append(total)
    top = max(terms)
    return float(top + mp.log(mp.fsum(mp.e ** (t - top) for t in terms))), 0.0


# -- cases: (estimator, X, y, weight, reference) ------------------------------------------------------------


def linear(rng):
    n, p = int(rng.choice([1, 2, 3, 7, 20, 60, 150])), int(rng.integers(1, 5))
    X, w = columns(rng, n, p), weights_of(rng, n)
    y = linear_predictor(X, rng) + rng.choice([0.1, 1.0]) * rng.standard_normal(n)
    y = y * 10.0 ** rng.choice([0, 0, 0, 0, -6, 3]) + rng.choice([0.0, 0.0, 0.0, 100.0])
    intercept = bool(rng.random() < 0.8)
    settings = dict(
        coef_scale=float(rng.choice([1.0, 1.0, 10.0, 1e-3, 1e8])), fit_intercept=intercept,
        intercept_scale=float(rng.choice([1.0, 1.0, 100.0])),
    )  # fmt: skip
    scales = [settings["coef_scale"]] * p + [settings["intercept_scale"]] * intercept
    noise, prior = (float(rng.choice([0.1, 1.0, 5.0])), 1.0) if rng.random() < 0.4 else (None, 1.0)
    if noise is not None:
        settings["noise_std"] = noise
    elif rng.random() < 0.3:
        settings["noise_prior"] = prior = (1.0, 1.0)
    sampler = rng.choice([None] * 5 + [Exact(), Laplace(), SGAIS(proposal=None), AIS(), NestedSampling()])
    model = BayesianLinearRegression(**settings, sampler=sampler, standardize=False)
    return model, X, y, w, lambda: linear_reference(X, y, w, scales, intercept, noise, prior)


def poisson(rng):
    n, p = int(rng.choice([1, 3, 10, 30])), int(rng.integers(1, 4))
    X, w = columns(rng, n, p), weights_of(rng, n)
    y = rng.poisson(np.exp(np.clip(linear_predictor(X, rng), -5, 3))).astype(float)
    intercept = bool(rng.random() < 0.8)
    scale = float(rng.choice([1.0, 1.0, 0.1, 10.0]))
    sampler = rng.choice([None] * 5 + [Laplace(), SGAIS(proposal=None), SIR()])
    model = BayesianGLM(coef_scale=scale, fit_intercept=intercept, sampler=sampler, standardize=False)
    scales = [scale] * p + [1.0] * intercept
    seed = int(rng.integers(2**31))
    return model, X, y, w, lambda: glm_reference(X, y, w, scales, intercept, np.random.default_rng(seed))


def softmax(rng):
    n, p, K = int(rng.choice([2, 5, 12, 30])), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    X, w = columns(rng, n, p), weights_of(rng, n)
    y = (
        rng.integers(0, K, n)
        if rng.random() < 0.5
        else np.searchsorted([0.0, 1.0][: K - 1], linear_predictor(X, rng))
    )
    y[:2] = 0, 1
    labels, y = np.unique(y, return_inverse=True)
    K = len(labels)
    scale = float(rng.choice([1.0, 1.0, 10.0]))
    sampler = rng.choice([None] * 5 + [Laplace(), SGAIS(proposal=None), AIS()])
    model = BayesianSoftmaxRegression(coef_scale=scale, sampler=sampler, standardize=False)
    scales = [scale] * p + [1.0]
    seed = int(rng.integers(2**31))
    return model, X, y, w, lambda: glm_reference(X, y, w, scales, True, np.random.default_rng(seed), K)


def mixture(rng):
    n, p, K = int(rng.choice([1, 2, 4, 6, 8])), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    X = columns(rng, n, p)
    model = BayesianGMM(
        n_components=K, sampler=rng.choice([None] * 5 + [SGAIS(proposal=None), AIS()]), standardize=False
    )
    return model, X, None, np.ones(n), lambda: mixture_reference(X, K)


def _prior(rng, size):
    return rng.standard_normal((size, 2))


def _log_prior(theta):
    return -0.5 * (theta**2).sum(axis=1) - np.log(2 * np.pi)


def custom(rng):
    """A normal mean in two dimensions, impossible (or nearly) where θ₁ < c; exact by the normal's tail."""
    n, c = int(rng.choice([1, 5, 50, 500])), float(rng.choice([-3.0, 0.0, 1.0, 2.0]))
    low = float(rng.choice([-np.inf, -1e6, -1e10, -1e15, -1e300]))
    X = rng.standard_normal((n, 2)) * float(rng.choice([0.1, 1.0])) + rng.standard_normal(2)

    def log_likelihood(theta, X, y):
        import autograd.numpy as anp

        each = -0.5 * ((X[None] - theta[:, None]) ** 2).sum(axis=2) - np.log(2 * np.pi)
        return anp.where((theta[:, 0] < c)[:, None], low, each)

    def reference():
        total = mp.mpf(0)
        for j in range(2):
            x = [mp.mpf(float(v)) for v in X[:, j]]
            s, q, m = mp.fsum(x), mp.fsum(v * v for v in x), len(x)
            total += -mp.mpf(m) / 2 * mp.log(2 * mp.pi) - mp.log(m + 1) / 2 - (q - s * s / (m + 1)) / 2
            if j == 0:
                mean, sd = s / (m + 1), 1 / mp.sqrt(m + 1)
                total += mp.log(mp.erfc((c - mean) / sd / mp.sqrt(2)) / 2)
        if low == -1e6 and n == 1:  # the forbidden half-space is then merely unlikely
            return float(total), 1e-6
        return float(total), 0.0

    return (
        BayesianModel(log_likelihood, sample_prior=_prior, log_prior=_log_prior),
        X,
        None,
        np.ones(n),
        reference,
    )


KINDS = dict(linear=linear, poisson=poisson, softmax=softmax, mixture=mixture, custom=custom)


class TookTooLong(Exception):
    """A fit was stopped."""


def _stop(*_):
    raise TookTooLong


def run(number, kinds):
    rng = np.random.default_rng(number)
    kind = kinds[number % len(kinds)]
    model, X, y, w, reference = KINDS[kind](rng)
    model.set_params(random_state=int(rng.integers(2**31)))
    name = "default" if model.sampler is None else repr(model.sampler)
    streamed = model.sampler is None and rng.random() < 0.35 and len(X) > 1
    line = dict(number=number, kind=kind, sampler=name, n=len(X), p=X.shape[1], streamed=streamed)
    target = () if y is None else (y,)
    if y is None and kind == "custom":
        target = (np.zeros(len(X)),)
    start = time.perf_counter()
    signal.signal(signal.SIGPROF, _stop)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            if streamed:
                cuts = np.sort(rng.integers(0, len(X), int(rng.integers(1, 5))))
                for part in np.split(np.arange(len(X)), cuts):
                    if len(part):
                        some = [t[part] for t in target]
                        extra = dict(classes=np.unique(y)) if kind == "softmax" else {}
                        model.partial_fit(X[part].copy(), *some, sample_weight=w[part], **extra)
            else:
                model.fit(X, *target, sample_weight=w)
            line |= dict(log_evidence=float(model.log_evidence_), std=float(model.log_evidence_std_))
        except TookTooLong:
            line["verdict"] = "not ended"
        except Exception as error:
            line |= dict(error=type(error).__name__, words=str(error)[:160])
            line["readable"] = isinstance(error, (ValueError, DivergenceError)) and not isinstance(
                error, np.linalg.LinAlgError
            )
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    line["seconds"] = round(time.perf_counter() - start, 3)
    line["warned"] = [str(v.message)[:100] for v in caught if issubclass(v.category, EvidenceWarning)]
    line["other_warnings"] = [
        f"{v.category.__name__}: {v.message}"[:100]
        for v in caught
        if not issubclass(v.category, EvidenceWarning)
    ]
    if "verdict" in line:
        return line
    if "log_evidence" in line:
        try:
            line["reference"], line["reference_std"] = reference()
        except Exception as error:
            return line | dict(verdict="no reference", words=f"{type(error).__name__}: {error}")
        if not line["reference_std"] < VAGUE:
            return line | dict(verdict="no reference")
        off = line["log_evidence"] - line["reference"]
        line["off"] = off
        scale = np.hypot(line["std"], line["reference_std"])
        rounding = 1e-12 * abs(line["reference"])
        line["verdict"] = (
            "right" if np.isfinite(off) and abs(off) <= BEYOND * scale + NATS + rounding
            else "warned" if line["warned"] else "SILENT"
        )  # fmt: skip
    else:
        line["verdict"] = "refused" if line["readable"] else "UNREADABLE"
    return line


def report(run, kinds, words):
    """A line of JSON for each case that is asked for, and how often there was each verdict."""
    parser = argparse.ArgumentParser(description=words.splitlines()[0])
    parser.add_argument("--first", type=int, required=True, help="number of the first case")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", default=list(kinds), choices=list(kinds))
    args = parser.parse_args()
    counts = Counter()
    for number in range(args.first, args.first + args.count):
        line = run(number, args.kinds)
        counts[line["kind"], line["verdict"]] += 1
        print(json.dumps(line), flush=True)
    for (kind, verdict), count in sorted(counts.items()):
        print(f"# {kind:10} {verdict:12} {count}")


if __name__ == "__main__":
    report(run, KINDS, __doc__)
