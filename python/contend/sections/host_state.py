"""Which states the host was in while it was measured, and how pace and gain were in each; and what
the kernel took out of memory meanwhile.

These are descriptions of blocks and no findings: the verdict is that of all blocks together. What
is independent is the repeat here too, so the intervals are those of the repeats' means.
"""

from __future__ import annotations

import itertools
import math
import mmap
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from contend.facts import fact
from contend.findings import Analysis, Study, pairs_of
from contend.metrics.read import MOVED_MIN, NAMES, NEAR_NS_MAX, Name, distance_ns, name_of
from contend.probed import CpuState, HostState
from contend.sections.model import Inputs, Notice, Section, Shown, TextTable
from contend.sections.words import UNKNOWN, cell_phrase, level_label, significant
from contend.spec import CellKey, cell_key
from contend.stats import estimate
from contend.store import RunRecord
from contend.units import format_size

PAGE_OUT = "pageout"
"""What a kernel does that takes out of memory whatever nobody has touched for a while."""

PAGED_OUT_BYTES_MIN = 1_000_000

_TITLE = "The state of the host"


@dataclass(frozen=True, slots=True)
class _Compared:
    """One level beside the baseline in one block, or in neighbouring runs.

    usual, gain: ln of the baseline's figure, and of the level's over it.
    """

    name: Name
    repeat: int
    cell: CellKey
    level: int
    usual: float
    gain: float


def _read(inputs: Inputs) -> Shown | None:
    """None if no run knows the state of its host."""
    study, analysis = inputs.study, inputs.first
    known = [run for run in study.measured if "state" in run.probes]
    states = _by_block(known, in_slices=study.in_slices)
    if not states:
        return None
    names = [(name_of(state), state) for state in states]
    seen = {name: [state for each, state in names if each == name] for name in NAMES}
    if not any(seen.values()):
        lead = "How far apart its CPUs are was not seen: contend had one CPU, or could not look."
        return Shown(_TITLE, lead, ())
    rows = list(_compared(study, analysis)) if analysis is not None else []
    tables = (_table(study, analysis, seen, rows),)
    return Shown(_TITLE, _lead(seen, states), tables)


def _by_block(runs: Sequence[RunRecord], *, in_slices: bool) -> list[HostState]:
    """The runs of a block in slices have one state."""
    found = {run.block if in_slices else run.run: run.probes["state"] for run in runs}
    return list(found.values())


def _lead(seen: dict[Name, list[HostState]], states: Sequence[HostState]) -> str:
    only = [name for name in NAMES if seen[name]]
    looked = max(len(one[when]["pairs"]) for one in states for when in ("before", "after"))
    there_are = states[0]["before"]["of_pairs"]
    which = "" if looked >= there_are else f" (of {looked} of {there_are} pairs of CPUs)"
    parts = [
        "How far apart the CPUs are was looked at before and after each block: the time in which "
        f"a line of cache goes over and comes back{which}. Near is below {NEAR_NS_MAX:g} ns, far "
        f"above; changed if the two looks differ by more than a factor of {MOVED_MIN:g}.",
        f"It was always {only[0]}." if len(only) == 1 else "The host changed its state meanwhile.",
    ]
    unknown = len(states) - sum(map(len, seen.values()))
    if unknown:
        parts.append(
            f"Of {unknown} of {len(states)} blocks it is not known: other programs had the CPUs "
            "when they were looked at."
        )
    memory = [one["memory_ns"] for one in states if one["memory_ns"] is not None]
    if memory:
        parts.append(f"A load from memory took {_spread(memory)} ns before the repeats.")
    came_back = sum(one["refaults"] or 0 for one in states) * mmap.PAGESIZE
    if came_back >= PAGED_OUT_BYTES_MIN:
        parts.append(
            f"{format_size(came_back)} of files were read again that the kernel had taken out of "
            "memory."
        )
    return " ".join(parts)


def _spread(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def _table(
    study: Study,
    analysis: Analysis | None,
    seen: dict[Name, list[HostState]],
    rows: Sequence[_Compared],
) -> TextTable:
    levels = analysis.table.levels if analysis is not None and rows else ()
    cells = len({one.cell for one in rows})
    pace: tuple[str, ...] = ()
    if analysis is not None and rows:
        of = level_label(study.roles.baseline) if study.roles.baseline is not None else ""
        unit = analysis.table.metric.name
        pace = (f"{unit} at {of}" if cells == 1 else f"{unit} at {of}, over its mean in the cell",)
    return TextTable(
        caption="Figures of the blocks in each state, of repeats with their 95 % intervals, each "
        "for itself: a description, which no verdict rests on",
        columns=(
            *("state", "blocks", "line of cache, ns", "waking a thread, µs"),
            *pace,
            *(f"gain of {level_label(level)}, %" for level in levels),
        ),
        rows=tuple(
            (
                name,
                str(len(seen[name])),
                *_looks(seen[name]),
                *_figures(name, rows, len(levels), cells),
            )
            for name in NAMES
            if seen[name]
        ),
    )


def _looks(states: Sequence[HostState]) -> tuple[str, str]:
    looks = [state[when] for state in states for when in ("before", "after")]
    distances = [ns for look in looks if (ns := distance_ns([look])) is not None]
    wakes = [ms for look in looks if (ms := _wake_us(look)) is not None]
    return _median(distances), _median(wakes)


def _wake_us(look: CpuState) -> float | None:
    times = [pair["wake_us"] for pair in look["pairs"]]
    return statistics.fmean(times) if times else None


def _median(values: Sequence[float]) -> str:
    middle = significant(statistics.median(values), 3)
    return f"{middle} ({_spread(values)})" if len(values) > 1 else middle


def _figures(name: Name, rows: Sequence[_Compared], levels: int, cells: int) -> Iterator[str]:
    """The baseline's pace in a state, and the gain of each level."""
    if not levels:
        return
    mean = _mean_over_cells(rows, lambda one: one.usual)
    usual = _of_repeats(name, rows, lambda one: one.usual, mean)
    if not usual:
        yield from ["n/a"] * (levels + 1)
        return
    pace = math.exp(statistics.fmean(usual) + (_grand(mean) if cells == 1 else 0.0))
    yield significant(pace, 3 if pace < 100 else 4)
    for level in range(levels):
        own = [one for one in rows if one.level == level]
        mean = _mean_over_cells(own, lambda one: one.gain)
        values = _of_repeats(name, own, lambda one: one.gain, mean)
        yield _percent([value + _grand(mean) for value in values])


def _grand(means: dict[CellKey, float]) -> float:
    return statistics.fmean(means.values()) if means else math.nan


def _mean_over_cells(
    rows: Sequence[_Compared], read: Callable[[_Compared], float]
) -> dict[CellKey, float]:
    """The mean of each cell over all states: what differs between cells is no matter here."""
    by_cell: dict[CellKey, list[float]] = defaultdict(list)
    for one in rows:
        by_cell[one.cell].append(read(one))
    return {cell: statistics.fmean(values) for cell, values in by_cell.items()}


def _of_repeats(
    name: Name,
    rows: Sequence[_Compared],
    read: Callable[[_Compared], float],
    mean: dict[CellKey, float],
) -> list[float]:
    """How far the blocks of a state lie from the mean of their cell: a value each repeat."""
    by_repeat: dict[int, list[float]] = defaultdict(list)
    for one in rows:
        if one.name == name:
            by_repeat[one.repeat].append(read(one) - mean[one.cell])
    return [statistics.fmean(values) for values in by_repeat.values()]


def _percent(logs: Sequence[float]) -> str:
    if not logs:
        return "n/a"
    found = estimate([math.exp(value) for value in logs], log_scale=True)
    gain, half = (found.mean - 1) * 100, (found.high - found.low) / 2 * 100
    error = f"±{half:.1f}" if math.isfinite(half) and half < 1000 else UNKNOWN
    return f"{gain:+.1f} {error} (n = {found.n})"


def _compared(study: Study, analysis: Analysis) -> Iterator[_Compared]:
    """Every level beside the baseline, block by block."""
    compared, metric = study.roles.compared, analysis.table.metric
    assert compared is not None and study.roles.baseline is not None
    for (_, at), baseline, cell in pairs_of(study.roles):
        context = cell_key({path: one for path, one in cell.items() if path != compared.path})
        for usual, own in itertools.chain(*study.blocks_in_common(baseline, cell).values()):
            figures = metric.value(usual), metric.value(own)
            names = {_name(usual), _name(own)}
            if None in names or not all(figures):
                continue
            one, other = (math.log(figure) for figure in figures if figure)
            # Runs that follow one another in two states are a change too.
            name = names.pop() if len(names) == 1 else "changed"
            assert name is not None
            yield _Compared(name, own.repeat, context, at, one, other - one)


def _name(run: RunRecord) -> Name | None:
    state = run.probes.get("state")
    return None if state is None else name_of(state)


def paged_out(study: Study) -> list[Notice]:
    """That the kernel takes files out of memory although there is room, if some of them had to be
    read again."""
    schemes = [fact(session.facts, "memory.idle_schemes") or () for session in study.meta.sessions]
    if not any(PAGE_OUT in each for each in schemes):
        return []
    again = [run for run in study.measured if _reread_bytes(run) >= PAGED_OUT_BYTES_MIN]
    if not again:
        return []
    most = max(map(_reread_bytes, again))
    locked = all(study.spec_of(run.cell)["server.lock_files"] for run in again)
    advice = "" if locked else ". server.lock_files = true keeps those of the tables in memory"
    cells = tuple(dict.fromkeys(filter(None, (cell_phrase(run.cell) for run in again))))
    return [
        Notice(
            code="files-paged-out",
            message="this kernel takes out of memory what nobody has touched for a while, however "
            "much is free (DAMON, pageout), and files that are only read look untouched to it: up "
            f"to {format_size(most)} of them came back from the disk while a run lasted{advice}",
            cells=("every cell measured",) if len(cells) == len(study.by_cell) > 1 else cells,
            runs=len(again),
            planned_runs=len(study.measured),
        )
    ]


def _reread_bytes(run: RunRecord) -> int:
    host = run.probes.get("host")
    return 0 if host is None else host["vm"].get("workingset_refault_file", 0) * mmap.PAGESIZE


SECTION = Section("host_state", _TITLE, _read, lambda shown, _inputs: shown)
