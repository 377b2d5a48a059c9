"""
A line or a curve: is the straight line enough?
===============================================

Heavy cars drive fewer miles on a gallon (Motor Trend 1974, R's mtcars).  A smooth curve is a straight line
and departures from it whose size is inferred: *is it a line?* is the question whether that size is zero.
"""

import matplotlib.pyplot as plt
import pandas as pd

from sgevidence import BayesianLinearRegression, compare
from sgevidence.displays import SmoothDisplay

weight = """
2.62 2.875 2.32 3.215 3.44 3.46 3.57 3.19 3.15 3.44 3.44 4.07 3.73 3.78 5.25 5.424 5.345 2.2 1.615 1.835 2.465
3.52 3.435 3.84 3.845 1.935 2.14 1.513 3.17 2.77 3.57 2.78"""
miles = """
21 21 22.8 21.4 18.7 18.1 14.3 24.4 22.8 19.2 17.8 16.4 17.3 15.2 10.4 10.4 14.7 32.4 30.4 33.9 21.5 15.5 15.2
13.3 19.2 27.3 26 30.4 15.8 19.7 15 21.4"""
frame = pd.DataFrame({"weight": weight.split(), "mpg": miles.split()}).astype(float)
frame["litres"] = 235.2 / frame["mpg"]  # on 100 km

# %%
# The same cars, measured in two ways: miles per gallon, and litres on 100 km.

models = {}
for y in ("mpg", "litres"):
    for x in ("weight", "s(weight)"):
        text = f"{y} ~ {x}"
        models[text] = BayesianLinearRegression(formula=text, random_state=0).fit(frame)
    print(compare([models[f"{y} ~ weight"], models[f"{y} ~ s(weight)"]]))

# %%
# Miles per gallon are a curve rather than a line, litres are a line rather than a curve: a curve that is not
# needed costs evidence.  The bands are those of the curve, the points are the cars less the mean.

figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for y, ax in zip(("mpg", "litres"), panels):
    SmoothDisplay.from_estimator(models[f"{y} ~ s(weight)"], ax=ax)
    ax.plot(frame["weight"], frame[y] - frame[y].mean(), ".", color="0.4")
    ax.set_title(y)
plt.show()
