"""Inputs that no one should give, to tests by name, times with bounds, and change points: right, or refused.

Each input is a good one, changed.  A change that keeps its meaning (another container, order or unit) has the
answer of the good one; any other is refused in words.  An answer that differs is silent, an error from the
depths of a library a traceback.
"""

import re
import warnings
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, EvidenceMonitor, EvidenceWarning
from sgevidence.hypothesis_tests import anova, contingency, correlation, proportion, ttest
from sgevidence.monitoring import segment

N_INPUTS = 500
#: Words of errors that come from the depths of libraries.
DEPTHS = (
    r"ufunc|unsupported operand|not supported between|setting an array element|has no attribute|unhashable|"
    r"invalid literal|could not convert|object is not|cannot be interpreted|index .* out of bounds|"
    r"broadcast|unexpected keyword|Singular|truth value|must be real number|zero-size"
)


# -- good inputs: a function of named arguments, and those -----------------------------------------------


def good_ttest(rng):
    n, m, kind = int(rng.integers(3, 30)), int(rng.integers(3, 30)), int(rng.integers(5))
    x, y = rng.normal(rng.choice([0, 1]), 1, n), rng.normal(0, rng.choice([1, 3]), m)
    more = [{}, {"alternative": "greater"}, {"alternative": "less"}, {"null": (-0.2, 0.3)}][rng.integers(4)]
    given = [{"x": x}, {"x": x, "y": rng.normal(0, 1, n), "paired": True}, {"x": x, "y": y}][min(kind, 2)]
    more = more | ({"equal_variances": False} if kind == 4 else {})
    return (lambda **all_of: ttest(**all_of).log_bayes_factor), given | more


def good_correlation(rng):
    n = int(rng.integers(4, 40))
    x = rng.standard_normal(n)
    more = [{}, {"alternative": "greater"}, {"alternative": "less"}, {"null": (-0.2, 0.3)}][rng.integers(4)]
    given = {"x": x, "y": rng.choice([0.0, 0.8]) * x + rng.standard_normal(n)}
    return (lambda **all_of: correlation(**all_of).log_bayes_factor), given | more


def good_proportion(rng):
    trials = int(rng.choice([3, 20, 1000]))
    more = [{}, {"alternative": "greater"}, {"null": 0.3, "alternative": "less"}, {"null": (0.4, 0.6)}]
    given = {"successes": int(rng.integers(trials + 1)), "trials": trials}
    return (lambda **all_of: proportion(**all_of).log_bayes_factor), given | more[rng.integers(4)]


def good_contingency(rng):
    more = [{}, {"alternative": "greater"}, {"null": (-0.5, 0.5)}, {"fixed": "rows"}, {"fixed": "margins"}]
    table = rng.poisson(rng.choice([2, 30]), (2, 2)) + 1
    return (lambda **all_of: contingency(**all_of).log_bayes_factor), {"table": table} | more[rng.integers(5)]


def good_anova(rng):
    n = int(rng.integers(8, 30))
    levels = np.array(["a", "b", "c"])[np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]]
    y = rng.standard_normal(n) + (levels == "a")

    def call(y, factor):
        return float(np.asarray(anova(y, {"factor": factor})["log_bayes_factor"])[-1])

    return call, {"y": y, "factor": levels}


def good_times(rng):
    n, family = int(rng.integers(8, 20)), rng.choice(["weibull", "lognormal", "exponential"])
    x, y = rng.standard_normal((n, 1)), rng.exponential(2.0, n) + 0.1
    event = rng.random(n) < 0.7
    event[:2] = True
    given = {"X": x, "y": y, "event": event}
    if rng.random() < 0.4:
        given["entry"] = y * rng.random(n)
    elif rng.random() < 0.4:
        given = {"X": x, "y": np.column_stack([y, np.where(event, y, np.inf)])}

    def call(**all_of):
        return BayesianGLM(str(family), standardize=False, random_state=0).fit(**all_of).log_evidence_

    return call, given


def good_segment(rng):
    y = np.r_[rng.normal(0, 1, 15), rng.normal(4, 1, 15)]
    return (lambda X: segment(X).log_evidence), {"X": y}


def good_monitor(rng):
    y = np.r_[rng.normal(0, 1, 15), rng.normal(4, 1, 15)]
    return (lambda X: EvidenceMonitor().fit(X).log_evidence_), {"X": y}


DOORS = [
    *[good_ttest, good_ttest, good_correlation, good_proportion, good_contingency, good_anova],
    *[good_times, good_times, good_times, good_segment, good_monitor],
]


# -- changes ------------------------------------------------------------------------------------------


def in_another_container(rng, value):
    index = rng.permutation(len(value)) + 100
    frames = value.ndim == 2 or np.ndim(value) == 1
    ways = [
        value.tolist(),
        value.astype(object),
        np.asfortranarray(value),
        np.repeat(value, 2, axis=0)[::2],
        np.ma.array(value),
        np.lib.stride_tricks.as_strided(value, value.shape, value.strides, writeable=False),
    ]
    if frames:
        framed = pd.DataFrame(value, index=index) if value.ndim == 2 else pd.Series(value, index=index)
        ways += [framed, framed.convert_dtypes(), framed.astype(object)]
    return ways[rng.integers(len(ways))]


def spoiled(rng, value):
    """Another value of an array, which nobody can mean, and a word for it."""
    row = int(rng.integers(len(value)))

    def with_cell(cell, dtype=object):
        out = np.array(value, dtype=dtype)
        out[(row, *[0] * (out.ndim - 1))] = cell
        return out

    masked = np.ma.array(value, mask=np.zeros(value.shape, dtype=bool))
    masked[(row, *[0] * (value.ndim - 1))] = np.ma.masked
    ways = {
        "nan": lambda: with_cell(np.nan, float),
        "infinite": lambda: with_cell(np.inf, float),
        "minus infinite": lambda: with_cell(-np.inf, float),
        "None": lambda: with_cell(None),
        "NA": lambda: with_cell(pd.NA),
        "text": lambda: with_cell("three"),
        "empty text": lambda: with_cell(""),
        "a list": lambda: with_cell([1, 2]),
        "date": lambda: with_cell(np.datetime64("2020-01-01")),
        "masked": lambda: masked,
        "complex": lambda: value + 1j,
        "dates": lambda: np.full(value.shape, np.datetime64("2020-01-01")),
        "shorter": lambda: value[:-1],
        "empty": lambda: value[:0],
        "three axes": lambda: value.reshape(*value.shape, *[1] * (3 - value.ndim)) * np.ones(2),
        "a number": lambda: 3.0,
        "a text": lambda: "x",
        "a dict": lambda: {"a": 1},
        "a set": lambda: {1, 2, 3},
        "huge": lambda: 1e250 * value,
        "a function": lambda: len,
        "negative": lambda: -np.abs(value) - 1,
        "no number": lambda: None,
    }
    name = str(rng.choice(list(ways)))
    return name, ways[name]


#: Changes of a value that keep the input good: no cell of an index of levels or of a door is what it was.
FINE = {
    "anova": {"factor": {"text", "empty text"}, "y": {"negative"}},
    "ttest": {"y": {"no number", "shorter", "negative"}, "x": {"shorter", "negative"}},
    "correlation": {"x": {"negative"}, "y": {"negative"}},
    "times": {
        "X": {"negative", "huge"},
        "event": {"no number", "a number"},
        "entry": {"no number", "negative", "minus infinite"},
        "y": {"infinite", "nan", "minus infinite", "None", "NA"},
    },
    "segment": {"X": {"nan", "None", "NA", "shorter", "negative", "masked"}},
    "monitor": {"X": {"nan", "None", "NA", "shorter", "negative", "masked"}},
}
WRONG = {
    "alternative": ["Greater", "two.sided", 1, None, ["greater"], True, b"less", np.array(["less"])],
    "null": [
        np.nan,
        (np.nan, 1.0),
        (1.0, -1.0),
        (0.2, 0.2),
        "0",
        (0.1,),
        (1, 2, 3),
        np.inf,
        [None, 1],
        1j,
        True,
    ],
    "paired": [],
    "equal_variances": [],
    "fixed": ["Rows", 1, None, ("rows",)],
    "successes": [-1, 2.5, np.nan, "3", None, 10**9, [1, 2], 1e400, 1j],
    "trials": [0, -1, 2.5, np.nan, "30", None, [30, 30], 1j],
}


def scaled(door, given, rng):
    """Name of a change of unit or order, and the input; None where there is none."""
    given = dict(given)
    if door in ("ttest", "correlation"):
        arrays = [name for name in ("x", "y") if isinstance(given.get(name), np.ndarray)]
        factor = float(rng.choice([1e-9, 1e-3, 1e3, 1e9]))
        for name in arrays:
            given[name] = factor * given[name]
        return "unit", given
    if door == "contingency":
        return "transposed", (given | {"table": given["table"].T} if "fixed" not in given else given)
    if door == "anova":
        names = {"a": "z", "b": "01", "c": "1"}
        levels = np.array([names[one] for one in given["factor"]])
        return "names of levels", given | {"factor": levels, "y": 1e6 * given["y"]}
    if door == "times":
        order = rng.permutation(len(given["X"]))
        return "order", {name: value[order] for name, value in given.items()}
    return None


def times_told(given, rng):
    """Times in another form, which is as good, and in one that nobody can mean."""
    X, y, event, entry = (given.get(name) for name in ("X", "y", "event", "entry"))
    if y.ndim == 2:
        return [
            ("open ends as nan", given | {"y": np.where(np.isinf(y), np.nan, y)}),
            ("a frame of bounds", given | {"y": pd.DataFrame(y, columns=["low", "high"])}),
        ], [
            ("ends turned", given | {"y": y[:, ::-1] - [1.0, 0.0]}),
            ("with an event", given | {"event": y[:, 0] == y[:, 1]}),
            ("of text", given | {"y": y.astype(str)}),
            ("three columns", given | {"y": np.column_stack([y, y[:, 0]])}),
        ]
    frame = pd.DataFrame({"x": X[:, 0], "dead": event} | ({} if entry is None else {"came": entry}))
    names = {"X": frame, "y": y, "event": "dead"} | ({} if entry is None else {"entry": "came"})
    survival = np.array(list(zip(event, y)), dtype=[("event", bool), ("time", float)])
    fine = [
        ("columns by name", names),
        ("event as numbers", given | {"event": event.astype(float)}),
        ("structured", {name: value for name, value in given.items() if name != "event"} | {"y": survival}),
        ("two columns", {n: v for n, v in given.items() if n != "event"} | {"y": two_columns(y, event)}),
    ]
    return fine, [
        ("event from 1", given | {"event": 1 + event}),
        ("event of text", given | {"event": np.where(event, "dead", "alive")}),
        ("no such column", names | {"event": "died"}),
        ("an array by name", given | {"event": "dead"}),
        ("entry at the end", given | {"entry": y}),
        ("entry with nan", given | {"entry": np.where(y == y[0], np.nan, 0.0)}),
        ("entry of text", given | {"entry": y.astype(str)}),
        ("times of zero", given | {"y": np.where(y == y[0], 0.0, y)}),
    ]


def two_columns(y, event):
    return np.column_stack([y, np.where(event, y, np.inf)])


def told(door, given, rng):
    """Name of a change that only this door has, the input, and the input whose answer it has, if any."""
    if door == "times":
        fine, wrong = times_told(given, rng)
        is_fine = rng.random() < 0.5
        name, changed = (fine if is_fine else wrong)[rng.integers(len(fine if is_fine else wrong))]
        return name, changed, given if is_fine else None
    if door in ("segment", "monitor"):  # rows without a value are skipped
        row, y = int(rng.integers(30)), given["X"]
        holes = np.insert(y, row, np.nan)
        forms = [holes, pd.Series(holes), holes[:, None], pd.Series(holes).convert_dtypes(), holes.tolist()]
        return "a hole", {"X": forms[rng.integers(len(forms))]}, given
    return None


def inputs(seed):
    """Door, change, the call, and the answer that it must have; None where it must be refused."""
    rng = np.random.default_rng([6101, seed])
    make = DOORS[rng.integers(len(DOORS))]
    door = make.__name__.removeprefix("good_")
    function, given = make(rng)
    arrays = [name for name, value in given.items() if isinstance(value, np.ndarray)]
    choice = rng.random()
    if choice < 0.3 and arrays:
        name = str(rng.choice(arrays))
        changed = given | {name: in_another_container(rng, given[name])}
        return (
            door,
            f"{name} as {type(changed[name]).__name__}",
            partial(function, **changed),
            (function, given),
        )
    if choice < 0.45 and (found := scaled(door, given, rng)) is not None:
        return door, found[0], partial(function, **found[1]), (function, given)
    if choice < 0.65 and (found := told(door, given, rng)) is not None:
        name, changed, good = found
        return door, name, partial(function, **changed), None if good is None else (function, good)
    names = [name for name in given if name in arrays or WRONG.get(name)]
    name = str(rng.choice(names))
    if name in arrays:
        word, changed = spoiled(rng, given[name])
        if word in FINE.get(door, {}).get(name, ()):
            return door, f"{name} fine: {word}", None, None
        try:
            changed = changed()
        except (ValueError, TypeError):  # a text has no nan
            return door, f"{name} fine: {word}", None, None
        return door, f"{name} {word}", partial(function, **given | {name: changed}), None
    value = WRONG[name][rng.integers(len(WRONG[name]))]
    return door, f"{name}={value!r}", partial(function, **given | {name: value}), None


def outcome(seed):
    """One of "right", "refused", "silent" and "traceback", with words."""
    door, change, call, expected = inputs(seed)
    if call is None:
        return "right", f"{door}: {change}"
    where = f"{seed} {door}: {change}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EvidenceWarning)
        right = None if expected is None else expected[0](**expected[1])
        try:
            found = call()
        except (ValueError, TypeError) as error:
            is_deep = re.search(DEPTHS, str(error)) and not re.search(", in row|no levels", str(error))
            return ("traceback" if is_deep else "refused"), f"{where}: {type(error).__name__}: {error}"
        except Exception as error:
            return "traceback", f"{where}: {type(error).__name__}: {error}"
    if right is not None and found == pytest.approx(right, rel=1e-6, abs=0.02 if door == "times" else 1e-6):
        return "right", where
    return "silent", f"{where}: {found} for {right}"


def counted(seeds):
    found = [outcome(seed) for seed in seeds]
    bad = [words for kind, words in found if kind in ("silent", "traceback")]
    return Counter(kind for kind, _ in found), bad


@pytest.mark.slow
def test_hostile_inputs_are_right_or_refused():
    counts, bad = counted(range(N_INPUTS))
    assert not bad, f"{dict(counts)}\n" + "\n".join(bad)
    assert counts["right"] > 0.2 * N_INPUTS and counts["refused"] > 0.2 * N_INPUTS


def test_some_hostile_inputs():
    assert not counted(range(10_000, 10_015))[1]
