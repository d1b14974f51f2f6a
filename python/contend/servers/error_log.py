"""Reads a server's log after a failure: the rejected option, the cause, the last lines, and a
readable error from these. Pure.

The patterns are the servers' own texts, from MariaDB 10.11 to 11.8 and MySQL 8.0 to 9.7.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import Enum

from contend.errors import ContendError
from contend.servers.binary import ServerBinary
from contend.servers.errors import DiskFull, FolderInUse, OptionRejected, PortTaken, ServerFailed

TAIL_LINES = 12

_REJECTED = (
    re.compile(r"(?P<why>unknown (?:option|variable)) '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?'"),
    re.compile(r"(?P<why>ambiguous option) '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?'"),
    re.compile(r"option '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?' (?P<why>requires an argument)"),
    re.compile(r"option '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?' (?P<why>cannot take an argument)"),
    re.compile(r"Error while setting value '(?P<value>[^']*)' to '(?P<option>[^']+)'"),
    re.compile(
        r"Unknown suffix '.' used for variable '(?P<option>[^']+)' \(value '(?P<value>.*)'\)"
    ),
)
_REJECTED_BY_VALUE = (
    (
        re.compile(r"Unknown/unsupported storage engine: (?P<value>(?!InnoDB)\S+)"),
        "default_storage_engine",
    ),
    (
        re.compile(
            r"Character set '(?P<value>[^']*)' is not a compiled|"
            r"Unknown character set: '(?P<other>[^']*)'"
        ),
        "character_set_server",
    ),
)
"""Values that are refused without naming their option."""

_ADJUSTED = re.compile(
    r"option '(?P<option>[^']+)': (?:un)?signed (?:int )?value (?P<asked>\S+) adjusted to "
    r"(?P<got>\S+)|"
    r"option '(?P<switch>[^']+)': boolean value '(?P<word>[^']*)' (?:was not|wasn't) recognized"
    r"\. Set to (?P<state>ON|OFF)"
)
_NOISE = re.compile(r"^\s*$|For more information|To report this bug|Aborting$|Please refer")
_CALM = re.compile(r"\[(?:Note|System|Warning)\]")


class Diagnosis(Enum):
    """The reason why a server ended, if its log has it."""

    DISK_FULL = "the disk is full"
    PORT_IN_USE = "its TCP port is in use"
    SOCKET_IN_USE = "its socket is in use by another server"
    DATA_IN_USE = "its data folder is used by another server"
    NO_PERMISSION = "it lacks permission to read or write its files"
    NO_MEMORY = "there is not enough memory"
    ROOT_REFUSED = "it refuses to run as root"


_CAUSES = (
    (Diagnosis.DISK_FULL, r"No space left on device|Disk is full|"
     r"Errcode: 28\b|errno:? 28\b|error 28\b"),
    (Diagnosis.SOCKET_IN_USE, r"Another process with pid \d+ is using unix socket file|"
     r"already (?:have|a) (?:another )?.*server running on socket"),
    (Diagnosis.PORT_IN_USE, r"Bind on TCP/IP port|Address already in use|server running on port"),
    (Diagnosis.DATA_IN_USE, r"Unable to lock \S+|Can't lock aria control file|same data files|"
     r"another mysqld or mariadbd process|Could not get an exclusive lock"),
    (Diagnosis.NO_MEMORY, r"Cannot allocate memory|Out of memory|Errcode: 12\b"),
    (Diagnosis.NO_PERMISSION, r"Permission denied|Errcode: 13\b|Read-only file system"),
    (Diagnosis.ROOT_REFUSED, r"Please consult the Knowledge Base to find out how to run|"
     r"read Security section of the manual to find out how to run mysqld as root"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rejected:
    """An option that the server rejected, with the server's reason."""

    option: str
    why: str


@dataclass(frozen=True, slots=True)
class Truncated:
    """A value that the server changed to fit: requested 100, effective 64."""

    name: str
    requested: str
    effective: str

    def __str__(self) -> str:
        return f"{self.name}: requested {self.requested}, effective {self.effective}"


def tail(text: str, lines: int = TAIL_LINES) -> str:
    """The end of a log: its last errors if it has some, else its last lines."""
    kept = [line.rstrip() for line in text.splitlines() if not _NOISE.search(line)]
    errors = [line for line in kept if not _CALM.search(line)]
    return "\n".join((errors or kept)[-lines:])


def rejected_option(text: str) -> Rejected | None:
    """The option that the server rejected."""
    lines = "\n".join(line for line in text.splitlines() if not _CALM.search(line))
    for pattern in _REJECTED:
        match = pattern.search(lines)
        if match is not None:
            parts = match.groupdict()
            why = parts.get("why") or f"it refuses the value '{parts.get('value')}'"
            return Rejected(parts["option"].replace("-", "_"), why)
    for pattern, option in _REJECTED_BY_VALUE:
        match = pattern.search(lines)
        if match is not None:
            value = next(group for group in match.groups() if group is not None)
            return Rejected(option, f"it refuses the value '{value}'")
    return None


def adjusted_options(text: str) -> list[Truncated]:
    """Values that the server reported as changed to fit at its start."""
    truncated = {}
    for match in _ADJUSTED.finditer(text):
        if match["option"] is not None:
            name, requested, effective = match["option"], match["asked"], match["got"].rstrip(".")
        else:
            name, requested, effective = match["switch"], match["word"], match["state"]
        name = name.replace("-", "_")
        truncated[name] = Truncated(name, requested, effective)
    return list(truncated.values())


def cause(text: str) -> Diagnosis | None:
    """The cause in the log, if it is a known one."""
    return next((cause for cause, words in _CAUSES if re.search(words, text)), None)


_CLASSES: dict[Diagnosis, type[ContendError]] = {
    Diagnosis.DISK_FULL: DiskFull,
    Diagnosis.PORT_IN_USE: PortTaken,
    Diagnosis.DATA_IN_USE: FolderInUse,
}
_HINTS = {
    Diagnosis.DISK_FULL: "Free some space, or put the run on a different disk with `--out`.",
    Diagnosis.DATA_IN_USE: "Use a separate folder for each server.",
    Diagnosis.NO_MEMORY: "Use smaller caches, or free some memory.",
    Diagnosis.NO_PERMISSION: "Check who owns the folder.",
}


def start_failure(binary: ServerBinary, code: int, log: str, action: str) -> ContendError:
    """The error for a server that ended too early.

    Args:
        code: its exit code, in the form of `subprocess`.
        what: `start` or `make its data folder`.
    """
    name = f"{binary.kind} {binary.version}"
    why = cause(log)
    rejected = rejected_option(log)
    if rejected is not None and why is not Diagnosis.DISK_FULL:
        return OptionRejected(
            f"{name} rejects the option {rejected.option}: {rejected.why}.",
            hint="Correct it, or remove it.",
            detail=tail(log),
        )
    if why is not None:
        return _CLASSES.get(why, ServerFailed)(
            f"{name} did not {action}: {why.value}.", hint=_HINTS.get(why), detail=tail(log)
        )
    return ServerFailed(
        f"{name} did not {action} ({describe_exit(code)}).",
        hint="See the last lines of its error log.",
        detail=tail(log) or "(its error log is empty)",
    )


def disk_full(binary: ServerBinary, log: str) -> DiskFull:
    """The error for a server that waits for space on a full disk."""
    return DiskFull(
        f"{binary.kind} {binary.version} cannot write: {Diagnosis.DISK_FULL.value}.",
        hint=_HINTS[Diagnosis.DISK_FULL],
        detail=tail(log),
    )


def describe_exit(code: int) -> str:
    """`exit code 1`, or `killed by SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
