"""
A model of your own: are the errors Gaussian or heavy-tailed?
=============================================================

Any model whose prior and likelihood can be written for many parameter vectors at once: three functions in
``autograd.numpy``.  Parameters are unconstrained, so that a transformed one brings its Jacobian, and
densities are normalised, because the evidence counts every constant.

Here a regression with Student-t errors against one with Gaussian errors, on rows with a few outliers.
"""

import autograd.numpy as np
import matplotlib.pyplot as plt
from autograd.scipy.special import gammaln

from sgevidence import BayesianModel, compare

LOG_2PI = np.log(2 * np.pi)


def sample_prior(rng, size):
    """Intercept, slope and log σ, all N(0, 1)."""
    return rng.standard_normal((size, 3))


def log_prior(theta):
    return -0.5 * np.sum(theta**2, axis=1) - 1.5 * LOG_2PI


def residuals(theta, X, y):
    """Particles down, rows across, in units of σ; and log σ."""
    mean = theta[:, :1] + theta[:, 1:2] * X[:, 0]
    return (y - mean) * np.exp(-theta[:, 2:]), theta[:, 2:]


def gaussian(theta, X, y):
    z, log_sigma = residuals(theta, X, y)
    return -0.5 * z**2 - log_sigma - 0.5 * LOG_2PI


def student_t(theta, X, y, df=3.0):
    z, log_sigma = residuals(theta, X, y)
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi)
    return constant - 0.5 * (df + 1) * np.log1p(z**2 / df) - log_sigma


rng = np.random.default_rng(0)
X = rng.standard_normal((120, 1))
y = 0.5 + 1.5 * X[:, 0] + 0.4 * rng.standard_normal(120)
y[:6] += rng.choice([-1, 1], size=6) * 3.0  # outliers

models = {
    name: BayesianModel(
        sample_prior=sample_prior, log_prior=log_prior, log_likelihood=likelihood, random_state=seed
    ).fit(X, y)
    for seed, (name, likelihood) in enumerate({"Gaussian": gaussian, "Student t": student_t}.items())
}
print(compare(models))

# %%
# The outliers pull the Gaussian's σ up; the Student t does not need to believe them.  ``theta`` of the
# posterior is in the unconstrained coordinates of the functions above:

for name, model in models.items():
    theta = model.posterior_samples()["theta"]
    intercept, slope, sigma = theta[:, 0].mean(), theta[:, 1].mean(), np.exp(theta[:, 2]).mean()
    print(f"{name:10} intercept {intercept:.2f}, slope {slope:.2f}, scale {sigma:.2f}")

    ends = np.array([X.min(), X.max()])
    line = intercept + slope * ends
    plt.plot(ends, line, label=f"{name}, ± scale")
    plt.fill_between(ends, line - sigma, line + sigma, alpha=0.2)
plt.plot(X[:, 0], y, ".", color="0.3")
plt.legend(frameon=False)
plt.show()

# %%
# The functions are tried before they are relied on: a wrong shape is refused by name, and a prior whose draws
# are not of its density is warned of.


def a_forgotten_axis(theta, X, y):
    return np.sum(gaussian(theta, X, y), axis=1)


try:
    BayesianModel(sample_prior=sample_prior, log_prior=log_prior, log_likelihood=a_forgotten_axis).fit(X, y)
except ValueError as error:
    print("ValueError:", error)
