"""Pages of the guide have one shape and few words, and the site stays short enough to be read."""

import re
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
#: Words of the whole site, of a page of the guide by job, of a page of how it works.
MOST_WORDS = {"site": 46_000, "job": 700, "page": 3000, "algorithm": 5000, "changelog": 1700}
#: Lines of a block of code beside imports.
MOST_LINES = 8
#: Characters of a line of code beside both sidebars of a window of 1300 pixels.
MOST_CHARACTERS = 92
#: Words of the machinery, which a reader with a question about data does not know.
MACHINERY = re.compile(r"\b(rungs?|strat(?:um|a)|clouds?|reservoirs?)\b", re.I)
#: Packages of the extra ``all``, and the code of a page that needs each.
OPTIONAL = {
    "pandas": r"\bpandas\b|as_frame=True|to_frame\(",
    "formulae": r"\bformulas?\b",
    "matplotlib": r"Display\b|matplotlib",
    "skops": r"\b(save|load)\(",
    "pyarrow": r"\bRowSource\(",
}
PARTS = ["How to read it", "What can go wrong", "How it works"]
JOBS = sorted(page for page in DOCS.glob("*.md") if "\n## What can go wrong\n" in page.read_text("utf-8"))


def words(page):
    return len(page.read_text(encoding="utf-8").split())


def test_the_site_is_short():
    pages = {page.stem: words(page) for page in DOCS.glob("*.md")}
    assert sum(pages.values()) <= MOST_WORDS["site"] and pages["changelog"] <= MOST_WORDS["changelog"]
    long = {name: n for name, n in pages.items() if n > MOST_WORDS["page"]}
    assert set(long) <= {"algorithm"} and long.get("algorithm", 0) <= MOST_WORDS["algorithm"]


def test_every_job_has_its_page():
    listed = set(
        re.findall(r"^\|[^|]+\?[^|]*\| \[[^]]+\]\((\w+)\.md\) \|$", (DOCS / "guide.md").read_text(), re.M)
    )
    assert listed - {"reading", "coming_from"} == {page.stem for page in JOBS} and len(JOBS) >= 14


@pytest.mark.parametrize("page", JOBS, ids=lambda page: page.stem)
def test_pages_by_job_have_one_shape(page):
    text = page.read_text(encoding="utf-8")
    assert words(page) <= MOST_WORDS["job"]
    opening, _, rest = text.partition("```python\n")
    assert "?" in opening and len(opening.split()) < 80 and "\n## " not in opening
    assert re.match(r".*?^```\n\n```\n.+?^```$", rest, flags=re.M | re.S), "the first block prints"
    heads = re.findall(r"^## (.*)$", text, flags=re.M)
    assert heads[0] == PARTS[0] and heads[-2:] == PARTS[1:]
    for part in PARTS[1:]:
        assert re.search(r"\]\([\w.#-]+\)", text.partition(f"\n## {part}\n")[2].partition("\n## ")[0])
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
        lines = [line for line in block.splitlines() if line and not re.match(r"(from|import) ", line)]
        assert len(lines) <= MOST_LINES and max(map(len, block.splitlines())) <= MOST_CHARACTERS, block
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.M | re.S)
    assert not MACHINERY.findall(prose)


@pytest.mark.parametrize("page", [*JOBS, DOCS / "reading.md"], ids=lambda page: page.stem)
def test_a_page_names_the_packages_that_it_needs_in_its_first_line(page):
    text = page.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S))
    needed = [name for name, pattern in OPTIONAL.items() if re.search(pattern, code)]
    first = text.split("\n\n")[1]
    assert first.endswith('`pip install ".[all]"`.') == bool(needed), first
    assert [name for name in OPTIONAL if re.search(rf"\b{name}\b", first.partition(":")[0])] == needed


def test_extras_are_listed_where_a_reader_installs():
    extras = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    start = (DOCS.parent / "README.md").read_text("utf-8").partition("\n## Start\n")[2]
    assert set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", start, flags=re.M)))) == set(
        extras
    )
    assert re.search(r'^```sh\n.*pip install "\.\[all\]"', start, flags=re.M)


def test_the_algorithm_page_names_functions_that_are_there():
    """In the table beside the published algorithm, line by line."""
    rows = re.findall(
        r"^\| [\d–]+ \|.*\| ([^|]+) \|$", (DOCS / "algorithm.md").read_text("utf-8"), flags=re.M
    )
    source = "\n".join(path.read_text("utf-8") for path in (DOCS.parent / "sgevidence").rglob("*.py"))
    names = {name for row in rows for code in re.findall(r"`([\w.]+)`", row) for name in code.split(".")}
    assert len(rows) == 12 and len(names) > 10
    for name in names:
        assert re.search(rf"^ *(def|class) {name}\b", source, flags=re.M), name
