"""Rounds against the null server, which answers at once: what is reached is the client's own.

What is kept of this host and program is not measured again; what is measured is kept if the host
was quiet meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contend import host
from contend.calibration import file
from contend.calibration.file import this_host, this_program
from contend.calibration.model import (
    Calibration,
    Ceiling,
    DamagedCalibration,
    ForeignCalibration,
    Round,
    RunShape,
    Transport,
)
from contend.load import Address, LoadDriver, LoadFailed, LoadProcess
from contend.load.process import Child
from contend.outcome import Done, Outcome
from contend.units import format_duration

START_LIMIT_S = 24 * 3600.0
"""Until the null server is told to stop it may serve."""

ROUND_START_S = 0.05
"""Starting the client and connecting."""

OnRound = Callable[[int, int], None]
"""Called with how many of how many rounds are made."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: rounds of each shape, and how long each warms up and measures."""

    rounds: int
    warmup_s: float
    measure_s: float

    @property
    def seconds(self) -> float:
        """About how long one shape takes in all its rounds."""
        return self.rounds * (self.warmup_s + self.measure_s + ROUND_START_S)


CAREFUL = Extent(rounds=5, warmup_s=0.1, measure_s=0.5)
QUICK = Extent(rounds=4, warmup_s=0.03, measure_s=0.12)
"""What a run affords before it begins: some seconds for a recipe."""


def measure(
    shapes: Sequence[RunShape], load: LoadDriver, address: Address, effort: Extent, tell: OnRound
) -> list[Ceiling]:
    """The ceilings of all shapes at one null server.

    Every round goes through all shapes, so that a slow change of the host falls on all alike. A
    shape whose every round was starved (not one answer) is left out.
    """
    rounds: list[list[Round]] = [[] for _ in shapes]
    workers = [1] * len(shapes)
    total = effort.rounds * len(shapes)
    for number in range(effort.rounds):
        for place, shape in enumerate(shapes):
            heard: list[Outcome] = []
            plan = shape.plan(address, warmup_s=effort.warmup_s, measure_s=effort.measure_s)
            done = load.run(plan, env={}, on_event=heard.append)
            rounds[place] += _round(done)
            hello = next((message for message in heard if message["type"] == "hello"), None)
            workers[place] = hello["threads"] if hello is not None else 1
            tell(number * len(shapes) + place + 1, total)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return [
        Ceiling(shape, tuple(made), effort.measure_s, threads, at)
        for shape, made, threads in zip(shapes, rounds, workers, strict=True)
        if made
    ]


@contextlib.contextmanager
def null_server(program: Path, transport: Transport) -> Iterator[Address]:
    """A null server in a private folder, or on a free port of the loopback address."""
    with tempfile.TemporaryDirectory(prefix="contend-") as folder:
        socket = str(Path(folder) / "s")
        where = ["--socket", socket] if transport == "socket" else ["--port", "0"]
        with Child([str(program), "null-server", *where], {}) as child:
            lines = child.lines(limit_s=START_LIMIT_S)
            said = _listening(next(lines, b""), child)
            if transport == "socket":
                yield Address(socket=socket)
            else:
                yield Address(host="127.0.0.1", port=int(said["port"]))


def _listening(line: bytes, child: Child) -> dict[str, Any]:
    try:
        said = json.loads(line)
        if said["type"] == "listening":
            return dict(said)
    except (ValueError, KeyError, TypeError):
        pass
    raise LoadFailed("the null server did not start", detail=child.stderr_tail() or None)


def _round(done: Done) -> list[Round]:
    """The round; none if the host gave the client no time at all."""
    if not done["queries"]:
        for error in done["errors"]:
            raise LoadFailed(f"the null server cannot answer this workload: {error['message']}")
        return []
    made = Round(
        qps=_figure(done["qps"]),
        cpu_us_per_query=_figure(done["client"]["cpu_us"] / done["queries"]),
        p50_us=_figure(done["latency_us"]["p50"]),
        p99_us=_figure(done["latency_us"]["p99"]),
        busiest_thread_share=_figure(done["client_busiest_thread_share"]),
    )
    return [made]


def _figure(value: float) -> float:
    """With the digits that are kept, so that what was measured and what is read are the same."""
    return float(f"{value:.6g}")


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """What disturbed the host meanwhile, in words; the list is filled at the end."""
    before, own_before_s = host.pressure(), host.own_cpu_s()
    warnings: list[str] = []
    yield warnings
    change, own_s = host.change(before, host.pressure()), host.own_cpu_s()
    used_s = None if own_s is None or own_before_s is None else own_s - own_before_s
    warnings += [warning["message"] for warning in host.disturbances(change, own_cpu_s=used_s)]


def stored(program: Path, cache: Path) -> Calibration:
    """What is kept of this host and this program.

    Raises:
        DamagedCalibration, ForeignCalibration, NewerCalibration: see there.
    """
    host, program_is = this_host(), this_program(program)
    return file.read(file.path_of(cache, host, program_is), host, program_is)


def writable(program: Path, cache: Path, notice: Callable[[str], None]) -> Calibration:
    """As `stored`, to add to: a file that cannot be used is told of, and will be replaced.

    Raises:
        NewerCalibration: what a newer contend wrote is not thrown away.
    """
    try:
        return stored(program, cache)
    except (DamagedCalibration, ForeignCalibration) as error:
        notice(f"{error.message}; it is measured anew")
        return Calibration(this_host(), this_program(program))


def calibrate(
    shapes: Iterable[RunShape], program: Path, effort: Extent, tell: OnRound
) -> list[Ceiling]:
    """Measure the ceilings of all shapes now.

    Raises:
        LoadFailed: the null server or a round failed, or the host gave the client no time at all.
    """
    wanted = list(dict.fromkeys(shapes))
    ceilings: list[Ceiling] = []
    total, made = len(wanted) * effort.rounds, 0
    for transport in ("socket", "tcp"):
        here = [shape for shape in wanted if shape.transport == transport]
        if not here:
            continue

        def told(done: int, _total: int, before: int = made) -> None:
            tell(before + done, total)

        with null_server(program, transport) as address:
            ceilings += measure(here, LoadProcess(program), address, effort, told)
        made += len(here) * effort.rounds
    if wanted and not ceilings:
        raise LoadFailed(
            "not one query was answered: the host had no CPU time for contend-load",
            hint="Wait until the host is quieter, or measure longer rounds with --seconds.",
        )
    return ceilings


def ensure(
    shapes: Iterable[RunShape],
    program: Path,
    cache: Path,
    effort: Extent,
    tell: OnRound,
    notice: Callable[[str], None],
) -> Calibration:
    """What is kept, with all of `shapes` in it: those that are missing are measured.

    They are kept if the host was quiet meanwhile. A neighbour lowers a ceiling, and would make
    all later runs look limited.
    """
    calibration = writable(program, cache, notice)
    missing = [shape for shape in dict.fromkeys(shapes) if calibration.of(shape) is None]
    if not missing:
        return calibration
    about_s = len(missing) * effort.seconds
    notice(
        f"calibrating contend-load for {len(missing)} kind{'s' if len(missing) > 1 else ''} of "
        f"load, once for this host: about {format_duration(about_s)}"
    )
    with watched() as disturbances:
        measured = calibrate(missing, program, effort, tell)
    tell_starved(len(missing), len(measured), notice)
    if disturbances:
        notice(f"{'; '.join(disturbances)}: the calibration is used for this run only and not kept")
    else:
        keep(measured, calibration, cache, notice)
    return calibration.with_more(measured)


def tell_starved(wanted: int, measured: int, notice: Callable[[str], None]) -> None:
    """Say how many shapes got no answer at all, if any."""
    if measured < wanted:
        notice(
            f"{wanted - measured} of {wanted} kinds of load got no answer on this busy host and "
            "are not calibrated"
        )


def keep(
    ceilings: list[Ceiling], into: Calibration, cache: Path, notice: Callable[[str], None]
) -> Path | None:
    """Add ceilings to the file. One that cannot be written costs the measuring, not the run."""
    path = file.path_of(cache, into.host, into.program)
    try:
        # Another contend may have added to it meanwhile.
        with contextlib.suppress(DamagedCalibration, ForeignCalibration):
            into = file.read(path, into.host, into.program)
        file.write(path, into.with_more(ceilings))
    except OSError as error:
        notice(f"the calibration could not be kept in {path}: {error.strerror or error}")
        return None
    return path
