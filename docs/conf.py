"""The documentation site: ``python -m sphinx -W -b html docs docs/_build/html``.  It needs no network."""

import importlib
import os
import re
from pathlib import Path

import sgevidence

os.environ.setdefault("OMP_NUM_THREADS", "1")  # examples have their own parallelism

for module in sgevidence.MODULES:
    importlib.import_module(f"sgevidence.{module}")

DOCS = Path(__file__).parent

project = "sgevidence"
author = "The sgevidence developers"
version = release = sgevidence.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "notes", "auto_examples/*.ipynb", "auto_examples/*.py"]
templates_path = ["_templates"]

# pages: the same files are read on code hosts, so that they stay plain Markdown
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# API: one page a public name, from its docstring
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have the types, with shapes and units
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "groupwise"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# gallery: every file of examples/ is run, and one that fails stops the build
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"/(paper|benchmarks)/",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("sgevidence",),
    "reference_url": {"sgevidence": None},
    "backreferences_dir": "generated/gallery",
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_",),  # a display's repr says nothing beside its picture
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "sgevidence"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "show_prev_next": False,
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "default",
    "footer_end": [],
}
html_sidebars = {"index": []}  # the home page has no neighbours


LINK = re.compile(r"\[`?([^\]`]+)`?\]\(\.\./([^)#]+)\)")  # [text](../file), out of docs/
NOTE = re.compile(r"\[([^\]]+)\]\(notes/[^)]+\)")  # for those who work on the code
SOURCES = DOCS / "generated" / "source"


def write_source_pages(app):
    """A page for every file that the documents link to: what a code host shows behind the link."""
    SOURCES.mkdir(parents=True, exist_ok=True)
    for page in DOCS.glob("*.md"):
        for _, target in LINK.findall(page.read_text(encoding="utf-8")):
            if (DOCS.parent / target).is_file() and not target.startswith("examples/"):
                lines = [":orphan:", "", target, "=" * len(target), ""]
                lines += [f".. literalinclude:: ../../../{target}", "   :language: python", ""]
                (SOURCES / f"{target.replace('/', '-')}.rst").write_text("\n".join(lines), encoding="utf-8")


def site_links(app, docname, source):
    """Links out of ``docs/``: to the example's page, to the source's, or for a folder to nowhere."""

    def here(match):
        text, target = match.groups()
        if example := re.fullmatch(r"examples(?:/(\w+)\.py)?", target):
            return f"[{text}](auto_examples/{example[1] or 'index'}.rst)"
        if (SOURCES / f"{target.replace('/', '-')}.rst").exists():
            return f"[{text}](generated/source/{target.replace('/', '-')}.rst)"
        return f"`{text}`"

    source[0] = NOTE.sub(r"\1", LINK.sub(here, source[0]))


def only_ours(app, what, name, obj, skip, options):
    """scikit-learn's methods are documented by scikit-learn."""
    function = getattr(obj, "fget", None) or getattr(obj, "__func__", obj)
    module = getattr(function, "__module__", None) or ""
    return True if callable(function) and not module.startswith("sgevidence") else skip


def setup(app):
    app.connect("builder-inited", write_source_pages)
    app.connect("source-read", site_links)
    app.connect("autodoc-skip-member", only_ours)
