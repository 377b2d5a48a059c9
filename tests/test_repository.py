"""The files beside the package say what is so: citation, hooks; and those of the package stay short."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml

import sgevidence

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "sgevidence").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_citation_names_this_version_and_the_paper():
    """Beside ``cffconvert --validate``, which knows the format and not the facts."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == sgevidence.__version__
    assert cited["license"] == PROJECT["project"]["license"]
    paper = cited["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Cameron", "Eggers", "Kroon"]
    assert (paper["journal"], paper["volume"], paper["issue"], paper["start"]) == ("Entropy", 21, 11, 1109)
    assert paper["year"] == 2019 and paper["doi"] == "10.3390/e21111109"


def test_hooks_need_no_network_and_run_what_ci_runs():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert local["repo"] == "local"
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        assert re.search(rf"\b{hook['name']}\b", ci), f"{hook['name']} is not in .ci/run"
    assert [hook["name"] for hook in local["hooks"]] == ["ruff check", "ruff format", "mypy"]


def test_the_hosted_workflow_runs_the_script():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert [step["run"] for step in jobs["run"]["steps"] if "run" in step] == [".ci/run"]
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert oldest in jobs["run"]["strategy"]["matrix"]["python-version"]


def test_changelog_has_a_dated_section_of_this_version_below_the_unreleased():
    changes = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    first, second, *_ = re.findall(r"^## (.*)$", changes, flags=re.M)
    assert first == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(sgevidence.__version__)}\] - \d{{4}}-\d{{2}}-\d{{2}}", second)


def test_examples_have_names_of_their_own():
    """Scripts import what lies beside them, and a process that ran one folder's knows its modules by name."""
    names = [path.name for path in (ROOT / "examples").rglob("*.py")]
    assert sorted(names) == sorted(set(names))


# -- a file is one idea, and an algorithm fits a page -----------------------------------------------


def code_lines(node) -> int:
    """Lines from the first to the last of a function or class, without its docstrings."""
    lines = node.end_lineno - node.lineno + 1
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(inner) is not None:
            lines -= inner.body[0].end_lineno - inner.body[0].lineno + 1
    return lines


def body_lines(function) -> int:
    """Lines of a function's body, without its docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def too_long(source, most_lines=450, most_body=60):
    """What of a file is longer than agreed."""
    out = [f"{n} lines"] if (n := len(source.splitlines())) > most_lines else []
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return out + [f"{f.name}: {n} lines" for f in functions if (n := body_lines(f)) > most_body]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "sgevidence")))
def test_files_and_functions_are_short(path):
    """At most 450 lines a file, and 60 a function's body beside its docstring."""
    assert not too_long(path.read_text(encoding="utf-8"))


def test_long_ones_are_seen():
    function = 'def f(x):\n    """Doc.\n\n    More.\n    """\n' + "    x += 1\n" * 61
    assert too_long(function) == ["f: 61 lines"] and not too_long(function.replace("    x += 1\n", "", 1))
    assert too_long("x = 1\n" * 451) == ["451 lines"] and not too_long("x = 1\n" * 450)


def test_the_sampler_itself_is_short():
    """SGAIS names the transitions, which decide, in eleven parameters."""
    tree = ast.parse((ROOT / "sgevidence" / "samplers" / "_sgais.py").read_text(encoding="utf-8"))
    (sgais,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert code_lines(sgais) < 123
    assert len(sgevidence.SGAIS().get_params(deep=False)) <= 11
    nested = 'class A:\n    """Doc.\n    """\n\n    def f(self):\n        """Doc."""\n        return 1\n'
    assert code_lines(ast.parse(nested).body[0]) == 4


def constants(source):
    """Names in capitals that a module assigns."""
    for node in ast.parse(source).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        names = (part for target in targets if target is not None for part in ast.walk(target))
        yield from (part.id for part in names if isinstance(part, ast.Name) and part.id.isupper())


def test_a_constant_has_one_meaning_in_the_package():
    """A name in capitals is assigned in one file; where two need the same number, one imports it."""
    homes = Counter(name for path in SOURCES for name in {*constants(path.read_text(encoding="utf-8"))})
    assert not [name for name, n_files in homes.items() if n_files > 1]
    assert [*constants("A, B_C = 1, 2\nD: int = 3\ne = F\nG[0] = 1\n\ndef f():\n    H = 1")] == [
        "A",
        "B_C",
        "D",
        "G",
    ]


ENGINE = ("kernels", "particles", "history", "targets", "answers", "transitions", "samplers")


@pytest.mark.parametrize("layer", ENGINE)
def test_every_file_of_the_engine_has_a_test_of_its_own(layer):
    files = {path.stem for path in (ROOT / "sgevidence" / layer).glob("_*.py")} - {"__init__"}
    tests = {path.stem for path in (ROOT / "tests" / layer).glob("test_*.py")}
    missing = {name for name in files if f"test_{layer}{name}" not in tests}
    assert not missing
