"""The files beside the package say what is so: citation, hooks, the floor of coverage."""

import re
import tomllib
from pathlib import Path

import yaml

import sgevidence

ROOT = Path(__file__).parents[1]
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
