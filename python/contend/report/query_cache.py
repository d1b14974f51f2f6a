"""Why the query cache helps or hurts: how often it answers, and how many wait for its one lock.

From SHOW GLOBAL STATUS before and after each run come hits, answers stored and answers thrown away
for want of memory; from looks at the process list how many of the running queries wait for the
lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contend.findings import Compared, Read, Study, over_repeats
from contend.metrics import FIXED
from contend.report.causes import Explanation
from contend.report.model import Cause, Layout, Panel, TextTable
from contend.report.words import estimate_text, level_phrase, share_text
from contend.stats import Estimate
from contend.store import RunRecord

WAITS_MATTER = 0.1
"""Of the running queries: from a tenth on, the lock is a part of what a query takes."""

_MODES = {"0": "off", "OFF": "off", "1": "on", "ON": "on", "2": "demand", "DEMAND": "demand"}


@dataclass(frozen=True, slots=True)
class _Cell:
    """What one cell's cache did. `place` is the panel, the level and the column, in words; `head`
    is the column as a table has it."""

    place: tuple[str, str, str]
    head: str
    answered: Estimate | None
    waiting: Estimate | None
    stored: Estimate | None
    pruned: Estimate | None


class QueryCache(Explanation):
    """The analysis of the experiment on `query_cache_type`."""

    def level(self, level: object) -> str:
        return _MODES.get(str(level), str(level))

    def cause(
        self, study: Study, layout: Layout, panels: tuple[Panel, ...], compared: Compared
    ) -> Cause | None:
        del compared
        cells = [one for one in _cells(study, layout, panels) if one.answered is not None]
        if not cells:
            return None
        return Cause(
            title="Why: one lock for all, and a write throws away every answer of its table",
            lead=_lead(cells),
            paragraphs=(_MECHANISM, _waits(cells)),
            tables=(_table(layout, cells),),
            charts=(),
            refutation=(
                "A gain in a cell in which the cache answered nothing would refute this, and so "
                "would a loss in one in which hardly a query waited for the lock and hardly an "
                "answer was stored."
            ),
        )


_MECHANISM = (
    "Before a SELECT is parsed its text is looked up in the cache, under a lock that the whole "
    "server shares; an answer that is stored takes it again, block by block. A write takes it to "
    "throw away every answer that has to do with its table, whichever rows it changed. So the "
    "cache pays where the same texts come again, answers are dear, writes are rare, and few ask "
    "at the same time; in mode demand only statements with SQL_CACHE are stored."
)


def _lead(cells: Sequence[_Cell]) -> str:
    known = [(one, one.answered) for one in cells if one.answered is not None]
    most, answered = max(known, key=lambda one: one[1].mean)
    least, fewest = min(known, key=lambda one: one[1].mean)
    return (
        f"The cache answered between {share_text(fewest)} of the SELECTs ({_words(least)}) and "
        f"{share_text(answered)} ({_words(most)})."
    )


def _waits(cells: Sequence[_Cell]) -> str:
    known = [(one, one.waiting) for one in cells if one.waiting is not None]
    if not known:
        return "Whether queries waited for the lock was not seen."
    most, waiting = max(known, key=lambda one: one[1].mean)
    text = f"Of the running queries at most {share_text(waiting)} waited for the lock"
    if waiting.mean >= WAITS_MATTER:
        return (
            f"{text} ({_words(most)}): there the lock is what clients queue for, and more CPUs "
            "make it worse."
        )
    return f"{text} ({_words(most)}): at this load the lock is not what limits the server."


def _words(cell: _Cell) -> str:
    return ", ".join(filter(None, cell.place))


def _cells(study: Study, layout: Layout, panels: Sequence[Panel]) -> list[_Cell]:
    roles = study.roles
    found = []
    for panel in panels:
        for label, level in zip(layout.levels, roles.levels, strict=True):
            for head, column in zip(layout.columns, roles.column_levels, strict=True):
                runs = study.runs_of(roles.cell(panel.context, column, level))
                at = (
                    ""
                    if roles.columns is None or column is None
                    else level_phrase(roles.columns.path, column)
                )
                found.append(
                    _Cell(
                        (panel.title, label, at),
                        head,
                        over_repeats(study, runs, _answered),
                        over_repeats(study, runs, FIXED["query_cache_wait_share"].value),
                        over_repeats(study, runs, _per_query("Qcache_inserts")),
                        over_repeats(study, runs, _per_query("Qcache_lowmem_prunes")),
                    )
                )
    return found


def _answered(run: RunRecord) -> float | None:
    missed = FIXED["query_cache_miss_share"].value(run)
    return None if missed is None else 1 - missed


def _per_query(counter: str) -> Read:
    def read(run: RunRecord) -> float | None:
        status = run.probes.get("status") or {}
        asked = status.get("Questions") or 0
        # A counter that did not change is not recorded.
        return status.get(counter, 0) / asked if asked else None

    return read


def _table(layout: Layout, cells: Sequence[_Cell]) -> TextTable:
    def text(one: Estimate | None, write: Callable[[Estimate], str]) -> str:
        return "not recorded" if one is None else write(one)

    return TextTable(
        caption="What the cache did (intervals after ±)",
        columns=(
            "table",
            layout.rows_label,
            layout.columns_label or "cell",
            "answered from it",
            "waiting for its lock",
            "answers stored per query",
            "thrown away for memory per query",
        ),
        rows=tuple(
            (
                one.place[0] or "all",
                one.place[1],
                one.head or "all",
                text(one.answered, share_text),
                text(one.waiting, share_text),
                text(one.stored, estimate_text),
                text(one.pruned, estimate_text),
            )
            for one in cells
        ),
    )
