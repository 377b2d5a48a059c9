"""
A model of your own: are the errors Gaussian or heavy-tailed?
=============================================================

Any model with a log likelihood: parameters have names and priors from ``scipy.stats``, in their own units,
and the likelihood is written for many parameter vectors at once, in ``autograd.numpy``.  Densities are
normalised, because the evidence counts every constant.

Here a regression with Student-t errors against one with Gaussian errors, on rows with a few outliers.
"""

import autograd.numpy as np
import matplotlib.pyplot as plt
from autograd.scipy.special import gammaln
from scipy import stats

from sgevidence import BayesianModel, compare

LOG_2PI = np.log(2 * np.pi)

priors = {"intercept": stats.norm(0, 1), "slope": stats.norm(0, 1), "scale": stats.lognorm(1)}


def line(p, X):
    """Parameters are columns (M, 1), so that the answer is (M, n): particles down, rows across."""
    return p["intercept"] + p["slope"] * X[:, 0]


def gaussian(p, X, y):
    z = (y - line(p, X)) / p["scale"]
    return -0.5 * z**2 - np.log(p["scale"]) - 0.5 * LOG_2PI


def student_t(p, X, y):
    z, df = (y - line(p, X)) / p["scale"], p["df"]
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi)
    return constant - 0.5 * (df + 1) * np.log1p(z**2 / df) - np.log(p["scale"])


rng = np.random.default_rng(0)
X = rng.standard_normal((120, 1))
y = 0.5 + 1.5 * X[:, 0] + 0.4 * rng.standard_normal(120)
y[:6] += rng.choice([-1, 1], size=6) * 3.0  # outliers

models = {
    "Gaussian": BayesianModel(gaussian, priors, mean=line, random_state=0).fit(X, y),
    "Student t": BayesianModel(
        student_t, priors | {"df": stats.gamma(2, scale=10)}, mean=line, random_state=1
    ).fit(X, y),
}
print(compare(models))

# %%
# The outliers pull the Gaussian's scale up; the Student t does not need to believe them.  Draws from the
# posterior have the names and units of the priors:

ends = np.array([[X.min()], [X.max()]])
for name, model in models.items():
    means = {k: v.mean() for k, v in model.posterior_samples().items()}
    print(f"{name:10}", ", ".join(f"{k} {mean:.2f}" for k, mean in means.items()))

    fitted = model.predict(ends)
    plt.plot(ends[:, 0], fitted, label=f"{name}, ± scale")
    plt.fill_between(ends[:, 0], fitted - means["scale"], fitted + means["scale"], alpha=0.2)
plt.plot(X[:, 0], y, ".", color="0.3")
plt.legend(frameon=False)
plt.show()

# %%
# The functions are tried before they are relied on.  A wrong shape is refused by name, and so is code that
# autograd cannot differentiate, for which there is ``gradient="numerical"``:


def a_forgotten_axis(p, X, y):
    return np.sum(gaussian(p, X, y), axis=1)


def plain_scipy(p, X, y):
    return stats.norm.logpdf(y, line(p, X), p["scale"])


for wrong in (a_forgotten_axis, plain_scipy):
    try:
        BayesianModel(wrong, priors).fit(X, y)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")

same = BayesianModel(plain_scipy, priors, gradient="numerical", random_state=0).fit(X, y)
print(f"with scipy.stats {same.log_evidence_:.2f}, written out {models['Gaussian'].log_evidence_:.2f}")
