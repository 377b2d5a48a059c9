"""Columns that a formula makes: their values, their statistics in streams, and what no formula may call."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from sgevidence import BayesianGLM, BayesianLinearRegression, EvidenceSearch, sub_formulas, term_probabilities

pytest.importorskip("formulae")
N = 48


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(6001)
    x = rng.gamma(3.0, 1.0, N).round(2) + 0.1
    frame = pd.DataFrame(
        {"x": x, "z": rng.normal(500, 3, N), "p": rng.uniform(0.1, 0.9, N), "g": np.arange(N) % 5}
    )
    frame["c"] = np.array(list("abc"))[np.arange(N) % 3]
    frame["n"] = rng.integers(1, 20, N)
    frame["y"] = np.sqrt(x) + 0.1 * frame["z"] + 0.3 * rng.standard_normal(N)
    frame["k"] = rng.poisson(0.4 * frame["n"] * np.sqrt(x))
    return frame


def fitted(frame, formula, kind=BayesianLinearRegression, **how):
    return kind(formula=formula, random_state=0, **how).fit(frame)


#: Words of a formula and the columns that they stand for.
MADE = {
    "log(x)": lambda f: [np.log(f.x)],
    "np.log(x)": lambda f: [np.log(f.x)],
    "log(x + 1)": lambda f: [np.log(f.x + 1)],
    "log2(x)": lambda f: [np.log2(f.x)],
    "log10(x)": lambda f: [np.log10(f.x)],
    "log1p(x)": lambda f: [np.log1p(f.x)],
    "sqrt(x)": lambda f: [np.sqrt(f.x)],
    "exp(-x)": lambda f: [np.exp(-f.x)],
    "logit(p)": lambda f: [logit(f.p)],
    "I(x**2)": lambda f: [f.x**2],
    "I(x^2)": lambda f: [f.x**2],
    "x + I((x + p) * 2 / z)": lambda f: [f.x, (f.x + f.p) * 2 / f.z],
    "I(x - (p - z))": lambda f: [f.x - (f.p - f.z)],
    "I(x - p - z)": lambda f: [f.x - f.p - f.z],
    "I(x > 2)": lambda f: [(f.x > 2) * 1.0],
    "I(2 ** -x)": lambda f: [2.0**-f.x],
    "I(0.1 * x)": lambda f: [0.1 * f.x],
    "{x * p}": lambda f: [f.x * f.p],
    "center(z)": lambda f: [f.z - f.z.mean()],
    "scale(z)": lambda f: [(f.z - f.z.mean()) / f.z.std()],
    "standardize(z)": lambda f: [(f.z - f.z.mean()) / f.z.std()],
    "poly(z, 3)": lambda f: [
        np.linalg.qr(np.vander((f.z - f.z.mean()), 4, increasing=True))[0][:, k] for k in (1, 2, 3)
    ],
    "poly(x, 2, raw=True)": lambda f: [f.x, f.x**2],
    "poly(x, degree=2)": lambda f: [
        np.linalg.qr(np.vander(f.x - f.x.mean(), 3, increasing=True))[0][:, k] for k in (1, 2)
    ],
    "I(scale(z)**2) + log(exp(sqrt(x)))": lambda f: [((f.z - f.z.mean()) / f.z.std()) ** 2, np.sqrt(f.x)],
}


@pytest.mark.parametrize("words", MADE)
@pytest.mark.parametrize("standardize", [True, False])
def test_a_made_column_is_the_column(frame, words, standardize):
    made = MADE[words](frame)
    X = np.column_stack([*made])
    y = frame["y"] - 50.0
    if words.startswith("poly"):  # signs of a QR decomposition are its own
        X = X * np.sign(X[np.argmax(frame["z"] if "z" in words else frame["x"])])
    expected = BayesianLinearRegression(standardize=standardize, random_state=0).fit(X, y)
    found = fitted(frame.assign(y=y), f"y ~ {words}", standardize=standardize)
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, abs=1e-6)
    assert len(found.coef_) == X.shape[1]
    assert found.predict(frame[:5]) == pytest.approx(expected.predict(X[:5]), rel=1e-6, abs=1e-6)


def test_products_slopes_curves_and_levels_of_made_columns(frame):
    by_hand = frame.assign(l=np.log(frame["x"]), big=1 * (frame["x"] > 2))
    for made, plain in [
        ("log(x) * c", "l * c"),
        ("log(x):c + log(x) * p", "l:c + l * p"),
        ("(log(x) | g)", "(l | g)"),
        ("s(log(x), k=6)", "s(l, k=6)"),
        ("bs(log(x), df=4)", "bs(l, df=4)"),
        ("C(I(x > 2))", "C(big)"),
        ("(log(x) + p)**2", "l + p + l:p"),
    ]:
        one, other = fitted(frame, f"y ~ {made}"), fitted(by_hand, f"y ~ {plain}")
        assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6), made


@pytest.mark.parametrize(
    "right, columns",
    [
        ("x:p", [["x", "p"]]),
        ("p:x + x:p", [["x", "p"]]),
        ("x * p - x", [["p"], ["x", "p"]]),
        ("p:x + p", [["p"], ["x", "p"]]),
        ("x:p:n", [["x", "p", "n"]]),
        ("(x + p)^2 - p", [["x"], ["x", "p"]]),
        ("x + p + n + n:p:x", [["x"], ["p"], ["n"], ["x", "p", "n"]]),  # x:p, x:n and p:n lack
        ("x + p + x:p:n", [["x"], ["p"], ["x", "p", "n"]]),
    ],
)
def test_a_product_without_the_terms_within_it_is_the_product_alone(frame, right, columns):
    X = np.column_stack([frame[one].prod(axis=1) for one in columns])
    expected = BayesianLinearRegression(random_state=0).fit(X, frame["y"])
    found = fitted(frame, f"y ~ {right}")
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, abs=1e-7)
    assert found.predict(frame[:5]) == pytest.approx(expected.predict(X[:5]), rel=1e-6)


def test_a_product_whose_lines_come_with_other_terms_is_centred(frame):
    """Lines of slopes, curves and levels count; beside levels a product without its lines is a column."""
    for one, other in [
        ("x + p + x:p", "x * p"),
        ("s(x, k=6) + p + x:p", "s(x, k=6) + x * p"),
        ("(x | g) + p + x:p", "(x | g) + x * p"),
        ("x:p:c", "I(x * p):c"),
        ("x:p:c + x:p", "I(x * p) + I(x * p):c"),
        ("log(x):p", "I(log(x) * p)"),
        ("center(z):p", "I(center(z) * p)"),
    ]:
        found, expected = (fitted(frame, f"y ~ {right}").log_evidence_ for right in (one, other))
        assert found == pytest.approx(expected, abs=1e-6), one
    with pytest.raises(ValueError, match="X has a column named 'x:p', which the formula makes"):
        fitted(frame.assign(**{"x:p": 1.0}), "y ~ x:p")


def test_names_of_coefficients_are_those_of_the_formula(frame):
    table = str(fitted(frame, "y ~ log(x) + poly(z, 2) + `p`").summary())
    assert all(f"coef[{name}]" in table for name in ("log(x)", "poly(z, 2)[1]", "poly(z, 2)[2]", "p"))


@pytest.mark.parametrize("right", ["center(x):c", "poly(z, 2)", "scale(x) + I(x**2)", "log(x)"])
def test_statistics_are_those_of_the_first_rows(frame, right):
    units = fitted(frame, "y ~ x").units_
    stream = BayesianLinearRegression(formula=f"y ~ {right}", random_state=0)
    first, rest = frame[:30], frame[30:]
    stream.partial_fit(first)
    before = dict(stream._formula.made)
    stream.partial_fit(rest)
    assert stream._formula.made == before and units is not None
    again = BayesianLinearRegression(formula=f"y ~ {right}", random_state=0, units=stream.units_)
    if ":" not in right:  # whose means are those of the first rows, too
        at_once = again.partial_fit(first).partial_fit(rest)
        assert stream.log_evidence_ == pytest.approx(at_once.log_evidence_, abs=1e-9)
    predicted = stream.predict(frame[:1])
    assert predicted == pytest.approx(
        stream.predict(frame)[:1]
    )  # and not those of the rows that are predicted


def test_all_other_columns(frame):
    assert fitted(frame[["x", "p", "c", "y"]], "y ~ .").log_evidence_ == pytest.approx(
        fitted(frame, "y ~ x + p + c").log_evidence_
    )
    some = frame[["x", "p", "g", "n", "k"]]
    one = fitted(some, "k ~ . + (1 | g) + offset(log(n))", BayesianGLM, family="poisson")
    other = fitted(some, "k ~ x + p + (1 | g) + offset(log(n))", BayesianGLM, family="poisson")
    assert one.log_evidence_ == pytest.approx(other.log_evidence_)
    odd = some.rename(columns={"x": "ä ö", "p": "p|q"})
    dots = fitted(
        odd, "k ~ .^2 - `ä ö`:n - `p|q`:n - g - g:n - `ä ö`:g - `p|q`:g - n", BayesianGLM, family="poisson"
    )
    assert dots.log_evidence_ == pytest.approx(
        fitted(some, "k ~ x * p", BayesianGLM, family="poisson").log_evidence_
    )
    for call in (sub_formulas, lambda text: fitted(frame[["y"]], text)):
        with pytest.raises(ValueError, match=r"stands for (no column|all other)"):
            call("y ~ .^2")
    with pytest.raises(ValueError, match="stands for no column"):
        fitted(frame[["y"]], "y ~ .")


def test_nested_fixed_effects(frame):
    expected = fitted(frame, "y ~ c + c:x").log_evidence_
    for right in ("c / x", "c + x %in% c"):
        assert fitted(frame, f"y ~ {right}").log_evidence_ == pytest.approx(expected, abs=1e-8)


def test_an_offset_of_the_formula_is_offset(frame):
    given = BayesianGLM("poisson", random_state=0).fit(frame[["x"]], frame["k"], offset=np.log(frame["n"]))
    model = fitted(frame, "k ~ x + offset(log(n))", BayesianGLM, family="poisson")
    assert model.log_evidence_ == pytest.approx(given.log_evidence_)
    assert model.predict(frame[:4]) == pytest.approx(
        given.predict(frame[["x"]][:4], offset=np.log(frame["n"][:4]))
    )
    assert model.score_samples(frame, frame["k"]) == pytest.approx(
        given.score_samples(frame[["x"]], frame["k"], offset=np.log(frame["n"]))
    )
    assert sub_formulas("k ~ x + offset(log(n))") == ["k ~ 1 + offset(log(n))", "k ~ x + offset(log(n))"]
    search = EvidenceSearch(BayesianGLM("poisson"), {"formula": sub_formulas("k ~ x + offset(log(n))")}).fit(
        frame
    )
    assert list(term_probabilities(search.comparison_).index) == ["x"]
    with pytest.raises(ValueError, match=r"has an offset, and offset= is given"):
        BayesianGLM("poisson", formula="k ~ x + offset(log(n))").fit(frame, offset=1.0)
    with pytest.raises(ValueError, match="which is of BayesianGLM"):
        fitted(frame, "y ~ x + offset(n)")


#: Refused formulas, the words, and the place that these name.
REFUSED = [
    ("foo(x)", r"at character 5: foo\(\) is none"),
    ("lgo(x)", r"s, bs, C, .*log.*, of which log\(\) is the nearest"),
    ("factor(c)", r"write C\(x\)"),
    ("te(x, z)", r"write s\(x\) \+ s\(z\)"),
    ("se(x)", "noise_std="),
    ("cens(x)", "event="),
    ("me(x, z)", "errors of measurement"),
    ("s(g, bs='re')", r"write \(1 \| g\)"),
    ("x + xx", "at character 9: X has no column 'xx', 'x' is near"),
    ("log(c)", "the column 'c' has levels"),
    ("log(x, 2)", r"log\(\) has one column"),
    ("log()", "cannot be read|has one column"),
    ("log(2)", "names no column"),
    ("I('x')", "in quotes is a text"),
    ("I(x + 'a')", "neither a column nor a number"),
    ("I(x:z)", ": has no place within"),
    ("I(x % 2)", "cannot be read"),
    ("poly(x)", "the degree of poly"),
    ("poly(x, 0)", "the degree of poly"),
    ("poly(x, z)", "the degree of poly"),
    ("poly(x, 2.0)", "the degree of poly"),
    ("poly(x, 99)", "the degree of poly"),
    ("poly(n, 19)", "different values"),
    ("log(poly(x, 2))", "stands for itself"),
    ("scale(x, z)", "has one column"),
    ("scale(x, center=False)", "no options"),
    ("x:offset(n)", "a term of its own"),
    ("log(z - 500)", "missing or infinite"),
    ("log(x) + `log(x)`", "is a function and, in backticks, a column"),
    ("x +", "ends too early"),
    ("x ) + z", "at character 7"),
    ("I(" + "(" * 60 + "x" + ")" * 60 + ")", "operations stand in one another"),
    ("0 + c", "leave out 0"),
]


@pytest.mark.parametrize("right, words", REFUSED)
def test_what_is_refused_names_its_place_and_what_works(frame, right, words):
    with pytest.raises(ValueError, match=words):
        fitted(frame, f"y ~ {right}")


HOSTILE = [
    "__import__('os').system('touch {0}')",
    "exec('import os')",
    "I(__import__('os'))",
    "I(open('{0}', 'w'))",
    "np.save(x, '{0}')",
    "np.random.seed(x)",
    "log.__class__(x)",
    "I(x.__class__)",
    "poly(x, __import__('os').system('touch {0}'))",
    "os.system(x)",
    "eval(x)",
    "scale(eval(x))",
    "log(exec(x))",
    "s(eval(x))",
    "C(eval(x))",
    "offset(eval(x))",
    "I((lambda: x)())",
    "I([x for x in y])",
    "I(9**9**9**9 * x)",
    "{{eval(x)}}",
]


@pytest.mark.parametrize("right", HOSTILE)
@pytest.mark.parametrize("left", ["y", None])
def test_no_name_of_a_formula_reaches_python(frame, tmp_path, right, left):
    made = tmp_path / "made"
    text = right.replace("{0}", str(made)).replace("{{", "{").replace("}}", "}")
    with pytest.raises(ValueError):
        fitted(frame, f"{left} ~ {text}" if left else f"{text} ~ x")
    assert not made.exists()
