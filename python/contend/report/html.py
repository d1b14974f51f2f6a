"""The report as one HTML file that fetches nothing, with its charts as files beside it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contend.metrics import THROUGHPUT
from contend.report import images
from contend.report.html_cells import FILTERS
from contend.report.labels import change_title
from contend.report.model import Chart, FactGroup, MetricTable, Panel, PublishedBlock, Report
from contend.report.words import notices_text, pairs_text, progress_text


@dataclass(frozen=True, slots=True)
class _MetricGroup:
    """One metric over all panels: a section that opens."""

    title: str
    tables: tuple[tuple[Panel, MetricTable], ...]


@dataclass(frozen=True, slots=True)
class _FactSection:
    title: str
    groups: tuple[FactGroup, ...]


def write(report: Report, path: Path) -> list[Path]:
    """Write the page to `path` and each chart beside it; returns all paths, the page first.

    Without the package that draws charts the page has none, and says what to install.
    """
    charts = all_charts(report) if images.can_draw() else ()
    drawings = {chart.id: images.svg(chart) for chart in charts}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(report, drawings), encoding="utf-8")
    return [path, *images.write_files(charts, drawings, charts_folder(path))]


def note(report: Report) -> str:
    """What its writer should be told; empty if the page has its charts."""
    return "" if images.can_draw() or not all_charts(report) else images.WITHOUT_CHARTS


def charts_folder(page: Path) -> Path:
    """`charts` beside a report.html; a page of another name has a folder of its own."""
    return page.with_name("charts" if page.stem == "report" else f"{page.stem}-charts")


def render(report: Report, drawings: Mapping[str, str]) -> str:
    """The text of the page; `drawings` has the SVG of each chart that is drawn."""
    charts = [chart for chart in all_charts(report) if chart.id in drawings]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            css=Markup(_asset("report.css")),
            script=Markup(_asset("report.js")),
            chart_script=Markup(_packed(images.script(charts)) if charts else ""),
            drawings={name: Markup(images.compact(text)) for name, text in drawings.items()},
            without_charts=note(report),
            chart_groups=_by_kind(report.charts),
            cause_groups=_by_kind(report.cause.charts if report.cause else ()),
            metric_groups=list(_metric_groups(report)),
            fact_groups=list(_fact_sections(report)),
            published=list(_published(report).items()),
            progress_text=progress_text(report.progress),
            notices_text=notices_text(report),
            change_title=change_title,
            pairs_text=pairs_text,
            throughput=THROUGHPUT,
        )
    )


def all_charts(report: Report) -> tuple[Chart, ...]:
    return (*(report.cause.charts if report.cause else ()), *report.charts)


def _by_kind(charts: Sequence[Chart]) -> list[list[Chart]]:
    return [list(group) for _, group in groupby(charts, lambda chart: chart.kind)]


def _metric_groups(report: Report) -> Iterator[_MetricGroup]:
    names = dict.fromkeys(table.key for panel in report.panels for table in panel.metrics)
    for name in names:
        tables = tuple(
            (panel, table) for panel in report.panels if (table := panel.metric(name)) is not None
        )
        yield _MetricGroup(tables[0][1].title, tables)


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


def _packed(script: str) -> str:
    """The script as the page carries it: a third of its size, and no text that could end it."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("contend.report"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(FILTERS)
    return environment


def _asset(name: str) -> str:
    return (resources.files("contend.report") / "templates" / name).read_text(encoding="utf-8")
