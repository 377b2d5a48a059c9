"""docs/paper_map.md cannot drift: every file exists, and every name exists and stands in its file."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import sgevidence

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"\| `([\w.]+)` \| `([\w/.]+)` \|$", flags=re.M)
ENTRIES = ROW.findall((ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8"))


def exists(name: str) -> bool:
    """Is it a module, an attribute, a field or a parameter, in this package?"""
    *parents, last = name.split(".")
    found = sgevidence
    for part in parents:
        if not hasattr(found, part):
            try:
                importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return False
        found = getattr(found, part)
    if hasattr(found, last):
        return True
    return callable(found) and last in inspect.signature(found).parameters


def test_the_map_has_entries():
    table_rows = [
        line for line in (ROOT / "docs" / "paper_map.md").read_text().splitlines() if line.endswith(".py` |")
    ]
    assert len(ENTRIES) == len(table_rows) > 40


@pytest.mark.parametrize("name, file", ENTRIES)
def test_entry_exists(name, file):
    path = ROOT / "sgevidence" / file
    assert path.is_file(), f"{file} does not exist"
    assert exists(name), f"sgevidence.{name} does not exist"
    assert re.search(rf"\b{name.split('.')[-1]}\b", path.read_text(encoding="utf-8")), f"{file} has no {name}"


@pytest.mark.parametrize(
    "name", ["SGAIS.n_walkers", "kernels.nuts", "kernels.sghmc.epsilon", "no_layer.SGAIS"]
)
def test_a_name_that_does_not_exist_is_noticed(name):
    assert not exists(name)


def test_code_names_of_the_algorithm_page_exist():
    text = (ROOT / "docs" / "algorithm.md").read_text(encoding="utf-8")
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "sgevidence").rglob("*.py"))
    for code in re.findall(r"`([^`]+)`", text):
        for word in re.findall(r"[A-Za-z_]{3,}", code):
            assert word in source or (ROOT / code).exists(), (
                f"docs/algorithm.md mentions {code!r}: no {word!r}"
            )
