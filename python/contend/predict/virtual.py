"""The key cache in virtual time: what the work costs, and the runs of `contend-load model-run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contend.load import model_runs
from contend.predict.machine import Assumed, Machine

WORK: Mapping[str, str] = {
    "cpu_us": "CPU time of a query",
    "query_us": "CPU time of a query besides its points",
    "held_ns": "time for which a page is under its lock",
    "page_ns": "CPU time of a page outside the lock",
    "segment_ns": "extra time of a visit to a divided cache",
    "client_us": "CPU time of the client per query",
    "spread": "scatter of the time of each step",
}
"""What the work costs, by name, and how it is called in sentences."""

Values = Mapping[str, float]
"""One draw: a value for each cost of the work and of a machine."""

_HELD = {"lock_ns": (12.0, 2), "unlock_ns": (8.0, 2), "find_ns": (60.0, 1), "release_ns": (40.0, 1)}
_PAGE = {"copy_ns": (30.0, 1), "search_ns": (80.0, 1)}
_POINT = {"point_ns": 0.7, "row_ns": 0.3}
"""How the model divides the time of a page under its lock and outside, with the number of times,
and that of a point besides its pages."""

_KICK_NS = 1_500.0
_REST_LEAST = 0.1
"""Share of a point that is not its pages, at least."""


def demands(at: Values, *, points: int, pages: float) -> dict[str, float]:
    """The object `demands` of `contend-load model-run`.

    Args:
        points: of the query that takes `cpu_us`, on one connection.
        pages: of a point.
    """
    answer_ns = at["wake_ns"] + _KICK_NS + at["switch_ns"]
    whole_ns = at["cpu_us"] * 1e3 - answer_ns
    # A query is more than its points, but they are most of it.
    query_ns = min(at["query_us"] * 1e3, 0.7 * whole_ns)
    point_ns = (whole_ns - query_ns) / points
    page_ns = at["held_ns"] + at["page_ns"]
    fits = min(1.0, (1 - _REST_LEAST) * point_ns / (pages * page_ns))
    rest_ns = point_ns - pages * page_ns * fits
    found = {"query_ns": query_ns, "segment_ns": at["segment_ns"]}
    found |= {name: rest_ns * share for name, share in _POINT.items()}
    for parts, of_page_ns in ((_HELD, at["held_ns"]), (_PAGE, at["page_ns"])):
        usual_ns = sum(ns * times for ns, times in parts.values())
        found |= {name: ns * fits * of_page_ns / usual_ns for name, (ns, _) in parts.items()}
    found |= dict.fromkeys(("client_answer_ns", "client_ask_ns"), at["client_us"] * 500)
    found = {name: ns * at["work_ratio"] for name, ns in found.items()}
    return {**found, "row_wait_ns": at["row_wait_ns"], "spread": at["spread"]}


@dataclass(frozen=True, slots=True)
class VirtualCell:
    """One cell of the study: points per query, key_cache_segments, connections."""

    points: int
    segments: int
    connections: int


@dataclass(frozen=True, slots=True)
class VirtualStudy:
    """What all runs of a prediction have in common.

    Args:
        rows: of the table.
        points: of the query whose CPU time is `cpu_us`.
        pages: of a point, see `pages_of`.
        thread_each: each connection has a thread of the client, as in sysbench; otherwise each CPU.
        measure_s: virtual time that is measured with few points and without waits for a disk.
        switches: further keys of a run, to change one thing of the model.
    """

    rows: int
    points: int
    pages: float = 1.0
    thread_each: bool = False
    measure_s: float = 0.01
    key_buffer_size: int = 512 << 20
    switches: Mapping[str, Any] = field(default_factory=dict)

    def run(self, machine: Machine, at: Values, cell: VirtualCell) -> dict[str, Any]:
        """One run of `model_runs`."""
        # Queries of many points are fewer, and waits for a disk are long.
        times = (1 if cell.points < 50 else 2) * (8 if at["row_wait_ns"] > 0 else 1)
        of_client = {"workers": cell.connections} if self.thread_each else {}
        return {
            **of_client,
            "cpus": machine.cpus,
            "connections": cell.connections,
            "rows": self.rows,
            "points": cell.points,
            "segments": cell.segments,
            "key_buffer_size": self.key_buffer_size,
            "lock": machine.lock,
            "seconds": self.measure_s * times,
            "warmup": self.measure_s * times / 3,
            "costs": {
                "host": machine.host_costs(at),
                "demands": demands(at, points=self.points, pages=self.pages),
            },
            **self.switches,
        }


def with_pages(program: Path, study: VirtualStudy) -> VirtualStudy:
    """The study with the pages of a point, as the model's index has them.

    Raises:
        LoadFailed: contend-load gave no result.
    """
    run = {"rows": study.rows, "points": study.points, "cpus": 2, "connections": 1}
    (found,) = model_runs(program, [{**run, "seconds": 0.02}], on_progress=lambda _done: None)
    return replace(study, pages=found["visits_per_query"] / 2 / study.points)


@dataclass(frozen=True, slots=True)
class PlacedDraw:
    """A draw on a machine, in these cells."""

    machine: Machine
    at: Values
    cells: Sequence[VirtualCell]


def speeds(
    program: Path,
    study: VirtualStudy,
    placed: Sequence[PlacedDraw],
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[dict[VirtualCell, float]]:
    """Queries per second of each draw in each of its cells.

    Args:
        on_progress: called with the runs that ended, and all of them.

    Raises:
        RequestError: a machine or a cost is impossible.
        LoadFailed: contend-load gave no result.
    """
    runs = [study.run(one.machine, one.at, cell) for one in placed for cell in one.cells]
    results = iter(model_runs(program, runs, on_progress=lambda done: on_progress(done, len(runs))))
    return [
        {cell: next(results)["points_per_s"] / cell.points for cell in one.cells} for one in placed
    ]


def usual_work() -> dict[str, Assumed]:
    """The costs of the work where nothing was measured, with queries of 10 points."""

    def within(value: float, low: float, high: float) -> Assumed:
        return Assumed(value, low, high, "usual range of servers and clients")

    return {
        "cpu_us": within(70.0, 30.0, 250.0),
        "query_us": within(20.0, 5.0, 60.0),
        "held_ns": within(200.0, 80.0, 800.0),
        "page_ns": within(300.0, 60.0, 2_000.0),
        "segment_ns": within(5.0, 1.0, 20.0),
        "client_us": within(8.0, 3.0, 20.0),
        "spread": within(0.5, 0.2, 0.9),
    }
