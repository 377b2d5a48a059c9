"""
A tour of the displays
======================

Every display is made as scikit-learn's are: ``from_estimator`` or ``from_estimators`` draws, ``ax_`` and
``figure_`` are for changes.  The colours can be told apart by the colour-blind, and the lines in print.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris

from sgevidence import SGAIS, BayesianGLM, BayesianGMM, BayesianLinearRegression, EvidenceModelAverager
from sgevidence.displays import (
    CoefficientsDisplay,
    ComparisonDisplay,
    EffectsDisplay,
    EvidenceDisplay,
    MixtureDisplay,
    ModelProbabilitiesDisplay,
    RunDisplay,
    SmoothDisplay,
    SurpriseDisplay,
    SurvivalDisplay,
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
# Groups, curves, times until an event
# ------------------------------------
# The slopes of 18 drivers who sleep little, a curve of their reaction times with its band, and the remission
# of children with leukaemia beside the Kaplan–Meier estimate.

DATA = Path("data") if Path("data").is_dir() else Path("examples/data")
drivers = pd.read_csv(DATA / "sleepstudy.csv")
slopes = "reaction ~ days + (1 + days | subject)"
people = BayesianLinearRegression(formula=slopes, random_state=0).fit(drivers)
EffectsDisplay.from_estimator(people, term="days | subject")
SmoothDisplay.from_estimator(
    BayesianLinearRegression(formula="reaction ~ s(days)", random_state=0).fit(drivers)
)

children = pd.read_csv(DATA / "leukaemia.csv")
weeks, relapse = children["weeks"], children["relapse"]
weibull = BayesianGLM("weibull", formula="weeks ~ treatment", random_state=0)
weibull.fit(children, weeks, event=relapse)
SurvivalDisplay.from_estimator(weibull, children, weeks, event=relapse, groups=children["treatment"])

# %%
# How the run went
# ----------------
# Particles, effective sample size and moves along the run: look at them when an error bar is large.  Here
# is a regression that is annealed although its evidence is known exactly.

annealed = BayesianLinearRegression(sampler=SGAIS(proposal=None), random_state=0).fit(X, y)
RunDisplay.from_estimator(annealed)

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
