"""
A table of mixed columns: what does a penguin weigh?
====================================================

A CSV file with numbers and words, a target, and the question which columns matter.  No column is coded by
hand: words are factors, whose levels have effects that add to zero.
"""

from pathlib import Path

import pandas as pd

from sgevidence import BayesianLinearRegression, compare, predictive_check
from sgevidence.displays import EffectsDisplay

DATA = Path("data") if Path("data").is_dir() else Path("examples/data")
penguins = pd.read_csv(DATA / "penguins.csv")
print(penguins.dtypes.to_string())

# %%
# Candidates from the mean alone to all columns.  Sex, species and island are words.

BODY = "sex + species + flipper_length_mm"
BILL = f"{BODY} + bill_length_mm + bill_depth_mm"
MODELS = {
    "mean": "1",
    "sex": "sex",
    "sex, species": "sex + species",
    "sex, species, flippers": BODY,
    "and the bill": BILL,
    "and the island": f"{BILL} + island",
    "flippers differ by species": f"{BODY} + species:flipper_length_mm",
}
fits = {}
for seed, (name, terms) in enumerate(MODELS.items()):
    model = BayesianLinearRegression(formula=f"body_mass_g ~ {terms}", random_state=seed)
    fits[name] = model.fit(penguins)
print(compare(fits))

# %%
# Sex, species, flippers and bill are needed.  The island is not, nor is a slope of the flippers for each
# species.  Numbers have a coefficient per unit of the column, words an effect for each level:

best = fits["and the bill"]
print(best.summary())
print(best.effects_.round(0).to_string())

# %%

EffectsDisplay.from_estimator(best, term="species")

# %%
# Does the best model fit at all?  And what would two penguins weigh, from their other columns?

print(predictive_check(best, penguins, penguins["body_mass_g"], random_state=0))
print(best.predict(penguins.drop(columns="body_mass_g").iloc[[0, 200]], return_std=True))
