"""Results: sentences, more rows, other scales, pictures; and bad input in words that name the argument."""

import re

import numpy as np
import pytest
from data_of_r import DOLLS, SLEEP, TOOTH

from sgevidence.displays import BayesFactorDisplay
from sgevidence.hypothesis_tests import anova, contingency, correlation, proportion, ttest

X, Y = SLEEP

# -- more rows ----------------------------------------------------------------------------------------

STREAMS = {
    "one sample": (lambda a, b: ttest(X[a:b]), lambda a, b: (X[a:b],)),
    "paired": (lambda a, b: ttest(X[a:b], Y[a:b], paired=True), lambda a, b: (X[a:b], Y[a:b])),
    "two samples": (lambda a, b: ttest(X[a:b], Y[a:b], null=-0.5), lambda a, b: (X[a:b], Y[a:b])),
    "proportion": (
        lambda a, b: proportion((X > 0)[a:b].sum(), b - a),
        lambda a, b: ((X > 0)[a:b].sum(), b - a),
    ),
    "correlation": (lambda a, b: correlation(X[a:b], Y[a:b]), lambda a, b: (X[a:b], Y[a:b])),
}


@pytest.mark.parametrize("name", STREAMS)
def test_rows_may_come_one_after_the_other(name):
    whole, rows = STREAMS[name]
    first = result = whole(0, 4)
    for n in range(4, 10):
        before = result.log_bayes_factor
        result = result.update(*rows(n, n + 1))
        assert result.log_bayes_factor == pytest.approx(whole(0, n + 1).log_bayes_factor, abs=1e-8)
        assert result.path["log_bayes_factor"][-2] == before
    assert len(first.path["n_samples"]) == 1 and len(result.path["n_samples"]) == 7
    assert result.statistics == pytest.approx(whole(0, 10).statistics)


def test_rows_of_one_group_may_come_alone():
    found = ttest(X[:5], Y).update(X[5:], []).log_bayes_factor
    assert found == pytest.approx(ttest(X, Y).log_bayes_factor, abs=1e-10)


def test_tables_add():
    found = contingency(DOLLS, fixed="none").update([[1, 0], [0, 3]])
    again = contingency([[51, 48], [21, 44]], fixed="none")
    assert found.log_bayes_factor == pytest.approx(again.log_bayes_factor) and found.n_samples == 164
    with pytest.raises(ValueError, match=r"table must have the shape \(2, 2\)"):
        found.update([[1, 2, 3], [4, 5, 6]])


def test_rows_far_from_zero_lose_no_digits():
    result = ttest(X[:4] + 1e6)
    for n in range(4, 10):
        result = result.update([X[n] + 1e6])
    assert result.log_bayes_factor == pytest.approx(ttest(X + 1e6).log_bayes_factor, abs=1e-6)


# -- other scales, and pictures -----------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_another_scale_of_the_same_rows(name):
    result = STREAMS[name][0](0, 10)
    wide = result.with_rscale("wide")
    assert wide.rscale > result.rscale and wide.log_bayes_factor != result.log_bayes_factor
    assert wide.with_rscale("medium").log_bayes_factor == result.log_bayes_factor
    display = BayesFactorDisplay.over_rscale(result, [result.rscale, wide.rscale])
    np.testing.assert_array_equal(display.log_bayes_factor, [result.log_bayes_factor, wide.log_bayes_factor])


def test_pictures():
    result = ttest(X[:3])
    for n in range(3, 10):
        result = result.update(X[n : n + 1])
    rows, scales = BayesFactorDisplay.over_rows(result), BayesFactorDisplay.over_rscale(result)
    assert rows.ax_.get_xlabel() == "rows" and list(rows.places) == list(range(3, 11))
    assert scales.ax_.get_xlabel() == "rscale" and scales.marked == result.rscale
    assert np.interp(scales.marked, scales.places, scales.log_bayes_factor) == pytest.approx(
        result.log_bayes_factor, abs=1e-3
    )
    with pytest.raises(TypeError, match="a contingency table has no rscale"):
        BayesFactorDisplay.over_rscale(contingency(DOLLS))


# -- sentences ----------------------------------------------------------------------------------------


def test_the_sentence_names_the_more_probable_hypothesis():
    for result, first in (
        (ttest(X, Y, paired=True), "17.3 times as probable if the mean difference is not 0 as if"),
        (proportion(15, 25), "1.52 times as probable if the probability is 0.5 as if"),
        (contingency(DOLLS), "2.67 times as probable if rows and columns depend on each other as if"),
        (correlation(X, Y), "times as probable if x and y are correlated as if"),
    ):
        assert first in " ".join(repr(result).split())
        assert all(len(line) <= 80 for line in repr(result).splitlines())


def test_enormous_factors_are_written():
    result = ttest(np.arange(2000.0) + 1e4)
    assert result.bayes_factor == np.inf and result.log_bayes_factor > 709
    assert re.search(r"Bayes factor \d\.\de\d{4} ", repr(result))
    assert proportion(5000, 10000).bayes_factor < 1


# -- bad input ----------------------------------------------------------------------------------------

NAN = float("nan")
REFUSED = [
    (lambda: ttest([1.0, NAN, 2.0]), "x contains NaN"),
    (lambda: ttest(X, [1.0, np.inf, 2.0]), "y contains infinity"),
    (lambda: ttest(["a", "b"]), "could not convert string to float: .a., in row 0 of x"),
    (lambda: ttest(X[:, None]), r"x must be one-dimensional, got the shape \(10, 1\)"),
    (lambda: ttest(3.0), "x must be one-dimensional"),
    (lambda: ttest([]), "x must have at least 2 values, got 0"),
    (lambda: ttest([1.0]), "x must have at least 2 values"),
    (lambda: ttest(X, []), "y must have at least 1 values"),
    (lambda: ttest([1.0], [2.0]), "at least three values together"),
    (lambda: ttest([0.1 + 0.2, 0.3, 0.3]), "x is constant"),
    (lambda: ttest([1.0, 1.0], [2.0, 2.0]), "x and y are each constant"),
    (lambda: ttest(X + 0.1, X, paired=True), "the differences x − y are constant"),
    (lambda: ttest(X, Y[:5], paired=True), "must have the same length, got 10 and 5"),
    (lambda: ttest(X, paired=True), "paired=True needs y"),
    (lambda: ttest(X, rscale="medium.narrow"), "rscale must be"),
    (lambda: ttest(X, rscale=0.0), "rscale must be"),
    (lambda: ttest(X, rscale=NAN), "rscale must be"),
    (lambda: ttest(X, null=NAN), "null must be"),
    (lambda: ttest(X).update(X, Y), "y is given, and the test is of one sample"),
    (lambda: ttest(X, Y).update(X), "needs y"),
    (lambda: ttest(np.ma.masked_array(X, X > 3)), "x is a masked array"),
    (lambda: proportion(-1, 5), "successes has a negative count"),
    (lambda: proportion(6, 5), "successes must be at most trials"),
    (lambda: proportion(2.5, 5), "successes must be whole numbers"),
    (lambda: proportion(NAN, 5), "successes contains NaN"),
    (lambda: proportion([1, 0], 5), "successes must be one number"),
    (lambda: proportion(0, 0), "trials must be at least 1"),
    (lambda: proportion(1, 5, null=1.0), "null must be a number between 0 and 1"),
    (lambda: contingency([[1, -2], [3, 4]]), "table has a negative count"),
    (lambda: contingency([[1, 0.5], [3, 4]]), "table must be whole numbers"),
    (lambda: contingency([1, 2, 3]), "table must be two-dimensional"),
    (lambda: contingency(["a", "b", "a"]), r"contingency\(a, b\) counts cases"),
    (lambda: contingency([["a", "b"], ["b", "a"]]), r"contingency\(a, b\) counts cases"),
    (
        lambda: contingency([50, 48], [21, 41]),
        r"a level of its own in each row: give one label per case, or one",
    ),
    (
        lambda: contingency([10, 10, 12], [8, 8, 9]),
        "3 pairs of numbers are labels of a table of 4 cells: give",
    ),
    (lambda: contingency([[1, 2], [3]]), "table must be two-dimensional"),
    (lambda: contingency(list("aabb"), list("uvu")), r"shape of columns, \(3,\), got \(4,\)"),
    (lambda: contingency(["a", "b", None], list("uvu")), "table has missing values"),
    (lambda: contingency(list("aabb"), list("uuuu")), "columns must have two levels"),
    (lambda: contingency(DOLLS).update(list("aab"), list("uvu")), "the table so far has none"),
    (lambda: contingency(list("aabb"), list("uvuv")).update(["c"], ["u"]), "'c' is none of the levels"),
    (lambda: contingency(list("aabb"), list("uvuv")).update(["a"], []), "in pairs, got 1 and 0"),
    (lambda: contingency([[1, 2, 3]]), "table must have two rows and columns or more"),
    (lambda: contingency([[0, 0], [0, 0]]), "table has no counts"),
    (lambda: contingency([[1, NAN], [3, 4]]), "table contains NaN"),
    (lambda: contingency(DOLLS, fixed="cols"), "fixed must be one of"),
    (lambda: contingency(DOLLS, fixed=np.array([1.0, 2.0])), "fixed must be one of"),
    (lambda: contingency(np.ones((3, 2)), fixed="margins"), r"needs a table of shape \(2, 2\)"),
    (lambda: contingency(DOLLS, concentration=0.5), "concentration must be 1 or more"),
    (lambda: correlation(X, np.ones(10)), "y is constant"),
    (lambda: correlation(X, Y[:9]), "must have the same length, got 10 and 9"),
    (lambda: correlation(X[:2], Y[:2]), "at least three pairs"),
    (lambda: correlation(X, 3 - 2 * X), "y is a linear function of x"),
    (lambda: anova(TOOTH, {"a": np.zeros(60)}), "the factor 'a' must have two levels"),
    (lambda: anova(TOOTH, {"a": np.arange(60)}), "a level of its own in each row"),
    (lambda: anova(TOOTH, {"a": np.arange(59)}), r"the factor 'a' must have the shape of y, \(60,\)"),
    (lambda: anova(TOOTH, {"a": ["u", None] * 30}), "the factor 'a' has missing values"),
    (lambda: anova(TOOTH, {"a": [1.0, NAN] * 30}), "the factor 'a' has missing values"),
    (lambda: anova(TOOTH, {}), "factors must be one or more"),
    (lambda: anova(TOOTH, [[0, 1] * 30]), "factors must be a mapping"),
    (lambda: anova(np.ones(60), {"a": [0, 1] * 30}), "y is constant"),
    (lambda: anova([0, 1] * 30, {"a": [0, 1] * 30}), "y is the same in all rows of equal levels"),
]


@pytest.mark.parametrize("run, message", REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_bad_input_is_named(run, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run()
