"""The package shows its public names, and imports each when somebody asks for it."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sgevidence

MODULES = pkgutil.iter_modules(sgevidence.__path__, "sgevidence.")
ROOMS = sorted(module.name for module in MODULES if not module.name.endswith("__main__"))


def imports_for_type_checkers():
    """(room, name) of the lines that Python does not run."""
    tree = ast.parse(Path(sgevidence.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {(line.module, alias.name) for line in block.body for alias in line.names}


def test_names_rooms_and_imports_agree():
    assert imports_for_type_checkers() == {(room, name) for name, room in sgevidence.ROOM_OF.items()}
    assert set(sgevidence.ROOM_OF) == set(sgevidence.__all__)
    for name, room in sgevidence.ROOM_OF.items():
        assert getattr(sgevidence, name) is getattr(importlib.import_module(f"sgevidence.{room}"), name)


def test_dir_shows_public_names_only():
    shown = dir(sgevidence)
    assert set(shown) == {*sgevidence.__all__, *sgevidence.MODULES, "__version__"}
    for name in [*shown, *(room.removeprefix("sgevidence.") for room in ROOMS)]:
        assert getattr(sgevidence, name) is not None
    with pytest.raises(AttributeError, match="'sgevidence' has no attribute 'BayesianGLMM'"):
        getattr(sgevidence, "Bayesian" + "GLMM")


ONE_AFTER_THE_OTHER = """
for room in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sgevidence"]:
        del sys.modules[name]
    importlib.import_module(room)
"""


@pytest.mark.slow
def test_a_room_is_imported_without_the_others():
    """Nothing of the package is there before: a circle shows by the room that is entered first."""
    code = f"import importlib, sys{ONE_AFTER_THE_OTHER}"
    subprocess.run([sys.executable, "-W", "error", "-c", code, *ROOMS], check=True)
