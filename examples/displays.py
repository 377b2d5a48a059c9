"""
A tour of the displays
======================

Every display is made as scikit-learn's are: ``from_estimator`` or ``from_estimators`` draws, ``ax_`` and
``figure_`` are for changes.  The colours can be told apart by the colour-blind, and the lines in print.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from sgevidence import (
    BayesianGMM,
    BayesianLinearRegression,
    CoefficientsDisplay,
    ComparisonDisplay,
    EvidenceDisplay,
    EvidenceModelAverager,
    MixtureDisplay,
    ModelProbabilitiesDisplay,
    RunDisplay,
    SurpriseDisplay,
    WeightsDisplay,
)

rng = np.random.default_rng(0)
petals = rng.permutation(load_iris().data[:, 2:])
averager = EvidenceModelAverager([(f"K = {K}", BayesianGMM(K)) for K in (1, 2, 3, 4)], random_state=0)
for chunk in np.array_split(petals, 10):
    averager.partial_fit(chunk)
mixture = averager.named_estimators_["K = 3"]

# %%
# Models along a stream
# ---------------------
# The evidence of each against the rows seen, relative to the best in the end, with bands of two standard
# errors; and the posterior probabilities that follow from it.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 6.4), layout="constrained")
EvidenceDisplay.from_estimators(averager, relative=True, ax=above)
ModelProbabilitiesDisplay.from_estimator(averager, ax=below, stacked=True)

# %%
# Models in the end
# -----------------

ComparisonDisplay.from_estimators(averager)
WeightsDisplay.from_estimator(averager)

# %%
# One mixture on its rows
# -----------------------

MixtureDisplay.from_estimator(mixture, petals)

# %%
# Coefficients with their intervals
# ---------------------------------

X, y = load_diabetes(return_X_y=True, as_frame=True)
linear = BayesianLinearRegression(random_state=0).fit(X, y)
CoefficientsDisplay.from_estimator(linear)

# %%
# How the run went
# ----------------
# Particles, effective sample size and moves along the run: what to look at when an error bar is large.

RunDisplay.from_estimator(linear)

# %%
# A surprise
# ----------
# A model that no longer fits is seen in the growth of its evidence.  Rows in their order, by
# ``partial_fit``; here the mean moves at row 300.

series = np.concatenate([rng.normal(0, 1, 300), rng.normal(2, 1, 150)])[:, None]
watched = BayesianGMM(1, random_state=0)
for chunk in np.array_split(series, 30):
    watched.partial_fit(chunk)
SurpriseDisplay.from_estimator(watched, change_points=[300], series=series)
plt.show()
