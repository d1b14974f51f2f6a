"""The templates of these pages: one style, everything escaped."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contend.errors import clean
from contend.report.html import asset, minus


def filled(template: str, **values: object) -> str:
    """The text of the page that this template makes."""
    page = _environment().get_template(template)
    return clean(page.render(css=Markup(asset("report.css")), **values))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("contend.runs"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["minus"] = minus
    return environment
