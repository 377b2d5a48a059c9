"""
Which columns: the posterior over all subsets
=============================================

Ten measurements of 442 patients, and the progression of their diabetes a year later.  The measurements have
1024 subsets, and so there are 1024 regressions: each has an evidence, and so each column has a probability of
being in the model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sgevidence import EvidenceFeatureSelector
from sgevidence.displays import InclusionProbabilitiesDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
X, y = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
selector = EvidenceFeatureSelector().fit(X, y)
print(selector.models_.head(8))

# %%
# No subset stands out: the best one has a quarter of the probability.  Sex, body mass index, blood pressure
# and s5 belong into the model; the blood serum values s1 to s4 say nearly the same things, and the rows leave
# open which of them are needed.  To choose one subset and forget the others would hide that.  Predictions
# average over all.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
places = np.arange(10)
InclusionProbabilitiesDisplay.from_estimator(selector, ax=left)
right.errorbar(selector.coef_, places, xerr=selector.coef_std_, fmt="o", color="#D55E00")
right.axvline(0, color="0.6", linewidth=0.8)
right.set(yticks=places, yticklabels=[], xlabel="coefficient, averaged over subsets")
right.set_ylim(left.get_ylim())
plt.show()

# %%
# So far coefficients of standardised columns are N(0, 1) a priori.  Another prior that many use, that of
# Zellner and Siow, takes its shape from the columns themselves, whatever their units.  Its evidences are
# relative to the null model.  The columns that the rows decide about are the same.

g_prior = EvidenceFeatureSelector(coef_prior="g").fit(X, y)
for name, one, other in zip(X.columns, selector.inclusion_probabilities_, g_prior.inclusion_probabilities_):
    print(f"{name:>4} {one:6.2f} {other:6.2f}")

# %%
# Rows may come in chunks.  Nothing but sums of squares and products is kept, and the answer after the last
# chunk is that of all rows at once; subsets are weighed when somebody asks.

stream = EvidenceFeatureSelector()
for start in range(0, 442, 50):
    stream.partial_fit(X[start : start + 50], y[start : start + 50])
    known = dict(zip(X.columns, stream.inclusion_probabilities_.round(2)))
    print(f"{stream.n_samples_seen_} rows: bmi {known['bmi']}, sex {known['sex']}, age {known['age']}")
print(f"difference to one fit: {stream.log_evidence_ - selector.log_evidence_:.1e} nats")
