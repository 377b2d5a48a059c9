"""
Does any of the models fit?  Horse kicks and accidents
======================================================

Evidence ranks models.  The best of them may still be wrong, and ``predictive_check`` says so: it compares
the observed counts with counts that a fitted model replicates.  Two tables of real counts show both answers:
soldiers of the Prussian cavalry who were killed by horse kicks, by corps and year (Bortkiewicz 1898), and
accidents of 647 women who made shells, in five weeks (Greenwood and Yule 1920).
"""

import matplotlib.pyplot as plt
import numpy as np

from sgevidence import BayesianGLM, compare, predictive_check
from sgevidence.displays import PredictiveCheckDisplay

kicks = np.repeat([0, 1, 2, 3, 4], [109, 65, 22, 3, 1])
accidents = np.repeat([0, 1, 2, 3, 4, 5], [447, 132, 42, 21, 3, 2])  # "5 or more" counts as 5


def fit(family, counts):
    """A rate that is the same for all rows: there are no columns to explain it."""
    nothing = np.zeros((len(counts), 1))
    return BayesianGLM(family, columns=[], random_state=0).fit(nothing, counts)


def rows(counts):
    return np.zeros((len(counts), 1)), counts


# %%
# Horse kicks are the textbook's Poisson counts.  The check finds nothing:

print(predictive_check(fit("poisson", kicks), *rows(kicks), random_state=0))

# %%
# Accidents are not: the rate is not the same for all women, and the variance of the counts is larger than any
# that a Poisson regression replicates.

poisson = fit("poisson", accidents)
print(predictive_check(poisson, *rows(accidents), random_state=0))

# %%
# ``compare`` makes the check for each model where it is asked to.  If Poisson were the only candidate, its
# probability would be one:

print(compare({"poisson": poisson}, check=rows(accidents)))

# %%
# With a family that lets rates vary the question has an answer that fits:

models = {
    family: fit(family, accidents) for family in ("poisson", "zero_inflated_poisson", "negative_binomial")
}
print(compare(models, check=rows(accidents)))

# %%
# The summary has the parameters: the mean rate is e to the intercept, and ``dispersion`` is the variance of
# the women's rates in units of their squared mean.

print(models["negative_binomial"].summary())

# %%
# Dots are observed statistics, lines replicated ones: thin with 90 % of the replicates, thick with one half.

fig, axes = plt.subplots(2, 1, figsize=(7, 6), layout="constrained", sharex=True)
for ax, family in zip(axes, ("poisson", "negative_binomial")):
    PredictiveCheckDisplay.from_estimator(models[family], *rows(accidents), random_state=0, ax=ax)
    ax.set_title(family)
