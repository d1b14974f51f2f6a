"""A history as one page that fetches nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contend import __version__
from contend.files import write_output
from contend.history import words
from contend.history.charts import charts_of
from contend.history.model import History
from contend.outside import clean
from contend.report import images
from contend.report.html import asset, minus
from contend.sections.chart_style import PALETTE


def write(history: History, path: Path) -> None:
    """Write the page; without the package that draws charts it has none, and says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, render(history))


def note(history: History) -> str:
    """What its writer should be told; empty if the page has its charts."""
    return "" if images.can_draw() or not history.series else images.WITHOUT_CHARTS


def render(history: History) -> str:
    """The text of the page."""
    charts = charts_of(history) if images.can_draw() else []
    page = (
        _environment()
        .get_template("history.html.j2")
        .render(
            history=history,
            words=words,
            charts=charts,
            drawings={one.id: Markup(images.compact(images.svg(one))) for one in charts},
            without_charts=note(history),
            css=Markup(asset("report.css")),
            script=Markup(asset("report.js")),
            dark_style=Markup(images.dark_style() if charts else ""),
            palette=PALETTE,
            version=__version__,
        )
    )
    return clean(page)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("contend.history"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["minus"] = minus
    return environment
