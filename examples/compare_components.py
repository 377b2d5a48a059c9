"""
How many components?  A grid search by evidence
===============================================

Mixtures are ranked by log evidence instead of a held-out score.

The evidence charges a model for its complexity, so that all rows both train and score.
"""

from sklearn.datasets import load_iris

from sgevidence import BayesianGMM, EvidenceSearch
from sgevidence.displays import MixtureDisplay

X = load_iris().data[:, 2:]
search = EvidenceSearch(BayesianGMM(random_state=0), {"n_components": [1, 2, 3, 4]}, n_jobs=2).fit(X)
print(search.comparison_)
best = search.best_estimator_
print(f"\nBest: K = {best.n_components}, {best.log_evidence_:.2f} ± {best.log_evidence_std_:.2f} nats, at")
print(best.means_.round(2))

# %%

MixtureDisplay.from_estimator(best, X)
