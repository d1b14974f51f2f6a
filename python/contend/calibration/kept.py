"""What is kept of this host and program, what is missing measured now."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from contend.calibration import file
from contend.calibration.errors import DamagedCalibration, ForeignCalibration
from contend.calibration.identity import this_host, this_program
from contend.calibration.measure import Effort, Tell, measure, null_server
from contend.calibration.model import Calibration, Ceiling
from contend.calibration.quiet import watched
from contend.calibration.shape import Shape
from contend.load import LoadFailed, LoadProcess
from contend.units import format_duration


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
        notice(f"{error.message}; it is replaced")
        return Calibration(this_host(), this_program(program))


def calibrate(shapes: Iterable[Shape], program: Path, effort: Effort, tell: Tell) -> list[Ceiling]:
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
            "not one query was answered within the rounds: the host has no time for the client",
            hint="Wait until it is quieter, or measure longer rounds with --seconds.",
        )
    return ceilings


def ensure(
    shapes: Iterable[Shape],
    program: Path,
    cache: Path,
    effort: Effort,
    tell: Tell,
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
        notice(f"{'; '.join(disturbances)}: what was calibrated is used for this run and not kept")
    else:
        keep(measured, calibration, cache, notice)
    return calibration.with_more(measured)


def tell_starved(wanted: int, measured: int, notice: Callable[[str], None]) -> None:
    """Say how many shapes got no answer at all, where some did not."""
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
