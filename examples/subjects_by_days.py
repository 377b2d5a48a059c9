"""
Subjects by days: do they differ in level, in slope?
====================================================

Eighteen lorry drivers slept three hours a night, and their reaction times were measured for ten days (Belenky
and others 2003, as in R's lme4).  Everyone slows down; do all slow down alike?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sgevidence import BayesianLinearRegression, compare, predictive_check
from sgevidence.displays import EffectsDisplay

reaction = {  # milliseconds on the days 0 to 9
    308: "249.56 258.7 250.8 321.44 356.85 414.69 382.2 290.15 430.59 466.35",
    309: "222.73 205.27 202.98 204.71 207.72 215.96 213.63 217.73 224.3 237.31",
    310: "199.05 194.33 234.32 232.84 229.31 220.46 235.42 255.75 261.01 247.52",
    330: "321.54 300.4 283.86 285.13 285.8 297.59 280.24 318.26 305.35 354.05",
    331: "287.61 285 301.82 320.12 316.28 293.32 290.08 334.82 293.75 371.58",
    332: "234.86 242.81 272.96 309.77 317.46 310 454.16 346.83 330.3 253.86",
    333: "283.84 289.56 276.77 299.81 297.17 338.17 332.03 348.84 333.36 362.04",
    334: "265.47 276.2 243.36 254.67 279.02 284.19 305.52 331.52 335.75 377.3",
    335: "241.61 273.95 254.49 270.8 251.45 254.64 245.45 235.31 235.75 237.25",
    337: "312.37 313.81 291.61 346.12 365.73 391.84 404.26 416.69 455.86 458.92",
    349: "236.1 230.32 238.93 254.92 250.71 269.77 281.56 308.1 336.28 351.65",
    350: "256.3 243.45 256.2 255.53 268.92 329.72 379.44 362.92 394.49 389.05",
    351: "250.53 300.06 269.89 280.59 271.83 304.63 287.75 266.6 321.54 347.57",
    352: "221.68 298.19 326.88 346.86 348.74 352.83 354.43 360.43 375.64 388.54",
    369: "271.92 268.44 257.24 277.66 314.82 317.21 298.14 348.12 340.28 366.51",
    370: "225.26 234.52 238.9 240.47 267.54 344.19 281.15 347.59 365.16 372.23",
    371: "269.88 272.44 277.9 281.79 279.17 284.51 259.27 304.63 350.78 369.47",
    372: "269.41 273.47 297.6 310.63 287.17 329.61 334.48 343.22 369.14 364.12",
}
frame = pd.DataFrame(
    {
        "subject": np.repeat(list(reaction), 10),
        "days": np.tile(np.arange(10), len(reaction)),
        "ms": np.array(" ".join(reaction.values()).split(), dtype=float),
    }
)

# %%
# Four models, each a formula.  Evidences are exact given the standard deviations of the effects, which are
# integrated to thousandths of a nat.

formulas = ["ms ~ 1", "ms ~ days", "ms ~ days + (1 | subject)", "ms ~ days + (1 + days | subject)"]
models = {text: BayesianLinearRegression(formula=text, random_state=0).fit(frame) for text in formulas}
print(compare(models))

# %%
# Subjects differ in their level, and in their slope: each question is answered by the difference of two
# lines.  ``effect_stds`` say by how much: milliseconds, and milliseconds per day.

best = models[formulas[-1]]
print(best.summary())

# %%
# The effects of the slope, sorted: subject 308 slows down most, and 335 not at all.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 5.4), layout="constrained")
EffectsDisplay.from_estimator(best, term="1 | subject", ax=left)
EffectsDisplay.from_estimator(best, term="days | subject", ax=right)
plt.show()

# %%
# Where the variance of the reaction times comes from, and what a driver is expected to do who was not there:
# the prediction of a new level has the spread of the population.

print(best.variance_shares(frame).round(2))
new = pd.DataFrame({"days": [0, 9, 0, 9], "subject": [308, 308, 999, 999]})
mean, std = best.predict(new, return_std=True)
print(new.assign(mean=mean.round(), std=std.round()))

# %%
# Without slopes of their own the model cannot reproduce how much the subjects' means differ on the last days.

late = frame["days"] >= 8
for text in formulas[-2:]:
    check = predictive_check(models[text], frame[late], frame["ms"][late], by="subject", random_state=0)
    print(f"{text}: misfits {check.misfits}")
