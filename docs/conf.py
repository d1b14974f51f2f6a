"""How Sphinx builds the documentation: `make docs`."""

project = "contend"
author = "the contend authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "contend"
html_copy_source = False
myst_heading_anchors = 3
# Files outside docs/ (a benchmark, a source) are linked for readers of the repository.
suppress_warnings = ["myst.xref_missing"]
