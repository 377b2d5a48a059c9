"""
Litters: are the rows of a litter alike?
========================================

Sixteen pregnant rats had a chemical in their food and sixteen had none, and the pups of each litter that were
alive at four days and at weaning were counted (Weil 1970, as in Williams 1975).  Pups of a litter share a
mother: rows are not independent, and a test that takes them to be is too sure of itself.
"""

import pandas as pd

from sgevidence import BayesianGLM, compare
from sgevidence.displays import EffectsDisplay

weaned = {
    "control": "13/13 12/12 9/9 9/9 8/8 8/8 12/13 11/12 9/10 9/10 8/9 11/13 4/5 5/7 7/10 7/10",
    "treated": "12/12 11/11 10/10 9/9 10/11 9/10 9/10 8/9 8/9 4/5 7/9 4/7 5/10 3/6 3/10 0/7",
}
rows = []
for diet, litters in weaned.items():
    for k, text in enumerate(litters.split()):
        alive, born = map(int, text.split("/"))
        rows += [(diet, f"{diet} {k + 1}", int(pup < alive)) for pup in range(born)]
frame = pd.DataFrame(rows, columns=["diet", "litter", "lives"])

# %%
# Each pup is a row, a yes or a no.  Do litters differ, and does the diet matter, given that they do?

formulas = ["lives ~ 1", "lives ~ diet", "lives ~ (1 | litter)", "lives ~ diet + (1 | litter)"]
models = {text: BayesianGLM("bernoulli", formula=text, random_state=0).fit(frame) for text in formulas}
print(compare(models))

# %%
# Litters differ, without any doubt: pups of a litter live or die together.  Rows that are taken for
# independent make the diet look needed; with litters the question is open, for there are 32 litters and not
# 299 pups that speak of it.

first, second = (models[f"lives ~ diet{more}"] for more in ("", " + (1 | litter)"))
for words, with_diet, without in [
    ("pups independent:", first, models["lives ~ 1"]),
    ("litters differ:  ", second, models["lives ~ (1 | litter)"]),
]:
    gain = with_diet.log_evidence_ - without.log_evidence_
    print(f"{words} log Bayes factor of the diet {gain:+.2f} nats")

# %%
# The effects of the litters, in units of the logit: those of a litter in which all live cannot be told apart
# from each other, and the last treated one stands out.

EffectsDisplay.from_estimator(second, term="1 | litter")
