"""The summary of a model with factors has a row for each level, as ``effects_`` has."""

import numpy as np
import pytest

from sgevidence import BayesianGLM, Factor, Group


def test_levels_are_in_the_summary_by_name(rng):
    pd = pytest.importorskip("pandas")
    spray, plot = np.repeat(["A", "B", "C"], 20), np.tile(["p", "q", "r", "s"], 15)
    counts = rng.poisson(np.repeat([2.0, 5.0, 9.0], 20))
    X = pd.DataFrame({"spray": spray, "plot": plot})
    model = BayesianGLM("poisson", terms=[Factor("spray"), Group("plot")], random_state=0).fit(X, counts)
    frame, effects = model.summary().to_frame(), model.effects_.to_frame()
    names = ["spray[A]", "spray[B]", "spray[C]"]
    assert set(names) <= set(frame.index) and not any("fixed_effects" in name for name in frame.index)
    np.testing.assert_allclose(frame.loc[names, "mean"], effects.loc[names, "mean"], atol=1e-9)
    np.testing.assert_allclose(frame.loc[names, "sd"], effects.loc[names, "sd"], atol=1e-9)
    assert frame.loc[names, "mean"].sum() == pytest.approx(0.0, abs=1e-9)
    assert frame.loc["spray[A]", "5%"] < frame.loc["spray[A]", "mean"] < frame.loc["spray[A]", "95%"]
