"""Random formulas against the same model by terms and columns of one's own, and against other frames.

A formula is drawn from its number: terms in one of their spellings, a response that may stand in a function,
names that need backticks.  The reference has no formula: columns are made by numpy, and terms are objects.
Predictors of noise and of zeros are held against other frames, those of hurdles against other counts, too.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    Factor,
    Group,
    Interaction,
    Monotone,
    Smooth,
)

pytest.importorskip("formulae")
#: Columns' names, some of which need backticks.
NAMES = [
    "x",
    "my x",
    "größe",
    "x.1",
    "log",
    "1st",
    "a|b",
    "p**2",
    "w",
    "I",
    "f(x)",
    "poly",
    "g g",
    "zeta",
    "q:r",
]
#: Functions of the response, their slopes in powers of y, and the logarithm of each in front.
LEFT = {
    "{y}": (lambda y: y, 0.0, 0.0),
    "log({y})": (np.log, -1.0, 0.0),
    "log({y} / 2)": (lambda y: np.log(y / 2), -1.0, 0.0),
    "sqrt({y})": (np.sqrt, -0.5, -np.log(2.0)),
}


def rows_of(rng):
    n = int(rng.choice([30, 45, 60]))
    names = dict(zip("xzfghmy", map(str, rng.permutation(NAMES)[:7])))
    g = rng.integers(0, 6, n)
    role = {
        "x": (rng.gamma(4.0, 1.0, n) + 0.5).round(1),  # with values that come again
        "z": rng.normal(rng.choice([0.0, 1e4]), 2.0, n),
        "f": rng.choice(["lo", "mid", "hi"], n),
        "g": [f"s{k}" for k in g] if rng.random() < 0.5 else g,
        "h": rng.choice(["u", "v"], n),
        "m": rng.integers(1, 5, n),
    }
    eta = np.log(role["x"]) + rng.standard_normal(6)[g] + 0.5 * (role["f"] == "lo") * role["x"] ** 0.5
    role["y"] = np.exp(0.3 * (eta + 0.5 * rng.standard_normal(n)))
    return pd.DataFrame({names[key]: values for key, values in role.items()}), names


def quoted(rng, name):
    is_plain = name[0].isalpha() and all(c.isalnum() or c in "._" for c in name)
    return name if is_plain and rng.random() < 0.7 else f"`{name}`"


def a_term(rng, q, names, kind):
    """Text, columns of numbers by name, and terms."""
    f, g, h = (names[key] for key in "fgh")
    x, z, m = names["x"], names["z"], names["m"]
    log, square = {"L": lambda X: np.log(X[x])}, {"Q": lambda X: X[x] ** 2}
    kinds = {
        "x": (f"{q('x')}", [x], {}, []),
        "log": (rng.choice(["log({})", "np.log({})", "log( {} )"]).format(q("x")), ["L"], log, []),
        "square": (rng.choice(["I({}**2)", "I({0} * {0})", "{{{}^2}}"]).format(q("x")), ["Q"], square, []),
        "poly": (f"poly({q('x')}, 2)", [x, "Q"], square, "poly"),
        "scale": (f"{rng.choice(['scale', 'center'])}({q('z')})", [z], {}, []),
        "f": (q("f"), [], {}, [Factor(f)]),
        "log*f": (f"log({q('x')}) * {q('f')}", ["L"], log, [Factor(f), Interaction("L", Factor(f))]),
        "x:h": (f"{q('x')}:{q('h')}", [x], {}, [Interaction(x, Factor(h))]),
        "s(log)": (f"s(log({q('x')}), k=6)", ["L"], log, [Smooth("L", n_basis=6)]),
        "1|g": (f"(1 | {q('g')})", [], {}, [Group(g)]),
        "z|g": (f"({rng.choice(['1 + ', ''])}{q('z')} | {q('g')})", [z], {}, [Group(g, by=z)]),
        "z||g": (
            rng.choice(["({z} || {g})", "(1 + {z}||{g})", "(1 | {g}) + (0 + {z} | {g})"]).format(
                z=q("z"), g=q("g")
            ),
            [z],
            {},
            [Group(g, by=z, correlated=False, origin=0)],
        ),
        "h|g": (f"(1 + {q('h')} | {q('g')})", [], {}, [Group(g, by=Factor(h))]),
        "f||g": (f"({q('f')} || {q('g')})", [], {}, [Group(g, by=Factor(f), correlated=False)]),
        "0+h|g": (f"(0 + {q('h')} | {q('g')})", [], {}, [Group(g, by=Factor(h), intercept=False)]),
        "1|g/h": (f"(1 | {q('g')} / {q('h')})", [], {}, [Group(g), Group((g, h))]),
        "1|g:h": (f"(1 | {q('g')}:{q('h')})", [], {}, [Group((g, h))]),
        "offset": (f"offset(log({q('x')}))", [], {}, []),
        "mo": (f"mo({q('m')})", [], {}, [Monotone(m)]),
        "s(by=f)": (
            f"{q('f')} + s({q('x')}, k=6, by={q('f')})",
            [x],
            {},
            [Factor(f), Interaction(x, Factor(f)), Smooth(x, n_basis=6, by=f)],
        ),
        "s(by=g)": (
            f"(1 | {q('g')}) + s({q('x')}, by={q('g')}, k=6)",
            [x],
            {},
            [Group(g, by=x), Smooth(x, n_basis=6, by=g)],
        ),
        "blocks": (
            f"(1 + {q('x')} | {q('g')}) + (0 + {q('z')} | {q('g')})",
            [x, z],
            {},
            [Group(g, by=x), Group(g, by=z, intercept=False, origin=0)],
        ),
    }
    return kinds[kind]


SETS = [
    ["x"], ["log"], ["x", "square"], ["poly"], ["scale", "f"], ["log*f"], ["x:h"], ["s(log)"], ["log", "1|g"],
    ["x", "z|g"], ["log", "z||g"], ["x", "h|g"], ["scale", "f||g"], ["f", "0+h|g"], ["log", "1|g/h"],
    ["square", "1|g:h"], ["poly", "1|g"], ["log*f", "1|g"], ["scale", "x", "square", "f"],
    ["x", "mo"], ["mo", "1|g"], ["s(by=f)"], ["s(by=g)"], ["blocks"], ["blocks", "f", "mo"],
]  # fmt: skip
#: Other frames that say the same; of renamed columns the formula is written anew.
OTHERS = ["rows", "columns", "levels", "names", "terms", "unit of y", "unit of x", "stream"]


def formula(number):
    rng = np.random.default_rng([6060, number])
    frame, names = rows_of(rng)
    kinds = SETS[number % len(SETS)]

    def written(names, seed, kinds=kinds):
        own = np.random.default_rng(seed)
        return [a_term(own, lambda key: quoted(own, names[key]), names, kind) for kind in kinds]

    pieces = written(names, number)
    left = str(rng.choice(list(LEFT)))
    return rng, frame, names, pieces, left, written


def evidence(text, frame, **how):
    model = BayesianLinearRegression(formula=text, random_state=0, **how).fit(frame)
    return model.log_evidence_, model.log_evidence_std_, model


def reference(frame, names, pieces, left="{y}", model=BayesianLinearRegression, **known):
    """The model without a formula."""
    function, power, more = LEFT[left]
    X, y = frame.drop(columns=names["y"]), frame[names["y"]].to_numpy()
    linear = list(dict.fromkeys(name for piece in pieces for name in piece[1]))
    for piece in pieces:
        X = X.assign(**{name: make(X) for name, make in piece[2].items()})
    if any(piece[3] == "poly" for piece in pieces):
        x = X[names["x"]]
        Q = np.linalg.qr(np.vander(x - x.mean(), 3, increasing=True))[0]
        X = X.assign(P1=Q[:, 1], P2=Q[:, 2])
        linear = [name for name in linear if name not in (names["x"], "Q")] + ["P1", "P2"]
    terms = [term for piece in pieces if piece[3] != "poly" for term in piece[3]]
    model = model(terms=terms, columns=linear, random_state=0).fit(X, function(y), **known)
    slopes = power * np.sum(np.log(y)) + len(y) * more if left != "{y}" else 0.0
    return model.log_evidence_ + slopes, model.log_evidence_std_


def changed(rng, what, frame, names, pieces, written):
    """Another frame, its names and pieces, and nats that its evidence has more."""
    y = names["y"]
    if what == "rows":
        return frame.sample(frac=1, random_state=int(rng.integers(99))), names, pieces, 0.0
    if what == "columns":
        return frame[rng.permutation(frame.columns)], names, pieces, 0.0
    if what == "levels":
        maps = {names["f"]: {"lo": "9", "mid": "x y", "hi": "a"}, names["h"]: {"u": "z", "v": "b"}}
        return (
            frame.assign(**{name: frame[name].map(words) for name, words in maps.items()}),
            names,
            pieces,
            0.0,
        )
    if what == "names":
        new = dict(zip("xzfghmy", ["Länge in m", "z", "f f", "g`"[:1], "_h", "m:1", "y (kg)"]))
        return frame.rename(columns={names[key]: new[key] for key in names}), new, written(new, 1), 0.0
    if what == "terms":
        return frame, names, pieces[::-1], 0.0
    if what == "unit of y":
        return frame.assign(**{y: frame[y] * 0.01}), names, pieces, len(frame) * np.log(100.0)
    origin = 0.0 if any("|" in piece[0] and names["z"] in piece[0] for piece in pieces) else 12345.0
    scaled = origin + frame[names["z"]] * 1000.0  # of slopes the unit alone: || depends on the origin
    return frame.assign(**{names["z"]: scaled}), names, pieces, 0.0


def joined(left, names, pieces):
    return f"{left.format(y='`' + names['y'] + '`')} ~ {' + '.join(piece[0] for piece in pieces)}"


def check(number):
    rng, frame, names, pieces, left, written = formula(number)
    text = joined(left, names, pieces)
    value, std, model = evidence(text, frame)
    known, of_known = reference(frame, names, pieces, left)
    assert abs(value - known) < 4 * np.hypot(std, of_known) + 1e-3, (number, text, value, known)
    assert np.isfinite(model.predict(frame)).all() and (left == "{y}" or (model.predict(frame) > 0).all())
    what = OTHERS[(number // len(SETS)) % len(OTHERS)]
    if what == "stream":
        stream = BayesianLinearRegression(formula=text, random_state=0, units=model.units_)
        kept = [frame[k : k + 30] for k in range(0, len(frame), 30)]
        if all(set(part[names[key]]) == set(frame[names[key]]) for part in kept[:1] for key in "fghm"):
            for part in kept:
                stream.partial_fit(part)
            # means of contrasts, knots and statistics of polynomials are those of the first rows
            assert abs(stream.log_evidence_ - value) < 4 * np.hypot(std, stream.log_evidence_std_) + 1.5, (
                number,
                text,
            )
        return
    other, new, others, more = changed(rng, what, frame, names, pieces, written)
    again = joined(left, new, others)
    found, of_found, _ = evidence(again, other)
    assert abs(found - more - value) < 4 * np.hypot(std, of_found) + 1e-3, (
        number,
        what,
        again,
        found - more,
        value,
    )


#: Families, and the parameter that has a predictor.
FAMILIES = [
    ("gaussian", "noise"), ("poisson", None), ("student_t", "noise"), ("bernoulli", None),
    ("zero_inflated_poisson", "zeros"), ("negative_binomial", None), ("hurdle_poisson", "zeros"),
    ("hurdle_negative_binomial", "zeros"), ("student_t", None), ("beta", None), ("zero_one_beta", None),
    ("softmax", None),
]  # fmt: skip
PREDICTORS = [["z"], ["f"], ["log"], ["x:h"], ["bs"], ["poly"], ["f", "z"], ["s"], ["s", "f"]]


def as_family(rng, family, values):
    """A y that the family can have, which depends on the numbers."""
    eta = (values - values.mean()) / values.std()
    if "poisson" in family or "binomial" in family:
        return rng.poisson(np.exp(1 + 0.4 * eta)) * (
            rng.random(len(eta)) > 0.3 * ("binomial" not in family[:8])
        )
    if family == "softmax":
        scores = np.column_stack([eta, 0.5 - eta, np.zeros(len(eta))]) + rng.gumbel(size=(len(eta), 3))
        return np.array(["a", "b", "c"])[np.argmax(scores, axis=1)]
    if family == "bernoulli":
        return (eta + rng.logistic(size=len(eta)) > 0).astype(int)
    shares = rng.beta(2 * np.exp(0.3 * eta), 2.0).round(3).clip(0.001, 0.999)
    ends = rng.random(len(eta)) < 0.2 * (family == "zero_one_beta")
    return values if "t" == family[-1] or family == "gaussian" else np.where(ends, shares > 0.5, shares)


def predictor(rng, names):
    """Text of the formula of another parameter, in spellings of its own."""
    q = lambda key: quoted(rng, names[key])  # noqa: E731
    words = {
        "z": q("z"), "f": q("f"), "log": f"log({q('x')})", "x:h": f"{q('x')}:{q('h')}",
        "bs": f"bs({q('z')}, df=4)", "s": f"s({q('z')}, k=5)", "poly": f"poly({q('x')}, 2)",
    }  # fmt: skip
    return words


def check_family(number):
    """A family with a random formula against the same of another frame."""
    family, label = FAMILIES[number % len(FAMILIES)]
    rng, frame, names, *_ = formula(number)
    y = names["y"]
    frame = frame.assign(**{y: as_family(rng, family, frame[y].to_numpy())})
    kinds = PREDICTORS[number // len(FAMILIES) % len(PREDICTORS)]
    own = SETS[number % len(SETS)]
    if family == "softmax":  # which has no groups and no curves whose scale is inferred
        own = [kind for kind in own if kind in ("x", "log", "poly", "scale", "f", "log*f", "x:h")] or ["x"]
    has_offset = "poisson" in family or "binomial" in family

    def written(names, seed, kinds=tuple(own) + ("offset",) * has_offset):
        rng = np.random.default_rng(seed)
        return [a_term(rng, lambda key: quoted(rng, names[key]), names, kind) for kind in kinds]

    pieces = written(names, number)
    if any(
        "|" in piece[0] for piece in pieces
    ):  # few rows with groups and many columns are annealed, in minutes
        kinds = kinds[:1] if kinds[0] in ("z", "log") else ["z"]

    def fitted(frame, names, pieces, backwards=False, rows_at_once=None, **how):
        if label is not None:
            own = predictor(np.random.default_rng(number), names)
            chosen = kinds[::-1] if backwards else kinds
            how[label] = "~ " + " + ".join(own[kind] for kind in chosen)
        text = joined("{y}", names, pieces)
        model = kind(formula=text, random_state=0, **how)
        for first in range(0, len(frame), rows_at_once or len(frame)):
            model.partial_fit(frame[first : first + (rows_at_once or len(frame))], **classes)
        return model.log_evidence_, model.log_evidence_std_, (text, how, model)

    kind = BayesianSoftmaxRegression if family == "softmax" else partial(BayesianGLM, family)
    classes = {"classes": ["a", "b", "c"]} if family == "softmax" else {}
    value, std, said = fitted(frame, names, pieces)
    if label is None and family != "softmax":
        known = {"offset": np.log(frame[names["x"]])} if has_offset else {}
        alone, of_alone = reference(frame, names, pieces, model=kind, **known)
        assert abs(alone - value) < 4 * np.hypot(std, of_alone) + 1e-3, (number, family, said, alone, value)
    what = OTHERS[(number // len(FAMILIES)) % len(OTHERS)]
    if what == "stream":
        if all(set(frame[:30][names[key]]) == set(frame[names[key]]) for key in "fghm"):
            found, of_found, _ = fitted(frame, names, pieces, rows_at_once=30, units=said[-1].units_)
            # means of contrasts, knots and statistics of polynomials are those of the first rows
            assert abs(found - value) < 4 * np.hypot(std, of_found) + 1.5, (
                number,
                family,
                said,
                found,
                value,
            )
        return
    if what == "unit of y" and not (family.endswith("t") or family == "gaussian"):
        what = "rows"
    other, new, others, more = changed(rng, what, frame, names, pieces, written)
    found, of_found, again = fitted(other, new, others, what == "terms")
    bound = 4 * np.hypot(std, of_found) + 1e-3
    assert abs(found - more - value) < bound, (number, family, what, said, again, found - more, value, std)


def check_hurdle(number):
    """Zeros of a hurdle: what a predictor gains is the same whatever the model of the counts is."""
    rng, frame, names, _, _, written = formula(number)
    y = names["y"]
    frame = frame.assign(**{y: as_family(rng, "hurdle_poisson", frame[y].to_numpy())})
    own = predictor(np.random.default_rng(number), names)
    zeros = "~ " + " + ".join(own[kind] for kind in PREDICTORS[number % len(PREDICTORS)])
    pieces, gains = written(names, number, [k for k in SETS[number % len(SETS)] if "|" not in k] or ["x"]), []
    for family, text in [
        ("hurdle_poisson", joined("{y}", names, pieces)),
        ("hurdle_negative_binomial", f"`{y}` ~ 1"),
    ]:
        with_zeros, alone = (
            BayesianGLM(family, formula=text, zeros=one, random_state=0).fit(frame) for one in (zeros, "~ 1")
        )
        error = np.hypot(with_zeros.log_evidence_std_, alone.log_evidence_std_)
        gains.append((with_zeros.log_evidence_ - alone.log_evidence_, error))
    (one, of_one), (other, of_other) = gains
    assert abs(one - other) < 4 * np.hypot(of_one, of_other) + 1e-3, (number, text, zeros, gains)


@pytest.mark.parametrize("number", [3, 13])
def test_zeros_of_a_hurdle_are_apart_from_its_counts(number):
    check_hurdle(number)


@pytest.mark.parametrize("number", [0, 2, 4, pytest.param(17, marks=pytest.mark.slow)])
def test_a_family_depends_on_no_frame(number):
    check_family(number)


@pytest.mark.parametrize(
    "first", [pytest.param(200, marks=pytest.mark.slow), pytest.param(212, marks=pytest.mark.nightly)]
)
def test_many_families_depend_on_no_frame(first):
    for number in range(first, first + 12):
        check_family(number)


@pytest.mark.parametrize("number", [0, 9, 22, 43, 63, 74])
def test_a_formula_is_its_model(number):
    check(number)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 200, 20))
def test_many_formulas_are_their_models(first):
    for number in range(first, first + 20):
        check(number)
