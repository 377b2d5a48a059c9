"""
How many components?  A grid search by evidence
===============================================

Mixtures are ranked by log evidence instead of a held-out score.

The evidence charges a model for its complexity, so that all rows both train and score: ``FullData`` is
the one split, and ``evidence_scorers`` keep each evidence with its error bar, which ``compare`` reads.
"""

from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from sgevidence import BayesianGMM, FullData, MixtureDisplay, compare, evidence_scorers

X = scale(load_iris().data[:, 2:])
search = GridSearchCV(
    BayesianGMM(random_state=0),
    {"n_components": [1, 2, 3, 4]},
    scoring=evidence_scorers,
    refit="log_evidence",
    cv=FullData(),
    n_jobs=2,
).fit(X)

columns = ["log_evidence", "log_evidence_std", "probability", "evidence_against"]
print(compare(search)[columns].round(3).to_string())
best = search.best_estimator_
print(f"\nBest: K = {best.n_components}, {best.log_evidence_:.2f} ± {best.log_evidence_std_:.2f} nats, at")
print(best.means_.round(2))

# %%

MixtureDisplay.from_estimator(best, X)
