"""Mutants are of what a function does: names of variables and the form of the source may change."""

import math

import pytest
from mutants import broken

SCALE = 3.0


def as_written(values, shift=0.0):
    """Root of the mean square, and a sum that reads like it."""
    total, count = 0.0, 0
    for v in values:
        square = (v - shift) ** 2  # of the distance
        total = total + square
        count += 1
    largest = total * SCALE
    return math.sqrt(total / count), {"largest": largest}


# fmt: off
def reformatted(x, m=0.):
    s, n = 0., 0
    for _ in x:
        d = ((_ - m)
             ** 2)
        s = (s + d)
        n += 1
    t = s*SCALE
    return math.sqrt(s / n), {'largest': t}
# fmt: on


VALUES = [1.0, 2.0, 6.0]


@pytest.mark.parametrize("function", [as_written, reformatted])
@pytest.mark.parametrize(
    "right, wrong, expected",
    [
        ("math.sqrt(total / count)", "total / count", 41 / 3),
        ("(v - shift)**2", "(v - shift)", 3**0.5),
        ("count += 1", "count += 2", (41 / 6) ** 0.5),
        ("count += 1", "pass", ZeroDivisionError),
        ("total = total + square\ncount += 1", "total = square; count += 1", 12**0.5),
        ("(math.sqrt(...), {'largest': other})", "(other, {'largest': ...})", 123.0),
        ("total = total + square", "total = total + (lambda a: a * SCALE)(square)", 41**0.5),
    ],
)
def test_the_form_of_the_source_does_not_count(function, right, wrong, expected):
    mutant = broken(function, right, wrong)
    if isinstance(expected, float):
        assert mutant(VALUES)[0] == pytest.approx(expected)
    else:
        with pytest.raises(expected):
            mutant(VALUES)
    assert function(VALUES)[0] == pytest.approx((41 / 3) ** 0.5)  # as before


def test_parameters_tell_alike_parts_apart():
    def between(low, high):
        return min(low, 1.0), min(high, 1.0)

    assert broken(between, "min(high, 1.0)", "high - low")(2.0, 5.0) == (1.0, 3.0)


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        ("total / (count - 1)", "total", "0 parts of as_written read like .* write the mutant anew"),
        ("total / total", "total", "0 parts"),  # one variable, where the function has two
        ("a = b", "pass", "0 parts"),
        ("total * 3.0", "total", "0 parts"),  # a global is not its value
        ("0.0", "1.0", "2 parts of as_written .* more of its surroundings"),
        ("total / count", "total / square", "'square' is in the mutant only"),
        ("/ count", "* count", "whole expressions or statements are needed"),
    ],
)
def test_a_mutant_that_does_not_apply_says_what_to_do(right, wrong, message):
    with pytest.raises(LookupError, match=message):
        broken(as_written, right, wrong)
