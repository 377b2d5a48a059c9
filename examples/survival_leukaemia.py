"""
Censored times: does a drug keep leukaemia away?
================================================

Forty-two children whose leukaemia was in remission were given 6-mercaptopurine or a placebo, and the weeks
until they relapsed were counted (Freireich and others 1963, as in Gehan 1965).  Twelve had not relapsed when
the study ended: their time is censored, and all that is known is that the relapse came later.
"""

import numpy as np

from sgevidence import BayesianGLM, compare
from sgevidence.displays import SurvivalDisplay

drug_weeks = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
placebo_weeks = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
weeks = np.array(drug_weeks + placebo_weeks, dtype=float)
relapsed = np.array([True] * 9 + [False] * 12 + [True] * 21)
group = np.repeat(["6-MP", "placebo"], 21)
X = (group == "6-MP").astype(float)[:, None]

# %%
# A model of times takes ``event=`` beside y.  Three families, each with and without the drug:

models = {
    f"{family}{', drug' if columns is None else ''}": BayesianGLM(
        family, columns=columns, random_state=0
    ).fit(X, weeks, event=relapsed)
    for family in ("weibull", "exponential", "lognormal")
    for columns in (None, [])
}
print(compare(models))

# %%
# The drug is needed whatever the family, and the families can hardly be told apart: the answer does not hang
# on that choice.  The coefficient is that of log time, so that its exponential is a factor of all times.

weibull = models["weibull, drug"]
factor = np.exp(weibull.posterior_samples()["coef"][:, 0])
low, middle, high = np.quantile(factor, [0.05, 0.5, 0.95])
print(f"the drug makes times {middle:.1f} times as long (90 % between {low:.1f} and {high:.1f})")
print("median weeks with and without:", weibull.predict([[1.0], [0.0]]).round(1))
print("in remission after half a year:", weibull.predict_survival([[1.0], [0.0]], [26.0])[:, 0].round(2))

# %%
# Predictions beside the Kaplan–Meier estimates of both groups, with their 90 % bands.  Ticks are censored
# times.

SurvivalDisplay.from_estimator(weibull, X, weeks, event=relapsed, groups=group)
