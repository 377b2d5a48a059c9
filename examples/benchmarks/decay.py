"""A custom model beside nautilus and dynesty: time at equal error.

    python decay.py --seeds 3 --markdown decay.md

An exponential decay with Student-t noise in 200 rows, five parameters with scipy's priors.  All get the same
likelihood of many parameters at once; the peers have their defaults and a prior transform.  Errors of all
fall as one over the square root of the time, so that a peer's time at our error bar is its own time times the
square of the ratio of bars.  The reference is importance sampling from a t density at the mode.

    pip install dynesty nautilus-sampler
"""

import argparse
import warnings
from time import process_time

import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import gammaln
from bench import check_one_thread, number, report, seconds
from scipy.stats import expon, gamma, multivariate_t, norm

from sgevidence import BayesianModel

PRIORS = {
    "start": norm(0, 5),
    "rate": gamma(2, scale=0.5),
    "end": norm(0, 5),
    "noise": expon(scale=1.0),
    "freedom": gamma(2, scale=10.0),
}


def rows(seed):
    """200 rows from one truth, another for every seed."""
    rng = np.random.default_rng([seed, 1])
    t = rng.uniform(0, 5, 200)
    clean = rng.normal(0, 4) * np.exp(-rng.gamma(4, 0.3) * t) + rng.normal()
    return t[:, None], clean + 0.3 * rng.standard_t(4, 200)


def log_likelihood(p, X, y):
    """Log-density of each row under each θ, (M, n); parameters are (M, 1)."""
    a, b, c, s, nu = (p[name] for name in PRIORS)
    z = (y - a * anp.exp(-b * X[:, 0]) - c) / s
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * anp.log(nu * np.pi) - anp.log(s)
    return constant - (nu + 1) / 2 * anp.log1p(z**2 / nu)


def peer_likelihood(X, y):
    """For peers: θ (d,) or (M, d), sums over rows."""

    def function(theta):
        theta = np.atleast_2d(theta)
        p = dict(zip(PRIORS, theta.T[:, :, None]))
        total = log_likelihood(p, X, y).sum(axis=1)
        return np.where(np.isfinite(total), total, -1e300)

    return function


def prior_transform(u):
    return np.stack([d.ppf(u[..., j]) for j, d in enumerate(PRIORS.values())], axis=-1)


def ours(X, y, seed):
    model = BayesianModel(log_likelihood, priors=PRIORS, random_state=seed).fit(X, y)
    return model.log_evidence_, model.log_evidence_std_


def nautilus(X, y, seed):
    from nautilus import Sampler

    sampler = Sampler(
        prior_transform, peer_likelihood(X, y), n_dim=5, vectorized=True, pass_dict=False, seed=seed
    )
    sampler.run(verbose=False)
    return sampler.log_z, 1 / np.sqrt(sampler.n_eff)


def dynesty(X, y, seed):
    from dynesty import NestedSampler

    likelihood = peer_likelihood(X, y)
    sampler = NestedSampler(
        lambda theta: likelihood(theta)[0], prior_transform, 5, rstate=np.random.default_rng(seed)
    )
    sampler.run_nested(print_progress=False)
    return sampler.results.logz[-1], sampler.results.logzerr[-1]


def reference(X, y, seed, n=400_000):
    """Importance sampling from a t density fitted to draws of nautilus, positive parameters by logarithms."""
    from nautilus import Sampler

    sampler = Sampler(
        prior_transform, peer_likelihood(X, y), n_dim=5, vectorized=True, pass_dict=False, seed=seed + 1000
    )
    sampler.run(verbose=False)
    theta, log_w, _ = sampler.posterior()
    positive = [1, 3, 4]
    phi = theta.copy()
    phi[:, positive] = np.log(phi[:, positive])
    w = np.exp(log_w - log_w.max())
    mean, cov = np.average(phi, axis=0, weights=w), np.cov(phi.T, aweights=w)
    q = multivariate_t(mean, 1.2 * cov, df=6, seed=seed)
    draws = q.rvs(n)
    theta = draws.copy()
    theta[:, positive] = np.exp(draws[:, positive])
    log_prior = sum(d.logpdf(theta[:, j]) for j, d in enumerate(PRIORS.values())) + draws[:, positive].sum(1)
    likelihood = peer_likelihood(X, y)
    log_like = np.concatenate([likelihood(part) for part in np.array_split(theta, 100)])
    log_w = log_like + log_prior - q.logpdf(draws)
    top = log_w.max()
    w = np.exp(log_w - top)
    return top + np.log(w.mean()), w.std() / w.mean() / np.sqrt(n)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--markdown")
    args = parser.parse_args()
    check_one_thread()
    methods = {"sgevidence": ours, "nautilus": nautilus, "dynesty": dynesty}
    found = {name: [] for name in methods}
    for seed in range(args.seeds):
        X, y = rows(seed)
        log_Z, error = reference(X, y, seed)
        for name, method in methods.items():
            start = process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value, std = method(X, y, seed)
            found[name].append((value - log_Z, std, process_time() - start))
            print(
                f"seed {seed} {name}: {value:.3f} ± {std:.3f}, reference {log_Z:.3f} ± {error:.3f}",
                flush=True,
            )
    bars, times = ({name: np.median([r[k] for r in v]) for name, v in found.items()} for k in (1, 2))
    body = []
    for name, v in found.items():
        errors = np.array([r[0] for r in v])
        equal = times[name] * max(1.0, bars[name] / bars["sgevidence"]) ** 2
        body.append(
            [name, number(np.sqrt(np.mean(errors**2)), 3), number(bars[name], 3), seconds(times[name]),
             seconds(equal), number(equal / times["sgevidence"], 0)]
        )  # fmt: skip
    header = ["method", "RMS error", "median std", "time", "time at equal std", "ratio"]
    report("Exponential decay, five parameters, 200 rows", header, body, args.markdown)


if __name__ == "__main__":
    main()
