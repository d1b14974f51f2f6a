"""The ceilings of contend-load on this host: rounds against the null server, which answers at once,
so that the client itself is the limit; and the small readable file, one per host and program, that
keeps them.

    calibration = ensure(shapes, program=…, cache=…, effort=QUICK, tell=…)
    calibration.of(shape_of(plan))      # the Ceiling that a run of this plan is compared with

Kept ceilings of this host and program are not measured again; new ones are kept if the host was
quiet meanwhile.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contend import host
from contend.errors import WorkError
from contend.experiment.settings.load import ENGINES
from contend.files import replace_file
from contend.load import Address, LoadDriver, LoadFailed, LoadProcess
from contend.load.ceilings import (
    FIGURES,
    Calibration,
    Ceiling,
    ClientHost,
    ClientProgram,
    Round,
    RunShape,
    Transport,
)
from contend.load.process import Child
from contend.metrics.outcome import Done, Outcome
from contend.units import fact, format_duration

_FACTS = (
    "machine.id",
    "machine.cpu_quota",
    "cpu.model",
    "cpu.count",
    "cpu.allowed",
    "cpu.governor",
    "cpu.turbo",
    "kernel.release",
    "kernel.mitigations",
)
"""Facts that decide the cost of a system call and a wake-up. A change means a different host."""


def this_host(facts: Mapping[str, Any] | None = None) -> ClientHost:
    """The host of this process."""
    facts = host.facts() if facts is None else facts
    known = {name: fact(facts, name) for name in _FACTS}
    text = json.dumps(["contend calibration", known], sort_keys=True)
    return ClientHost(
        id=hashlib.sha256(text.encode()).hexdigest()[:12],
        cpu=str(known["cpu.model"] or "unknown CPU"),
        cpus=int(known["cpu.count"] or 0),
        kernel=str(known["kernel.release"] or "unknown"),
    )


def this_program(path: Path) -> ClientProgram:
    """The contend-load at `path`."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        output = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (subprocess.SubprocessError, OSError) as error:
        raise LoadFailed(f"{path} does not print its version: {error}") from None
    return ClientProgram(version=output.split()[-1] if output.split() else "unknown", sha256=digest)


FORMAT = 2

_FIX = "To measure again and replace it, run `contend calibrate`."


class DamagedCalibration(WorkError):
    """The file cannot be used: it is damaged, or of a different format, host or program."""


def folder_of(cache: Path) -> Path:
    return cache / "calibrations"


def path_of(cache: Path, host: ClientHost, program: ClientProgram) -> Path:
    """The file of this host and this program, which need not exist."""
    return folder_of(cache) / f"{host.id}-{program.sha256[:12]}.json"


def read(path: Path, host: ClientHost, program: ClientProgram) -> Calibration:
    """The kept ceilings; empty if there is no file. Raises DamagedCalibration."""
    try:
        document = json.loads(path.read_bytes().decode("utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"format {document['format']!r}, not {FORMAT}")
        is_ours = (document["host"]["id"], document["program"]["sha256"]) == (
            host.id,
            program.sha256,
        )
        ceilings = [_ceiling_from(entry) for entry in document["ceilings"]]
    except FileNotFoundError:
        return Calibration(host, program)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DamagedCalibration(f"{path} is damaged ({problem})", hint=_FIX) from None
    if not is_ours:
        raise DamagedCalibration(
            f"{path} was measured on a different host or with a different contend-load", hint=_FIX
        )
    return Calibration(host, program).with_more(ceilings)


def write(path: Path, calibration: Calibration) -> None:
    """Replace the file by a rename: it is always complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "format": FORMAT,
        "host": asdict(calibration.host),
        "program": asdict(calibration.program),
        "ceilings": [
            {
                **asdict(ceiling.shape),
                "workers": ceiling.workers,
                "measured_at": ceiling.measured_at,
                "seconds": ceiling.seconds,
                "rounds": {
                    name: [getattr(measured, name) for measured in ceiling.rounds]
                    for name in FIGURES
                },
            }
            for ceiling in calibration.ceilings.values()
        ],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    # The figures of the rounds stand side by side.
    text = re.sub(r"\[[-\d.e+,\s]+\]", lambda match: " ".join(match[0].split()), text)
    replace_file(path, text + "\n")


def _ceiling_from(entry: dict[str, Any]) -> Ceiling:
    """Raises ValueError, KeyError or TypeError if it is malformed."""
    columns = [[_checked(value) for value in entry["rounds"][name]] for name in FIGURES]
    rounds = tuple(Round(*values) for values in zip(*columns, strict=True))
    known = entry["transport"] in ("socket", "tcp") and entry["engine"] in ENGINES
    if not (rounds and known and "kind" in entry["workload"]):
        raise ValueError("a ceiling without rounds, a workload, a transport or an engine")
    threads = entry["threads"]
    shape = RunShape(
        workload=dict(entry["workload"]),
        protocol=str(entry["protocol"]),
        transport=entry["transport"],
        connections=int(entry["connections"]),
        engine=entry["engine"],
        threads=None if threads is None else int(threads),
        depth=int(entry["depth"]),
    )
    seconds, workers = _checked(entry["seconds"]), max(1, int(entry["workers"]))
    return Ceiling(shape, rounds, seconds, workers, str(entry["measured_at"]))


def _checked(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a valid number")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{value!r} is not a valid number")
    return float(value)


START_LIMIT_S = 24 * 3600.0
"""Limit of the null server's life, if it is not stopped before."""

ROUND_START_S = 0.05
"""Starting the client and connecting."""

OnRound = Callable[[int, int], None]
"""Called with the number of completed rounds and of all rounds."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Rounds of each shape in a calibration, and times of its warm-up and measurement."""

    rounds: int
    warmup_s: float
    measure_s: float

    @property
    def seconds(self) -> float:
        """Approximate duration of all rounds of one shape."""
        return self.rounds * (self.warmup_s + self.measure_s + ROUND_START_S)


CAREFUL = Extent(rounds=5, warmup_s=0.1, measure_s=0.5)
QUICK = Extent(rounds=4, warmup_s=0.03, measure_s=0.12)
"""A quick calibration before a run: some seconds for a recipe."""


def _measure(
    shapes: Sequence[RunShape],
    load: LoadDriver,
    address: Address,
    effort: Extent,
    tell: Callable[[], None],
) -> list[Ceiling]:
    """The ceilings of all shapes at one null server.

    Every round goes through all shapes, so that a slow change of the host affects all alike. A
    shape that was starved in every round (not one answer) is left out.
    """
    rounds: dict[RunShape, list[Round]] = {shape: [] for shape in shapes}
    workers: dict[RunShape, int] = {}
    for _ in range(effort.rounds):
        for shape in shapes:
            outcomes: list[Outcome] = []
            plan = shape.plan(address, warmup_s=effort.warmup_s, measure_s=effort.measure_s)
            done = load.run(plan, env={}, on_event=outcomes.append)
            rounds[shape] += _round(done)
            hello = next((message for message in outcomes if message["type"] == "hello"), None)
            workers[shape] = hello["threads"] if hello is not None else 1
            tell()
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return [
        Ceiling(shape, tuple(made), effort.measure_s, workers[shape], at)
        for shape, made in rounds.items()
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
            answer = _listening(next(lines, b""), child)
            if transport == "socket":
                yield Address(socket=socket)
            else:
                yield Address(host="127.0.0.1", port=int(answer["port"]))


def _listening(line: bytes, child: Child) -> dict[str, Any]:
    try:
        answer = json.loads(line)
        if answer["type"] == "listening":
            return dict(answer)
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
    """Rounded to the stored digits, so that measured and stored values are equal."""
    return float(f"{value:.6g}")


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Disturbances of the host meanwhile, as texts; the list is filled at the end."""
    before, own_before_s = host.pressure(), host.own_cpu_s()
    warnings: list[str] = []
    yield warnings
    change, own_s = host.change(before, host.pressure()), host.own_cpu_s()
    used_s = None if own_s is None or own_before_s is None else own_s - own_before_s
    warnings += [warning["message"] for warning in host.disturbances(change, own_cpu_s=used_s)]


def stored(program: Path, cache: Path) -> Calibration:
    """The kept ceilings of this host and this program. Raises DamagedCalibration."""
    host, program_is = this_host(), this_program(program)
    return read(path_of(cache, host, program_is), host, program_is)


def writable(program: Path, cache: Path, notice: Callable[[str], None]) -> Calibration:
    """Like `stored`, for additions: an unusable file is reported, and will be replaced."""
    try:
        return stored(program, cache)
    except DamagedCalibration as error:
        notice(f"{error.message}; contend measures it again")
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
    made = itertools.count(1)
    for transport in ("socket", "tcp"):
        here = [shape for shape in wanted if shape.transport == transport]
        if here:
            with null_server(program, transport) as address:
                ceilings += _measure(
                    here,
                    LoadProcess(program),
                    address,
                    effort,
                    lambda: tell(next(made), len(wanted) * effort.rounds),
                )
    if wanted and not ceilings:
        raise LoadFailed(
            "no query was answered: the host had no CPU time for contend-load",
            hint="Wait until the host is quieter, or use longer rounds with --seconds.",
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
    """The kept ceilings, completed by measuring the missing ones of `shapes`.

    New ones are kept if the host was quiet meanwhile. A neighbour lowers a ceiling, and would make
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
        notice(f"{'; '.join(disturbances)}: the calibration is used for this run only, not stored")
    else:
        keep(measured, calibration, cache, notice)
    return calibration.with_more(measured)


def tell_starved(wanted: int, measured: int, notice: Callable[[str], None]) -> None:
    """Report the number of shapes without a single answer, if any."""
    if measured < wanted:
        notice(
            f"{wanted - measured} of {wanted} kinds of load had no answers on this busy host and "
            "are not calibrated"
        )


def keep(
    ceilings: list[Ceiling], into: Calibration, cache: Path, notice: Callable[[str], None]
) -> None:
    """Add ceilings to the file. A failure to write loses the measurement, not the run."""
    path = path_of(cache, into.host, into.program)
    try:
        # Another contend may have added to it meanwhile.
        with contextlib.suppress(DamagedCalibration):
            into = read(path, into.host, into.program)
        write(path, into.with_more(ceilings))
    except OSError as error:
        notice(f"the calibration could not be stored in {path}: {error.strerror or error}")
