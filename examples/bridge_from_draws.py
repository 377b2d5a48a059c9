"""
The evidence of draws that you have already
===========================================

Most programs for Bayesian models give draws of the posterior and no evidence.  ``bridge_evidence`` makes one
of the draws and the log density that they were drawn from.

Eight schools (Rubin 1981) coached their pupils for a test; each reports an effect and its standard error.
Are the effects equal, or does each school have its own?  With a common effect μ, school effects μ + τ η_j
and standard normal η_j this is τ = 0 against τ > 0.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import dblquad, quad
from scipy.stats import halfnorm, norm

from sgevidence import bridge_evidence

effect = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

# %%
# The log density is on an unconstrained scale, (μ, log τ, η_1 … η_8): log τ brings its Jacobian.  All
# constants of prior and likelihood are in it, since the evidence counts them.


def own_effects(theta):
    mu, log_tau, eta = theta[:, :1], theta[:, 1], theta[:, 2:]
    tau = np.exp(log_tau)
    log_prior = norm.logpdf(mu[:, 0], scale=10) + halfnorm.logpdf(tau, scale=10) + log_tau
    log_prior += norm.logpdf(eta).sum(axis=1)
    return log_prior + norm.logpdf(effect, mu + tau[:, None] * eta, error).sum(axis=1)


def one_effect(theta):
    return norm.logpdf(theta[:, 0], scale=10) + norm.logpdf(effect, theta, error).sum(axis=1)


# %%
# Draws of any sampler will do; here random-walk Metropolis, eight chains side by side, of which every tenth
# draw is kept.  A first run finds the shape of the proposals.


def metropolis(log_density, start, L, n, rng):
    """n draws of each chain, (chains, n, d), with steps of covariance L L'."""
    theta, log_p, kept = start, log_density(start), []
    for step in range(10 * n):
        proposed = theta + rng.standard_normal(theta.shape) @ L.T
        proposed_log_p = log_density(proposed)
        accept = np.log(rng.random(len(theta))) < proposed_log_p - log_p
        theta = np.where(accept[:, None], proposed, theta)
        log_p = np.where(accept, proposed_log_p, log_p)
        if step % 10 == 9:
            kept.append(theta)
    return np.stack(kept, axis=1)


def sample(log_density, d, rng, n=500):
    pilot = metropolis(log_density, rng.standard_normal((8, d)), 0.5 * np.eye(d), 500, rng)[:, 250:]
    L = 2.4 / np.sqrt(d) * np.linalg.cholesky(np.atleast_2d(np.cov(pilot.reshape(-1, d).T)))
    return metropolis(log_density, pilot[:, -1], L, n, rng)


rng = np.random.default_rng(1)
draws = {"own effects": sample(own_effects, 10, rng), "one effect": sample(one_effect, 1, rng)}
found = {
    "own effects": bridge_evidence(draws["own effects"], own_effects, random_state=0),
    "one effect": bridge_evidence(draws["one effect"], one_effect, random_state=0),
}

# %%
# The effects of the schools can be integrated out, so that quadrature knows the answers.


def marginal(tau, mu):
    return np.exp(norm.logpdf(effect, mu, np.hypot(error, tau)).sum() + norm.logpdf(mu, scale=10))


exact = {
    "own effects": np.log(
        dblquad(lambda tau, mu: marginal(tau, mu) * halfnorm.pdf(tau, scale=10), -50, 60, 0, 60)[0]
    ),
    "one effect": np.log(quad(lambda mu: marginal(0.0, mu), -60, 60)[0]),
}
for name, result in found.items():
    print(
        f"{name:12} {result.log_evidence:.4f} ± {result.log_evidence_std:.4f} nats, exact {exact[name]:.4f}"
    )

# %%
# The data do not know whether schools differ: the two evidences are within a nat.  The error bars are far
# smaller than that, so longer chains would not help; other data would.
#
# Doubts about an answer are in ``doubts`` and are warned of; here the chains are short:

short = bridge_evidence(draws["own effects"][:, :50], own_effects, random_state=0)
print(f"{short.log_evidence:.2f} ± {short.log_evidence_std:.2f}", *short.doubts, sep="\n")

# %%

lengths = [60, 120, 250, 500]
runs = [bridge_evidence(draws["own effects"][:, :n], own_effects, random_state=0) for n in lengths]
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.errorbar(lengths, [r.log_evidence for r in runs], [r.log_evidence_std for r in runs], fmt="o", capsize=3)
ax.axhline(exact["own effects"], color="black", linewidth=1, label="quadrature")
ax.set(xscale="log", xlabel="draws of each of eight chains", ylabel="log evidence (nats)")
ax.set_xticks(lengths, lengths, minor=False)
ax.set_xticks([], minor=True)
ax.legend()
