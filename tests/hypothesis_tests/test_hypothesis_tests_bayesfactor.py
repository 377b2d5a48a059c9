"""Against R's BayesFactor 0.9.12-4.4, whose answers are literals here, by the calls beside them."""

import time

import numpy as np
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
