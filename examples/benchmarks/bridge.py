"""Bridge sampling from long Metropolis-corrected HMC runs on all rows: where nothing simpler works.

For mixtures the chains stay in one labelling (:class:`references.Region`), and log K! is added.
"""

import warnings
from typing import NamedTuple

import numpy as np
from references import Reference, Region, Student, effective_fraction, find_mode
from scipy.linalg import solve_triangular
from scipy.special import expit, logsumexp
from sklearn.mixture import GaussianMixture

from sgevidence.kernels import hmc


class Chains(NamedTuple):
    theta: np.ndarray  #: (sweeps, chains, d)
    log_joint: np.ndarray  #: (sweeps, chains)
    region: Region  #: the labelling they stayed in
    r_hat: float
    acceptance: float


class Students(NamedTuple):
    """A mixture of t distributions: two modes close by, or a bent posterior, need more than one."""

    weights: np.ndarray
    parts: list[Student]

    @classmethod
    def fit(cls, cloud, size=8, df=12.0) -> "Students":
        mean, L = cloud.mean(axis=0), np.linalg.cholesky(np.cov(cloud.T))
        white = solve_triangular(L, (cloud - mean).T, lower=True).T
        mixture = GaussianMixture(size, reg_covar=1e-3, max_iter=50, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # any fit serves
            mixture.fit(white)
        moments = zip(mixture.means_, mixture.covariances_)
        return cls(
            mixture.weights_, [Student(mean + L @ m, L @ np.linalg.cholesky(C), df) for m, C in moments]
        )

    def draw(self, rng, size):
        counts = rng.multinomial(size, self.weights / self.weights.sum())
        return np.concatenate([part.draw(rng, n) for part, n in zip(self.parts, counts)])

    def log_density(self, theta):
        each = [np.log(w) + part.log_density(theta) for w, part in zip(self.weights, self.parts)]
        return logsumexp(each, axis=0)


def run_chains(model, rows, region, theta, L, rng, n_burn, n_keep, path=1.5) -> Chains:
    """Metropolis-corrected HMC on all rows, in one labelling: proposals that leave it are rejected.

    Burn-in adapts the step and, three times, the preconditioner and the slots of the labelling (moments of
    all chains); then all are frozen.
    """
    n_chains, d = theta.shape
    log_eps, burned, kept, values, accepted = np.log(0.5), [], [], [], []
    for sweep in range(n_burn + n_keep):
        if sweep in (n_burn // 4, n_burn // 2, 3 * n_burn // 4) and (sweep - sweep // 2) * n_chains > 10 * d:
            cloud = np.concatenate(burned[sweep // 2 :])
            L = np.linalg.cholesky(np.cov(cloud.T))
            if region.slots is not None:  # relabelling moves no mass: the labellings are equal
                F = cloud[:, model.slots]
                region = region._replace(slots=(F.mean(axis=0), F.var(axis=0)))
                theta = model.canonicalize(theta, region.slots)

        def target(phi, L=L, region=region):
            x = phi @ L.T
            value, grad = model.value_and_grad_log_joint(x, rows)
            return np.where(region.holds(x), value, -np.inf), grad @ L

        here, steps = None, int(np.clip(round(path / np.exp(log_eps)), 1, 40))
        for _ in range(2):
            phi = solve_triangular(L, theta.T, lower=True).T
            eps = np.exp(log_eps) * rng.uniform(0.5, 1.2, n_chains)
            phi, info = hmc(phi, target, rng, eps=eps, L=steps, here=here)
            theta, here = phi @ L.T, info.here
        if sweep < n_burn:
            log_eps += 0.3 * (info.acceptance - 0.8) / (1 + 10 * sweep / n_burn)
            burned.append(theta)
        else:
            kept.append(theta)
            values.append(info.here[0])
            accepted.append(info.acceptance)
    theta, half = np.array(kept), n_keep // 2
    parts = np.concatenate([theta[:half], theta[half : 2 * half]], axis=1)  # split chains
    within, between = parts.var(axis=0, ddof=1).mean(axis=0), parts.mean(axis=0).var(axis=0, ddof=1)
    r_hat = float(np.sqrt(1 + np.max(between / within)))
    return Chains(theta, np.array(values), region, r_hat, float(np.mean(accepted)))


def bridge(model, rows, start, rng, n_chains=64, n_burn=200, n_keep=400) -> Reference:
    """Long HMC runs on all rows, then Meng and Wong's iterative bridge to a fit to the other half's draws.

    The chains of one half know nothing of those of the other, so that fit and use are independent.
    """
    mode, P, _ = find_mode(model, rows, start)
    region, L = Region.around(model, mode, P), np.linalg.cholesky(np.linalg.inv(P))
    theta = Student(mode, L, 20.0).draw(rng, 4 * n_chains)
    theta = theta[region.holds(theta)][:n_chains]
    chains = run_chains(model, rows, region, theta, L, rng, n_burn, n_keep)
    halves = slice(None, len(theta) // 2), slice(len(theta) // 2, None)
    answers = []
    for fit, use in (halves, halves[::-1]):
        theta, log_p = chains.theta[:, use], chains.log_joint[:, use]
        q = Students.fit(chains.theta[:, fit].reshape(-1, len(mode)))
        proposals = q.draw(rng, min(log_p.size, 8000))
        l1 = log_p - q.log_density(theta.reshape(-1, len(mode))).reshape(log_p.shape)
        l2 = chains.region.log_joint(proposals, rows) - q.log_density(proposals)
        answers.append((*meng_wong(l1, l2), effective_fraction(l2)))
    log_Z, std, ess = np.mean(answers, axis=0)
    std = max(std / np.sqrt(2), abs(answers[0][0] - answers[1][0]) / 2)
    method = f"HMC + bridge, R-hat {chains.r_hat:.3f}, acceptance {chains.acceptance:.2f}"
    return Reference(float(log_Z + region.log_copies), float(std), float(ess), method, chains.r_hat)


def meng_wong(l1, l2, tolerance=1e-8):
    """Log normaliser from log(p/q) at draws of p (sweeps, chains) and of q (n,), and its standard error.

    The chains' autocorrelation enters through the spread of the chains' means.
    """
    chain_means = np.mean(l1 - l1.mean(), axis=0)
    inefficiency = max(1.0, len(l1) * chain_means.var(ddof=1) / l1.var())
    n1, n2 = l1.size / inefficiency, len(l2)
    log_s1, log_s2 = np.log(n1 / (n1 + n2)), np.log(n2 / (n1 + n2))
    # by bisection: where draws of p and of q lie far apart the iteration goes to and fro for hours
    finite = np.r_[l1.ravel(), l2[np.isfinite(l2)]]
    low, high = finite.min() + np.log(np.mean(np.isfinite(l2))), finite.max()
    while high - low > tolerance:
        r = 0.5 * (low + high)
        as_p = n1 * expit(log_s1 - log_s2 + l1 - r).mean() + expit(log_s1 - log_s2 + l2 - r).sum()
        low, high = (r, high) if as_p > n1 else (low, r)
    r = 0.5 * (low + high)
    f1, f2 = l2 - np.logaddexp(log_s1 + l2, log_s2 + r), -np.logaddexp(log_s1 + l1 - r, log_s2)
    f1, f2 = np.exp(f1 - f1.max()), np.exp(f2 - f2.max())
    means = f2.mean(axis=0)
    relative = f1.var() / n2 / f1.mean() ** 2 + means.var(ddof=1) / len(means) / f2.mean() ** 2
    return r, float(np.sqrt(relative))
