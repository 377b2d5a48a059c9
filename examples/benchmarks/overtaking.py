"""Streams in which one mode overtakes another: the worst z over all calls, and whether it was said.

    OMP_NUM_THREADS=1 python overtaking.py custom 0 25       # seeds 0 to 24
    OMP_NUM_THREADS=1 python overtaking.py mixture 0 75

*custom*: y ~ N(μ(θ), s(θ)²), where each of two or three regions of θ has its own level, slope and noise,
with jumps between them, and pieces of 100 to 600 rows come from regions in turn.  A grid over θ gives the
evidence.  *mixture*: two to six groups of any width and size, two to four components, calls of 30 to 150
rows, held against one ``fit`` of the same rows at half of them, 70 %, 85 % and all.  Silently off is
|z| > 4.5.
"""

import argparse
import warnings
from time import process_time

import autograd.numpy as anp
import numpy as np
from scipy.special import logsumexp

from sgevidence import SGAIS, BayesianGMM, BayesianModel

#: What two error bars that miss each other's last digit may differ by, nats.
SLACK = 0.01


def regions(rng):
    """A model of jumps (three functions), rows in order, and the evidence of sums of them on a grid."""
    J = int(rng.integers(2, 4))
    centre = np.sort(rng.uniform(-3, 3, J)) + np.arange(J) * 1.5
    level, s, slope = rng.normal(size=J), np.exp(rng.normal(0, 0.3, J)), rng.uniform(0.3, 1.0, J)
    cut, t = (centre[1:] + centre[:-1]) / 2, np.linspace(-15, 15, 120_001)

    def mean_and_noise(theta):
        k = np.searchsorted(cut, theta)
        return level[k] + slope[k] * (theta - centre[k]), s[k]

    def log_likelihood(theta, X, y):
        raw = theta[:, :1]
        while hasattr(raw, "_value"):  # which region it is has no gradient
            raw = raw._value
        k = np.searchsorted(cut, raw)
        mean = level[k] + slope[k] * (theta[:, :1] - centre[k])
        return -0.5 * ((y - mean) / s[k]) ** 2 - anp.log(s[k]) - 0.5 * np.log(2 * np.pi)

    def log_prior(theta):
        return anp.sum(-0.5 * (theta / 3) ** 2 - np.log(3) - 0.5 * np.log(2 * np.pi), axis=1)

    n, pieces = int(rng.integers(6, 20)) * 100, []
    while sum(map(len, pieces)) < n:
        j = rng.integers(J)
        noise = s[j] * np.exp(rng.normal(0, 0.3))
        pieces.append(
            level[j] + rng.normal(0, 0.4) + noise * rng.standard_normal(int(rng.integers(100, 600)))
        )
    y = np.concatenate(pieces)[:n]
    mu, sigma = mean_and_noise(t)

    def exact(y):
        value = -0.5 * (np.sum(y**2) - 2 * mu * np.sum(y) + len(y) * mu**2) / sigma**2
        value = value - len(y) * np.log(sigma * np.sqrt(2 * np.pi)) + log_prior(t[:, None])
        return logsumexp(value) + np.log(t[1] - t[0])

    return (lambda rng, size: 3 * rng.standard_normal((size, 1)), log_prior, log_likelihood), y, exact


def custom(seed):
    """(what it was, z of every call, whether it was warned, seconds)."""
    rng = np.random.default_rng([9, seed])
    functions, y, exact = regions(rng)
    call, sampler = int(rng.choice([7, 25, 50, 130])), SGAIS() if seed % 3 else SGAIS(n_particles=60)
    draws, density, log_likelihood = functions
    model, z, seconds = (
        BayesianModel(
            log_likelihood, sample_prior=draws, log_prior=density, random_state=seed, sampler=sampler
        ),
        [],
        0.0,
    )
    for end in range(call, len(y) + call, call):
        part = y[end - call : end]
        start = process_time()
        model.partial_fit(np.zeros((len(part), 1)), part)
        seconds += process_time() - start
        error = model.log_evidence_ - exact(y[:end])
        z.append((error / (model.log_evidence_std_ + SLACK), error, bool(model.warnings_), min(end, len(y))))
    return f"{len(y)} rows in calls of {call}", z, seconds


def mixture(seed):
    rng = np.random.default_rng([seed, 77])
    p, G, K = int(rng.integers(1, 9)), int(rng.integers(2, 7)), int(rng.integers(2, 5))
    call = int(rng.choice([30, 50, 100, 150]))
    n = int(rng.integers(4, 14)) * 100 // call * call
    centre = rng.standard_normal((G, p)) * rng.uniform(0.5, 3)
    width = np.exp(rng.uniform(np.log(0.2), np.log(1.3), G))
    group = rng.choice(G, n, p=rng.dirichlet(np.ones(G)))
    X = centre[group] + width[group, None] * rng.standard_normal((n, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model, z, seconds = BayesianGMM(K, random_state=seed, standardize=False), [], 0.0
    marks = {int(n * part) // call * call for part in (0.5, 0.7, 0.85, 1)}
    for end in range(call, n + call, call):
        start = process_time()
        model.partial_fit(X[end - call : end])
        seconds += process_time() - start
        if end in marks:
            fit = BayesianGMM(K, random_state=1000 + seed, standardize=False).fit(X[:end])
            std = np.hypot(model.log_evidence_std_, fit.log_evidence_std_) + SLACK
            error = model.log_evidence_ - fit.log_evidence_
            z.append((error / std, error, bool(model.warnings_ or fit.warnings_), end))
    return f"{n} rows in calls of {call}, {p} columns, {G} groups, K = {K}", z, seconds


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["custom", "mixture"])
    parser.add_argument("first", type=int)
    parser.add_argument("size", type=int)
    args = parser.parse_args(argv)
    n_off, total = 0, 0.0
    for seed in range(args.first, args.first + args.size):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what, z, seconds = {"custom": custom, "mixture": mixture}[args.kind](seed)
        silent = [one for one in z if not one[2]]
        worst = max(silent, key=lambda one: abs(one[0]), default=(0.0, 0.0, True, 0))
        off = abs(worst[0]) > 4.5
        n_off, total = n_off + off, total + seconds
        said = "" if len(silent) == len(z) else f"; warned at {len(z) - len(silent)} of {len(z)}"
        print(
            f"{seed}: {what}: worst z {worst[0]:+.1f} ({worst[1]:+.2f} nats after {worst[3]} rows), "
            f"{seconds:.1f} s{said}{'  OFF' if off else ''}",
            flush=True,
        )
    print(f"{n_off} of {args.size} silently off, {total:.0f} s")


if __name__ == "__main__":
    main()
