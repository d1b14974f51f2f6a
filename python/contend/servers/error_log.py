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
"""Values that are refused without a word about their option."""

_ADJUSTED = re.compile(
    r"option '(?P<option>[^']+)': (?:un)?signed (?:int )?value (?P<asked>\S+) adjusted to "
    r"(?P<got>\S+)|"
    r"option '(?P<switch>[^']+)': boolean value '(?P<word>[^']*)' (?:was not|wasn't) recognized"
    r"\. Set to (?P<state>ON|OFF)"
)
_NOISE = re.compile(r"^\s*$|For more information|To report this bug|Aborting$|Please refer")
_CALM = re.compile(r"\[(?:Note|System|Warning)\]")


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
    """The end of a log: its last errors where it has some, else its last lines."""
    kept = [line.rstrip() for line in text.splitlines() if not _NOISE.search(line)]
    errors = [line for line in kept if not _CALM.search(line)]
    return "\n".join((errors or kept)[-lines:])


def rejected_option(text: str) -> Rejected | None:
    """The option that the server said it does not take."""
    said = "\n".join(line for line in text.splitlines() if not _CALM.search(line))
    for pattern in _REJECTED:
        found = pattern.search(said)
        if found is not None:
            parts = found.groupdict()
            why = parts.get("why") or f"it refuses the value '{parts.get('value')}'"
            return Rejected(parts["option"].replace("-", "_"), why)
    for pattern, option in _REJECTED_BY_VALUE:
        found = pattern.search(said)
        if found is not None:
            value = next(group for group in found.groups() if group is not None)
            return Rejected(option, f"it refuses the value '{value}'")
    return None


def adjusted_options(text: str) -> list[Truncated]:
    """Values that the server said at start it changed to fit."""
    found = {}
    for match in _ADJUSTED.finditer(text):
        if match["option"] is not None:
            name, asked, got = match["option"], match["asked"], match["got"].rstrip(".")
        else:
            name, asked, got = match["switch"], match["word"], match["state"]
        name = name.replace("-", "_")
        found[name] = Truncated(name, asked, got)
    return list(found.values())


def cause(text: str) -> Cause | None:
    """The cause that the log tells, if it tells one we know."""
    return next((cause for cause, words in _CAUSES if re.search(words, text)), None)
