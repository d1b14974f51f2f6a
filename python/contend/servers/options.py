"""Server options: converts a plan's values to arguments, and checks the server's values. Pure.

A name may be written with dashes or underscores; inside contend it has underscores.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from contend.servers.error_log import Truncated
from contend.servers.errors import OptionRejected

Value = str | int | float | bool

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?\Z")
_SIZE = re.compile(r"(?P<number>-?\d+)(?P<suffix>[KMGTPE]?)\Z", re.IGNORECASE)
_BOOLEANS = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}

RESERVED = frozenset(
    {
        "basedir",
        "bind_address",
        "bootstrap",
        "daemonize",
        "datadir",
        "defaults_extra_file",
        "defaults_file",
        "initialize",
        "initialize_insecure",
        "log_error",
        "no_defaults",
        "pid_file",
        "port",
        "skip_networking",
        "socket",
        "tmpdir",
        "user",
    }
)
"""Options that contend itself sets for a private server."""

_LOOSE = "loose_"
_LIMIT = "maximum_"
"""Prefix of a variable that sets the maximum for sessions."""

_PREFIXES = ("skip_", "disable_", "enable_", _LIMIT)
"""Prefixes that change the effect of the option after them."""

_PARTS = re.compile(r"[;,=]|(?<!:):(?!:|//)")
"""Separates the parts of a value; the colons of `::1` or `tcp://` do not."""

_FILE = re.compile("file://", re.IGNORECASE)
_HOME = re.compile(r"~[\w.-]*(/|\Z)")


def normal_name(name: str) -> str:
    """`key-cache-segments` and `Key_cache_segments` are `key_cache_segments`."""
    text = name.strip().removeprefix("--").lower().replace("-", "_")
    if not _NAME.match(text):
        raise OptionRejected(
            f"{name!r} is not the name of a server option.",
            hint="Use letters, digits and underscores, as in key_buffer_size.",
        )
    return text


def readings(name: str) -> tuple[str, ...]:
    """The options that a server may read in a name: the complete name, and for `skip_` and similar
    prefixes the rest too. `loose_`, which makes it ignore an unknown name, is removed."""
    plain = name.removeprefix(_LOOSE)
    return (plain, *(plain.removeprefix(one) for one in _PREFIXES if plain.startswith(one)))


def is_loose(name: str) -> bool:
    """Whether a server ignores the name if it does not know it."""
    return name.startswith(_LOOSE)


def refuse_outside(name: str, value: Value) -> None:
    """Refuse a value that names a place outside the server's data folder, for any option: the
    server would read or write foreign files, or leave files behind.

    A part of the value, between `:`, `;`, `,` and `=`, is such a place if it begins with `/`
    (except `/*`, a comment of SQL) or `~`, or leaves the folder by `..`.

    Raises:
        OptionRejected: it names such a place.
    """
    if isinstance(value, str) and any(map(_is_outside, _PARTS.split(value))):
        raise OptionRejected(
            f"{name} = {value}: files outside the server's own folder are not allowed.",
            hint="Give a file name without a folder: the file is in the server's data folder.",
        )


def _is_outside(part: str) -> bool:
    place = _FILE.sub("", part.strip(), count=1)
    if place.startswith("/"):
        return not place.startswith("/*")
    return bool(_HOME.match(place)) or os.path.normpath(place).split("/")[0] == ".."


def as_arguments(options: Mapping[str, Value], valued: frozenset[str] = frozenset()) -> list[str]:
    """The options as command line arguments.

    True gives a flag, or 1 if the option needs a value; false 0, but leaves a `skip_…` option out.

    Args:
        valued: the options that need a value.

    Raises:
        OptionRejected: one is contend's own, or names a place outside the server's folder.
    """
    arguments = []
    for name, value in options.items():
        normal = normal_name(name)
        if any(one in RESERVED for one in readings(normal)):
            raise OptionRejected(
                f"contend itself sets the option {normal} of a private server.",
                hint="Remove it; a private server has its own folder, socket and port.",
            )
        refuse_outside(normal, value)
        option = "--" + normal.replace("_", "-")
        if value is False and normal.startswith("skip_"):
            continue
        if value is True and readings(normal)[0] not in valued:
            arguments.append(option)
        else:
            arguments.append(f"{option}={as_text(value)}")
    return arguments


def as_text(value: Value) -> str:
    """A value as an option accepts it: true is 1."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def as_sql(value: Value) -> str:
    """A value as `SET GLOBAL` accepts it: sizes with a suffix are numbers, words are quoted."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    size = size_in_bytes(value)
    if size is not None:
        return str(size)
    if value.lower() in _BOOLEANS or value.upper() == "DEFAULT":
        return value.upper()
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def assignment(name: str, value: Value, scope: Literal["GLOBAL", "SESSION"] = "GLOBAL") -> str:
    """The statement that sets a dynamic variable.

    Raises:
        OptionRejected: it names a place outside the server's folder.
    """
    refuse_outside(name, value)
    return f"SET {scope} {normal_name(name)} = {as_sql(value)}"


def size_in_bytes(text: str) -> int | None:
    """`512M` in bytes as the servers read it; None if the text is not a whole number."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    power = " KMGTPE".index(match["suffix"].upper() or " ")
    return int(match["number"]) << (10 * power)


def truncation(name: str, requested: Value, effective: str | None) -> Truncated | None:
    """The server's value, if it differs from the requested one.

    Only numbers and switches are compared. Words have more than one spelling (an enumeration also
    has numbers), and the servers refuse a wrong word instead of changing it.
    """
    if effective is None:
        return None
    wanted, there = as_number(as_text(requested)), as_number(effective)
    if wanted is None or there is None or wanted == there:
        return None
    return Truncated(name, as_text(requested), effective)


def truncations(
    options: Mapping[str, Value], variables: Mapping[str, str], adjusted: Iterable[Truncated]
) -> list[Truncated]:
    """The options that a server changed at its start.

    Args:
        adjusted: the changes that its log reports.
    """
    by_name = {change.name: change for change in adjusted}
    for name, value in options.items():
        seen = truncation(name, value, variables.get(readings(name)[0]))
        if seen is not None:
            by_name[name] = seen
    return list(by_name.values())


def variable_of(name: str, variables: Mapping[str, str]) -> str | None:
    """The variable that shows the effect of an option; None if there is none."""
    plain = readings(name)[0]
    if plain.startswith(_LIMIT) and plain not in variables:
        return None
    return next((one for one in readings(name) if one in variables), None)


def same_value(one: str, other: str) -> bool:
    """Whether a server considers two values equal: 256K is 262144, and ON is 1."""
    numbers = as_number(one), as_number(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    # Paths differ by case; a server's words do not.
    return one == other if "/" in one + other else one.casefold() == other.casefold()


def as_number(text: str) -> float | None:
    """A number, a size or a switch as a number; None if the text is a word."""
    switch = _BOOLEANS.get(text.lower())
    if switch is not None:
        return float(switch)
    size = size_in_bytes(text)
    if size is not None:
        return float(size)
    try:
        return float(text)
    except ValueError:
        return None
