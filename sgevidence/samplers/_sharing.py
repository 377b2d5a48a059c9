"""Work that several answers share for a while, such as a walk over strata: lender and answer know which."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

shared: ContextVar[Any] = ContextVar("shared", default=None)


@contextmanager
def sharing(work: Any) -> Iterator[None]:
    """Answers meanwhile may take this work from ``shared``; None: each does its own."""
    token = shared.set(work)
    try:
        yield
    finally:
        shared.reset(token)
