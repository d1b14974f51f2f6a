"""`contend calibrate`: the maximum rates of the load generator on this host."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contend.cli.console import console
from contend.cli.parser import columns, say, say_json
from contend.cli.progress import display_on
from contend.errors import RequestError
from contend.experiment import cell_spec, load_experiment, planned_runs
from contend.experiment.settings.plan_keys import WORKLOAD
from contend.files import default_cache
from contend.lab.client import ADDRESSES, choose_engine, with_engine
from contend.lab.events import Notice, StepProgress
from contend.load import ask_engine, find_program, plan_of
from contend.load import calibration as calibrator
from contend.load.calibration import CAREFUL, Extent, folder_of, path_of
from contend.load.ceilings import (
    FIGURES,
    RANGE_ROWS,
    Calibration,
    Ceiling,
    RunShape,
    Transport,
    has_ceiling,
    shape_of,
)
from contend.sections.words import estimate_text
from contend.stats import finite
from contend.units import format_duration, parse_duration_s

CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 512)
CONNECTIONS_MAX = 65_535
WORKLOADS = ("point_select", "random_points")
ROUNDS_MAX = 1000
MEASURE_S_MAX = 600.0

_TEXT_WIDTH = 88

_ONLY_MEASURED = ("experiment", "connections", "tcp", "seconds", "rounds")


def add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measure contend-load's own limits against a server that does no work: queries per second, "
        "CPU per query and latency, for several connection counts. `contend run` marks runs whose "
        "client was near its limit. It measures missing limits itself, briefly; this command "
        "takes about a minute and replaces them."
    )
    parser.add_argument(
        "experiment",
        metavar="RECIPE|FILE",
        nargs="?",
        help="calibrate for the cells of this experiment instead of the standard set "
        f"({' and '.join(WORKLOADS)}, prepared)",
    )
    parser.add_argument(
        "--connections",
        metavar="N,N,...",
        help="connection counts (default: " + ",".join(map(str, CONNECTIONS)) + ")",
    )
    parser.add_argument(
        "--tcp", action="store_true", help="use the loopback address, not a Unix socket"
    )
    parser.add_argument(
        "--seconds", metavar="S", help=f"time of a round (default: {CAREFUL.measure_s:g})"
    )
    parser.add_argument(
        "--rounds",
        metavar="N",
        help=f"rounds of each load, for the intervals (default: {CAREFUL.rounds})",
    )
    parser.add_argument(
        "--show", action="store_true", help="show this host's calibration; measure nothing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_calibrate)


def _calibrate(args: argparse.Namespace) -> int:
    program, cache = find_program(), default_cache()
    if args.show:
        _refuse(args, _ONLY_MEASURED, "--show", "Leave one of them out: --show measures nothing.")
        calibration = calibrator.stored(program, cache)
        _print(calibration, calibration.ceilings.values(), cache, as_json=args.json)
        return 0
    shapes, effort = _shapes(args, program), _effort(args)
    with display_on(console(stderr=True)) as display:
        before = calibrator.writable(program, cache, lambda text: display(Notice(text)))
        about = format_duration(len(shapes) * effort.seconds)
        display(Notice(f"calibrating contend-load for {len(shapes)} kinds of load: about {about}"))
        with calibrator.watched() as disturbances:
            ceilings = calibrator.calibrate(
                shapes,
                program,
                effort,
                lambda done, total: display(
                    StepProgress("calibrating contend-load", done, total, "rounds")
                ),
            )
        calibrator.tell_starved(len(shapes), len(ceilings), lambda text: display(Notice(text)))
        if disturbances:
            causes = "; ".join(disturbances)
            display(Notice(f"{causes}: calibrate again when the host is quiet"))
        calibrator.keep(ceilings, before, cache, lambda text: display(Notice(text)))
    _print(before, ceilings, cache, as_json=args.json)
    return 0


# --- the request ---


def _shapes(args: argparse.Namespace, program: Path) -> list[RunShape]:
    transport: Transport = "tcp" if args.tcp else "socket"
    if args.experiment is not None:
        _refuse(args, ["connections"], "an experiment", "Its cells define the connections.")
        return _shapes_of(args.experiment, program, transport)
    counts = _connections(args.connections)
    # With the default parameters of a file.
    workloads = [{"kind": kind, **WORKLOAD.complete(kind, {})} for kind in WORKLOADS]
    # The same as in an experiment with this number of connections.
    largest = RunShape(workloads[0], "prepared", transport, counts[-1], "auto")
    plan = largest.plan(ADDRESSES[transport], warmup_s=0.0, measure_s=1.0)
    engine = ask_engine(program, plan).name
    return [
        RunShape(workload, "prepared", transport, connections, engine)
        for workload in workloads
        for connections in counts
    ]


def _shapes_of(name: str, program: Path, transport: Transport) -> list[RunShape]:
    experiment = load_experiment(name)
    address = ADDRESSES[transport]
    experiment = with_engine(experiment, choose_engine(program, experiment).get("engine"))
    cells = (cell_spec(experiment, run.cell) for run in planned_runs(experiment))
    plans = (plan_of(cell, address, seed=0, watch_pid=None) for cell in cells)
    shapes = [shape_of(plan) for plan in plans if has_ceiling(plan["workload"])]
    if not shapes:
        raise RequestError(
            f"{name} has no workload that can be calibrated",
            hint="Use a built-in workload: the calibration server cannot run your own statements "
            f"or scripts, and returns {RANGE_ROWS} rows for every range.",
        )
    return sorted(dict.fromkeys(shapes), key=lambda shape: shape.connections)


def _connections(text: str | None) -> list[int]:
    if text is None:
        return list(CONNECTIONS)
    counts = [count.strip() for count in text.split(",")]
    if not all(_is_count(count) and 1 <= int(count) <= CONNECTIONS_MAX for count in counts):
        raise RequestError(
            f"--connections: {text!r} is not a list of numbers from 1 to {CONNECTIONS_MAX}",
            hint="Separate them with commas: --connections 1,8,64",
        )
    return sorted({int(count) for count in counts})


def _effort(args: argparse.Namespace) -> Extent:
    seconds, rounds = CAREFUL.measure_s, CAREFUL.rounds
    if args.seconds is not None:
        try:
            seconds = parse_duration_s(
                args.seconds if _has_unit(args.seconds) else float(args.seconds)
            )
        except ValueError as error:
            raise RequestError(f"--seconds: {error}", hint="For example --seconds 2.") from None
        if not 0.01 <= seconds <= MEASURE_S_MAX:
            raise RequestError(f"--seconds must be from 10 ms to {MEASURE_S_MAX:g} s")
    if args.rounds is not None:
        if not _is_count(args.rounds):
            raise RequestError(f"--rounds: {args.rounds!r} is not a number")
        rounds = int(args.rounds)
        if not 2 <= rounds <= ROUNDS_MAX:
            raise RequestError(f"--rounds must be from 2 to {ROUNDS_MAX}")
    return Extent(rounds, CAREFUL.warmup_s, seconds)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _has_unit(text: str) -> bool:
    return text.strip()[-1:].isalpha()


def _refuse(args: argparse.Namespace, names: Iterable[str], other: str, hint: str) -> None:
    if name := next((name for name in names if getattr(args, name)), None):
        option = "an experiment" if name == "experiment" else f"--{name}"
        raise RequestError(f"{option} cannot be combined with {other}", hint=hint)


# --- the output ---


def _print(
    calibration: Calibration, ceilings: Iterable[Ceiling], cache: Path, *, as_json: bool
) -> None:
    path = path_of(cache, calibration.host, calibration.program)
    shown = list(ceilings)
    if as_json:
        say_json(_document(calibration, shown, path))
        return
    for line in _lines(calibration, shown, path):
        say(line)


def _document(calibration: Calibration, shown: list[Ceiling], path: Path) -> dict[str, Any]:
    return {
        "host": asdict(calibration.host),
        "program": asdict(calibration.program),
        "file": str(path),
        "ceilings": [_entry(ceiling) for ceiling in shown],
    }


def _entry(ceiling: Ceiling) -> dict[str, Any]:
    shape = ceiling.shape
    estimates = {name: ceiling.figure(name) for name in FIGURES}
    return {
        "workload": dict(shape.workload),
        "protocol": shape.protocol,
        "transport": shape.transport,
        "connections": shape.connections,
        "engine": shape.engine,
        "threads": ceiling.workers,
        "n": len(ceiling.rounds),
        "seconds": ceiling.seconds,
        "measured_at": ceiling.measured_at,
        **{
            name: {"mean": one.mean, "low": finite(one.low), "high": finite(one.high)}
            for name, one in estimates.items()
        },
    }


def _lines(calibration: Calibration, shown: list[Ceiling], path: Path) -> Iterator[str]:
    host, program = calibration.host, calibration.program
    yield (
        f"contend-load {program.version} ({program.sha256[:12]}) on {host.cpu}, "
        f"{host.cpus} CPUs, Linux {host.kernel}"
    )
    if not shown:
        yield "not calibrated: run `contend calibrate`; `contend run` calibrates what it needs."
        others = len(list(folder_of(path.parent.parent).glob("*.json")))
        if others:
            yield f"(calibrations of other hosts or programs in {path.parent}: {others})"
        return
    groups: dict[str, list[Ceiling]] = {}
    for ceiling in shown:
        groups.setdefault(ceiling.shape.group, []).append(ceiling)
    for group in groups.values():
        yield ""
        at = max(ceiling.measured_at for ceiling in group)
        yield from textwrap.wrap(f"{group[0].shape.title}; {at[:10]}", _TEXT_WIDTH)
        yield from _table(sorted(group, key=lambda ceiling: ceiling.shape.connections))
    yield ""
    yield "Limits against a server that does no work. ±: half the 95 % interval over n rounds;"
    yield "thread: CPU share of the busiest client thread. A run above half of its row's queries/s"
    yield "is marked client-limited."
    yield f"Stored in {path}"


def _table(ceilings: list[Ceiling]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [
        ("connections", "queries/s", "CPU µs/query", "p50 µs", "p99 µs", "thread", "n")
    ]
    for ceiling in ceilings:
        figures = ("qps", "cpu_us_per_query", "p50_us", "p99_us")
        rows.append(
            (
                str(ceiling.shape.connections),
                *(estimate_text(ceiling.figure(name)) for name in figures),
                f"{ceiling.figure('busiest_thread_share').mean:.0%}",
                str(len(ceiling.rounds)),
            )
        )
    yield from columns(rows, right=range(len(rows[0])))
