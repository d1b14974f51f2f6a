"""The activity of each host, if several shared the load: whether it was at its limit, its requests,
the state of its clock.

It appears if several hosts sent the load. Hosts are identified by their names; a lost host has no
figures.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contend.findings import CellFigures, Study, over_repeats
from contend.metrics.outcome import HostFigures
from contend.metrics.read import THREAD_SHARE_MAX
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import (
    UNKNOWN,
    cell_phrase,
    estimate_text,
    known_text,
    share_text,
    significant,
)
from contend.stats import Estimate
from contend.store import RunRecord

TITLE = "The hosts that shared the load"
_NONE = "none"

Read = Callable[[HostFigures], float | None]


@dataclass(frozen=True, slots=True)
class _Moved:
    """By how much two steady clocks moved against one another in a run, and how well that is
    known."""

    us: float
    error_us: float


def _read(inputs: Inputs) -> Shown | None:
    """None if one host sent the load of every run."""
    study, cells = inputs.study, inputs.cells
    runs = [run for run in study.measured if _hosts(run)]
    if not runs:
        return None
    tables = [_by_host(study, runs)]
    if len(cells) > 1:
        tables.append(_by_cell(study, cells))
    return Shown(TITLE, " ".join(filter(None, _lead(study, runs))), tuple(tables))


def _lead(study: Study, runs: Sequence[RunRecord]) -> list[str]:
    counts = sorted({len(_hosts(run)) for run in runs})
    hosts = f"{' or '.join(map(str, counts))} host{'' if counts == [1] else 's'}"
    of = "each run" if len(runs) == len(study.measured) else f"{len(runs)} of the runs"
    there = [host for run in runs for host in _hosts(run) if not _is_lost(host)]
    busiest = max(there, key=_thread_share)
    return [
        f"{hosts} shared the load of {of}.",
        f"The busiest thread was busy {_thread_share(busiest):.0%} of the time, on host "
        f"{busiest['name']}. Above {THREAD_SHARE_MAX:.0%} a host is at its limit: "
        f"{_limited(runs)}.",
        _clocks(there),
        *_lost(runs),
    ]


def _limited(runs: Sequence[RunRecord]) -> str:
    found: dict[str, int] = defaultdict(int)
    for run in runs:
        for host in _hosts(run):
            found[host["name"]] += _is_limited(host)
    limited = [f"{name} in {_runs(count)}" for name, count in found.items() if count]
    return ", ".join(limited) or "none was"


def _clocks(hosts: Sequence[HostFigures]) -> str:
    moved = max(filter(None, map(_moved, hosts)), key=lambda one: one.us, default=None)
    if moved is None:
        return ""
    return (
        f"No clock drifted from the one here by more than {significant(moved.us, 2)} µs "
        f"(±{significant(moved.error_us, 2)}) during a run."
    )


def _lost(runs: Sequence[RunRecord]) -> list[str]:
    found: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for host in _hosts(run):
            if _is_lost(host):
                found[host["name"]].append(str(host.get("lost")))
    return [f"Host {name} was lost in {_runs(len(why))}: {why[0]}." for name, why in found.items()]


def _by_host(study: Study, runs: Sequence[RunRecord]) -> TextTable:
    by_name: dict[str, dict[int, HostFigures]] = defaultdict(dict)
    for run in runs:
        for host in _hosts(run):
            by_name[host["name"]][run.run] = host
    return TextTable(
        caption="Each host over all of its runs. Shares and CPU are means over the repeats "
        "(intervals after ±); the busiest thread, how late events began (99th percentile) and the "
        "clock are the worst of any run",
        columns=(
            "host",
            "runs",
            "lost",
            "at its limit",
            "busiest thread",
            "CPU per query, µs",
            "share of events",
            "began late, µs",
            "clock drift, µs",
            "time of day off by, ms",
        ),
        rows=tuple(
            _row(study, runs, name, by_name[name]) for name in sorted(by_name, key=_in_order)
        ),
    )


def _row(
    study: Study, runs: Sequence[RunRecord], name: str, of_run: Mapping[int, HostFigures]
) -> tuple[str, ...]:
    there = [host for host in of_run.values() if not _is_lost(host)]

    def mean(read: Callable[[RunRecord, HostFigures], float | None]) -> Estimate | None:
        def of(run: RunRecord) -> float | None:
            host = of_run.get(run.run)
            return None if host is None or _is_lost(host) else read(run, host)

        return over_repeats(study, runs, of)

    moved = max(filter(None, map(_moved, there)), key=lambda one: one.us, default=None)
    return (
        name,
        str(len(of_run)),
        str(len(of_run) - len(there)),
        str(sum(map(_is_limited, there))),
        f"{max(map(_thread_share, there)):.0%}" if there else UNKNOWN,
        known_text(mean(lambda _, host: _per_query(host)), estimate_text, UNKNOWN),
        known_text(mean(_share_of_events), share_text, UNKNOWN),
        _worst(there, _lag_p99_us) or _NONE,
        f"{significant(moved.us, 2)} ±{significant(moved.error_us, 2)}" if moved else UNKNOWN,
        _worst(there, _wall_ms) or UNKNOWN,
    )


def _by_cell(study: Study, cells: Sequence[CellFigures]) -> TextTable:
    rows = []
    for cell in cells:
        of_cell = (host for run in study.runs_of(cell.cell) for host in _hosts(run))
        hosts = [host for host in of_cell if not _is_lost(host)]
        if hosts:
            rows.append(
                (
                    str(cell_phrase(cell.cell)),
                    _ends(hosts, lambda host: host["qps"], "{:,.0f}"),
                    _ends(hosts, lambda host: host["latency_us"]["mean"] / 1000, "{:.3g}"),
                    f"{max(map(_thread_share, hosts)):.0%}",
                    _worst(hosts, _lag_p99_us) or _NONE,
                )
            )
    return TextTable(
        caption="The hosts of each cell: means over its runs, from the host with the lowest to the "
        "one with the highest; the busiest thread and how late events began (99th percentile) are "
        "the worst of any run",
        columns=("cell", "queries/s", "mean response, ms", "busiest thread", "began late, µs"),
        rows=tuple(rows),
    )


def _ends(hosts: Sequence[HostFigures], read: Callable[[HostFigures], float], form: str) -> str:
    """`1,203 to 1,218`: the means of the hosts."""
    values: dict[str, list[float]] = defaultdict(list)
    for host in hosts:
        values[host["name"]].append(read(host))
    means = [math.fsum(each) / len(each) for each in values.values()]
    low, high = form.format(min(means)), form.format(max(means))
    return low if low == high else f"{low} to {high}"


def _worst(hosts: Sequence[HostFigures], read: Read) -> str:
    values = [value for host in hosts if (value := read(host)) is not None]
    return significant(max(values, key=abs), 2) if values else ""


def _hosts(run: RunRecord) -> Sequence[HostFigures]:
    return run.done.get("hosts", ()) if run.done else ()


def _is_lost(host: HostFigures) -> bool:
    return host.get("lost") is not None


def _thread_share(host: HostFigures) -> float:
    return float(host["client_busiest_thread_share"])


def _is_limited(host: HostFigures) -> bool:
    return not _is_lost(host) and _thread_share(host) > THREAD_SHARE_MAX


def _per_query(host: HostFigures) -> float | None:
    return float(host["client"]["cpu_us"]) / host["queries"] if host["queries"] else None


def _share_of_events(run: RunRecord, host: HostFigures) -> float | None:
    events = sum(each["events"] for each in _hosts(run))
    return host["events"] / events if events else None


def _lag_p99_us(host: HostFigures) -> float | None:
    lag = host.get("lag_us")
    return None if lag is None else float(lag["p99"])


def _wall_ms(host: HostFigures) -> float | None:
    before = host.get("clock_before")
    return None if before is None else float(before["wall_us"]) / 1000


def _moved(host: HostFigures) -> _Moved | None:
    before, after = host.get("clock_before"), host.get("clock_after")
    if before is None or after is None:
        return None
    return _Moved(
        abs(after["steady_us"] - before["steady_us"]), before["error_us"] + after["error_us"]
    )


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"


def _in_order(name: str) -> tuple[str, int]:
    """`host#10` comes after `host#9`."""
    head, _, number = name.partition("#")
    return head, int(number) if number.isdigit() else 0


SECTION = Section("hosts", TITLE, _read, lambda shown, _inputs: shown)
