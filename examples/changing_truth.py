"""
When the right model changes: three ways to weigh
=================================================

Two models of y, one from each column.  For three hundred rows the first is right, then the second.
Posterior probabilities (``"bma"``) answer which model is right for *all* rows, and cannot turn round before
the second has made up for all it lost.  Stacking shares the weight as would have predicted best so far.
``"dynamic"`` forgets, and follows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from sgevidence import BayesianLinearRegression, EvidenceModelAverager
from sgevidence.displays import ModelProbabilitiesDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 2))
first = np.arange(600) < 300
y = np.where(first, X[:, 0], X[:, 1]) + 0.7 * rng.standard_normal(600)


def on_column(k):
    return make_pipeline(ColumnTransformer([("keep", "passthrough", [k])]), BayesianLinearRegression())


models = [("from column 0", on_column(0)), ("from column 1", on_column(1))]
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(6.4, 7.0), layout="constrained")
for ax, method in zip(axes, ("bma", "stacking", "dynamic")):
    averager = EvidenceModelAverager(models, method=method, random_state=0)
    for start in range(0, 600, 25):
        averager.partial_fit(X[start : start + 25], y[start : start + 25])
    ModelProbabilitiesDisplay.from_estimator(averager, ax=ax)
    ax.axvline(300, color="0.6", linewidth=0.8)
    ax.set(title=method, ylabel="weight")
    print(f"{method:9} weights at the end {averager.weights_.round(2)}")
plt.show()

# %%
# So: ``"bma"`` for the question which model is true, ``"stacking"`` for predictions where none is, and
# ``"dynamic"`` where the truth may move.
