"""The report as one HTML file that fetches nothing, with its charts as files next to it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from contend.errors import clean
from contend.files import replace_file
from contend.findings import Compared, Finding
from contend.report import images
from contend.report.model import Report, missing_text
from contend.report.notices import note_text
from contend.sections.chart_style import PALETTE, wide
from contend.sections.model import (
    Chart,
    FactGroup,
    Layout,
    PublishedBlock,
    TableCell,
    TextTable,
)
from contend.sections.panels import metric_table, panel_table
from contend.sections.words import (
    cell_phrase,
    change_title,
    detectable_text,
    figure_text,
    gain_text,
    repeats_each_text,
    times_text,
)
from contend.stats import Change, Estimate

_MARKS = {"equivalent": "≈", "inconclusive": "?"}


def minus(text: object) -> Markup:
    """A hyphen before a digit is a minus, a number stays on the line with its sign, and text in
    backquotes is code."""
    out = []
    for word in str(escape(text)).split(" "):
        negative = word[:1] == "-" and word[1:2].isdigit()
        out.append(f"\N{MINUS SIGN}{word[1:]}" if negative else word)
    joined = " ".join(out).replace("(-", "(\N{MINUS SIGN}")
    joined = re.sub(r"`([^`]+)`", r"<code>\1</code>", joined)
    return Markup(joined.replace(" ±", "\N{NO-BREAK SPACE}±").replace(" %", "\N{NO-BREAK SPACE}%"))


def gain_cell(gain: Finding, usual_n: int) -> Markup:
    """A gain, with its n if it is not the usual one."""
    value, _, error = gain_text(gain.change).partition(" ")
    mark = f' <span class="verdict">{_MARKS[gain.tone]}</span>' if gain.tone in _MARKS else ""
    n = gain.change.n
    alone = "" if n == usual_n else f" <small>n={n}</small>"
    return Markup(
        f'<span class="{gain.tone}"><b>{minus(value)}</b> '
        f"<small>{minus(error)}</small>{mark}{alone}"
        f'<span class="spoken"> {gain.word}</span></span>'
    )


def cell(one: TableCell, usual_n: int) -> Markup:
    """The content of a cell of a table."""
    if one is None:
        return Markup('<span class="none">not measured</span>')
    if isinstance(one, str):
        return minus(one)
    if isinstance(one, Finding):
        return gain_cell(one, usual_n)
    value, _, error = (
        figure_text(one) if isinstance(one, Estimate) else times_text(one)
    ).partition(" ")
    return Markup(f"{minus(value)} <small>{error}</small>")


def kind(table: TextTable) -> str:
    """Columns of figures have one width; columns of text take the width they need."""
    cells = (one for row in table.rows for one in row[1:])
    return "texts" if all(isinstance(one, str) for one in cells) else "figures"


def breakable(name: str) -> Markup:
    """A long option name may break after its underscores."""
    return Markup(str(minus(name)).replace("_", "_<wbr>"))


def every_change(compared: Compared, layout: Layout) -> TextTable:
    """Each change by a metric with its interval and verdict."""
    doubted = any(one.change.twins_disagree for one in compared.findings)
    rows = []
    for one in compared.findings:
        c = one.change
        row = (place_name(one, layout.columns, layout.columns_label), *map(ratio, _ends(c)))
        row += (str(c.n), one.word, detectable_text(c.detectable))
        if doubted and c.twins_disagree:
            row += (" to ".join(map(ratio, _ends(c.alone)[1:])), p_value(c.p_sign_flip))
            row += (" to ".join(map(ratio, (c.robust.low, c.robust.high))),)
        elif doubted:
            row += ("", "", "")
        rows.append(row)
    heads = ("place", "ratio", "from", "to", "n", "verdict", "minimum detectable change")
    more = ("t interval alone", "sign-flip p", "Hodges-Lehmann") if doubted else ()
    caption = f"{compared.metric.title}: ratio over the baseline {layout.baseline}"
    return TextTable(caption, (*heads, *more), tuple(rows))


def _ends(change: Change | Estimate) -> tuple[float, float, float]:
    middle = change.ratio if isinstance(change, Change) else change.mean
    return middle, change.low, change.high


def ratio(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def p_value(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def place_name(one: Finding, columns: Sequence[str], label: str) -> str:
    """`key_cache_segments = 32, 8 connections`; of a range `…, connections 8 to 64`."""
    place = one.change.place
    text = cell_phrase(one.cell)
    first, last = place.first_column, place.last_column
    if place.depth != "whole" and 0 < last - first < len(columns) - 1:
        return f"{text}, {label} {columns[first]} to {columns[last]}"
    return f"{text}, all cells" if place.depth == "whole" and len(columns) > 1 else text


FILTERS: dict[str, Callable[..., Any]] = {
    "minus": minus,
    "cell": cell,
    "kind": kind,
    "breakable": breakable,
}


@dataclass(frozen=True, slots=True)
class _MetricGroup:
    """One metric over all panels: a section that opens."""

    title: str
    tables: tuple[TextTable, ...]


@dataclass(frozen=True, slots=True)
class _FactSection:
    title: str
    groups: tuple[FactGroup, ...]


def write(
    report: Report, path: Path, put: Callable[[Path, str], None] = replace_file
) -> list[Path]:
    """Write the page to `path` and each chart next to it; returns all paths, the page first.

    Without the package that draws charts, the page has none and names the package.

    Args:
        put: writes the page; `write_output` if the user named it.
    """
    charts = all_charts(report) if images.can_draw() else ()
    drawings = {chart.id: images.svg(chart) for chart in charts}
    if charts and report.picture is not None:
        drawings[f"{report.picture.id}-wide"] = images.svg(wide(report.picture))
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, render(report, drawings))
    return [path, *images.write_files(charts, drawings, charts_folder(path))]


def note(report: Report) -> str:
    """A message for the user; empty if the page has its charts."""
    return "" if images.can_draw() or not all_charts(report) else images.WITHOUT_CHARTS


def charts_folder(page: Path) -> Path:
    """`charts` next to a report.html; a page with a different name has its own folder."""
    return page.with_name("charts" if page.stem == "report" else f"{page.stem}-charts")


def render(report: Report, drawings: Mapping[str, str]) -> str:
    """The text of the page; `drawings` has the SVG of each chart that is drawn."""
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            css=Markup(asset("report.css")),
            script=Markup(asset("report.js")),
            palette=PALETTE,
            dark_style=Markup(images.dark_style() if drawings else ""),
            drawings={name: Markup(images.compact(text)) for name, text in drawings.items()},
            without_charts=note(report),
            chart_groups=_by_kind(report.charts),
            by_kind=_by_kind,
            metric_groups=list(_metric_groups(report)),
            fact_groups=list(_fact_sections(report)),
            published=list(_published(report).items()),
            progress_text=report.progress.text,
            notices_text=notices_text(report),
            usual_n=max((one.change.n for one in report.comparisons), default=0),
            panel_table=panel_table,
            metric_table=metric_table,
            every_change=every_change,
            note_text=note_text,
            change_title=change_title,
            repeats_each_text=repeats_each_text,
            standing=_standing,
        )
    )
    return clean(page)


def _standing(part: Callable[[], Markup]) -> Markup:
    """A part of the page, or an error message if it cannot be written."""
    try:
        return part()
    except Exception as error:  # Any error affects this part alone.
        return Markup("<p>{}</p>").format(missing_text(error))


def all_charts(report: Report) -> tuple[Chart, ...]:
    """The picture under the answer first."""
    picture = (report.picture,) if report.picture else ()
    of_sections = (chart for section in report.sections for chart in section.charts)
    return (*picture, *of_sections, *report.charts)


def notices_text(report: Report) -> str:
    """How many warnings and failures there are, in a sentence each; empty if there are none."""
    sentences = []
    failed, warned = sum(notice.runs for notice in report.failures), len(report.warnings)
    if failed:
        sentences.append(
            "1 run failed or was lost." if failed == 1 else f"{failed} runs failed or were lost."
        )
    if warned:
        sentences.append("There is 1 warning." if warned == 1 else f"There are {warned} warnings.")
    return " ".join(sentences)


def _by_kind(charts: Sequence[Chart]) -> list[list[Chart]]:
    return [list(group) for _, group in groupby(charts, lambda chart: chart.kind)]


def _metric_groups(report: Report) -> Iterator[_MetricGroup]:
    names = dict.fromkeys(table.key for panel in report.panels for table in panel.metrics)
    for name in names:
        found = [(panel, table) for panel in report.panels if (table := panel.metric(name))]
        tables = (metric_table(report.layout, panel, table) for panel, table in found)
        yield _MetricGroup(found[0][1].title, tuple(tables))


def _fact_sections(report: Report) -> Iterator[_FactSection]:
    """Server with dataset, the host's headlines, and everything else about the host."""
    sections: dict[str, list[FactGroup]] = {}
    for group in report.facts:
        if not group.title.startswith("Host"):
            title = "Server and data"
        else:
            title = "Host" if group.title == "Host" else "Host, every fact"
        sections.setdefault(title, []).append(group)
    if report.variables:
        sections.setdefault("Server and data", [])
    for title, groups in sections.items():
        yield _FactSection(title, tuple(groups))


def _published(report: Report) -> dict[str, PublishedBlock]:
    return {block.name: block for panel in report.panels for block in panel.published}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("contend.report"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(FILTERS)
    return environment


def asset(name: str) -> str:
    """A file of style or script that every page has in it."""
    return (resources.files("contend.report") / "templates" / name).read_text(encoding="utf-8")
