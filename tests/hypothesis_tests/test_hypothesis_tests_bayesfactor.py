"""Against R's BayesFactor 0.9.12-4.4, whose answers are literals here, by the calls beside them."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_of_r import BREAKS, DOLLS, DOSE, HAIR_EYE, MPG, QSEC, SLEEP, SUPP, TENSION, TOOTH, WOOL, WT
from sklearn.datasets import load_iris

from sgevidence.hypothesis_tests import anova, contingency, correlation, proportion, ttest

FIRST, SECOND = SLEEP
IRIS = load_iris().data

CASES = {
    # ttestBF(x), ttestBF(x, y)
    "sleep": (lambda: ttest(FIRST, SECOND, paired=True), 2.848326809),
    "sleep, wide": (lambda: ttest(FIRST - SECOND, rscale="wide"), 2.913176941),
    "sleep, mu = -1": (lambda: ttest(FIRST - SECOND, null=-1), -0.319005637),
    "sleep, two samples": (lambda: ttest(FIRST, SECOND), 0.235803198),
    "ToothGrowth": (lambda: ttest(TOOTH[SUPP == "OJ"], TOOTH[SUPP == "VC"]), 0.181285005),
    "iris, unequal sizes": (lambda: ttest(IRIS[:50, 1], IRIS[60:100, 1], rscale="ultrawide"), 26.967097396),
    # proportionBF(y, N, p)
    "15 of 25": (lambda: proportion(15, 25), -0.415708715),
    "15 of 25 against 0.3, wide": (lambda: proportion(15, 25, null=0.3, rscale="wide"), 3.113208959),
    "none of 10": (lambda: proportion(0, 10), 3.168502391),
    "560 of 1000": (lambda: proportion(560, 1000, rscale=1), 3.981297047),
    # contingencyTableBF(table, sampleType, fixedMargin, priorConcentration)
    "dolls, poisson": (lambda: contingency(DOLLS, fixed="none"), 1.264460549),
    "dolls, jointMulti": (lambda: contingency(DOLLS), 0.982894704),
    "dolls, rows": (lambda: contingency(DOLLS, fixed="rows"), 0.634227194),
    "dolls, cols": (lambda: contingency(DOLLS, fixed="columns"), 0.596005981),
    "dolls, hypergeom": (lambda: contingency(DOLLS, fixed="margins"), 0.147942679),
    "dolls, hypergeom, a = 2": (lambda: contingency(DOLLS, fixed="margins", concentration=2), 0.556053032),
    "four, hypergeom": (lambda: contingency([[3, 0], [1, 7]], fixed="margins"), 2.333356752),
    "hair, poisson": (lambda: contingency(HAIR_EYE, fixed="none"), 61.066653643),
    "hair, poisson, a = 2.5": (lambda: contingency(HAIR_EYE, fixed="none", concentration=2.5), 56.689974082),
    "hair, jointMulti": (lambda: contingency(HAIR_EYE), 57.507776990),
    "hair, jointMulti, a = 2.5": (lambda: contingency(HAIR_EYE, concentration=2.5), 55.535144900),
    "hair, rows": (lambda: contingency(HAIR_EYE, fixed="rows"), 56.819428144),
    "hair, cols": (lambda: contingency(HAIR_EYE, fixed="columns"), 56.782286573),
    # correlationBF(x, y)
    "iris sepals": (lambda: correlation(IRIS[:, 0], IRIS[:, 1]), -0.675272859),
    "iris sepal and petal": (lambda: correlation(IRIS[:, 0], IRIS[:, 3]), 76.949236575),
    "cars, wide": (lambda: correlation(WT, QSEC, rscale="wide"), -0.792792105),
    "cars, ultrawide": (lambda: correlation(MPG, QSEC, rscale="ultrawide"), 1.207000999),
}


@pytest.mark.parametrize("name", CASES)
def test_answers_of_bayesfactor(name):
    run, expected = CASES[name]
    result = run()
    assert result.log_bayes_factor == pytest.approx(expected, abs=1e-6)
    assert 0 <= result.log_bayes_factor_std < 1e-5


def test_each_takes_milliseconds():
    """The bar is 50 ms; the best of three, as other processes have a share of the cores."""
    for name, (run, _) in CASES.items():
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        assert min(seconds) < 0.05, name


# -- anovaBF: one and two factors ---------------------------------------------------------------------


def test_anova_of_teeth():
    """anovaBF(len ~ supp * dose, ToothGrowth); both and the interaction there by sampling, ± 0.005."""
    found = anova(TOOTH, {"supp": SUPP, "dose": DOSE})
    assert found.index == ["supp", "dose", "supp + dose", "supp + dose + supp:dose"]
    one, two = found["log_bayes_factor"][:2], found["log_bayes_factor"][2:]
    np.testing.assert_allclose(one, [0.181285005, 29.237180943], atol=1e-4)
    np.testing.assert_allclose(two, [33.2924641535, 34.28007976], atol=0.03)
    # by quadrature over the two or three g with another program, as this library's issue gives them
    np.testing.assert_allclose(two, [33.2921, 34.2951], atol=1e-3)
    assert (found["log_bayes_factor_std"] < 1e-3).all()


def test_anova_of_unequal_cells():
    """anovaBF(breaks ~ wool * tension, warpbreaks[-c(1:5, 30:33), ], rscaleFixed = "wide")."""
    kept = np.r_[5:29, 33:54]
    factors = {"wool": WOOL[kept], "tension": TENSION[kept]}
    found = anova(BREAKS[kept], factors, rscale="wide")["log_bayes_factor"]
    np.testing.assert_allclose(found[:2], [-1.029229695, 2.469567215], atol=1e-4)
    np.testing.assert_allclose(found[2:], [1.70111664, 2.74359913], atol=0.05)


def test_two_levels_are_a_t_test():
    """r = ½ of effects is √2/2 of their difference."""
    result = ttest(TOOTH[SUPP == "OJ"], TOOTH[SUPP == "VC"])
    found = anova(TOOTH, {"supp": SUPP})["log_bayes_factor"][0]
    assert found == pytest.approx(result.log_bayes_factor, abs=1e-4)


ALL_OF_TWO = "cue + load + side + cue:load + cue:side + load:side"
ALL_OF_THREE = f"{ALL_OF_TWO} + cue:load:side"
#: anovaBF(seconds ~ cue * load * side + who, whichRandom = "who", iterations = 3e5) of BayesFactor 0.9.12-4.4
#: after set.seed(1), and its errors.  Models are left out where another seed is off by more than these.
THREE_WITHIN = {
    "cue": (13.2320, 0.0034),
    "load": (3.7298, 0.0032),
    "side": (-0.0064, 0.0045),
    "cue + load": (18.9239, 0.0117),
    "cue + side": (13.6930, 0.0059),
    "load + side": (3.9080, 0.0082),
    "cue + load + side": (19.7089, 0.0069),
    "cue + load + cue:load": (18.8344, 0.0180),
    "cue + side + cue:side": (13.0082, 0.0370),
    "load + side + load:side": (3.8436, 0.0093),
    "cue + load + side + cue:load": (19.7312, 0.0260),
}


@pytest.fixture(scope="module")
def three_within():
    return pd.read_csv(Path(__file__).parents[1] / "data" / "three_within.csv")


@pytest.mark.slow
def test_anova_of_three_factors_within_subjects(three_within):
    """Eleven people, each in all 2 × 3 × 2 cells; up to eight scales g."""
    frame = three_within
    found = anova(frame["seconds"], frame[["cue", "load", "side"]], subjects=frame["who"])
    assert len(found.index) == 18 and found.index[-1] == ALL_OF_THREE
    mine = dict(zip(found.index, zip(found["log_bayes_factor"], found["log_bayes_factor_std"])))
    for name, (expected, error) in THREE_WITHIN.items():
        value, std = mine[name]
        assert abs(value - expected) < 4 * np.hypot(error, std), name
        assert std < 0.02
    lower = anova(frame["seconds"], frame[["side", "load", "cue"]], subjects=frame["who"], interaction=2)
    assert len(lower.index) == 17
    assert lower["log_bayes_factor"][-1] == pytest.approx(mine[ALL_OF_TWO][0], abs=0.03)


def test_too_many_models_and_other_interactions_are_refused(three_within):
    frame = three_within
    many = {k: np.arange(132) // 2**k % 2 for k in range(5)}
    with pytest.raises(ValueError, match="more than 4096 models: give interaction=2"):
        anova(frame["seconds"], many)
    for wrong in ("all", -1, 1.5):
        with pytest.raises(TypeError, match="interaction must be"):
            anova(frame["seconds"], frame[["cue"]], interaction=wrong)
