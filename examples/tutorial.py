"""
Ten minutes with sgevidence
===========================

The log evidence of a model is log p(data | model): how probable the model makes the data before any
parameter is known.  It compares models of different size without held-out rows, because a model that could
explain any data gives each of them a low probability.  Here it is an attribute of scikit-learn estimators,
with an error bar, and it is updated while rows arrive.  The pictures need matplotlib:
``pip install ".[all]"``.
"""

# %%
# Which formula do the data support?
# ----------------------------------
# Heavy penguins have shallower bills, until one looks at each species by itself.  Five formulas of 333
# birds:

from pathlib import Path

import pandas as pd

from sgevidence import BayesianLinearRegression, EvidenceSearch

DATA = Path("data") if Path("data").is_dir() else Path("examples/data")
penguins = pd.read_csv(DATA / "penguins.csv").dropna()
formulas = [
    "bill_depth_mm ~ body_mass_g",
    "bill_depth_mm ~ species",
    "bill_depth_mm ~ body_mass_g + species",
    "bill_depth_mm ~ body_mass_g * species",
    "bill_depth_mm ~ body_mass_g + species + island",
]
model = BayesianLinearRegression(random_state=0)
search = EvidenceSearch(model, {"formula": formulas}).fit(penguins)
print(search.comparison_)

# %%
# The best formula, with a posterior probability of 0.96, has body mass and species, and one slope for all
# species.  A slope for each species (the fourth formula) can fit better, but its prior spreads over slopes
# that the data do not have.  ``± 0`` is the standard error of the log evidence: it is zero here, since
# linear regression is exact.  All logarithms are natural: the unit is the nat.  A single log evidence means
# nothing, since it depends on the units of y.  The difference between two models of the same rows is the
# logarithm of their Bayes factor.

print(search.best_estimator_.summary())

# %%
# Within a species, bills are 1.5 mm deeper per kilogram of body mass.  ``search.comparison_.report()``
# writes the table and the sentence for a paper.

# %%
# Any models side by side
# -----------------------
# Arrays and pipelines work the same way.  Sixty noisy points on a parabola: is there a bend?  Is there
# more than a bend?  ``compare`` ranks fitted models.

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sgevidence import compare
from sgevidence.displays import ComparisonDisplay

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(60, 1))
y = X[:, 0] - 0.7 * X[:, 0] ** 2 + 0.3 * rng.standard_normal(60)


def polynomial(degree):
    powers = PolynomialFeatures(degree, include_bias=False)
    return make_pipeline(powers, BayesianLinearRegression(random_state=degree))


names = {"line": 1, "parabola": 2, "cubic": 3, "quartic": 4}
models = {name: polynomial(degree).fit(X, y) for name, degree in names.items()}
table = compare(models)
print(table)

# %%
# The line cannot bend, and is last.  The cubic contains the parabola and fits at least as well, yet it is
# less probable: its prior spreads over curves that the data do not follow.  The table has columns that it
# does not print: ``table["evidence_against"]`` puts the Bayes factors in Kass and Raftery's words.

ComparisonDisplay.from_estimators(models)

# %%
# Rows that arrive
# ----------------
# ``partial_fit`` takes rows as they arrive, and the evidence is always that of all rows so far. An averager
# gives the rows to several models at once and weights the models by their posterior probabilities.

from sgevidence import EvidenceModelAverager
from sgevidence.displays import ModelProbabilitiesDisplay

candidates = [(name, polynomial(degree)) for name, degree in names.items()]
averager = EvidenceModelAverager(candidates, random_state=0)
for start in range(0, 60, 6):
    averager.partial_fit(X[start : start + 6], y[start : start + 6])
ModelProbabilitiesDisplay.from_estimator(averager)

# %%
# Its predictions are averaged with these weights, and their uncertainty includes the disagreement between
# the models.  It grows where there are no data:

mean, std = averager.predict([[0.0], [1.5]], return_std=True)
for x, m, s in zip((0.0, 1.5), mean, std):
    print(f"at x = {x}: {m:.2f} ± {s:.2f}")

# %%
# Is the error bar right?
# -----------------------
# One check needs no theory: other seeds must agree within their error bars.  ``replicate`` fits with
# independent seeds and pools the answers, and says so if they disagree.

from sgevidence import SGAIS, replicate

annealed = BayesianLinearRegression(sampler=SGAIS(proposal=None))
print(replicate(annealed, X, y, n=4, random_state=0))

# %%
# A linear regression needs no sampling: by default the answer is a closed form, and the error bar is 0.
# ``SGAIS(proposal=None)`` samples instead, as it does for models without a closed form.  Both answers must
# agree:

annealed.set_params(random_state=0).fit(X, y)
line = BayesianLinearRegression().fit(X, y)
print(f"exact {line.log_evidence_:.2f}")
print(f"annealed {annealed.log_evidence_:.2f} ± {annealed.log_evidence_std_:.2f}")

# %%
# How many groups?
# ----------------
# Mixtures work the same way: one model for each number of components.

from sklearn.datasets import load_iris

from sgevidence import BayesianGMM
from sgevidence.displays import MixtureDisplay

petals = load_iris().data[:, 2:]
mixtures = {f"K = {K}": BayesianGMM(K, random_state=K).fit(petals) for K in (1, 2, 3, 4)}
print(compare(mixtures))
best = compare(mixtures).index[0]
MixtureDisplay.from_estimator(mixtures[best], petals)

# %%
# Has something changed?
# ----------------------
# The evidence also compares "nothing has changed" with "something changed here". ``EvidenceMonitor`` does
# this row by row, and for a series of numbers it needs no model from you.

from sgevidence import EvidenceMonitor

rng = np.random.default_rng(1)
series = np.concatenate([rng.normal(10, 2, 150), rng.normal(13, 2, 100)])
monitor = EvidenceMonitor().fit(series[:, None])
print("changes at rows", monitor.change_points_.tolist())
for found in monitor.detections_:
    print(f"declared after row {found.declared_row}, with probability {found.probability:.3f}")

# %%
# Where to go
# -----------
# * `The guide <../guide.html>`_: one page for each job, with what it prints and how to read it.
# * `When evidence misleads <../misleading.html>`_: it depends on priors, also where predictions do not.
# * `The other examples <index.html>`_: real data, counts with an exposure, a model of your own.
# * `The algorithm <../algorithm.html>`_, beside the published one.
