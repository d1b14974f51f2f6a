"""Where calibrations are kept: a small readable file for each host and program.

Format history, kept beside the constant:
    1  first format: host, program, ceilings with their rounds.
    2  ceilings say of which engine they are. Those of format 1 do not, and are measured anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contend import host
from contend.calibration.model import (
    FIGURES,
    Calibration,
    Ceiling,
    ClientHost,
    ClientProgram,
    DamagedCalibration,
    ForeignCalibration,
    NewerCalibration,
    Round,
    RunShape,
)
from contend.facts import fact
from contend.load import LoadFailed
from contend.settings.load import ENGINES

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
"""Facts that decide what a system call and a wake-up cost. One that changes makes another host."""


def this_host(facts: Mapping[str, Any] | None = None) -> ClientHost:
    """The host that we are on."""
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
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (subprocess.SubprocessError, OSError) as error:
        raise LoadFailed(f"{path} does not print its version: {error}") from None
    return ClientProgram(version=said.split()[-1] if said.split() else "unknown", sha256=digest)


FORMAT = 2

_MEND = "`contend calibrate` measures anew and replaces it."


def folder_of(cache: Path) -> Path:
    return cache / "calibrations"


def path_of(cache: Path, host: ClientHost, program: ClientProgram) -> Path:
    """The file of this host and this program, there or not."""
    return folder_of(cache) / f"{host.id}-{program.sha256[:12]}.json"


def read(path: Path, host: ClientHost, program: ClientProgram) -> Calibration:
    """What is kept; nothing if there is no file.

    Raises:
        DamagedCalibration, ForeignCalibration, NewerCalibration: see there.
    """
    try:
        document = json.loads(path.read_bytes().decode("utf-8"))
        written = document["format"]
        if not isinstance(written, int) or isinstance(written, bool) or written < 1:
            raise ValueError(f"format {written!r}")
        if written > FORMAT:
            raise NewerCalibration(
                f"{path} has format {written}, and this contend reads formats up to {FORMAT}",
                hint="Upgrade contend, or remove the file to measure anew.",
            )
        calibration = _from_document(document, named=written >= 2)
    except FileNotFoundError:
        return Calibration(host, program)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DamagedCalibration(f"{path} is damaged ({said})", hint=_MEND) from None
    if (calibration.host.id, calibration.program.sha256) != (host.id, program.sha256):
        raise ForeignCalibration(
            f"{path} was measured on another host or with another contend-load", hint=_MEND
        )
    return calibration


def write(path: Path, calibration: Calibration) -> None:
    """Replace the file by a rename: it is whole at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_document(calibration), indent=1, ensure_ascii=False, allow_nan=False)
    # The figures of the rounds stand side by side.
    text = re.sub(r"\[[-\d.e+,\s]+\]", lambda match: " ".join(match[0].split()), text)
    descriptor, unfinished = tempfile.mkstemp(prefix=".calibration-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _document(calibration: Calibration) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "host": asdict(calibration.host),
        "program": asdict(calibration.program),
        "ceilings": [_ceiling(ceiling) for ceiling in calibration.ceilings.values()],
    }


def _ceiling(ceiling: Ceiling) -> dict[str, Any]:
    return {
        **asdict(ceiling.shape),
        "workers": ceiling.workers,
        "measured_at": ceiling.measured_at,
        "seconds": ceiling.seconds,
        "rounds": {
            name: [getattr(measured, name) for measured in ceiling.rounds] for name in FIGURES
        },
    }


def _from_document(document: dict[str, Any], *, named: bool) -> Calibration:
    host, program = document["host"], document["program"]
    ceilings = [_ceiling_from(ceiling) for ceiling in document["ceilings"]] if named else []
    return Calibration(
        ClientHost(str(host["id"]), str(host["cpu"]), int(host["cpus"]), str(host["kernel"])),
        ClientProgram(str(program["version"]), str(program["sha256"])),
        {ceiling.shape: ceiling for ceiling in ceilings},
    )


def _ceiling_from(entry: dict[str, Any]) -> Ceiling:
    threads = entry["threads"]
    if entry["transport"] not in ("socket", "tcp") or "kind" not in entry["workload"]:
        raise ValueError("a ceiling without a workload or a transport")
    if entry["engine"] not in ENGINES:
        raise ValueError("a ceiling without an engine")
    columns = [[_figure(value) for value in entry["rounds"][name]] for name in FIGURES]
    rounds = tuple(Round(*values) for values in zip(*columns, strict=True))
    if not rounds:
        raise ValueError("a ceiling without rounds")
    return Ceiling(
        shape=RunShape(
            workload=dict(entry["workload"]),
            protocol=str(entry["protocol"]),
            transport=entry["transport"],
            connections=int(entry["connections"]),
            engine=str(entry["engine"]),
            threads=None if threads is None else int(threads),
            depth=int(entry.get("depth", 1)),
        ),
        rounds=rounds,
        seconds=_figure(entry["seconds"]),
        workers=max(1, int(entry["workers"])),
        measured_at=str(entry["measured_at"]),
    )


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no figure")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{value!r} is no figure")
    return float(value)
