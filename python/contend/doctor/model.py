"""A check of a host or a server, what it looks at, and what it can say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from contend.host import Tree
from contend.metrics.host import Measure

Severity = Literal["severe", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("severe", "warning", "note")
"""`severe` spoils figures or loses data, `warning` costs speed or adds noise, `note` is what a
reader of the figures should know."""

State = Mapping[str, str | int | float | bool | None]
"""How the host is set, by short names: what `--compare` sets side by side."""

ALL, WRITES, LATENCY, TCP = "all", "writes", "latency", "tcp"
"""What a finding touches: every verdict, those of experiments that write, of response times, of
servers that are reached by TCP."""


@dataclass(frozen=True, slots=True)
class Found:
    """There is something to say.

    Args:
        mend: the command for what was found here, in place of the check's own.
    """

    severity: Severity
    evidence: str
    state: State = field(default_factory=dict)
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Fine:
    """Nothing is wrong."""

    evidence: str
    state: State = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unseen:
    """It cannot be seen from here."""

    why: str


NOT_MEASURED = "it was not measured"
"""Begins the reason of what could be seen by measuring."""

Result = Found | Fine | Unseen


@dataclass(frozen=True, slots=True)
class SeenServer:
    """A server as it shows itself.

    Args:
        version: whole, as it says it: `10.11.19-MariaDB-…`.
        variables, status: all global ones, by name.
        pid: its process; None if that cannot be seen from here.
        is_here: it runs on this host.
    """

    name: str
    kind: str
    version: str
    variables: Mapping[str, str]
    status: Mapping[str, str]
    pid: int | None = None
    is_here: bool = True

    def number(self, variable: str) -> float | None:
        """The value of a variable as a number; None if there is none."""
        return as_number(self.variables.get(variable))

    def counter(self, name: str) -> float | None:
        return as_number(self.status.get(name))

    def is_on(self, variable: str) -> bool | None:
        """None if the server has no such variable."""
        value = self.variables.get(variable)
        return None if value is None else value.upper() in ("ON", "1", "YES", "TRUE")


@dataclass(frozen=True, slots=True)
class Subject:
    """What the checks look at.

    Args:
        tree: the files of the host.
        folder: where the data lies, or will.
        measured: what was measured, by the names in `metrics.host.UNITS`; empty in the short form.
        server: that of `--server`.
    """

    tree: Tree
    folder: Path
    measured: Mapping[str, Measure] = field(default_factory=dict)
    server: SeenServer | None = None
    today: date = field(default_factory=date.today)

    @property
    def pid(self) -> int | str:
        """The process whose limits and memory are looked at: the server's, else this one."""
        return self.server.pid if self.server and self.server.pid else "self"

    @property
    def whose(self) -> str:
        return "the server" if self.pid != "self" else "a process started from here"

    def number(self, path: str) -> int | None:
        """The whole number that a file holds; None if it holds something else or is not there."""
        value = as_number(self.tree.text(path))
        return int(value) if value is not None and value.is_integer() else None

    def seen(self, name: str) -> float | None:
        """What was measured under a name; None if it was not."""
        found = self.measured.get(name)
        return None if found is None else found.value


Look = Callable[[Subject], Result]
Changes = Callable[[Subject], Mapping[str, str]]
"""What mends it: files of the host below its root, or variables of the server, and their values."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing to look at.

    Args:
        id: stable, for `--explain`, `--ignore` and programs.
        title: what is looked at.
        why: why it matters to a database.
        costs: what it costs, from what is known; what was measured here stands before it.
        mend: the command that mends it, or what to do.
        measure: the measured quantity in which its cost shows.
        touches: which verdicts of a run it bears on.
        files, variables: what `--mend` changes, if it can.
        is_measured: what it looks at is only known if it was measured.
    """

    id: str
    title: str
    why: str
    costs: str
    mend: str
    look: Look
    measure: str | None = None
    touches: tuple[str, ...] = (ALL,)
    files: Changes | None = None
    variables: Changes | None = None
    is_measured: bool = False

    @property
    def is_of_server(self) -> bool:
        return self.id.startswith("server-")

    @property
    def in_short(self) -> bool:
        """Part of the short form before a run, which measures nothing and asks no server."""
        return not (self.is_measured or self.is_of_server)


def of_server(look: Callable[[SeenServer, Subject], Result]) -> Look:
    """A look that is handed the server; without one there is nothing to see."""

    @functools.wraps(look)
    def looked(subject: Subject) -> Result:
        if subject.server is None:
            return Unseen("no server was named (--server)")
        return look(subject.server, subject)

    return looked


def found(severity: Severity, evidence: str, /, **state: object) -> Found:
    return Found(severity, evidence, _plain(state))


def fine(evidence: str, /, **state: object) -> Fine:
    return Fine(evidence, _plain(state))


def missing(subject: Subject, path: str) -> Unseen:
    """A file that is not there, cannot be read, or does not say what it should."""
    text = subject.tree.text(path)
    if text is None:
        return Unseen(subject.tree.why_not(path))
    return Unseen(f"/{path} holds something else: {text[:40]!r}")


def not_told(server: SeenServer, name: str) -> Unseen:
    """A variable that the server has not, or that does not say what it should."""
    return Unseen(f"{server.kind} {server.version} has no {name} that is a number")


def as_number(text: str | None) -> float | None:
    """A plain number; None of anything else, infinity included."""
    if text is None or len(text) > 40:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e30 else None


def _plain(state: Mapping[str, object]) -> State:
    return {
        name: value if isinstance(value, str | int | float | bool) or value is None else str(value)
        for name, value in state.items()
    }
