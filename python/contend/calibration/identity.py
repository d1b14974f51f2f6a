"""Which host, which program: a ceiling of one says nothing of another."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend import host
from contend.facts import fact
from contend.load import LoadFailed

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


@dataclass(frozen=True, slots=True)
class Host:
    """A host as far as the client's speed goes.

    Args:
        id: 12 hex digits over the facts.
        cpu: the model in words.
        cpus: how many are online.
        kernel: its release.
    """

    id: str
    cpu: str
    cpus: int
    kernel: str


@dataclass(frozen=True, slots=True)
class Program:
    """A contend-load: what it calls itself, and the hash of its file."""

    version: str
    sha256: str


def this_host(facts: Mapping[str, Any] | None = None) -> Host:
    """The host that we are on."""
    facts = host.facts() if facts is None else facts
    found = {name: fact(facts, name) for name in _FACTS}
    text = json.dumps(["contend calibration", found], sort_keys=True)
    return Host(
        id=hashlib.sha256(text.encode()).hexdigest()[:12],
        cpu=str(found["cpu.model"] or "unknown CPU"),
        cpus=int(found["cpu.count"] or 0),
        kernel=str(found["kernel.release"] or "unknown"),
    )


def this_program(path: Path) -> Program:
    """The contend-load at `path`."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (subprocess.SubprocessError, OSError) as error:
        raise LoadFailed(f"{path} does not tell its version: {error}") from None
    return Program(version=said.split()[-1] if said.split() else "unknown", sha256=digest)
