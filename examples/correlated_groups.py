"""
Correlated groups: which covariances do the components have?
============================================================

In a group of flowers longer petals are wider, too.

A mixture with diagonal covariances tiles such a group with several components. With full covariances a group
is one component, and the evidence prefers it.
"""

import numpy as np
from sklearn.datasets import load_iris

from sgevidence import BayesianGMM, compare
from sgevidence.displays import MixtureDisplay

iris = load_iris(as_frame=True)
X, species = iris.data, iris.target_names[iris.target]

# %%
# The priors are stated for columns of mean 0 and standard deviation 1. A group is thin across correlated
# columns, so that variances of a tenth are expected.

settings = dict(variance_prior=(1.0, 0.1), random_state=0)
models = {
    f"{kind}, K={K}": BayesianGMM(K, covariance_type=kind, **settings).fit(X)
    for kind, K in (("full", 3), ("full", 4), ("diag", 3))
}
print(compare(models))

# %%
# One fit with full covariances knows the evidence of fewer components, too, and how many of its own have
# flowers: the fourth may stay empty.

largest = models["full, K=4"]
print(largest.component_evidence_["log_evidence"].round(2))
print(largest.n_components_in_use_proba_.round(3))

# %%
# Which species is in which component?

best = models["full, K=3"]
labels = best.predict(X)
for name in iris.target_names:
    print(f"{name:12}", np.bincount(labels[species == name], minlength=3))

# %%

MixtureDisplay.from_estimator(best, X, columns=(2, 3))
