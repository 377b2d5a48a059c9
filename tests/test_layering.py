"""The layer rule of the house: a layer imports only from layers below it, and never the whole package.

What a folder offers to others stands in its ``__init__``: its underscore modules are its own.
"""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import sgevidence

PACKAGE = Path(sgevidence.__file__).parent
ORDER = ["models", "kernels", "particles", "history", "rows", "targets", "answers"]
ORDER += ["transitions", "samplers", "effects", "units", "estimators", "mixture", "hidden_markov", "custom"]
TOP = len(ORDER)
LAYERS = dict.fromkeys(["exceptions", "_compat", "_names_above", "tables"], -1) | {
    name: place for place, name in enumerate(ORDER)
}
LAYERS |= dict.fromkeys(
    ["averaging", "bidirectional", "bridging", "model_selection", "monitoring", "published"], TOP
)
LAYERS |= dict.fromkeys(["cli", "displays", "feature_selection", "hypothesis_tests", "io"], TOP + 1)
LAYERS["__main__"] = TOP + 2
STRANGERS = {frozenset({"models", "kernels"})}


@cache
def imports(source: str, module: str) -> tuple:
    """(line, absolute dotted name) of everything that ``module``, a dotted name, imports anywhere."""
    return tuple(found_in(source, module))


def found_in(source, module):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*parents, *filter(None, [node.module])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def faults(source: str, module: str) -> list[str]:
    """What breaks the rule, as sentences."""
    found, layer = [], module.split(".")[1]
    for line, name in imports(source, module):
        root, target, *_ = [*name.split("."), ""]
        if root != "sgevidence" or target == layer:
            continue
        where = f"{module}, line {line}: imports {name}"
        if target not in LAYERS:
            found.append(f"{where}; import from the layer that defines it, not from the top of the package")
        elif LAYERS[target] > LAYERS[layer]:
            found.append(f"{where}; {layer} may import only from {[k for k in LAYERS if allowed(layer, k)]}")
        elif frozenset({layer, target}) in STRANGERS:
            found.append(f"{where}; {layer} and {target} do not know each other")
        elif is_private(name):
            found.append(f"{where}; import from sgevidence.{target}, its underscore modules are its own")
    return found


def is_private(name: str) -> bool:
    """Is it an underscore module of a layer, something in one, or a private name?"""
    return any(part.startswith("_") for part in name.split(".")[2:])


def allowed(layer, target):
    return LAYERS[target] < LAYERS[layer] and frozenset({layer, target}) not in STRANGERS


def test_every_module_keeps_to_its_layer():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        assert parts[0] in LAYERS, f"{path.name}: give the new layer {parts[0]!r} its place in LAYERS"
        found += faults(path.read_text(), ".".join(["sgevidence", *parts]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "module, source",
    [
        ("sgevidence.models._linear", "from ..kernels import sghmc"),
        ("sgevidence.kernels._hmc", "from ..models import LinearModel"),
        ("sgevidence.kernels.__init__", "def f():\n    from ..samplers import SGAIS"),
        ("sgevidence.history._rows", "import sgevidence.estimators._base"),
        ("sgevidence.samplers._sgais", "from .. import BayesianGMM"),
        ("sgevidence.samplers._sgais", "import sgevidence"),
        ("sgevidence.estimators._glm", "from ..averaging import EvidenceModelAverager"),
        ("sgevidence.averaging._model_mixture", "from sgevidence import SGAIS"),
        ("sgevidence.samplers._sgais", "from ..transitions._hmc import HMC"),
        ("sgevidence.samplers._sgais", "from ..transitions import _hmc"),
        ("sgevidence.transitions._hmc", "import sgevidence.targets._target"),
        ("sgevidence.published._bidirectional_error", "from ..samplers._ais import AIS"),
    ],
)
def test_a_forbidden_import_is_caught(module, source):
    assert len(faults(source, module)) == 1


@pytest.mark.parametrize(
    "module, source",
    [
        (
            "sgevidence.samplers._sgais",
            "import numpy\nfrom ..kernels import sghmc\nfrom ._base import ChunkRecord",
        ),
        (
            "sgevidence.averaging._averager",
            "from ..estimators import BayesianGMM\nfrom ..model_selection import FullData",
        ),
        (
            "sgevidence.transitions._missed_modes",
            "from ..targets import Path\nfrom ._mode_search import Mode\nfrom . import _base",
        ),
    ],
)
def test_a_lawful_import_is_not(module, source):
    assert faults(source, module) == []


#: Rooms that know no kind of model: what a model is, it says itself.
GENERAL = ("kernels", "particles", "history", "targets", "answers", "transitions", "samplers")
#: Classes of kinds of model, and of estimators: their names are no words of general code.
KINDS = r"\w+Model|Mixture|Bayesian\w+|FarColumns|Strata|SharedWalk"


def kinds_named(source: str) -> set[str]:
    """Kinds of model that code names, beside the interface and words in strings."""
    names = {
        getattr(node, "id", getattr(node, "attr", getattr(node, "name", "")))
        for node in ast.walk(ast.parse(source))
    }
    return {name for name in names if isinstance(name, str) and re.fullmatch(KINDS, name)}


@pytest.mark.parametrize("room", GENERAL)
def test_general_code_knows_no_kind_of_model(room):
    found = {
        path.name: names for path in (PACKAGE / room).glob("*.py") if (names := kinds_named(path.read_text()))
    }
    assert not found
    assert kinds_named("if isinstance(model, GLMModel):\n    from ..mixture import BayesianGMM") == {
        "GLMModel",
        "BayesianGMM",
    }


def test_names_found_above_are_those_that_stand_there_and_nobody_below_asks_for_them():
    asked = {
        name.removeprefix("sgevidence.")
        for path in PACKAGE.rglob("*.py")
        for _, name in imports(
            path.read_text(), ".".join(["sgevidence", *path.relative_to(PACKAGE).with_suffix("").parts])
        )
    }
    for room in ("samplers", "kernels", "bidirectional"):
        offers = import_module(f"sgevidence.{room}")
        above = {*offers.__all__} - {*vars(offers)}
        assert above and above <= {*dir(offers)}
        for name in above:
            home, _, inside = getattr(offers, name).__module__.rpartition(".")
            assert inside.startswith("_") and name in import_module(home).__all__
            assert f"{room}.{name}" not in asked


def by_the_back_door(source: str) -> list[str]:
    """Names from underscore modules that their folder exports."""
    found = []
    for _, name in imports(source, "tests"):
        layer, inside, *rest = [*name.split(".")[1:], "", ""]
        if name.startswith("sgevidence.") and inside.startswith("_") and rest[0]:
            exported = getattr(import_module(f"sgevidence.{layer}"), "__all__", [])
            found += [name] if rest[0] in exported else []
    return found


def test_tests_import_from_a_folder_what_it_exports():
    """So that they stay when its files are moved."""
    sources = {path.name: path.read_text() for path in Path(__file__).parent.rglob("*.py")}
    suspects = {name: source for name, source in sources.items() if re.search(r"sgevidence\.\w+\._", source)}
    found = {name: names for name, source in suspects.items() if (names := by_the_back_door(source))}
    assert not found
    assert by_the_back_door("from sgevidence.history._rows import Rows") == ["sgevidence.history._rows.Rows"]
    assert not by_the_back_door("from sgevidence.history import Rows, _rows")
