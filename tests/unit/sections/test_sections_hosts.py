"""What the report says of several hosts that shared the load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from shown import as_text
from shown import report_of as built
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.report import Report
from contend.sections.hosts import TITLE
from contend.sections.model import Shown
from contend.store import RunRecord

Hosts = Callable[[RunRecord], list[dict[str, Any]]]


def host(name: str, **figures: Any) -> dict[str, Any]:
    """A host that asked 100 queries of 4 µs of CPU; its clock moved by 3 µs."""
    clocks = [{"steady_us": at, "wall_us": 1500.0, "error_us": 10.0} for at in (5e9, 5e9 + 3)]
    return {
        "name": name,
        "connections": 4,
        "events": 100,
        "failed": 0,
        "queries": 100,
        "qps": 1000.0,
        "latency_us": {"mean": 400.0},
        "client": {"cpu_us": 400.0},
        "client_busiest_thread_share": 0.25,
        "clock_before": clocks[0],
        "clock_after": clocks[1],
        **figures,
    }


def report_of(path: Path, hosts: Hosts, connections: str = "[8]") -> Report:
    sets = (f"{CONNECTIONS}={connections}", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]")

    def change(record: RunRecord) -> RunRecord:
        assert record.done is not None
        done: Any = {**record.done, "hosts": hosts(record)}
        return replace(record, done=done)

    write_run(path, study(sets=(*sets, "compare.repeats=4")), change=change)
    return built(path)


def section(path: Path, hosts: Hosts, connections: str = "[8]") -> Shown:
    found = report_of(path, hosts, connections).shown("hosts")
    assert found is not None
    return found


def test_one_host_has_no_section(tmp_path: Path) -> None:
    assert report_of(tmp_path / "run", lambda _: []).shown("hosts") is None


def test_each_host_is_a_row_over_all_of_its_runs(tmp_path: Path) -> None:
    def hosts(_: RunRecord) -> list[dict[str, Any]]:
        slow = {"cpu_us": 3600.0}
        far: Any = {"steady_us": 80.0, "wall_us": -25e3, "error_us": 40.0}
        moved: Any = {**far, "steady_us": 95.0}
        share = {"client_busiest_thread_share": 0.5, "lag_us": {"p99": 71.4}}
        return [
            host("a"),
            host("b", events=300, queries=300, client=slow, **share, clock_before=far)
            | {"clock_after": moved},
        ]

    found = section(tmp_path / "run", hosts)
    assert found.lead.startswith("2 hosts shared the load of each run.")
    assert "busy 50% of the time, on host b" in found.lead and "limit: none was" in found.lead
    assert "15 µs (±80)" in found.lead
    table = found.tables[0]
    assert table.columns[0] == "host"
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (first["host"], first["runs"], first["lost"]) == ("a", "8", "0")
    assert (first["CPU per query, µs"], second["CPU per query, µs"]) == ("4.00 ±0", "12.0 ±0")
    assert (first["share of events"], second["share of events"]) == ("25.0 % ±0.0", "75.0 % ±0.0")
    assert (first["began late, µs"], second["began late, µs"]) == ("none", "71")
    assert (first["clock drift, µs"], second["clock drift, µs"]) == ("3.0 ±20", "15 ±80")
    assert (first["time of day off by, ms"], second["time of day off by, ms"]) == ("1.5", "-25")


def test_a_host_at_its_limit_is_named(tmp_path: Path) -> None:
    def hosts(record: RunRecord) -> list[dict[str, Any]]:
        share = 0.93 if record.run < 3 else 0.4
        return [host("h#10"), host("h#9", client_busiest_thread_share=share)]

    found = section(tmp_path / "run", hosts)
    assert "h#9 in 2 runs." in found.lead
    table = found.tables[0]
    place = table.columns.index("at its limit")
    assert [(row[0], row[place]) for row in table.rows] == [("h#9", "2"), ("h#10", "0")]


def test_a_lost_host_has_its_reason_and_no_figures_of_that_run(tmp_path: Path) -> None:
    nothing = {"queries": 0, "events": 0, "qps": 0.0, "client": {"cpu_us": 0.0}}

    def hosts(record: RunRecord) -> list[dict[str, Any]]:
        gone = {**nothing, "client_busiest_thread_share": 0.0, "lost": "its worker has gone"}
        return [host("a"), host("b", **(gone if record.run == 2 else {}))]

    found = section(tmp_path / "run", hosts)
    assert "Host b was lost in 1 run: its worker" in found.lead
    table = found.tables[0]
    figures = dict(zip(table.columns, table.rows[1], strict=True))
    assert (figures["host"], figures["runs"], figures["lost"]) == ("b", "8", "1")
    assert figures["CPU per query, µs"] == "4.00 ±0"


def test_several_cells_have_their_hosts_beside_one_another(tmp_path: Path) -> None:
    def hosts(record: RunRecord) -> list[dict[str, Any]]:
        share = record.cell[CONNECTIONS]
        return [host("a"), host("b", qps=1000.0 + float(share), latency_us={"mean": 500.0})]

    found = section(tmp_path / "run", hosts, "[4, 8]")
    by_cell = found.tables[1]
    assert by_cell.columns[1:3] == ("queries/s", "mean response, ms")
    figures = sorted((row[0].partition(" ")[0], *row[1:3]) for row in by_cell.rows)
    four, eight = ("4", "1,000 to 1,004", "0.4 to 0.5"), ("8", "1,000 to 1,008", "0.4 to 0.5")
    assert figures == [four, four, eight, eight]


def test_show_has_it_in_full(tmp_path: Path) -> None:
    report = report_of(tmp_path / "run", lambda _: [host("left"), host("right")])
    full = as_text(report, full=True)
    assert TITLE in full and TITLE not in as_text(report)
    assert "CPU per query, µs" in full and "right" in full
