"""Reports of tests say the numbers that the result has, on the side that the data favour."""

import re

import numpy as np
import pytest

from sgevidence.hypothesis_tests import anova, contingency, correlation, proportion, ttest

RNG = np.random.default_rng(20261129)
X, Y = RNG.normal(size=30), RNG.normal(size=25) + 1.2
RESULTS = {
    "for H1": lambda: ttest(X, Y),
    "for H0": lambda: ttest(X, X + RNG.normal(0, 1e-6, 30) + 0.001),
    "one-sided": lambda: ttest(Y, alternative="greater"),
    "proportion": lambda: proportion(20, 22),
    "table": lambda: contingency([[30, 2], [3, 25]]),
    "correlation": lambda: correlation(X[:25], X[:25] + Y),
}


def numbers(words, text):
    return [
        float(found) for found in re.findall(words + r"(\d+(?:\.\d+)?(?:e\d+)?)", text.replace("\n", " "))
    ]


@pytest.mark.parametrize("name", RESULTS)
def test_a_report_has_factor_probability_and_prior(name):
    result = RESULTS[name]()
    text = " ".join(result.report().split())
    size = abs(result.log_bayes_factor)
    favoured, other = ("H1", "H0") if result.log_bayes_factor > 0 else ("H0", "H1")
    assert re.search(rf"times as likely if [^()]* \({favoured}\) as if [^()]* \({other}\)", text)
    for words in ("The data are ", r"\(Bayes factor "):
        assert numbers(words, text)[0] == pytest.approx(np.exp(size), rel=0.06)
    p = 1 / (1 + np.exp(-size))
    said = re.search(rf"that of {favoured} given the data is (>?[\d.]+?)\.(?:$| )", text)[1]
    assert said == ">0.999" if p >= 0.9995 else float(said) == pytest.approx(p, abs=6e-4)
    assert result._test.prior in text and "Software: sgevidence" in text


def test_the_scale_of_the_prior_is_halved_and_doubled():
    result = ttest(X, Y)
    text = " ".join(result.report().split())
    half, twice = (result.with_rscale(k * result.rscale).bayes_factor for k in (0.5, 2.0))
    assert numbers("Under half its scale the Bayes factor of H1 over H0 is ", text)[0] == pytest.approx(
        half, rel=0.06
    )
    assert numbers("under twice ", text)[0] == pytest.approx(twice, rel=0.06)
    against = ttest(X, X + 1e-3 * np.arange(30)).report()
    assert re.search(r"over H0 is\s+1/[\d.]+, under\s+twice\s+1/", against)


@pytest.mark.parametrize("effect", [0.0, 1.5])
@pytest.mark.parametrize("within", [False, True])
def test_models_of_an_analysis_of_variance_have_probabilities(effect, within):
    rng = np.random.default_rng(7)
    factors = {"soil": np.tile(["clay", "sand"], 30), "water": np.repeat(["much", "little", "none"], 20)}
    y = rng.normal(size=60) + effect * (factors["soil"] == "clay")
    table = anova(y, factors, subjects=np.repeat(np.arange(10), 6) if within else None)
    null = "subjects alone" if within else "one common mean"
    values = dict(zip([*table.index, null], [*table["log_bayes_factor"], 0.0]))
    p = np.exp(np.array(list(values.values())) - np.logaddexp.reduce(list(values.values())))
    text = table.report()
    best = max(values, key=values.get)
    said = " ".join(text.split())
    assert f"as likely under {best} as under" in said and f"that of {best} given the data is" in said
    assert text.splitlines()[1].split("  ")[0] == best
    shown = float(re.search(r"given the data is >?([\d.]+?)\.( |$)", said)[1])
    assert shown == pytest.approx(max(p), abs=1e-3)
    assert ("of subjects" in said) == within and f"table are against {null}." in said
    with pytest.raises(AttributeError):
        table[["log_bayes_factor"]].report()


@pytest.mark.parametrize("format, mark", [("markdown", "| ---"), ("latex", r"\toprule"), ("html", "<table>")])
def test_reports_have_the_formats_of_comparisons(format, mark):
    assert mark in ttest(X).report(format) and mark in anova(X, {"a": [0, 1] * 15}).report(format)
    with pytest.raises(ValueError, match="format must be one of"):
        ttest(X).report("word")
