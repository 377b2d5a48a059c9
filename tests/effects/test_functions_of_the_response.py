"""log(y) ~ x: the model is that of log(y), the evidence that of y, and predictions are values of y."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceSearch,
    RowSource,
    merge,
    predictive_check,
)

pytest.importorskip("formulae")
N = 60
#: Left-hand sides: the function, its inverse, and its slope at y.
LEFT = {
    "log(y)": (np.log, np.exp, lambda y: 1 / y),
    "log10(y)": (np.log10, lambda z: 10**z, lambda y: 1 / y / np.log(10)),
    "log2(y)": (np.log2, lambda z: 2**z, lambda y: 1 / y / np.log(2)),
    "log1p(y)": (np.log1p, np.expm1, lambda y: 1 / (1 + y)),
    "sqrt(y)": (np.sqrt, lambda z: z**2, lambda y: 0.5 / np.sqrt(y)),
    "logit(y / 100)": (lambda y: logit(y / 100), lambda z: 100 * expit(z), lambda y: 100 / y / (100 - y)),
    "log(2 * y - 0.01)": (
        lambda y: np.log(2 * y - 0.01),
        lambda z: (np.exp(z) + 0.01) / 2,
        lambda y: 2 / (2 * y - 0.01),
    ),
    "I(3 - y)": (lambda y: 3 - y, lambda z: 3 - z, lambda y: 1.0 + 0 * y),
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(6002)
    x, g = rng.normal(20, 2, N), np.arange(N) % 6
    y = np.exp(0.2 * (x - 20) + 0.5 * rng.standard_normal(6)[g] + 0.4 * rng.standard_normal(N) + 0.5)
    return pd.DataFrame({"x": x, "g": g, "y": y})


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("how", [{}, {"standardize": False}, {"noise_std": 0.5}])
def test_the_evidence_is_that_of_y(frame, left, how):
    forward, inverse, slope = LEFT[left]
    z, y = forward(frame["y"]), frame["y"].to_numpy()
    plain = BayesianLinearRegression(random_state=0, **how).fit(frame[["x"]], z)
    model = BayesianLinearRegression(formula=f"{left} ~ x", random_state=0, **how).fit(frame)
    jacobian = np.log(slope(y))
    assert model.log_evidence_ == pytest.approx(plain.log_evidence_ + jacobian.sum(), abs=1e-8)
    assert model.predict(frame) == pytest.approx(inverse(plain.predict(frame[["x"]])), rel=1e-8)
    scores = plain.score_samples(frame[["x"]], z) + jacobian
    assert model.score_samples(frame, y) == pytest.approx(scores, abs=1e-8)
    joint = plain.log_predictive(frame[["x"]], z) + jacobian.sum()
    assert model.log_predictive(frame, y) == pytest.approx(joint, abs=1e-6)
    assert model.evidence_path_["log_evidence"][-1] == pytest.approx(model.log_evidence_)
    assert model.sample_y(frame[:3], 2, 1) == pytest.approx(inverse(plain.sample_y(frame[["x"]][:3], 2, 1)))


@pytest.mark.parametrize("family", ["gaussian", pytest.param("student_t", marks=pytest.mark.slow)])
def test_groups_and_other_families(frame, family):
    z, jacobian = np.log(frame["y"]), -np.log(frame["y"]).sum()
    plain = BayesianGLM(family, formula="z ~ x + (1 | g)", random_state=0).fit(frame.assign(z=z))
    model = BayesianGLM(family, formula="log(y) ~ x + (1 | g)", random_state=0).fit(frame)
    assert model.log_evidence_ == pytest.approx(plain.log_evidence_ + jacobian, abs=1e-6)
    assert model.predict(frame) == pytest.approx(np.exp(plain.predict(frame)))
    assert model.coef_ == pytest.approx(plain.coef_) and "coef[x]" in str(model.summary())
    draws = model.sample_y(frame[:1], 4000, 3)
    assert np.median(draws) == pytest.approx(model.predict(frame[:1])[0], rel=0.05)


def test_the_evidence_of_a_known_line_by_hand(frame):
    """Noise and coefficients known to be nothing: y is lognormal, whatever the library says of units."""
    model = BayesianLinearRegression(
        formula="log(y) ~ 1", noise_std=0.7, standardize=False, intercept_scale=1e-6
    ).fit(frame)
    y = frame["y"].to_numpy()
    assert model.log_evidence_ == pytest.approx(np.sum(norm.logpdf(np.log(y), 0, 0.7) - np.log(y)), abs=1e-4)


def test_streams_sums_files_and_merged_fits(frame, tmp_path):
    whole = BayesianLinearRegression(formula="log(y) ~ x + (1 | g)", random_state=0).fit(frame)
    stream = BayesianLinearRegression(formula="log(y) ~ x + (1 | g)", units=whole.units_, random_state=0)
    for k in range(0, N, 15):
        stream.partial_fit(frame[k : k + 15])
        assert stream.evidence_path_["log_evidence"][-1] == pytest.approx(stream.log_evidence_)
    assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.02)
    few = BayesianLinearRegression(formula="log(y) ~ x", random_state=0)  # rows that are held at first
    for k in range(0, N, 5):
        few.partial_fit(frame[k : k + 5])
    units = few.units_
    at_once = BayesianLinearRegression(formula="log(y) ~ x", units=units, random_state=0).fit(frame)
    assert few.log_evidence_ == pytest.approx(at_once.log_evidence_, abs=1e-6)
    parts = [
        BayesianLinearRegression(formula="log(y) ~ x + (1 | g)", units=whole.units_, random_state=0).fit(part)
        for part in (frame[:30], frame[30:])
    ]
    assert merge(*parts).log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.02)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = RowSource(tmp_path / "rows.csv", target="y")
    read = BayesianLinearRegression(formula="log(y) ~ x", random_state=0).fit(source)
    again = BayesianLinearRegression(formula="log(y) ~ x", random_state=0).fit(frame)
    assert read.log_evidence_ == pytest.approx(again.log_evidence_, abs=1e-6)


def test_transformed_and_plain_y_are_compared(frame):
    """Rows whose logarithm is a line: the Bayes factor is that of two densities of one y."""
    search = EvidenceSearch(BayesianLinearRegression(random_state=0), {"formula": ["y ~ x", "log(y) ~ x"]})
    search.fit(frame)
    assert search.best_params_ == {"formula": "log(y) ~ x"}
    values = [BayesianLinearRegression(formula=f).fit(frame).log_evidence_ for f in ("y ~ x", "log(y) ~ x")]
    for unit in (1e-3, 50.0):  # of y: nothing changes between the two but the units of both
        other = frame.assign(y=frame["y"] * unit)
        again = [
            BayesianLinearRegression(formula=f).fit(other).log_evidence_ for f in ("y ~ x", "log(y) ~ x")
        ]
        assert again[0] + N * np.log(unit) == pytest.approx(values[0], abs=1e-6)
        assert again[1] + N * np.log(unit) == pytest.approx(values[1], abs=1e-6)


def test_a_predictive_check_looks_at_y(frame):
    model = BayesianLinearRegression(formula="log(y) ~ x", random_state=0).fit(frame)
    check = predictive_check(model, frame, frame["y"], random_state=0)
    assert "nan" not in str(check)


def test_relative_evidence_has_no_unit(frame):
    plain = BayesianLinearRegression(formula="z ~ x + (1 | g)", prior="jzs", random_state=0)
    model = BayesianLinearRegression(formula="log(y) ~ x + (1 | g)", prior="jzs", random_state=0).fit(frame)
    assert model.log_evidence_ == pytest.approx(
        plain.fit(frame.assign(z=np.log(frame["y"]))).log_evidence_, abs=1e-8
    )


def test_what_has_no_answer_is_refused(frame):
    model = BayesianLinearRegression(formula="log(y) ~ x", random_state=0).fit(frame)
    for call in (lambda: model.predict(frame, return_std=True), lambda: model.score_samples(frame[["x"]])):
        with pytest.raises(ValueError, match="sample_y draws y"):
            call()
    np.testing.assert_array_equal(model.score_samples(frame), model.score_samples(frame, frame["y"]))
    bad = frame.assign(y=frame["y"].where(frame.index != 7, 0.0))
    with pytest.raises(ValueError, match=r"log\(y\) is not finite where y is 0, as in row 7"):
        BayesianLinearRegression(formula="log(y) ~ x").fit(bad)
    assert np.isfinite(BayesianLinearRegression(formula="log1p(y) ~ x").fit(bad).log_evidence_)
    with pytest.raises(ValueError, match=r"model of log\(y\), and this is a model of y as it is"):
        BayesianLinearRegression(formula="y ~ x", units=model.units_).fit(frame)
    with pytest.raises(ValueError, match=r"'gaussian' and 'student_t'"):
        BayesianGLM("gamma", formula="log(y) ~ x").fit(frame)
    for left in ("I(y**2)", "exp(y)", "log(y - x)", "center(y)", "I(1 / y)", "I(0 * y)", "poly(y, 2)"):
        with pytest.raises(ValueError, match=r"response|inverse"):
            BayesianLinearRegression(formula=f"{left} ~ x").fit(frame)
    with pytest.raises(ValueError, match="y is not the column"):
        BayesianLinearRegression(formula="log(y) ~ x").fit(frame, np.log(frame["y"]))
    given = BayesianLinearRegression(formula="log(y) ~ x", random_state=0).fit(frame[["x"]], frame["y"])
    assert given.log_evidence_ == model.log_evidence_
