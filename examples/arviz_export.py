"""
The posterior in ArviZ
======================

``to_arviz`` hands a fitted estimator's posterior over with names and dimensions, the run's statistics and,
on request, the log likelihood of each row.  From there on it is ArviZ's: summaries, plots, netCDF.
"""

import tempfile
from pathlib import Path

import arviz as az
from sklearn.datasets import load_diabetes

from sgevidence import BayesianLinearRegression, to_arviz

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = BayesianLinearRegression(random_state=0).fit(X, y)
data = to_arviz(model, X, y)
print(data)

# %%
# Weighted particles are repeated in proportion to their weights, so that means and intervals are right; the
# effective sample sizes that ArviZ would find along such draws mean nothing, and are left out.

print(az.summary(data, kind="stats", round_to=2).to_string())

# %%

axes = az.plot_forest(data, var_names=["coef"], combined=True, figsize=(6, 4))
axes[0].figure.tight_layout()

# %%
# The log evidence travels in the attributes, through a file and back:

with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "diabetes.nc")
    data.to_netcdf(path)
    back = az.from_netcdf(path)
    for key in ("model", "log_evidence", "log_evidence_std"):
        print(key, back.posterior.attrs[key])
    back.close()
