"""Data sets that ``data/make_data.py`` makes, and their gold evidences; run once in a process."""

import runpy
from pathlib import Path

from sgevidence.history import Rows

DATA = Path(__file__).parent / "data"
MAKE = runpy.run_path(str(DATA / "make_data.py"))
GOLD = MAKE["GOLD"]


def rows_of(name, n):
    """The first n rows of a simulated data set."""
    d = MAKE[name](n)
    return Rows.of(d["X"], d.get("y"))
