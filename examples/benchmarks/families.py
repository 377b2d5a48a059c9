"""Evidence of BayesianGLM with five coefficients, for each family, against importance sampling.

    python examples/benchmarks/families.py [n_seeds]

Densities and priors are scipy's; the proposal is a Student t at the mode that scipy's optimiser finds.  Then
log Bayes factors of negative binomial against Poisson, for overdispersed and for Poisson counts.
"""

import sys

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp

from sgevidence import BayesianGLM

N_ROWS, N_DRAWS = 80, 20_000
#: log density of y at η given the family's own parameters, and the priors of these.
LAWS = {
    "gaussian": lambda y, eta, s: stats.norm.logpdf(y, eta, s),
    "student_t": lambda y, eta, s, nu: stats.t.logpdf(y, nu, eta, s),
    "bernoulli": lambda y, eta: -np.logaddexp(0, (1 - 2 * y) * eta),
    "binomial": lambda y, eta: stats.binom.logpmf(y, 5, expit(eta)),
    "poisson": lambda y, eta: stats.poisson.logpmf(y, np.exp(eta)),
    "negative_binomial": lambda y, eta, a: stats.nbinom.logpmf(y, 1 / a, 1 / (1 + a * np.exp(eta))),
    "gamma": lambda y, eta, k: k * (np.log(k * y) - eta - y * np.exp(-eta)) - gammaln(k) - np.log(y),
    "zero_inflated_poisson": lambda y, eta, p: np.log(
        p * (y == 0) + (1 - p) * np.exp(stats.poisson.logpmf(y, np.exp(eta)))
    ),
}
HALF_T, EXPONENTIAL = (stats.t(3).logpdf, np.log(2)), (stats.expon().logpdf, 0.0)
OWN = {
    "gaussian": [HALF_T],
    "student_t": [HALF_T, (stats.gamma(2, scale=10).logpdf, 0.0)],
    "negative_binomial": [EXPONENTIAL],
    "gamma": [EXPONENTIAL],
    "zero_inflated_poisson": [(stats.uniform().logpdf, 0.0)],
}


def draw(family, eta, rng):
    """y of each row."""
    return {
        "gaussian": lambda: eta + 0.5 * rng.standard_normal(len(eta)),
        "student_t": lambda: eta + 0.5 * rng.standard_t(4, len(eta)),
        "bernoulli": lambda: (rng.random(len(eta)) < expit(eta)) * 1.0,
        "binomial": lambda: rng.binomial(5, expit(eta)) * 1.0,
        "poisson": lambda: rng.poisson(np.exp(eta)) * 1.0,
        "negative_binomial": lambda: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, len(eta))) * 1.0,
        "gamma": lambda: np.exp(eta) * rng.gamma(2.0, 0.5, len(eta)),
        "zero_inflated_poisson": lambda: rng.poisson(np.exp(eta + 1)) * (rng.random(len(eta)) > 0.3),
    }[family]()


def by_importance_sampling(family, Phi, y, rng):
    """Log evidence and its standard error, over (w, b, log own) with five coefficients."""
    priors, q = OWN.get(family, []), Phi.shape[1]

    def log_joint(theta):
        log_own = [theta[:, q + k : q + k + 1] for k in range(len(priors))]
        prior = stats.norm.logpdf(theta[:, :q]).sum(axis=1)
        for t, (log_density, constant) in zip(log_own, priors):
            prior = prior + (log_density(np.exp(t)) + constant + t)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = LAWS[family](y, theta[:, :q] @ Phi.T, *map(np.exp, log_own)).sum(axis=1)
        return np.nan_to_num(prior + likelihood, nan=-np.inf, neginf=-np.inf)

    d = q + len(priors)
    start = np.r_[np.zeros(q), -0.7 * np.ones(len(priors))]
    mode = minimize(lambda t: -max(log_joint(t[None])[0], -1e10), start).x
    steps = 1e-3 * np.eye(d)
    pairs = np.array([[a + b, a - b, b - a, -a - b] for a in steps for b in steps]).reshape(-1, d)
    curvature = log_joint(mode + pairs).reshape(d, d, 4) @ [-1, 1, 1, -1] / 4e-6
    proposal = stats.multivariate_t(mode, 1.2 * np.linalg.inv(curvature), df=5)
    theta = proposal.rvs(N_DRAWS, random_state=rng)
    log_w = log_joint(theta) - proposal.logpdf(theta)
    exact = logsumexp(log_w) - np.log(N_DRAWS)
    return exact, np.std(np.exp(log_w - exact)) / np.sqrt(N_DRAWS)


def rows(family, seed):
    """X of four columns, and y."""
    rng = np.random.default_rng([seed, 41])
    X = rng.standard_normal((N_ROWS, 4))
    return X, draw(family, X @ [0.5, -0.5, 0.3, 0.0] + 0.4, rng), rng


def z_scores(family, n_seeds):
    """Errors in units of the standard errors of both, and the mean standard error of the estimator."""
    found, stds = [], []
    for seed in range(n_seeds):
        X, y, rng = rows(family, seed)
        known = {"trials": 5} if family == "binomial" else {}
        model = BayesianGLM(family, random_state=seed, standardize=False).fit(X, y, **known)
        exact, error = by_importance_sampling(family, np.column_stack([X, np.ones(N_ROWS)]), y, rng)
        found.append((model.log_evidence_ - exact) / np.hypot(model.log_evidence_std_, error))
        stds.append(model.log_evidence_std_)
    return np.array(found), np.mean(stds)


if __name__ == "__main__":
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for family in LAWS:
        z, std = z_scores(family, n_seeds)
        print(
            f"{family:22s} largest |z| {np.abs(z).max():.2f}  mean z {z.mean():+.2f}  std {std:.3f}",
            flush=True,
        )
    for truth in ("negative_binomial", "poisson"):
        factors = []
        for seed in range(n_seeds):
            X, y, _ = rows(truth, seed)
            fits = [
                BayesianGLM(name, random_state=seed).fit(X, y) for name in ("negative_binomial", "poisson")
            ]
            factors.append(fits[0].log_evidence_ - fits[1].log_evidence_)
        print(f"log Bayes factors for the negative binomial, {truth} counts:", np.sort(factors).round(1))
