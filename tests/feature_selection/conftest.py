"""Chains over subsets, also of columns that are few enough for all subsets."""

import pytest


@pytest.fixture
def never_enumerated(monkeypatch):
    """Subsets are searched by chains, however few the columns."""
    monkeypatch.setattr("sgevidence.feature_selection._posterior.MAX_ENUMERATED_GROUPS", 0)
