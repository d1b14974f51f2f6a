"""Reading what a server wrote before it gave up: the option it rejected, the cause, the end. Pure.

The patterns are the servers' own words, of MariaDB 10.11 to 11.8 and MySQL 8.0 to 9.7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

TAIL_LINES = 12

_REJECTED = (
    re.compile(r"(?P<why>unknown (?:option|variable)) '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?'"),
    re.compile(r"option '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?' (?P<why>requires an argument)"),
    re.compile(r"option '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?' (?P<why>cannot take an argument)"),
    re.compile(r"(?P<why>ambiguous option) '(?:--)?(?P<option>[^'=]+)(?:=[^']*)?'"),
    re.compile(r"Error while setting value '(?P<value>[^']*)' to '(?P<option>[^']+)'(?P<why>)"),
    re.compile(r"Unknown suffix '.' used for variable '(?P<option>[^']+)' \((?P<why>[^)]*)\)"),
    re.compile(r"option '(?P<option>[^']+)': (?P<why>(?:boolean )?value '[^']*' .*)"),
    re.compile(r"Incorrect (?P<why>(?:unsigned |signed )?integer value: '[^']*')(?P<option>)"),
    re.compile(r"Unknown/unsupported (?P<option>storage engine): (?P<why>\S+)"),
)
_ADJUSTED = re.compile(
    r"option '(?P<option>[^']+)': (?:un)?signed (?:int )?value (?P<asked>\S+) adjusted to "
    r"(?P<got>\S+)"
)
_NOISE = re.compile(r"^\s*$|For more information|To report this bug|Aborting$|Please refer")


class Cause(Enum):
    """Why a server gave up, where its words tell."""

    DISK_FULL = "the disk is full"
    PORT_IN_USE = "its TCP port is in use"
    SOCKET_IN_USE = "its socket is in use by another server"
    DATA_IN_USE = "its data folder is used by another server"
    NO_PERMISSION = "it may not read or write its files"
    NO_MEMORY = "there is not enough memory"
    ROOT_REFUSED = "it refuses to run as root"


_CAUSES = (
    (Cause.DISK_FULL, r"No space left on device|Disk is full|"
     r"Errcode: 28\b|errno:? 28\b|error 28\b"),
    (Cause.SOCKET_IN_USE, r"Another process with pid \d+ is using unix socket file|"
     r"already (?:have|a) (?:another )?.*server running on socket"),
    (Cause.PORT_IN_USE, r"Bind on TCP/IP port|Address already in use|server running on port"),
    (Cause.DATA_IN_USE, r"Unable to lock \S+|Can't lock aria control file|same data files|"
     r"another mysqld or mariadbd process|Could not get an exclusive lock"),
    (Cause.NO_MEMORY, r"Cannot allocate memory|Out of memory|Errcode: 12\b"),
    (Cause.NO_PERMISSION, r"Permission denied|Errcode: 13\b|Read-only file system"),
    (Cause.ROOT_REFUSED, r"Please consult the Knowledge Base to find out how to run|"
     r"read Security section of the manual to find out how to run mysqld as root"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rejected:
    """An option the server did not take, and why in its own words."""

    option: str
    why: str


@dataclass(frozen=True, slots=True)
class Truncated:
    """A value the server took only in part: asked for 100, got 64."""

    name: str
    asked: str
    got: str

    def __str__(self) -> str:
        return f"{self.name}: asked for {self.asked}, the server took {self.got}"


def tail(text: str, lines: int = TAIL_LINES) -> str:
    """The last lines that say something."""
    kept = [line.rstrip() for line in text.splitlines() if not _NOISE.search(line)]
    return "\n".join(kept[-lines:])


def rejected_option(text: str) -> Rejected | None:
    """The first option that the server said it does not take."""
    for line in text.splitlines():
        if "[Warning]" in line:
            continue
        for pattern in _REJECTED:
            found = pattern.search(line)
            if found is None:
                continue
            parts = found.groupdict()
            why = parts["why"] or f"it refuses the value '{parts.get('value', '')}'"
            return Rejected(parts["option"].replace("-", "_"), why.strip().rstrip("."))
    return None


def adjusted_options(text: str) -> list[Truncated]:
    """Values that the server said at start it changed to fit."""
    found = {
        match["option"].replace("-", "_"): Truncated(
            match["option"].replace("-", "_"), match["asked"], match["got"].rstrip(".")
        )
        for match in _ADJUSTED.finditer(text)
    }
    return list(found.values())


def cause(text: str) -> Cause | None:
    """The cause that the log tells, if it tells one we know."""
    return next((cause for cause, words in _CAUSES if re.search(words, text)), None)
