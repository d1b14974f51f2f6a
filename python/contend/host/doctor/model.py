"""A check of a host or a server, its input, and its possible results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from contend.host import Tree
from contend.host.machine import Mount, block_device, mount_of
from contend.host.tree import chosen
from contend.metrics.host import Measure

Severity = Literal["severe", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("severe", "warning", "note")
"""`severe` spoils figures or loses data, `warning` costs speed or adds noise, `note` is information
for a reader of the figures."""

Value = str | int | float | bool | None
State = Mapping[str, Value]
"""Settings of the host, by short names: `--compare` shows them side by side."""

NOT_MEASURED = "not measured"
"""Prefix of the reason if a measurement would be needed."""


class NotChecked(Exception):
    """It is not visible from here; contains the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check.

    Args:
        severity: None if nothing is wrong.
        mend: the command for this finding, instead of the check's own.
    """

    severity: Severity | None
    evidence: str
    state: State = field(default_factory=dict)
    mend: str | None = None


def result(severity: Severity | None, evidence: str, /, **state: Value) -> Result:
    return Result(severity, evidence, state)


@dataclass(frozen=True, slots=True)
class SeenServer:
    """The visible properties of a server.

    Args:
        version: the server's full text: `10.11.19-MariaDB-…`.
        variables: all global ones, by name.
        pid: its process; None if that is not visible from here.
        is_here: it runs on this host.
    """

    name: str
    kind: str
    version: str
    variables: Mapping[str, str]
    pid: int | None = None
    is_here: bool = True

    def text(self, variable: str) -> str:
        """Raises NotChecked if the server lacks this variable."""
        if variable not in self.variables:
            raise NotChecked(f"{self.kind} {self.version} has no {variable}")
        return self.variables[variable]

    def number(self, variable: str) -> float | None:
        """The value of a variable as a number; None if it has none."""
        return as_number(self.variables.get(variable))

    def is_on(self, variable: str) -> bool:
        """Raises NotChecked if the server lacks this variable."""
        return self.text(variable).upper() in ("ON", "1", "YES", "TRUE")


@dataclass(frozen=True)
class Subject:
    """The input of the checks. Access to invisible parts raises NotChecked.

    Args:
        tree: the files of the host.
        folder: the folder of the data, now or later.
        measured: measurements, by the names in `metrics.host.UNITS`; empty in the short form.
        server: that of `--server`.
    """

    tree: Tree
    folder: Path
    measured: Mapping[str, Measure] = field(default_factory=dict)
    server: SeenServer | None = None

    @property
    def pid(self) -> int | str:
        """The process whose limits and memory are checked: the server's, else this one."""
        return self.server.pid if self.server and self.server.pid else "self"

    @property
    def whose(self) -> str:
        return "the server" if self.pid != "self" else "a process started from here"

    @property
    def named_server(self) -> SeenServer:
        if self.server is None:
            raise NotChecked("no server was named (--server)")
        return self.server

    @cached_property
    def mount(self) -> Mount:
        """The mount of the data's folder."""
        mount = mount_of(self.tree, self.folder)
        if mount is None:
            raise NotChecked("/proc/self/mountinfo has no mount for the folder of the data")
        return mount

    @cached_property
    def disk(self) -> str:
        """The whole disk below the folder of the data."""
        device = block_device(self.tree, self.mount)
        if device is None:
            raise NotChecked(f"no block device is visible below this {self.mount.filesystem}")
        return device

    def text(self, path: str) -> str:
        text = self.tree.text(path)
        if text is None:
            raise NotChecked(self.tree.why_not(path))
        return text

    def number(self, path: str) -> int:
        """The whole number in a file."""
        value = as_number(self.text(path))
        if value is None or not value.is_integer():
            raise self.unclear(path)
        return int(value)

    def number_or_none(self, path: str) -> int | None:
        try:
            return self.number(path)
        except NotChecked:
            return None

    def unclear(self, path: str) -> NotChecked:
        """The error for a file with unexpected content."""
        return NotChecked(f"/{path} has unexpected content: {self.text(path)[:40]!r}")

    def seen(self, name: str) -> float | None:
        """The measurement with this name; None if there is none."""
        found = self.measured.get(name)
        return None if found is None else found.value

    def measure(self, name: str, otherwise: str = "") -> Measure:
        if name not in self.measured:
            raise NotChecked(NOT_MEASURED + otherwise)
        return self.measured[name]


def over(value: float, warning: float, severe: float | None = None) -> Severity | None:
    """Severity of a value, by the limits that it exceeds."""
    if severe is not None and value > severe:
        return "severe"
    return "warning" if value > warning else None


Look = Callable[[Subject], Result]

LOOKS: dict[str, Look] = {}
"""The checks with their own logic, by id."""


def check(name: str) -> Callable[[Look], Look]:
    """Registers the function for the check with this id in `checks.toml`."""

    def register(look: Look) -> Look:
        LOOKS[name] = look
        return look

    return register


@dataclass(frozen=True, slots=True)
class Row:
    """A check that compares a file of the host or a variable of the server with bad values.

    Args:
        severity: of a bad value.
        found, fine: evidence, with `{value}` and `{disk}`; without `fine`, `found` serves for both.
        state: the name of the value.
        file: below the root, with `{disk}`; else `variable`.
        bad, good: values. For a file of words (`always [madvise] never`) others are unclear; with
            true or false in `bad` the variable is a switch.
        above: greater numbers are bad.
    """

    severity: Severity
    found: str
    state: str
    fine: str = ""
    file: str = ""
    variable: str = ""
    bad: Sequence[str | int | bool] = ()
    good: Sequence[str] = ()
    above: int | None = None

    def __call__(self, subject: Subject) -> Result:
        disk = subject.disk if "{disk}" in self.file else ""
        path = self.file.format(disk=disk)
        value = self._value(subject, path)
        if isinstance(value, str):
            is_bad = value.upper() in map(str.upper, map(str, self.bad))
            if self.good and not is_bad and value not in self.good:
                raise subject.unclear(path)
        else:
            is_bad = value in self.bad or (self.above is not None and value > self.above)
        words = self.found if is_bad else self.fine or self.found
        evidence = words.format(value=value, disk=disk)
        return Result(self.severity if is_bad else None, evidence, {self.state: value})

    def _value(self, subject: Subject, path: str) -> str | int | bool:
        if not self.file:
            is_switch = any(isinstance(one, bool) for one in self.bad)
            server = subject.named_server
            return server.is_on(self.variable) if is_switch else server.text(self.variable)
        return chosen(subject.text(path)) if self.good else subject.number(path)


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check.

    Args:
        id: stable, for `--explain`, `--ignore` and programs.
        title: its subject.
        why: why it matters to a database.
        costs: its known cost; a cost measured here is printed before it.
        mend: the command that fixes it, or instructions.
        measure: the measured quantity that shows its cost.
        touches: the verdicts of a run that it affects: all, writes, latency, tcp.
        is_measured: it needs a measurement.
    """

    id: str
    title: str
    why: str
    costs: str
    mend: str
    look: Look
    measure: str | None = None
    touches: Sequence[str] = ("all",)
    is_measured: bool = False

    @property
    def is_of_server(self) -> bool:
        return self.id.startswith("server-")

    @property
    def in_short(self) -> bool:
        """Part of the short form before a run, which does not measure or query a server."""
        return not (self.is_measured or self.is_of_server)


def as_number(text: str | None) -> float | None:
    """A plain number; None for all else, including infinity."""
    if text is None or len(text) > 40:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e30 else None
