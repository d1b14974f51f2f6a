"""The report in a terminal: 80 columns are enough, and colour only repeats what marks say."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contend.findings import Finding
from contend.metrics import Metric
from contend.outside import one_line
from contend.report.host_notes import note_text
from contend.report.model import (
    ChangeTable,
    Layout,
    Notice,
    Overall,
    Panel,
    Report,
    Section,
    ShapeRow,
    StatementTable,
    TextTable,
)
from contend.report.parts import missing_text
from contend.report.words import (
    change_title,
    figure_text,
    gain_text,
    key_text,
    notices_text,
    plain_gain,
    progress_text,
    significant,
    times_text,
)

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

Rows = list[tuple[Text, list[Text]]]


def render(report: Report, console: Console, *, full: bool = False) -> None:
    """Print the report in the order of the page: the answer, the changes along the load and as a
    whole, what bears on them. `full` opens what the page has folded."""
    out = _Out(console)
    is_compared = bool(report.comparisons)
    parts: list[Callable[[], None]] = [
        lambda: _head(report, out),
        lambda: _answer(report, out),
        lambda: (
            _changes(report, out, full=full)
            if is_compared
            else _metrics(report, out, [report.metric.name])
        ),
        lambda: _shapes(report, out),
        lambda: _statements(report, out, full=full),
        lambda: _beside(report, out),
        lambda: _cause(report, out, full=full),
        lambda: _counters(report, out, full=full),
        *(partial(_section, one, out, full=full) for one in report.sections),
        lambda: _differences(report, out, full=full),
        lambda: _metrics(report, out, []) if full and is_compared else None,
        lambda: _notices(report, out),
        lambda: _provenance(report, out) if full else _more(report, out),
    ]
    for part in parts:
        try:
            part()
        except OSError:
            raise  # Of the terminal, and of no part.
        except Exception as error:  # Whatever it is, it is of this part alone.
            out.line(missing_text(error))


def _more(report: Report, out: _Out) -> None:
    if report.cells:
        out.line()
        out.line("All figures, the method and the facts: `contend show --full`.", "dim")


class _Out:
    """A console with the few shapes that the report is made of."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str = "", style: str = "") -> None:
        self._wrapped(text, style, indent="")

    def item(self, text: str, style: str = "") -> None:
        self._wrapped(text, style, indent="  ")

    def verbatim(self, text: str) -> None:
        for line in text.split("\n"):
            self._print(Text(line))

    def _wrapped(self, text: str, style: str, *, indent: str) -> None:
        width = min(self.console.width, _TEXT_WIDTH)
        # A path that is broken at a hyphen cannot be copied.
        wrapper = textwrap.TextWrapper(
            width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        for line in wrapper.wrap(text) or [""]:
            self._print(Text(line, style=style))

    def head(self, text: str) -> None:
        self.line()
        self.line(text, "bold")

    def figures(self, layout: Layout, title: str, rows: Rows) -> None:
        """A table of the layout's levels and columns."""
        by = (
            f"{layout.rows_label} by {layout.columns_label}".strip() if layout.columns_label else ""
        )
        text = ", ".join(part for part in (title, by) if part)
        self.table(text, [head or "all" for head in layout.columns], rows, dim=not title)

    def table(self, title: str, heads: Sequence[str], rows: Rows, *, dim: bool = False) -> None:
        """A table of figures, cut into several if its columns are too many for the width."""
        self.line()
        if title:
            self.line(title, "dim" if dim else "bold")
        label_width = max(label.cell_len for label, cells in rows if cells)
        widths = [
            max(len(head), *(cells[column].cell_len for _, cells in rows if cells))
            for column, head in enumerate(heads)
        ]
        for columns in _fitting(widths, self.console.width - label_width):
            head = Text(" " * label_width, style="dim")
            for column in columns:
                head.append(heads[column].rjust(widths[column] + _GAP))
            self._print(head)
            for label, cells in rows:
                row = label.copy()
                if cells:
                    row.pad_right(label_width - label.cell_len)
                for column in columns if cells else ():
                    cell = cells[column]
                    row.append(" " * (widths[column] + _GAP - cell.cell_len))
                    row.append_text(cell)
                self._print(row)

    def _print(self, text: Text) -> None:
        if "\n" in text.plain:
            # As long as before, so that colours stay where they are.
            text.plain = text.plain.replace("\n", " ")
        self.console.print(text, highlight=False, no_wrap=True, crop=False, overflow="ignore")

    def words(self, words: TextTable) -> None:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left")
        # Names are not broken for the sake of long values.
        widest = max((len(row[0]) for row in words.rows), default=0)
        widths = [min(widest, _NAME_WIDTH), *(0 for _ in words.columns[1:])]
        for column, width in zip(words.columns, widths, strict=True):
            head = Text(one_line(column))
            table.add_column(head, header_style="dim", overflow="fold", min_width=width)
        for row in words.rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        self.line()
        self.line(words.caption)
        self.console.print(table, highlight=False)


def _fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns in as few and as even groups as fit into the room."""
    for groups in range(1, len(widths) + 1):
        size = math.ceil(len(widths) / groups)
        columns = range(len(widths))
        cut = [list(columns[start : start + size]) for start in range(0, len(widths), size)]
        if all(sum(widths[column] + _GAP for column in group) <= room for group in cut):
            return cut
    return [[column] for column in range(len(widths))]


def _head(report: Report, out: _Out) -> None:
    facts = [text for _, text in report.summary]
    out.line(report.question or report.name, "bold")
    out.line(" · ".join([report.name, *facts, f"runs: {progress_text(report.progress)}"]), "dim")
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
    if report.host_notes:
        out.line("The host, as doctor saw it before the runs:", "yellow")
        for note in report.host_notes:
            out.item(note_text(note, len(report.compared)))
    noticed = notices_text(report)
    if noticed:
        out.line(f"{noticed} See the end.", "yellow")
    if not report.cells:
        for line in answer.basis:
            out.line(line)


def _changes(report: Report, out: _Out, *, full: bool) -> None:
    """Along the load, as a whole by every metric, then place by place: of the metric that decides,
    or of all."""
    for at, (compared, overall) in enumerate(zip(report.compared, report.overall, strict=True)):
        if not compared.comparisons or (at and not full):
            continue
        out.head(change_title(compared.metric, report.layout.baseline))
        panels = [(panel.title, _change_rows(panel, panel.changes[at])) for panel in report.panels]
        over = list(overall)
        if len(panels) > 1:
            first = over.pop(0)
            out.table(first.title, first.heads, _overall_rows(first))
        else:
            out.figures(report.layout, *panels.pop())
        if not at:
            _wholes(report, out)
        for table in over:
            out.table(table.title, table.heads, _overall_rows(table))
        for title, rows in panels:
            out.figures(report.layout, title, rows)
        _published(report, compared.metric, out)


def _wholes(report: Report, out: _Out) -> None:
    if report.wholes is None:
        return
    rows: Rows = [
        (Text(row.metric.title), [_gain(gain) for gain in row.gains]) for row in report.wholes.rows
    ]
    out.table(report.wholes.title, report.wholes.heads, rows)
    out.line()
    out.line(key_text(report), "dim")


def _overall_rows(overall: Overall) -> Rows:
    return [(Text(row.label), [_gain(gain) for gain in row.gains]) for row in overall.rows]


def _published(report: Report, metric: Metric, out: _Out) -> None:
    blocks = {
        block.name: block.machine for panel in report.panels for block in panel.published_of(metric)
    }
    if blocks:
        out.line()
        for name, machine in blocks.items():
            out.line(f"{name}: {machine}; no intervals", "dim")


def _beside(report: Report, out: _Out) -> None:
    if report.beside is None:
        return
    out.head(report.beside.title)
    out.line(report.beside.lead, "dim")
    for panel in report.beside.panels:
        rows: Rows = [
            (
                Text(row.label, style="dim" if row.is_difference else ""),
                [_gain(gain) for gain in row.gains],
            )
            for row in panel.rows
        ]
        out.figures(report.layout, panel.title, rows)


def _shapes(report: Report, out: _Out) -> None:
    for shape in report.shapes:
        out.head(shape.title)
        out.line(shape.lead, "dim")
        for panel in shape.panels:
            rows: Rows = [
                (Text(row.label, style="dim" if row.published else ""), _shape_cells(row))
                for row in panel.rows
            ]
            out.figures(report.layout, panel.title, rows)


def _shape_cells(row: ShapeRow) -> list[Text]:
    if row.published:
        return [
            Text("" if one is None else significant(one, 3), style="dim") for one in row.published
        ]
    first, *others = row.measured
    del first
    return [
        Text("1"),
        *(Text(times_text(one) if one else _NOT_MEASURED) for one in others),
    ]


def _statements(report: Report, out: _Out, *, full: bool) -> None:
    found = report.statements
    if found is None:
        return
    out.head("Each statement, ms (mean)")
    if found.is_long and not full:
        out.line("They are many: the page has them, and so does `contend show --full`.")
        return
    out.line(found.lead, "dim")
    for text in found.sentences:
        out.line(text)
    for table in found.tables:
        out.figures(report.layout, table.title, _statement_rows(report.layout, table))
    if full:
        out.head("Each statement, ms (95th percentile)")
        for table in found.tails:
            out.figures(report.layout, table.title, _statement_rows(report.layout, table))
        for name, text in found.texts:
            out.item(f"{name}: {text}")


def _statement_rows(layout: Layout, table: StatementTable) -> Rows:
    rows: Rows = []
    for group in table.groups:
        for row in group.rows:
            label = group.name if len(group.rows) == 1 else f"{group.name}, {row.label}"
            cells = [Text(figure_text(e) if e else _NOT_MEASURED) for e in row.estimates]
            rows.append((Text(label), cells))
        rows += [
            (Text(f"  {row.label} over {layout.baseline}, %"), [_gain(g) for g in row.gains])
            for row in group.changes
        ]
    return rows


def _change_rows(panel: Panel, changes: ChangeTable) -> Rows:
    rows: Rows = [(Text(row.label), [_gain(gain) for gain in row.gains]) for row in changes.rows]
    for block in panel.published_of(changes.metric):
        rows.append((Text(f"{block.name}, published, other machine", style="dim"), []))
        for label, gains in block.rows:
            name = Text(label, style="dim")
            cells = [Text("" if gain is None else plain_gain(gain), style="dim") for gain in gains]
            rows.append((name, cells))
    return rows


def _gain(gain: Finding | None) -> Text:
    if gain is None:
        return Text(_NOT_MEASURED, style="dim")
    text = gain_text(gain.change) + _MARKS.get(gain.tone, "")
    return Text(text, style=_STYLES[gain.tone])


def _metrics(report: Report, out: _Out, keys: Sequence[str]) -> None:
    """The named metrics, or all of them."""
    shown = dict.fromkeys(
        table.key
        for panel in report.panels
        for table in panel.metrics
        if not keys or table.key in keys
    )
    for key in shown:
        for index, panel in enumerate(report.panels):
            table = panel.metric(key)
            if table is None:
                continue
            if index == 0:
                out.head(f"{table.title}, {table.unit}" if table.unit else table.title)
            rows: Rows = [
                (
                    Text(row.label),
                    [Text(figure_text(e) if e else _NOT_MEASURED) for e in row.estimates],
                )
                for row in table.rows
            ]
            out.figures(report.layout, panel.title, rows)


def _section(section: Section, out: _Out, *, full: bool) -> None:
    out.head(section.title)
    out.line(section.lead)
    for table in section.tables if full else ():
        heads = table.columns[1:]
        rows: Rows = [(Text(row[0]), [Text(cell) for cell in row[1:]]) for row in table.rows]
        out.table(table.caption, heads, rows)


def _cause(report: Report, out: _Out, *, full: bool) -> None:
    cause = report.cause
    if cause is not None:
        out.head(cause.title)
        out.line(cause.lead)
        for text in cause.paragraphs if full else ():
            out.line()
            out.line(text)
        for table in cause.tables if full or cause.is_answer else ():
            out.words(table)
        if full:
            out.line()
            out.line(f"What would refute it. {cause.refutation}")
    if report.bounds:
        out.head("What the machine allows")
        out.line(" ".join(report.bounds))


_COUNTERS_SHOWN = 5
"""Rows of a table of counters, unless all is shown."""


def _counters(report: Report, out: _Out, *, full: bool) -> None:
    """The largest differences of each level, a line each; the page has more, and the JSON all."""
    if report.counters is None:
        return
    out.head(report.counters.title)
    out.line(report.counters.lead)
    if full and report.counters.notes:
        out.line(report.counters.notes)
    for table in report.counters.tables:
        out.line(f"{table.caption}:", "dim")
        for name, *figures in table.rows if full else table.rows[:_COUNTERS_SHOWN]:
            said = zip(table.columns[1:], figures, strict=True)
            out.item(f"{name}: {', '.join(f'{head} {figure}' for head, figure in said)}")


def _differences(report: Report, out: _Out, *, full: bool) -> None:
    """How many they are, and on demand all of them."""
    if report.differences is None:
        return
    out.head("What still differs between the servers")
    for text in report.differences.leads:
        out.item(text)
    if not full:
        out.item("The page lists them side by side, and so does `contend show --full`.")
        return
    for table in report.differences.tables:
        if table.rows:
            out.words(table)


def _notices(report: Report, out: _Out) -> None:
    out.head("Warnings and failures")
    if not report.warnings and not report.failures:
        out.line("None: no run failed, none was lost, and no check complained.")
    for notice in report.failures:
        runs = "run" if notice.runs == 1 else "runs"
        out.item(f"{notice.runs} {runs} {notice.code}: {notice.message}{_where(notice)}")
    for notice in report.warnings:
        share = f"{notice.runs} of {notice.planned_runs} runs"
        out.item(f"{notice.code} ({share}): {notice.message}{_where(notice)}")


def _where(notice: Notice) -> str:
    if not notice.cells:
        return ""
    shown = "; ".join(notice.cells[:3])
    more = len(notice.cells) - 3
    return f" [{shown}{f'; and {more} more' if more > 0 else ''}]"


def _provenance(report: Report, out: _Out) -> None:
    out.head("What the answer rests on")
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
        out.words(report.variables)
    out.head("The experiment file")
    for override in report.overrides:
        out.item(f"--set {override}")
    out.verbatim(report.spec_text.rstrip())
