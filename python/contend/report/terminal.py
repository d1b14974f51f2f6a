"""The report in a terminal: 80 columns are enough, and colour only repeats what marks say.

The short form is the answer: the subject, the sentence, the remarks that affect its reading, the
changes by the metric that decides, every metric over all cells, the cause. `full` has everything.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contend.errors import one_line
from contend.findings import Finding
from contend.report.model import Report, missing_text
from contend.report.notices import note_text
from contend.sections.model import MadeSection, Notice, Shown, TableCell, TextTable
from contend.sections.panels import metric_table, panel_table
from contend.sections.words import change_title, figure_text, gain_text, times_text
from contend.stats import Estimate

_STYLES = {
    "better": "bold cyan",
    "worse": "bold yellow",
    "equivalent": "",
    "inconclusive": "",
    "open": "",
}
_MARKS = {"equivalent": " ≈", "inconclusive": " ?"}
_NOT_MEASURED = "–"
_TEXT_WIDTH = 88
_GAP = 2
_NAME_WIDTH = 44

_WARNED, _EXPLAINED = 4, 3
"""Number of lines in the short form: of remarks on the answer, and of a section with its title."""

_OF_DATA = ("tables-missing", "timestamp-refused")
"""Warnings that not the recorded data were asked come first."""

_OF_HOST = ("host-", "io-", "memory-", "noisy-", "throttled", "files-")
"""Warnings of the host come after those of the measurements."""


def render(report: Report, console: Console, *, full: bool = False) -> bool:
    """Print the report; `full` has every section, figure and fact, in the order of the page.
    Returns whether no part is missing."""
    out, whole = _Out(console), not report.missing
    for part in (_full if full else _short)(report, out):
        try:
            part()
        except OSError:
            raise  # From the terminal, not from a part.
        except Exception as error:  # Any error affects this part alone.
            out.line(missing_text(error))
            whole = False
    return whole


Parts = Iterator[Callable[[], None]]


def _short(report: Report, out: _Out) -> Parts:
    yield lambda: _head(report, out, full=False)
    yield lambda: _answer(report, out)
    yield lambda: _warned(report, out)
    goal, twins = report.shown("goal"), report.shown("twins")
    screen = report.shown("screen")
    if twins is not None:
        yield lambda: out.section(replace(twins, tables=twins.tables[:1]))
    elif screen is not None:
        yield lambda: out.section(replace(screen, tables=screen.tables[:2]))
    elif report.comparisons:
        yield lambda: _changes(report, out, full=False)
    elif goal is None:
        yield lambda: _metrics(report, out, [report.metric.name])
    else:
        yield partial(out.section, goal)
    for made in report.made:
        if made.shown is not None and made.shown.is_short and not made.is_missing:
            yield partial(out.brief, made.shown)
    for shown in report.missing:
        yield partial(out.section, shown)
    if report.cells:
        yield lambda: out.line()
        yield lambda: out.line(
            "All figures, the method and the facts: `contend show --full`.", "dim"
        )


def _full(report: Report, out: _Out) -> Parts:
    yield lambda: _head(report, out, full=True)
    yield lambda: _answer(report, out)
    yield lambda: _host(report, out)
    if report.comparisons:
        yield lambda: _changes(report, out, full=True)
    for made in report.made:
        if made.shown is not None:
            yield partial(_section, made, out)
    for shown in report.lost:
        yield partial(out.section, shown)
    yield lambda: _metrics(report, out, [])
    yield lambda: _notices(report, out)
    yield lambda: _provenance(report, out)


class _Out:
    """A console with the few shapes that the report is made of."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @property
    def width(self) -> int:
        return min(self.console.width, _TEXT_WIDTH)

    def line(self, text: str = "", style: str = "") -> None:
        for line in self._wrapped(text):
            self._print(Text(line, style=style))

    def item(self, text: str, style: str = "") -> None:
        for line in self._wrapped(text, indent="  "):
            self._print(Text(line, style=style))

    def cut(self, text: str, style: str = "", *, indent: str = "") -> None:
        """One line, however long the text is."""
        (line, *more) = self._wrapped(text, indent=indent)
        if more:
            line = line if len(line) < self.width else line[: self.width - 1].rstrip()
            line = f"{line.rstrip(' ,;:(')}…"
        self._print(Text(line, style=style))

    def verbatim(self, text: str) -> None:
        for line in text.split("\n"):
            self._print(Text(line))

    def _wrapped(self, text: str, *, indent: str = "") -> list[str]:
        # A path that is broken at a hyphen cannot be copied.
        wrapper = textwrap.TextWrapper(
            self.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        return wrapper.wrap(text) or [""]

    def head(self, text: str) -> None:
        self.line()
        self.line(text, "bold")

    def brief(self, shown: Shown) -> None:
        """The title, and as many whole sentences as fit."""
        self.head(shown.title)
        first, *others = re.split(r"(?<=[.!?]) (?=[A-Z])", shown.lead)
        for sentence in others:
            if len(self._wrapped(longer := f"{first} {sentence}")) >= _EXPLAINED:
                break
            first = longer
        *lines, last = self._wrapped(first)[: _EXPLAINED - 1]
        for line in lines:
            self._print(Text(line))
        rest = first[len(" ".join((*lines, last))) :]
        self.cut(f"{last}{rest}")

    def section(self, shown: Shown) -> None:
        self.head(shown.title)
        self.line(shown.lead)
        for text in shown.more:
            self.line()
            self.line(text)
        for table in shown.tables:
            self.table(table)

    def table(self, table: TextTable, *, head: str = "bold") -> None:
        """Cut into several if its columns are too many for the width; if one alone is too wide for
        it, its texts are folded."""
        rows = [
            (
                _quiet(str(row[0]), at in table.quiet),
                [_cell(one, at in table.quiet) for one in row[1:]],
            )
            for at, row in enumerate(table.rows)
        ]
        heads = table.columns[1:]
        label_width = max(label.cell_len for label, _ in rows)
        widths = [
            max([len(head), *(cells[at].cell_len for _, cells in rows if cells)])
            for at, head in enumerate(heads)
        ]
        if max(widths, default=0) + _GAP + label_width > self.console.width:
            self._folded(table)
            return
        self.line()
        if table.caption:
            self.line(table.caption, head)
        for columns in _fitting(widths, self.console.width - label_width):
            over = Text(" " * label_width, style="dim")
            for column in columns:
                over.append(heads[column].rjust(widths[column] + _GAP))
            self._print(over)
            for label, cells in rows:
                row = label.copy()
                if cells:
                    row.pad_right(label_width - label.cell_len)
                for column in columns if cells else ():
                    row.append(" " * (widths[column] + _GAP - cells[column].cell_len))
                    row.append_text(cells[column])
                self._print(row)

    def _folded(self, source: TextTable) -> None:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left")
        # Names are not broken for the sake of long values.
        widest = max((len(str(row[0])) for row in source.rows), default=0)
        widths = [min(widest, _NAME_WIDTH), *(0 for _ in source.columns[1:])]
        for column, width in zip(source.columns, widths, strict=True):
            head = Text(one_line(column))
            table.add_column(head, header_style="dim", overflow="fold", min_width=width)
        for row in source.rows:
            table.add_row(*(Text(one_line(_cell(cell).plain)) for cell in row))
        self.line()
        self.line(source.caption)
        self.console.print(table, highlight=False)

    def _print(self, text: Text) -> None:
        if "\n" in text.plain:
            # As long as before, so that colours stay where they are.
            text.plain = text.plain.replace("\n", " ")
        self.console.print(text, highlight=False, no_wrap=True, crop=False, overflow="ignore")


def _fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns in as few and as even groups as fit into the room."""
    for groups in range(1, len(widths) + 1):
        size = math.ceil(len(widths) / groups)
        columns = range(len(widths))
        cut = [list(columns[start : start + size]) for start in range(0, len(widths), size)]
        if all(sum(widths[column] + _GAP for column in group) <= room for group in cut):
            return cut
    return [[column] for column in range(len(widths))]


def _quiet(text: str, is_quiet: bool) -> Text:
    return Text(text, style="dim" if is_quiet else "")


def _cell(cell: TableCell, is_quiet: bool = False) -> Text:
    if cell is None:
        return Text(_NOT_MEASURED, style="dim")
    if isinstance(cell, str):
        return _quiet(cell, is_quiet)
    if isinstance(cell, Finding):
        text = gain_text(cell.change) + _MARKS.get(cell.tone, "")
        return Text(text, style=_STYLES[cell.tone])
    return Text(figure_text(cell) if isinstance(cell, Estimate) else times_text(cell))


def _head(report: Report, out: _Out, *, full: bool) -> None:
    facts = [report.name, *(text for name, text in report.summary if full or name != "Load")]
    runs = f"runs: {report.progress.text}"
    if full:
        out.line(report.question or report.name, "bold")
        out.line(" · ".join([*facts, runs]), "dim")
    else:
        out.cut(report.question or report.name, "bold")
        least = 1
        if report.progress.state != "complete":
            facts.insert(1, runs)
            least = 2
        while len(facts) > least and len(" · ".join(facts)) > out.width:
            facts.pop()
        out.line(" · ".join(facts), "dim")
    if report.about_server:
        out.line(report.about_server, "yellow")


def _answer(report: Report, out: _Out) -> None:
    answer = report.answer
    out.line()
    out.line(answer.sentence, "bold")
    if report.gate is not None:
        out.line(f"{report.gate.line[0].upper()}{report.gate.line[1:]}.")
    for text in answer.others:
        out.line(text)
    if report.progress.state == "unfinished":
        out.line(
            f"The run stopped before its end. Resume with `contend run --resume {report.path}`."
        )
    if not report.cells:
        for line in answer.basis:
            out.line(line)


def _warned(report: Report, out: _Out) -> None:
    """Every failure, then the remarks that matter most for reading the answer, one per line."""
    for failure in report.failures:
        out.line(_failure(failure), "yellow")
    notes = [one for one in report.host_notes if not one.ignored]
    most = sorted(report.warnings, key=lambda one: (one.code.startswith(_OF_HOST), -one.runs))
    remarks = [
        *(_warning(one) for one in most if one.code in _OF_DATA),
        *(note_text(one, len(report.compared)) for one in notes if one.severity == "severe"),
        *(_warning(one) for one in most if one.code not in _OF_DATA),
        *(note_text(one, len(report.compared)) for one in notes if one.severity != "severe"),
    ]
    shown = remarks if len(remarks) <= _WARNED else remarks[: _WARNED - 1]
    for text in shown:
        out.cut(text, "yellow")
    if more := len(remarks) - len(shown):
        out.line(f"and {more} more warnings: `contend show --full`", "yellow")


def _host(report: Report, out: _Out) -> None:
    if report.host_notes:
        out.line("Host problems that doctor reported before the runs:", "yellow")
        for note in report.host_notes:
            out.item(note_text(note, len(report.compared)))


def _changes(report: Report, out: _Out, *, full: bool) -> None:
    """Along the load, as a whole by every metric, then place by place, metric by metric. The short
    form has the first table of the metric that decides, and the whole."""
    for at, (compared, overall) in enumerate(zip(report.compared, report.overall, strict=True)):
        if not compared.comparisons or (at and not full):
            continue
        out.head(change_title(compared.metric, report.layout.baseline))
        tables = [*overall, *(panel_table(report.layout, panel, at) for panel in report.panels)]
        if len(report.panels) == 1:
            tables.insert(0, tables.pop())
        first, *others = tables
        out.table(first, head="" if len(tables) > 1 else "dim")
        if not at and report.wholes is not None:
            out.table(report.wholes)
            out.line()
            out.line(report.key, "dim")
        for table in others if full else ():
            out.table(table)
        _published(report, at, out, full=full)


def _published(report: Report, at: int, out: _Out, *, full: bool) -> None:
    metric = report.compared[at].metric
    blocks = {
        block.name: block.machine for panel in report.panels for block in panel.published_of(metric)
    }
    if blocks and (full or len(report.panels) == 1):
        out.line()
        for name, machine in blocks.items():
            (out.line if full else out.cut)(f"{name}: published, no intervals; {machine}", "dim")


def _metrics(report: Report, out: _Out, keys: Sequence[str]) -> None:
    """The named metrics, or all of them."""
    shown = dict.fromkeys(
        table.key
        for panel in report.panels
        for table in panel.metrics
        if not keys or table.key in keys
    )
    for key in shown:
        for panel in report.panels:
            if (table := panel.metric(key)) is not None:
                out.table(metric_table(report.layout, panel, table))


def _section(made: MadeSection, out: _Out) -> None:
    if made.shown is not None:
        out.section(made.shown)


def _failure(notice: Notice) -> str:
    runs = "run" if notice.runs == 1 else "runs"
    return f"{notice.runs} {runs} {notice.code}: {notice.message}"


def _warning(notice: Notice) -> str:
    return f"{notice.code} ({notice.runs} of {notice.planned_runs} runs): {notice.message}"


def _notices(report: Report, out: _Out) -> None:
    out.head("Warnings and failures")
    if not report.warnings and not report.failures:
        out.line("None: no run failed or was lost, and no check reported a problem.")
    for notice in report.failures:
        out.item(f"{_failure(notice)}{_where(notice)}")
    for notice in report.warnings:
        out.item(f"{_warning(notice)}{_where(notice)}")


def _where(notice: Notice) -> str:
    if not notice.cells:
        return ""
    shown = "; ".join(notice.cells[:3])
    more = len(notice.cells) - 3
    return f" [{shown}{f'; and {more} more' if more > 0 else ''}]"


def _provenance(report: Report, out: _Out) -> None:
    out.head("Basis of the answer")
    for text in report.answer.basis:
        out.item(text)
    out.head("How it was measured")
    for text in report.method:
        out.item(text)
    for group in report.facts:
        out.head(group.title)
        for name, value in group.facts:
            out.item(f"{name}: {value}")
    if report.variables:
        out.table(report.variables)
    out.head("The experiment file")
    for override in report.overrides:
        out.item(f"--set {override}")
    out.verbatim(report.spec_text.rstrip())
