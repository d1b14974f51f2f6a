"""The comparison of run folders as one HTML file that fetches nothing."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contend.outside import clean
from contend.runs.sides_text import SidesReport, change_text


def page_of(report: SidesReport) -> str:
    """The text of the page."""
    environment = Environment(
        loader=PackageLoader("contend.runs"), autoescape=True, undefined=StrictUndefined
    )
    css = (resources.files("contend.report") / "templates" / "report.css").read_text("utf-8")
    template = environment.get_template("sides.html.j2")
    return clean(template.render(report=report, css=Markup(css), change_text=change_text))
