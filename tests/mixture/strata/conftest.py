"""Strata by chains, also of rows that are few enough for a sum over all allocations."""

import pytest


@pytest.fixture
def never_summed(monkeypatch):
    """The sum over all allocations is not taken, however few the rows."""
    monkeypatch.setattr("sgevidence.mixture.strata._evidence.MOST_ROWS_SUMMED", 0)
