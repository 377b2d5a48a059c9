"""Deliberately broken variants: a check that lets one pass checks nothing."""

import inspect
import textwrap


def broken(function, right: str, wrong: str):
    """``function`` with one piece of its source replaced, so that it is the real code but for one mistake."""
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(right) != 1:  # no AssertionError, which a test of a mutant waits for
        raise LookupError(f"{function.__name__} has changed, write the mutant anew: {right!r}")
    namespace = dict(function.__globals__)
    exec(source.replace(right, wrong), namespace)
    return namespace[function.__name__]
