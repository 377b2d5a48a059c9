"""
How many regimes had the coal mines?
====================================

British coal mines had 191 disasters in 112 years.  A hidden Markov model of Poisson counts has an evidence of
its number of states, so that "one rate for all years" is one of the answers.
"""

import matplotlib.pyplot as plt
import numpy as np

from sgevidence import BayesianHMM, EvidenceSearch, predictive_check
from sgevidence.displays import StatesDisplay

# disasters of each year, 1851 to 1962 (Jarrett 1979)
DISASTERS = """
4 5 4 1 0 4 3 4 0 6 3 3 4 0 2 6 3 3 5 4 5 3 1 4 4 1 5 5
3 4 2 5 2 2 3 4 2 1 3 2 2 1 1 1 1 3 0 0 1 0 1 1 0 0 3 1
0 3 2 2 0 1 1 1 0 1 0 1 0 0 0 2 1 0 0 0 1 1 0 2 3 3 1 1
2 1 1 1 1 2 4 2 0 0 1 4 0 0 0 1 0 0 0 0 0 1 0 0 1 0 1 0
"""
X = np.array(DISASTERS.split(), dtype=float)[:, None]

model = BayesianHMM(emission="poisson", random_state=0)
search = EvidenceSearch(model, {"n_states": [1, 2, 3]}).fit(X)
print(search.comparison_)

# %%
# Two regimes, each of which lasts for decades.

two = search.best_estimator_
print(two.summary())
StatesDisplay.from_estimator(two, X)

# %%
# Where did the first regime end?

change = 1851 + int(np.argmax(two.predict(X) != two.predict(X)[0]))
print(f"The rate fell in {change}, to {two.rates_[0, 0]:.2f} a year from {two.rates_[1, 0]:.2f}.")

# %%
# One rate for all years does not reproduce that neighbouring years are alike, and two regimes do.

one = BayesianHMM(emission="poisson", random_state=0).fit(X)
for fitted in (one, two):
    print(predictive_check(fitted, X, random_state=0).misfits)
plt.show()
