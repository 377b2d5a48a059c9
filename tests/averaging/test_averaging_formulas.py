"""Models with formulas in averages that learn chunk by chunk: they know of all rows of the first call."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression, EvidenceModelAverager

rng = np.random.default_rng(20261129)
N = 160
FRAME = pd.DataFrame({"x": rng.uniform(0, 10, N), "city": rng.choice(["Bonn", "Köln"], N)})
FRAME.loc[:7, "city"] = "Köln"  # the first chunk has one level of three, which is not the first by name
FRAME.loc[N - 9 :, "city"] = "Aachen"
FRAME["y"] = 0.2 * FRAME["x"] + (FRAME["city"] == "Bonn") + rng.standard_normal(N)
FRAME["when"] = pd.date_range("2020-01-01", periods=N)  # no formula names it
EXACT = ["y ~ x", "y ~ x + city", "y ~ poly(x, 2)", "y ~ x * city"]
Y = FRAME["y"].to_numpy()


@pytest.mark.parametrize("method", ["bma", "stacking", "dynamic"])
def test_the_models_of_an_average_have_the_evidence_that_they_have_alone(method):
    models = {formula: BayesianLinearRegression(formula=formula) for formula in EXACT}
    average = EvidenceModelAverager(models, method=method, random_state=0).fit(FRAME)
    given = EvidenceModelAverager(models, method=method, random_state=0).fit(FRAME, Y)
    np.testing.assert_array_equal(average.weights_path_["weights"], given.weights_path_["weights"])
    alone = [model.fit(FRAME).log_evidence_ for model in models.values()]
    np.testing.assert_allclose(average.log_evidences_, alone, atol=1e-6)
    means = np.column_stack([model.predict(FRAME) for model in models.values()])
    np.testing.assert_allclose(
        average.predict(FRAME), means @ average.weights_, atol=0.05
    )  # means over draws


@pytest.mark.parametrize("formula", [pytest.param("y ~ s(x)", marks=pytest.mark.slow), "y ~ x + (1 | city)"])
def test_curves_and_groups_in_a_stack(formula):
    models = {
        "line": BayesianLinearRegression(formula="y ~ x"),
        formula: BayesianLinearRegression(formula=formula),
    }
    average = EvidenceModelAverager(models, method="stacking", random_state=0).fit(FRAME, Y)
    alone = models[formula].set_params(random_state=0).fit(FRAME)
    assert average.log_evidences_[1] == pytest.approx(alone.log_evidence_, abs=0.05)


def test_rows_that_are_held_until_units_are_known():
    mixed = FRAME.sample(frac=1.0, random_state=0)
    models = {formula: BayesianLinearRegression(formula=formula) for formula in ("y ~ x", "y ~ (1 | city)")}
    for n_first in (4, 9):  # a later call brings levels of the group that those held do not have
        average = EvidenceModelAverager(models, method="stacking", random_state=0)
        for part in (FRAME[:n_first], mixed):
            average.partial_fit(part)
        rows = pd.concat([FRAME[:n_first], mixed])
        alone = [model.set_params(random_state=0).fit(rows).log_evidence_ for model in models.values()]
        np.testing.assert_allclose(average.log_evidences_, alone, atol=0.05)


def test_families_with_formulas_in_a_stack():
    counts = rng.poisson(np.exp(0.1 * FRAME["x"]))
    models = {f: BayesianGLM("poisson", formula=f"k ~ {f}") for f in ("x", "x + city")}
    average = EvidenceModelAverager(models, method="stacking", random_state=0).fit(
        FRAME.assign(k=counts), counts
    )
    alone = [model.set_params(random_state=0).fit(FRAME.assign(k=counts)) for model in models.values()]
    np.testing.assert_allclose(average.log_evidences_, [m.log_evidence_ for m in alone], atol=0.2)


def test_a_prediction_needs_the_columns_of_the_formulas_only():
    models = {formula: BayesianLinearRegression(formula=formula) for formula in EXACT[:2]}
    average = EvidenceModelAverager(models, random_state=0).fit(FRAME)
    np.testing.assert_array_equal(average.predict(FRAME[["city", "x"]]), average.predict(FRAME))
