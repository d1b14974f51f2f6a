"""The states of the host during the measurement, and the memory that the kernel moved out.

These are descriptions of blocks and not findings: `compare.adjust` allows for them.
"""

from __future__ import annotations

import mmap
import statistics
from collections.abc import Sequence

from contend.findings import Study
from contend.metrics.probed import CpuState, HostState
from contend.metrics.read import MOVED_MIN, NAMES, NEAR_NS_MAX, Name, distance_ns, name_of
from contend.sections.model import Inputs, Notice, Section, Shown, TextTable
from contend.sections.words import cell_phrase, significant
from contend.store import RunRecord
from contend.units import fact, format_size

PAGE_OUT = "pageout"
"""The kernel's activity that moves memory out if it was not used for a while."""

PAGED_OUT_BYTES_MIN = 1_000_000

_TITLE = "Host state"


def _read(inputs: Inputs) -> Shown | None:
    """None if no run knows the state of its host."""
    study = inputs.study
    known = [run for run in study.measured if "state" in run.probes]
    states = _by_block(known, in_slices=study.in_slices)
    if not states:
        return None
    names = [(name_of(state), state) for state in states]
    seen = {name: [state for each, state in names if each == name] for name in NAMES}
    if not any(seen.values()):
        lead = (
            "The distance between its CPUs is not known: contend had one CPU or could not measure."
        )
        return Shown(_TITLE, lead, ())
    return Shown(_TITLE, _lead(seen, states), (_table(seen),))


def _by_block(runs: Sequence[RunRecord], *, in_slices: bool) -> list[HostState]:
    """The runs of a block in slices have one state."""
    found = {run.block if in_slices else run.run: run.probes["state"] for run in runs}
    return list(found.values())


def _lead(seen: dict[Name, list[HostState]], states: Sequence[HostState]) -> str:
    only = [name for name in NAMES if seen[name]]
    looked = max(len(one[when]["pairs"]) for one in states for when in ("before", "after"))
    there_are = states[0]["before"]["of_pairs"]
    which = "" if looked >= there_are else f" (for {looked} of {there_are} pairs)"
    parts = [
        "The cache-line round trip between CPUs was measured before and after each block"
        f"{which}. A block counts as near below {NEAR_NS_MAX:g} ns, as far above it, and as "
        "changed if a pair's two measurements differ by more than a factor of "
        f"{MOVED_MIN:g}.",
        f"The state was always {only[0]}."
        if len(only) == 1
        else "The state changed during the run.",
    ]
    unknown = len(states) - sum(map(len, seen.values()))
    if unknown:
        parts.append(
            f"The state of {unknown} of {len(states)} blocks is not known: other programs had the "
            "CPUs during the measurement."
        )
    memory = [one["memory_ns"] for one in states if one["memory_ns"] is not None]
    if memory:
        parts.append(f"Memory latency before the repeats was {_spread(memory)} ns.")
    came_back = sum(one["refaults"] or 0 for one in states) * mmap.PAGESIZE
    if came_back >= PAGED_OUT_BYTES_MIN:
        parts.append(
            f"{format_size(came_back)} of files were read again, because the kernel had removed "
            "them from memory."
        )
    return " ".join(parts)


def _spread(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def _table(seen: dict[Name, list[HostState]]) -> TextTable:
    return TextTable(
        "The blocks in each state: medians, and the range",
        ("state", "blocks", "cache line, ns", "waking a thread, µs"),
        tuple((name, str(len(seen[name])), *_looks(seen[name])) for name in NAMES if seen[name]),
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


def paged_out(study: Study) -> list[Notice]:
    """That the kernel removes files from memory although there is room, if some of them had to be
    read again."""
    schemes = [fact(session.facts, "memory.idle_schemes") or () for session in study.meta.sessions]
    if not any(PAGE_OUT in each for each in schemes):
        return []
    again = [run for run in study.measured if _reread_bytes(run) >= PAGED_OUT_BYTES_MIN]
    if not again:
        return []
    most = max(map(_reread_bytes, again))
    locked = all(study.spec_of(run.cell)["server.lock_files"] for run in again)
    advice = "" if locked else ". server.lock_files = true keeps the table files in memory"
    cells = tuple(dict.fromkeys(filter(None, (cell_phrase(run.cell) for run in again))))
    return [
        Notice(
            code="files-paged-out",
            message="this kernel removes untouched pages from memory, even if much is free (DAMON, "
            "pageout), and files that are only read look untouched to it: up to "
            f"{format_size(most)} of files were read from disk again during a run{advice}",
            cells=("every cell measured",) if len(cells) == len(study.by_cell) > 1 else cells,
            runs=len(again),
            planned_runs=len(study.measured),
        )
    ]


def _reread_bytes(run: RunRecord) -> int:
    host = run.probes.get("host")
    return 0 if host is None else host["vm"].get("workingset_refault_file", 0) * mmap.PAGESIZE


SECTION = Section("host_state", _TITLE, _read, lambda shown, _inputs: shown)
