"""
When evidence misleads: a prior that nobody chose
=================================================

Predictions forget the prior when rows are many.  The evidence does not: it is what the *prior* predicted.
Here a real effect is measured by a hundred rows, and asked for under wider and wider priors of its
coefficient.
"""

import matplotlib.pyplot as plt
import numpy as np

from sgevidence import BayesianLinearRegression
from sgevidence.samplers import Exact

rng = np.random.default_rng(0)
x = rng.standard_normal((100, 1))
y = 0.5 * x[:, 0] + rng.standard_normal(100)


def fit(X, scale):
    return BayesianLinearRegression(noise_std=1.0, coef_scale=scale, sampler=Exact()).fit(X, y)


scales = np.geomspace(0.1, 1e4, 26)
without = fit(np.zeros((100, 1)), 1.0)  # a column of zeros: the intercept alone
fits = [fit(x, scale) for scale in scales]
log_bayes = np.array([model.log_evidence_ - without.log_evidence_ for model in fits])
slopes = np.array([model.coef_[0] for model in fits])

# %%
# The estimate hardly moves once the prior is as wide as the effect.  The log Bayes factor for the effect
# falls for ever, by log 10 = 2.3 nats for each factor of ten: with a prior wide enough any effect is
# "refuted" (Lindley's paradox).  A wide prior is not a modest one; it says that the effect is almost surely
# huge.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 4.6), layout="constrained")
above.semilogx(scales, log_bayes, color="#0072B2")
above.axhline(0, color="0.6", linewidth=0.8)
above.set_ylabel("log Bayes factor\nfor an effect (nats)")
below.semilogx(scales, slopes, color="#D55E00")
below.set(xlabel="prior standard deviation of the coefficient", ylabel="posterior mean", ylim=(0, 0.8))
plt.show()

# %%
# So: state priors that fit the units *before* looking at the evidence, vary them by a factor of two or three,
# and distrust a decision that changes.  Within a factor of three of the best prior it does not, here:

best = scales[np.argmax(log_bayes)]
near = np.abs(np.log(scales / best)) < np.log(3) + 1e-9
print(f"best at {best:.2g}: {log_bayes.max():.1f} nats; within a factor of three {log_bayes[near].min():.1f}")
