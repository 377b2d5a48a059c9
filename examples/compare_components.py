"""How many components?  A grid search that ranks mixtures by log evidence instead of held-out score.

The evidence charges a model for its complexity, so that all rows both train and score: ``FullData``
is the one split, ``evidence_scorer`` the score.
"""

from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from sgevidence import BayesianGMM, FullData, evidence_scorer

X = scale(load_iris().data[:, 2:])
mixture = BayesianGMM(random_state=0)
search = GridSearchCV(
    mixture, {"n_components": [1, 2, 3, 4]}, scoring=evidence_scorer, cv=FullData(), n_jobs=2
).fit(X)

print("components  log evidence (nats)")
for params, log_evidence in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"]):
    print(f"{params['n_components']:>10}{log_evidence:>21.2f}")
best = search.best_estimator_
print(f"\nBest: K = {best.n_components}, {best.log_evidence_:.2f} ± {best.log_evidence_std_:.2f} nats, at")
print(best.means_.round(2))
