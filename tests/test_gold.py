"""Every gold value: data sets whose log evidence is known in closed form or by other methods."""

import numpy as np
import pytest
from made_data import GOLD, MAKE

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel

#: Nats by which two closed forms of one number differ, where both error bars are 0.
ROUNDING = 1e-8
#: Minutes: five components that overlap, 10 000 rows.
NIGHTLY = ["OVER_10000_K5"]
#: Three petals are gold of the strata by default.
SLOW = [case for case in GOLD if ("10000" in case or "petal" in case) and case not in NIGHTLY] + [
    "SIM_G_1000"
]
MARKS = {**{case: pytest.mark.slow for case in SLOW}, **{case: pytest.mark.nightly for case in NIGHTLY}}


def problem(case):
    d, gold = MAKE["rebuild"](case), GOLD[case]
    p = d["X"].shape[1]
    model = {
        "L": lambda: LinearModel(p, noise_std=d["sigma"]),
        "S": lambda: SoftmaxModel(p, d["K"]),
        "G": lambda: MixtureModel(gold.get("K", d.get("K")), p),
    }[gold["model"]]()
    return model, Rows.of(d["X"], d.get("y"))


@pytest.mark.parametrize("case", [pytest.param(c, marks=MARKS.get(c, ())) for c in GOLD])
def test_gold(rng, case):
    """Two seeds, one of a thousand rows, each within 3 standard errors; error bars that say something."""
    model, rows = problem(case)
    gold, largest = GOLD[case], 0.5 if GOLD[case]["model"] == "G" else 0.3
    for g in rng.spawn(1 if case.endswith("_1000") else 2):
        sampler = SGAIS(proposal=None) if gold["model"] == "L" else SGAIS()
        result = sampler.run(model, rows, g)
        off, bar = result.log_evidence - gold["logZ"], np.hypot(result.log_evidence_std, gold["se"])
        assert abs(off) < 3 * bar + ROUNDING, f"off by {off:.2g}, with standard errors of {bar:.2g}"
        assert result.log_evidence_std <= largest


@pytest.mark.parametrize("case", [c for c in GOLD if GOLD[c]["method"].startswith(("exact", "analytic"))])
def test_closed_forms_are_gold(case):
    model, rows = problem(case)
    assert model.exact_log_evidence(rows) == pytest.approx(GOLD[case]["logZ"], rel=1e-10)
