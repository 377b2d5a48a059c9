"""Documentation is code: docstrings match signatures; examples in docstrings, README and guide run."""

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from numpydoc.validate import validate

import sgevidence
import sgevidence.bidirectional
import sgevidence.bridging
import sgevidence.displays
import sgevidence.hypothesis_tests
import sgevidence.kernels
import sgevidence.monitoring
import sgevidence.samplers

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
#: Samplers and moves that users choose: the other names of their room are for the estimators.
CHOSEN = "AIS HMC SGHMC SGNHT SIR Exact HarmonicMean Laplace MixtureEvidence ModeSearch NestedSampling"
CHOSEN += " PriorSampling Proposal SequentialNestedSampling SequentialSGMCMC UntilPrecise"
PUBLIC = {
    sgevidence.samplers: CHOSEN.split(),
    sgevidence.bidirectional: ["BidirectionalError", "bidirectional_error"],
    sgevidence.bridging: ["BridgeEvidence"],
}
ROOMS = (
    sgevidence,
    sgevidence.displays,
    sgevidence.hypothesis_tests,
    sgevidence.kernels,
    sgevidence.monitoring,
)
PUBLIC |= {module: module.__all__ for module in ROOMS}
MODULES = sorted(m.name for m in pkgutil.walk_packages(sgevidence.__path__, "sgevidence."))

# Missing docstring, wrong section order, parameters other than the signature's or without a type,
# no Returns.  Descriptions may be missing where the name says it all.
CODES = {"GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR10", "RT01", "YD01"}


def public_names():
    """Dotted names of public objects and of the methods and properties that they get from this package."""
    for module, names in PUBLIC.items():
        for name in names:
            obj = getattr(module, name)
            yield f"{module.__name__}.{name}"
            for attribute, member in inspect.getmembers_static(obj) if inspect.isclass(obj) else ():
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                ours = (getattr(function, "__module__", None) or "").startswith("sgevidence")
                inherits = not getattr(function, "__doc__", None) and inspect.getdoc(getattr(obj, attribute))
                if callable(function) and ours and not attribute.startswith("_") and not inherits:
                    yield f"{module.__name__}.{name}.{attribute}"


@pytest.mark.parametrize("name", list(public_names()))
def test_docstring_matches_signature(name):
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code in CODES]
    assert not errors, f"{name}\n" + "\n".join(errors)


def test_the_validator_sees_a_wrong_docstring(monkeypatch):
    monkeypatch.setattr(sgevidence.SGAIS.run, "__doc__", "Run.\n\nParameters\n----------\nrowz : Rows\n")
    assert {"PR01", "PR02", "RT01"} <= {code for code, _ in validate("sgevidence.SGAIS.run")["errors"]}


@pytest.mark.parametrize("module", MODULES)
def test_doctests(module):
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0


def pages_with_code():
    """The README runs by default, the pages of the site with ``-m slow``."""
    pages = [page.relative_to(ROOT).as_posix() for page in sorted(ROOT.glob("docs/*.md")) if has_code(page)]
    return ["README.md", *(pytest.param(page, marks=pytest.mark.slow) for page in pages)]


def has_code(page):
    return "```python\n" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages_with_code())
def test_examples_on_the_page_run(page, tmp_path, monkeypatch, capsys):
    """From a checkout they print what the page says, to the digits that hold on any processor."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```)?",
        (ROOT / page).read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
    assert blocks
    namespace: dict = {}
    for block, expected in blocks:
        exec(compile(block, page, "exec"), namespace)
        printed = capsys.readouterr().out
        assert not expected or prints_alike(printed, expected), printed


def prints_alike(one, other):
    """Words are the same, and numbers as far as they hold on any processor.

    One that rounds differently takes other draws: a number may move by three units of its last digit, by two
    thousandths or by the error that is printed behind it, and below one (probabilities, spreads) by a tenth.
    """
    tokens = [re.sub(r"[][<>,]", " ", text).split() for text in (one, other)]
    errors = [tokens[1][i + 2] if "±" in tokens[1][i + 1 : i + 2] else "0" for i in range(len(tokens[1]))]
    return len(tokens[0]) == len(tokens[1]) and all(
        a == b or numbers_alike(a, b, error) for a, b, error in zip(*tokens, errors)
    )


def numbers_alike(a, b, error):
    try:
        values = float(a), float(b)
    except ValueError:
        return False
    mantissa, _, exponent = b.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    relative = 0.1 if abs(values[1]) < 1 else 0.002
    return abs(values[0] - values[1]) <= max(3.01 * unit, relative * abs(values[1]), 1.2 * float(error))


@pytest.mark.parametrize(
    "other",
    ["K=4 -247.3 ± 0.05", "K=3 -248.3 ± 0.05", "K=3 -247.3 ± 0.09", "K=3 -247.3 ± 0.05 x", "K=3 a ± 0.05"],
)
def test_other_digits_are_seen(other):
    assert prints_alike("K=3 -247.3 ± 0.05", "K=3 -247.5 ± 0.03")
    assert not prints_alike("K=3 -247.3 ± 0.05", other)


@pytest.mark.slow
def test_the_tutorial_runs(monkeypatch, capsys):
    """The other examples run when the site is built."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    variables = runpy.run_path(str(ROOT / "examples" / "tutorial.py"))
    assert "exact" in capsys.readouterr().out
    assert variables["table"].index[0] == "parabola" and variables["best"] == "K = 3"


def test_every_public_name_has_its_page():
    text = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/api*.md"))
    listed = set(re.findall(r"^(?:   (?:\w+\.)?|\.\. py:data:: sgevidence\.)(\w+)$", text, flags=re.M))
    assert {name for names in PUBLIC.values() for name in names} <= listed


def test_every_document_is_in_the_navigation():
    texts = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    listed = " ".join(text.partition("{toctree}\n")[2] for text in texts)
    assert {f"<{page.stem}>" for page in ROOT.glob("docs/*.md")} - {"<index>"} <= set(listed.split())


def test_links_in_the_documents_lead_somewhere():
    for page in [README, *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_has_the_two_commands_that_ci_runs():
    """.ci/run takes them from the README: one block, one line each."""
    commands = re.findall(r"^```sh\n(.*)\n```", README.read_text(encoding="utf-8"), flags=re.M)
    assert len(commands) == 2 == README.read_text(encoding="utf-8").count("```sh")
    assert commands[0].endswith("python examples/quickstart.py") and commands[1].endswith("pytest -n 2")


def test_import_is_silent():
    """And needs no matplotlib, whatever name is asked for."""
    alone = "import sys; from sgevidence import *; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", alone], check=True)
