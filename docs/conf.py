"""How Sphinx makes the site: `make docs`.

Its source is the repository as it lies, so a link that works on a page of the repository works in
the site too, and one that does not stops the build. What the pages link to and is no page (a
report, a result) goes into the site as it is.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[1]

project = "contend"
author = "the contend authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
RESULTS = sorted(
    {
        found
        for page in ROOT.glob("docs/**/*.md")
        for found in re.findall(r"\(\.\./\.\./(bench/results/[^)#]+)", page.read_text("utf-8"))
    }
)
"""Of the results of benchmarks those that a page leads to; there are many more."""

include_patterns = ["docs/**", "bench/README.md", "*.md", *RESULTS]
exclude_patterns = ["README.md"] + [
    path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("docs", "bench")
]
html_theme = "furo"
html_title = "contend"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
myst_heading_anchors = 6

TREES: dict[str, dict[str, list[str]]] = {
    "docs/index": {
        "Start": ["start/install", "start/try-one-setting", "start/first-run"],
        "Guides": [
            "guides/reading-the-report",
            "guides/servers",
            "guides/what-can-vary",
            "guides/which-settings-matter",
            "guides/why",
            "guides/gate",
            "guides/goal",
            "guides/compare",
            "guides/doctor",
            "guides/*",
        ],
        "Examples": ["examples/*"],
        "Concepts": [
            "concepts/statistics",
            "concepts/repeats",
            "concepts/latency",
            "concepts/*",
        ],
        "Reference": ["reference/cli", "reference/experiment-file", "reference/*"],
        "The project": ["../CHANGELOG", "../CONTRIBUTING", "decisions/README", "../bench/README"],
    },
    "docs/decisions/README": {"": ["*"]},
    "bench/README": {"": ["results/*"]},
}
"""What stands in the list of pages below a page, in which order; a pattern takes all others. The
pages themselves have no such lists, which only Sphinx could read."""

AS_THEY_ARE = [
    *(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/examples/reports/*.html")),
    *(name for name in RESULTS if not name.endswith(".md")),
]


def add_tree(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add the lists of pages to the text of a page."""
    for caption, below in TREES.get(page, {}).items():
        head = f":caption: {caption}\n" if caption else ""
        source[0] += f"\n```{{toctree}}\n{head}:glob:\n:hidden:\n:maxdepth: 1\n\n"
        source[0] += "\n".join(below) + "\n```\n"


class LinkAsItIs(SphinxTransform):
    """A link to a report opens it, where Sphinx would have it saved under another folder's name."""

    default_priority = 900

    def apply(self) -> None:
        folder = ROOT / Path(self.env.docname).parent
        there = {ROOT / name for name in AS_THEY_ARE}
        for link in list(self.document.findall(addnodes.download_reference)):
            if (folder / link["reftarget"]).resolve() in there:
                plain = nodes.reference("", "", *link.children, refuri=link["reftarget"])
                link.replace_self(plain)


def copy_as_they_are(app: Sphinx, error: Exception | None) -> None:
    if error is not None:
        return
    for name in AS_THEY_ARE:
        copy = app.outdir / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
    to_first_page = '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    (app.outdir / "index.html").write_text(
        f'<!doctype html><html lang="en"><title>contend</title>{to_first_page}'
        '<a href="docs/index.html">contend</a></html>\n'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_tree)
    app.connect("build-finished", copy_as_they_are)
    app.add_transform(LinkAsItIs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
