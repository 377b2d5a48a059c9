"""
Latent classes: how many kinds of slides do pathologists see?
=============================================================

Seven pathologists looked at 118 slides and said whether there is carcinoma of the uterine cervix.

If a slide is one of K kinds, and the seven judge independently given its kind, the evidence says which K.
"""

import matplotlib.pyplot as plt
import numpy as np

from sgevidence import BayesianCategoricalMixture, EvidenceSearch

# %%
# The ratings of pathologists A to G, 1 for carcinoma, and on how many slides they were given
# (N. S. Holmquist and others, 1967; J. R. Landis and G. G. Koch, 1977; table 13.1 of A. Agresti,
# *Categorical Data Analysis*, 2002).

PATTERNS = """
0000000 34  0000100 2   0100000 6   0100001 1   0100100 4   0100101 5   1000000 2
1010101 1   1100000 2   1100001 1   1100100 2   1100101 7   1100111 1   1101001 1
1101101 2   1101111 3   1110101 13  1110111 5   1111101 10  1111111 16
""".split()
X = np.array([list(pattern) for pattern in PATTERNS[::2]])
X = np.where(X == "1", "carcinoma", "none")
n_slides = np.array(PATTERNS[1::2], dtype=float)  # a row that counts w times is w rows

# %%
# Agresti finds three classes by tests of fit.

model = BayesianCategoricalMixture(random_state=0)
search = EvidenceSearch(model, {"n_components": [1, 2, 3, 4]}).fit(X, sample_weight=n_slides)
print(search.comparison_)

# %%
# Two kinds of slides are clear, and on the third the pathologists differ.

best = search.best_estimator_
print("weight", "    ".join("ABCDEFG"))
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for k, style in zip(np.argsort(best.weights_), ["s-", "o--", "^:"], strict=True):
    says_yes = [probabilities[k, 0] for probabilities in best.category_probabilities_]
    print(f"{best.weights_[k]:6.2f}", " ".join(f"{p:.2f}" for p in says_yes))
    ax.plot(list("ABCDEFG"), says_yes, style, label=f"{best.weights_[k]:.0%} of the slides")
ax.set(xlabel="pathologist", ylabel="probability that carcinoma is seen", ylim=(0, 1.03))
figure.legend(loc="outside upper center", ncols=3, frameon=False)

# %%
# A slide on which only C, D and F see none is probably of that third kind.

slide = X[[PATTERNS[::2].index("1100101")]]
print(f"{best.predict_proba(slide)[0, np.argmin(best.weights_)]:.2f}")
