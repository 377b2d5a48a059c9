"""
A stream, and models weighted anew after every chunk
====================================================

A straight line, until the rows show the bend.

A weight is a posterior probability: it moves only as far as the rows seen so far can move it.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sgevidence import BayesianLinearRegression, EvidenceModelAverager
from sgevidence.displays import ModelProbabilitiesDisplay


def polynomial(degree):
    return make_pipeline(PolynomialFeatures(degree, include_bias=False), BayesianLinearRegression())


models = [("line", polynomial(1)), ("parabola", polynomial(2)), ("cubic", polynomial(3))]
averager = EvidenceModelAverager(models, random_state=0)

rng = np.random.default_rng(0)
print(f"{'rows':>5}  " + "".join(f"{name:>10}" for name, _ in models))
for _ in range(10):
    X = rng.uniform(-1, 1, size=(20, 1))
    y = X[:, 0] - 0.5 * X[:, 0] ** 2 + 0.5 * rng.standard_normal(20)
    averager.partial_fit(X, y)
    print(f"{averager.n_samples_seen_:>5}  " + "".join(f"{w:>10.3f}" for w in averager.weights_))

mean, std = averager.predict([[0.0], [2.0]], return_std=True)
print(f"\nAt x = 0: {mean[0]:.2f} ± {std[0]:.2f}; outside the data, at x = 2: {mean[1]:.2f} ± {std[1]:.2f}")

# %%
# Twenty rows say little.  Then the line goes, and the parabola stays ahead of the cubic, which pays for a
# coefficient that it does not use, but cannot be excluded: the parabola is one of the cubics.

ModelProbabilitiesDisplay.from_estimator(averager)
