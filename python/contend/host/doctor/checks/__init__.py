"""All checks, in the order of `checks.toml`. Each has a row there with its texts; one that compares
a value has the value too. One with logic has a function here, in the file of its subject."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from contend.host.doctor.checks import cpus, disk, memory, server, system
from contend.host.doctor.model import LOOKS, DoctorCheck, Row

_SUBJECTS = (cpus, memory, disk, system, server)
_OF_ROW = {one.name for one in fields(Row)}


def _check(name: str, row: dict[str, Any]) -> DoctorCheck:
    compared = {key: row.pop(key) for key in _OF_ROW & row.keys()}
    look = Row(**compared) if compared else LOOKS[name]
    return DoctorCheck(name, look=look, **row)


_TABLE = tomllib.loads(Path(__file__).with_name("checks.toml").read_text(encoding="utf-8"))

CHECKS: tuple[DoctorCheck, ...] = tuple(_check(name, row) for name, row in _TABLE.items())
