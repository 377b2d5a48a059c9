"""Hostile formulas, y and columns: what a formula says is fitted, or is refused by name.

    python hostile_formulas.py --first 1000 --count 400       # one JSON line per case, a summary at the end

A case is drawn from its number alone, as in ``hostile.py``, whose words for the verdicts are used.  A formula
is made of terms that are written in one of their spellings, and the reference is the fit of the same terms by
``terms=``, which no parser has seen.  Then one thing is changed: where it changes the question, it
must be refused or warned of.
"""

import time
import warnings

import numpy as np
import pandas as pd
from hostile import report

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    BSpline,
    DivergenceError,
    EvidenceWarning,
    Factor,
    Group,
    Interaction,
    Smooth,
)

#: Nats beside four errors by which a formula and its terms may differ: columns may come in another order.
NATS = 0.03
NAMES = [
    "x",
    "my x",
    "x.1",
    "_x",
    "1x",
    "x|z",
    "log",
    "C",
    "x:y",
    "ä",
    "True",
    "x~",
    "a+b",
    "s(x)",
    "x y  z",
    "bs",
    "None",
]


def quoted(rng, name):
    """One of the spellings of a column."""
    plain = name[0].isalpha() and all(c.isalnum() or c in "._" for c in name) and name not in ("True", "None")
    text = name if plain and rng.random() < 0.7 else f"`{name}`"
    return rng.choice([text, f" {text} "])


def grouped(rng, text):
    return rng.choice([text, f"({text})"])


def rows_of(rng):
    """Columns of numbers, of levels and y, by role."""
    n = int(rng.choice([24, 40, 60]))
    names = dict(zip(("x", "z", "f", "g", "h", "y"), rng.permutation(NAMES)[:6]))
    code = {"f": rng.integers(0, 3, n), "g": rng.integers(0, 5, n), "h": rng.integers(0, 3, n)}
    frame = {"x": rng.standard_normal(n) * 3 + 5, "z": rng.gamma(2.0, 1.0, n)}
    u = rng.standard_normal((5, 2))
    frame["y"] = (
        frame["x"] + u[code["g"], 0] + u[code["g"], 1] * frame["z"] + code["f"] + rng.standard_normal(n)
    )
    words = {
        "f": [np.array(["a", "b", "c"], object)[code["f"]], np.array(["10", "2", "33"], object)[code["f"]]],
        "g": [code["g"], np.array([f"s {k}" for k in range(5)], object)[code["g"]], code["g"] * 1.5],
        "h": [code["h"], np.array(["u", "v", "w"], object)[code["h"]]],
    }
    frame |= {role: some[rng.integers(len(some))] for role, some in words.items()}
    if rng.random() < 0.3:
        frame["f"] = pd.Categorical(frame["f"])
    return pd.DataFrame({names[role]: values for role, values in frame.items()}), names


def a_term(rng, names, form):
    """Text of a term, the linear columns that it brings, and terms that say the same; one of some kinds."""
    q = {role: lambda role=role: quoted(rng, names[role]) for role in names}
    x, z, f, g, h = (names[role] for role in "xzfgh")
    kinds = {
        "x": lambda: (grouped(rng, q["x"]()), [x], []),
        "f": lambda: (grouped(rng, q["f"]()), [], [Factor(f)]),
        "C": lambda: (f"C({q['h']()})", [], [Factor(h)]),
        "x:f": lambda: (f"{q['x']()}:{q['f']()}", [x], [Interaction(x, Factor(f))]),
        "x*f": lambda: (f"{q['x']()}*{q['f']()}", [x], [Factor(f), Interaction(x, Factor(f))]),
        "x*z": lambda: (f"({q['x']()}+{q['z']()})**2", [x, z], [Interaction(x, z)]),
        "s": lambda: (f"s({q['x']()}, k=6)", [x], [Smooth(x, n_basis=6)]),
        "bs": lambda: (f"bs({q['z']()}, df=4)", [], [BSpline(z, df=4)]),
        "1|g": lambda: (f"(1|{grouped(rng, q['g']())})", [], [Group(g)]),
        "1+z|g": lambda: (f"({grouped(rng, '1 + ' + q['z']())} | {q['g']()})", [z], [Group(g, by=z)]),
        "0+z|g": lambda: (
            f"({rng.choice(['0', '-1'])} + {q['z']()} | {q['g']()})",
            [z],
            [Group(g, by=z, intercept=False, origin=0)],
        ),
        "1|g+z|g": lambda: (
            f"(1 | {q['g']()}) + ({rng.choice(['0', '-1'])} + {q['z']()} | {grouped(rng, q['g']())})",
            [z],
            [Group(g, by=z, correlated=False, origin=0)],
        ),
        "1|g/h": lambda: (f"(1|{q['g']()}/{q['h']()})", [], [Group(g), Group((g, h))]),
        "1|g:h": lambda: (f"(1|{grouped(rng, q['g']() + ':' + q['h']())})", [], [Group((g, h))]),
        "1+z|g:h": lambda: (f"(1 + {q['z']()}|{q['g']()} : {q['h']()})", [z], [Group((g, h), by=z)]),
    }
    return kinds[form]()


#: Kinds of terms that go together, so that no column has two roles.
SETS = [
    ["x"], ["f"], ["C"], ["x:f"], ["x*f"], ["x*z"], ["s"], ["bs"], ["1|g"], ["1+z|g"], ["0+z|g"], ["1|g+z|g"],
    ["1|g/h"], ["1|g:h"], ["1+z|g:h"], ["x", "f"], ["x", "1|g"], ["f", "1+z|g"], ["s", "1|g"],
    ["x", "1|g+z|g"], ["x*f", "1|g"], ["C", "x", "1|g"],
]  # fmt: skip
#: What is changed: nothing that counts, or something that must be refused or warned of.
CHANGES = [
    "nothing", "nothing", "order", "y given", "y float32", "object", "levels", "other y", "part of y", "text",
    "text number", "dates", "mixed", "twice", "stray", "quotes", "number", "power",
]  # fmt: skip


def formula(rng):
    frame, names = rows_of(rng)
    forms = list(SETS[rng.integers(len(SETS))])
    pieces = [a_term(rng, names, form) for form in forms]
    text = " + ".join(rng.permutation([one[0] for one in pieces]))
    left = quoted(rng, names["y"])
    change = str(CHANGES[rng.integers(len(CHANGES))])
    linear = list(dict.fromkeys(name for one in pieces for name in one[1]))
    terms = [term for one in pieces for term in one[2]]
    make = BayesianLinearRegression if rng.random() < 0.8 else lambda **p: BayesianGLM("gaussian", **p)
    given, bad, y = frame.copy(), False, None
    true_y = frame[names["y"]].to_numpy()
    used_x = next((names[r] for r in "xz" if names[r] in linear), None)
    if change == "order":
        given = given[rng.permutation(given.columns)]
    elif change == "y given":
        y = list(true_y)
    elif change == "y float32":
        y = true_y.astype(np.float32)
    elif change == "object" and used_x:
        given[used_x] = given[used_x].astype(object)
    elif change == "levels":
        given[names["g"]] = given[names["g"]].astype("category")
    elif change in ("other y", "part of y"):
        y, bad = (true_y**2 if change == "other y" else np.where(np.arange(len(frame)) == 3, 0, true_y)), True
    elif change in ("text", "text number", "dates", "mixed") and used_x:
        column = given[used_x].astype(str if change != "mixed" else object).astype(object)
        if change in ("text", "mixed"):
            column.iloc[int(rng.integers(len(frame)))] = rng.choice(
                ["?", "missing", "<1", "1..5", "na", "12a"]
            )
        if change == "dates":
            column[:] = [f"2020-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(len(frame))]
        given[used_x], bad = column, change != "text number" or "s" not in forms  # curves are of numbers
    elif change == "twice" and any("|" in form for form in forms):
        part = next(one[0] for form, one in zip(forms, pieces) if "|" in form)
        text, bad = f"{text} + {part}", True
    elif change == "stray":
        wrong = [
            "*",
            "(",
            "| g",
            "[a]",
            "+ +",
            "%in%",
            "~ x",
            "+ 1e3",
            "+ lag(x)",
            "+ I(import x)",
            "+ s(1)",
        ]
        text, bad = f"{text} {rng.choice(wrong)}", True
    elif change == "quotes":
        name = names[str(rng.choice(list("xzfgh")))]
        a, b = rng.choice(["'", '"'], 2)
        text, bad = f"{text} + {a}{name}{b}", True
    elif change == "number":
        text, bad = f"{text} + {rng.choice(['2', '0.5', 'True', 'None', '3:x'])}", True
    elif change == "power":
        text, bad = (
            f"{text} + {rng.choice(['({0})**2', '{0}**2', '{0}^2', '({0}+1)**9e9'])}".format(left),
            True,
        )

    def fit():
        model = make(formula=f"{left} ~ {text}", random_state=0)
        model.fit(*((given,) if y is None else (given, y)))
        return float(model.log_evidence_), float(model.log_evidence_std_)

    fit.what, fit.bad = f"{change}: {left} ~ {text}", bad

    def reference():
        named = [n for n in frame if n in linear or any(n in at(term) for term in terms)]
        order = sorted(named, key=lambda n: (n not in linear, linear.index(n) if n in linear else 0))
        X = frame[order] if order else frame[[]]
        model = make(terms=terms, random_state=0).fit(X, true_y)
        return float(model.log_evidence_), float(model.log_evidence_std_)

    return fit, reference


def at(term):
    """Columns of a term."""
    if isinstance(term, Interaction):
        return {getattr(part, "column", part) for part in term}
    by = term.slopes if isinstance(term, Group) else ()
    return {*(term.column if isinstance(term.column, tuple) else (term.column,)), *by}


def run(number, kinds):
    rng = np.random.default_rng(number)
    fit, reference = formula(rng)
    line, start = dict(number=number, kind="formula", what=fit.what), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value, std = fit()
            line |= dict(value=value, std=std)
        except Exception as error:
            readable = isinstance(error, (ValueError, TypeError, DivergenceError))
            readable &= not isinstance(error, np.linalg.LinAlgError)
            line |= dict(error=type(error).__name__, words=str(error)[:300])
            line["verdict"] = ("refused" if fit.bad else "REFUSED RIGHT") if readable else "UNREADABLE"
    line["seconds"] = round(time.process_time() - start, 2)
    line["warned"] = [str(v.message)[:100] for v in caught if issubclass(v.category, EvidenceWarning)]
    if "verdict" in line:
        return line
    if fit.bad:
        return line | dict(verdict="warned" if line["warned"] else "SILENT")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known, of_known = reference()
    off, spread = value - known, float(np.hypot(std, of_known))
    close = abs(off) <= 4 * spread + NATS
    return line | dict(off=off, verdict="right" if close else "warned" if line["warned"] else "SILENT")


if __name__ == "__main__":
    report(run, {"formula": formula}, __doc__)
