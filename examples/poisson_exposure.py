"""
Counts per exposure: a Poisson regression with an offset
========================================================

Claims of insured people who were watched for different times.  The rate is what is modelled; the log of the
time watched enters as ``offset``, with a coefficient of one.  Which of the columns matter is a question of
evidence, and so is whether the offset is right.
"""

import numpy as np

from sgevidence import BayesianGLM, compare
from sgevidence.displays import CoefficientsDisplay

rng = np.random.default_rng(0)
n = 400
X = rng.standard_normal((n, 3))  # age, income, and a column that means nothing; standardised
years = rng.uniform(0.2, 3.0, size=n)
claims = rng.poisson(years * np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] - 0.7))
offset = np.log(years)


def glm(seed):
    return BayesianGLM(family="poisson", random_state=seed)


models = {
    "age, income": glm(1).fit(X[:, :2], claims, offset=offset),
    "age": glm(2).fit(X[:, :1], claims, offset=offset),
    "age, income, noise": glm(3).fit(X, claims, offset=offset),
    "age, income, no offset": glm(4).fit(X[:, :2], claims),
}

# %%
# ``compare`` refuses evidences of different rows.  A column dropped is another model of the same y, and
# the offset belongs to the model too:

print(compare(models))

# %%
# The column without meaning costs two or three nats, as much as its prior is wider than its posterior.
# A prediction is of a count for its own exposure:

best = models["age, income"]
for watched in (1.0, 10.0):
    expected = best.predict([[1.0, 0.0]], offset=[np.log(watched)])[0]
    print(f"one standard deviation above the mean age, {watched:g} years: {expected:.2f} claims expected")

# %%

CoefficientsDisplay.from_estimator(models["age, income, noise"])
