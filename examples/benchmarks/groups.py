"""Evidence of BayesianGLM with random intercepts, (1 | group), against nested quadrature.

    python examples/benchmarks/groups.py [n_seeds] [--first SEED] [--families poisson,bernoulli]

Data: 30 to 1000 groups of 3 to 10 rows, a column x, standard deviations of groups τ = 0, 0.2, 1, 2 in turn.
The reference is numpy and scipy alone: Gauss–Hermite quadrature around the mode of every group, importance
sampling by Student t over (w, b, τ, log α).  z is the error in units of the standard errors of both.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp

from sgevidence import BayesianGLM, Group

TAUS = (0.0, 0.2, 1.0, 2.0)
#: Nodes of each group, in standard deviations of a normal density, and their weights.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(35)
#: Newton steps to the modes of the groups, near which nodes serve as well, and steps of differences.
N_NEWTON_STEPS, ETA_STEP, STEP = 8, 1e-3, 0.02
#: Sequences, whose spread is the error, points of each, points that fit the proposal, degrees of its t.
N_SEQUENCES, N_POINTS, N_PILOT_POINTS, DEGREES = 16, 32, 128, 6
#: Draws of y, log p(y | η, own parameters) up to a constant, and the constant's sum over rows.
LAWS = {
    "bernoulli": (
        lambda eta, rng: (rng.random(len(eta)) < expit(eta)) * 1.0,
        lambda y, eta: y * eta - np.logaddexp(0, eta),
        lambda y: 0.0,
    ),
    "poisson": (
        lambda eta, rng: rng.poisson(np.exp(eta)) * 1.0,
        lambda y, eta: y * eta - np.exp(eta),
        lambda y: -gammaln(y + 1).sum(),
    ),
    "negative_binomial": (
        lambda eta, rng: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, len(eta))) * 1.0,
        lambda y, eta, a: y * eta - (y + 1 / a) * np.log1p(a * np.exp(eta)),
        lambda y, a: np.sum(gammaln(y + 1 / a) - gammaln(1 / a) - gammaln(y + 1) + y * np.log(a)),
    ),
}


class Reference(NamedTuple):
    """log p(y, w, b, ±τ, log α) with the effects of all groups integrated, even in τ."""

    family: str
    x: np.ndarray
    y: np.ndarray
    starts: np.ndarray  #: first row of each group
    sizes: np.ndarray

    def modes(self, kernel, fixed, tau, own):
        """Modes and widths of standard normal effects, (G,)."""
        v = np.zeros(len(self.starts))
        for _ in range(N_NEWTON_STEPS):
            eta = fixed + tau * np.repeat(v, self.sizes)
            low, at, high = (kernel(self.y, eta + k * ETA_STEP, *own) for k in (-1, 0, 1))
            score = np.add.reduceat(high - low, self.starts) / (2 * ETA_STEP)
            precision = 1 + tau**2 * np.add.reduceat(2 * at - low - high, self.starts) / ETA_STEP**2
            v += np.clip((tau * score - v) / precision, -1, 1)
        return v, precision**-0.5

    def log_density(self, theta):
        _, kernel, constant = LAWS[self.family]
        (w, b, tau), log_own = theta[:3], theta[3:]
        own, fixed = np.exp(log_own), w * self.x + b
        v, width = self.modes(kernel, fixed, tau, own)
        at = v + NODES[:, None] * width
        eta = fixed + tau * np.repeat(at, self.sizes, axis=1)
        joint = np.add.reduceat(kernel(self.y, eta, *own), self.starts, axis=1) - 0.5 * at**2
        joint += (np.log(NODE_WEIGHTS) + 0.5 * NODES**2)[:, None] + np.log(width)
        groups = logsumexp(joint, axis=0).sum() - 0.5 * len(v) * np.log(2 * np.pi)
        prior = stats.norm.logpdf([w, b]).sum() + stats.t.logpdf(tau, 3) + np.sum(log_own - own)  # α ~ Exp(1)
        return groups + constant(self.y, *own) + prior

    def points(self, mean, covariance, n, rng):
        """A sequence of a Student t of ±τ, folded to τ > 0, and log weights."""
        u = stats.qmc.Sobol(len(mean) + 1, rng=rng).random(n)
        s = stats.norm.ppf(u[:, 1:]) / np.sqrt(stats.chi2.ppf(u[:, :1], DEGREES) / DEGREES)
        theta = mean + s @ np.linalg.cholesky(covariance).T
        log_q = stats.multivariate_t(mean, covariance, df=DEGREES).logpdf
        turned = theta * np.where(np.arange(len(mean)) == 2, -1, 1)
        log_q = np.logaddexp(log_q(theta), log_q(turned)) - np.log(2)
        return theta, np.array([self.log_density(one) for one in theta]) - log_q

    def log_evidence(self, rng):
        """Log evidence and its standard error."""
        start = np.r_[0.0, 0.0, 0.5, -np.ones(int(self.family == "negative_binomial"))]
        with np.errstate(all="ignore"):
            mode = minimize(lambda t: -np.nan_to_num(self.log_density(t), nan=-1e9), start, method="BFGS").x
            e, f = STEP * np.eye(len(mode)), self.log_density
            second = [
                [f(mode + i - j) + f(mode - i + j) - f(mode + i + j) - f(mode - i - j) for i in e] for j in e
            ]
            values, axes = np.linalg.eigh(np.array(second) / (2 * STEP) ** 2)
            covariance = (axes / np.maximum(values, 1.0)) @ axes.T  # the prior is hardly wider
            theta, log_w = self.points(mode, 1.5 * covariance, N_PILOT_POINTS, rng)
            weight = np.exp(log_w - logsumexp(log_w))
            spread = (weight[:, None] * (theta - weight @ theta)).T @ (theta - weight @ theta)
            log_w = [self.points(weight @ theta, 1.2 * spread, N_POINTS, rng)[1] for _ in range(N_SEQUENCES)]
        means = logsumexp(log_w, axis=1) - np.log(N_POINTS)
        share = np.exp(means - means.max())
        error = share.std(ddof=1) / share.mean() / np.sqrt(N_SEQUENCES)
        return means.max() + np.log(share.mean()), error


def rows(family, tau, rng):
    """x, y and the group of each row."""
    n_groups = int(np.exp(rng.uniform(np.log(30), np.log(1000))))
    group = np.repeat(np.arange(n_groups), rng.integers(3, 11, n_groups))
    x = rng.standard_normal(len(group))
    eta = 0.4 * x - 0.3 + tau * rng.standard_normal(n_groups)[group]
    return x, LAWS[family][0](eta, rng), group


def fit(family, seed):
    """z, the two standard errors and processor time of a fit; prints them."""
    rng, tau = np.random.default_rng([seed, list(LAWS).index(family), 30]), TAUS[seed % len(TAUS)]
    x, y, group = rows(family, tau, rng)
    model = BayesianGLM(family, terms=[Group("group")], standardize=False, random_state=seed)
    began = time.process_time()
    model.fit(pd.DataFrame({"x": x, "group": group}), y)
    seconds = time.process_time() - began
    starts, sizes = np.unique(group, return_index=True, return_counts=True)[1:]
    exact, error = Reference(family, x, y, starts, sizes).log_evidence(rng)
    z = (model.log_evidence_ - exact) / np.hypot(model.log_evidence_std_, error)
    found = f"{model.log_evidence_:.3f} ± {model.log_evidence_std_:.4f}  reference ± {error:.4f}  z {z:+.2f}"
    size = f"seed {seed}  τ {tau:<3g}  {len(sizes):4d} groups {len(y):5d} rows"
    print(f"{family:18s} {size}  {found}  {seconds:.1f} s", flush=True)
    return z, model.log_evidence_std_, seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_seeds", nargs="?", type=int, default=8)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--families", default=",".join(LAWS))
    args = parser.parse_args()
    for family in args.families.split(","):
        z, std, seconds = np.array([fit(family, args.first + k) for k in range(args.n_seeds)]).T
        of_z = f"mean {z.mean():+.2f}  sd {z.std():.2f}  largest {np.abs(z).max():.2f}"
        print(f"{family:18s} z: {of_z}  ± up to {std.max():.4f}  up to {seconds.max():.1f} s", flush=True)
