"""Public text is for somebody with a question about data: the worst patterns of ours are forbidden in it."""

import inspect
import re
from pathlib import Path

import pytest

import sgevidence
import sgevidence.hypothesis_tests
import sgevidence.kernels
import sgevidence.monitoring

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]  # docs/notes is for those who work on the code

#: A sentence has a subject first.  Questions are allowed: their sentence ends with "?".
OPENS_BADLY = re.compile(
    r"(?:^|[.!?:]\s)[*_]*((?:Of|What|So many|So much|Those|The same|As is)\b"
    r"(?:(?![.!?](?:\s|$)).)*(?:[.!?]|$))"
)
THINGS = "row|model|column|chunk|fit|page|call|line|value|number|name|family|basin|cell|seed|repeat|step|file"
PATTERNS = {
    '"one row per model", not "a row a model"': re.compile(rf"\ban? (?:{THINGS}) an? (?:{THINGS})\b", re.I),
    '"the warnings", not "what a warning was given of"': re.compile(
        r"\bwhat [^.]{0,40}\b(?:is|was) given of\b", re.I
    ),
    '"resumes"': re.compile(r"\bgoes on where\b", re.I),
    '"expensive"': re.compile(r"\bdear(?:er|est)?\b", re.I),
}


def faults(text: str) -> list[str]:
    """Sentences of plain text, one paragraph, that nobody should have to decode."""
    text = " ".join(text.split())
    opened = [match[1] for match in OPENS_BADLY.finditer(text) if not match[1].endswith("?")]
    return opened + [f"{advice}: {match[0]}" for advice, p in PATTERNS.items() if (match := p.search(text))]


def paragraphs_of_page(text: str):
    """Without code and headings; items and cells of tables are paragraphs."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^(?:#.*|    .*)$", "", text, flags=re.M)
    return re.split(r"\n\s*\n|^(?:[*-]|\d+\.) |\|", text, flags=re.M)


def paragraphs_of_docstring(text: str):
    """Without examples and lines of ``name : type``."""
    text = re.sub(r"^\s*>>>.*?(?:\n\s*\n|\Z)", "\n", inspect.cleandoc(text), flags=re.M | re.S)
    text = re.sub(r"^\s*[\w, *`]+ : .*$", "\n", text, flags=re.M)
    return re.split(r"\n\s*\n|^\s*(?:[*-]|\d+\.) |^[-=]{3,}$", text, flags=re.M)


def docstrings():
    """By name, of the public objects and of the members that they get from this package."""
    for module in (sgevidence, sgevidence.hypothesis_tests, sgevidence.kernels, sgevidence.monitoring):
        for name in module.__all__:
            public = getattr(module, name)
            yield name, public.__doc__ or ""
            for attribute, member in inspect.getmembers_static(public) if inspect.isclass(public) else ():
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                ours = (getattr(function, "__module__", None) or "").startswith("sgevidence")
                if inspect.isfunction(function) and ours and not attribute.startswith("_"):
                    yield f"{name}.{attribute}", function.__doc__ or ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page):
    found = [f for p in paragraphs_of_page(page.read_text(encoding="utf-8")) for f in faults(p)]
    assert not found, "\n".join(found)


def test_docstrings():
    found = [
        f"{name}: {f}"
        for name, text in docstrings()
        for p in paragraphs_of_docstring(text)
        for f in faults(p)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "Of a mixture, its means.",
        "It ends. What is left is refused.",
        "* So many rows are enough.",
        "| a | The same by name. |",
        "Print a line a chunk.",
        "what ``EvidenceWarning`` was given of",
        "The first goes on where it stopped.",
        "A fresh fit is dear.",
    ],
)
def test_faults_are_seen(text):
    assert any(faults(p) for p in paragraphs_of_page(text))


@pytest.mark.parametrize(
    "text", ["What is a nat?", "# What came out", "One row per model, of the same rows."]
)
def test_questions_and_headings_are_not(text):
    assert not any(faults(p) for p in paragraphs_of_page(text))


PACKAGE = Path(sgevidence.__file__).parent
OPENS_PRIVATELY = re.compile(r'^\s*(?:r?"""|#: )(?:What|Of|So many|So much|Those|The same|As is)\b', re.M)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_private_docstrings_say_what_a_thing_is(path):
    """The first words of docstrings and of comments on constants are nouns."""
    assert not OPENS_PRIVATELY.findall(path.read_text(encoding="utf-8"))
