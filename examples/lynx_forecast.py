"""
How many lags: the lynx of the Mackenzie River
==============================================

Lynx trapped in the Mackenzie River district of Canada in each year from 1821 to 1934, as the Hudson's
Bay Company counted their furs (Elton and Nicholson 1942).  Their number has a cycle of ten years.  Moran
fitted an autoregression with two lags to its logarithm in 1953, Tong with eleven in 1977.  What does the
evidence say?
"""

import matplotlib.pyplot as plt
import numpy as np

from sgevidence import BayesianAutoregression, EvidenceSearch

LYNX = """
269 321 585 871 1475 2821 3928 5943 4950 2577 523 98 184 279 409 2285 2685 3409 1824 409 151 45 68 213
546 1033 2129 2536 957 361 377 225 360 731 1638 2725 2871 2119 684 299 236 245 552 1623 3311 6721 4254
687 255 473 358 784 1594 1676 2251 1426 756 299 201 229 469 736 2042 2811 4431 2511 389 73 39 49 59 188
377 1292 4031 3495 587 105 153 387 758 1307 3465 6991 6313 3794 1836 345 382 808 1388 2713 3800 3091 2985
3790 674 81 80 108 229 399 1132 2432 3574 2935 1537 529 485 662 1000 1590 2657 3396
"""
years = np.arange(1821, 1935)
y = np.log10(np.array(LYNX.split(), dtype=float))

# %%
# All orders explain the same rows, those after the first twelve years: ``max_order=12``.  The search stops
# at twelve lags, one beyond Tong's.

model = BayesianAutoregression(max_order=12, random_state=0)
search = EvidenceSearch(model, {"order": range(13)}).fit(y)
print(search.comparison_)

# %%
# Moran's two lags and Tong's eleven are the two best, and the rows do not decide between them: a Bayes
# factor of two.  Each lag costs evidence, and those from three to ten do not pay for it.  Now a model of
# the years before 1915 forecasts the twenty that followed, with all that is uncertain of its parameters.

known, unknown = y[:94], y[94:]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained", width_ratios=(2, 3))
scores = search.cv_results_["mean_test_log_evidence"]
left.plot(range(13), scores, "o-", color="#0072B2")
left.set(xlabel="lags", ylabel="log evidence (nats)", xticks=range(0, 13, 2))
right.plot(years[60:], y[60:], ".-", color="0.4", label="trapped")
for order, color in ((2, "#D55E00"), (11, "#0072B2")):
    fitted = BayesianAutoregression(order, max_order=12, random_state=0).fit(known)
    mean, bounds = fitted.forecast(20, interval=0.9)
    right.plot(years[94:], mean, color=color, label=f"{order} lags")
    right.fill_between(years[94:], *bounds.T, color=color, alpha=0.15, linewidth=0)
    inside = np.mean((bounds[:, 0] < unknown) & (unknown < bounds[:, 1]))
    print(
        f"{order} lags: {inside:.0%} of the years inside, "
        f"log predictive density {fitted.log_predictive(unknown):.1f} nats"
    )
right.set(xlabel="year", ylabel="log10 of lynx")
right.legend(loc="lower left")
plt.show()

# %%
# Two lags soon forget the phase of the cycle, and eleven keep it.  A stream may be cut anywhere: the last
# years are part of what is kept.

whole = BayesianAutoregression(2, max_order=12).fit(y)
stream = BayesianAutoregression(2, max_order=12, units=whole.units_)  # not those of the first years
for year in y:
    stream.partial_fit([year])
print(f"year by year and all at once differ by {stream.log_evidence_ - whole.log_evidence_:.1e} nats")
