"""scikit-learn's private names come in by one door."""

import ast
import re
from pathlib import Path

import pytest
import sklearn

import sgevidence

PACKAGE = Path(sgevidence.__file__).parent


def private_imports(source: str) -> list[str]:
    """Dotted names of scikit-learn with a part that starts with an underscore."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.startswith("sklearn.") and "._" in name]


def test_only_compat_imports_private_names():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name != "_compat.py" and "sklearn" in source and (names := private_imports(source)):
            found[str(path.relative_to(PACKAGE))] = names
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.base import clone, _fit_context",
        "from sklearn.utils._param_validation import Interval",
        "import sklearn.utils._tags",
        "def f():\n    from sklearn.utils.validation import _num_samples as n",
    ],
)
def test_a_private_name_is_seen(source):
    assert len(private_imports(source)) == 1


def test_this_version_is_one_that_was_checked():
    project = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    low, high = re.search(r'"scikit-learn>=([\d.]+),<([\d.]+)"', project).groups()
    now = tuple(map(int, sklearn.__version__.split(".")[:2]))
    assert tuple(map(int, low.split("."))) <= now < tuple(map(int, high.split(".")))
