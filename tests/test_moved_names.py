"""Names that have left the top level are found there until version 0.3, with a warning that says where."""

import importlib

import pytest

import sgevidence

MOVED = [(module, name) for module, names in sgevidence.MOVED.items() for name in names]


@pytest.mark.parametrize("module, name", MOVED)
def test_a_moved_name_is_found_with_a_warning(module, name):
    with pytest.warns(FutureWarning, match=rf"sgevidence.{name} is now sgevidence.{module}.{name}"):
        found = getattr(sgevidence, name)
    assert found is getattr(importlib.import_module(f"sgevidence.{module}"), name)
    assert name not in sgevidence.__all__


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchName'"):
        getattr(sgevidence, "NoSuchName")  # noqa: B009


def test_the_top_level_is_what_the_guide_needs():
    assert len(sgevidence.__all__) <= 50
