"""Server options: from a plan's values to arguments, and whether the server took them whole. Pure.

A name may be written with dashes or underscores; inside contend it has underscores.
"""

from __future__ import annotations

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
        "user",
    }
)
"""Options that contend itself sets for a private server."""


def normal_name(name: str) -> str:
    """`key-cache-segments` and `Key_cache_segments` are `key_cache_segments`."""
    text = name.strip().removeprefix("--").lower().replace("-", "_")
    if not _NAME.match(text):
        raise OptionRejected(
            f"{name!r} is not the name of a server option.",
            hint="Names are letters, digits and underscores, such as key_buffer_size.",
        )
    return text


def as_arguments(options: Mapping[str, Value]) -> list[str]:
    """The options as command line arguments.

    `skip_…` options are flags: true gives the flag, false leaves it out.
    """
    arguments = []
    for name, value in options.items():
        normal = normal_name(name)
        if normal in RESERVED:
            raise OptionRejected(
                f"the option {normal} of a private server is set by contend itself.",
                hint="Leave it out; a private server has its own folder, socket and port.",
            )
        option = "--" + normal.replace("_", "-")
        if normal.startswith("skip_") and isinstance(value, bool):
            arguments += [option] if value else []
        else:
            arguments.append(f"{option}={as_text(value)}")
    return arguments


def as_text(value: Value) -> str:
    """A value as an option takes it: true is 1."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def as_sql(value: Value) -> str:
    """A value as `SET GLOBAL` takes it: sizes with a suffix are numbers, words are quoted."""
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
    """The statement that gives a dynamic variable a value."""
    return f"SET {scope} {normal_name(name)} = {as_sql(value)}"


def size_in_bytes(text: str) -> int | None:
    """`512M` in bytes as the servers read it; None if the text is no whole number."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    power = " KMGTPE".index(match["suffix"].upper() or " ")
    return int(match["number"]) << (10 * power)


def truncation(name: str, asked: Value, got: str | None) -> Truncated | None:
    """What the server made of a value, if it is not what was requested.

    Only numbers and switches are compared: words have more than one spelling (an enumeration may
    be asked for by its number), and the servers refuse a wrong word instead of changing it.
    """
    if got is None:
        return None
    wanted, there = as_number(as_text(asked)), as_number(got)
    if wanted is None or there is None or wanted == there:
        return None
    return Truncated(name, as_text(asked), got)


def truncations(
    options: Mapping[str, Value], variables: Mapping[str, str], adjusted: Iterable[Truncated]
) -> list[Truncated]:
    """The options that a server did not start with as requested.

    Args:
        adjusted: what its log says that it changed.
    """
    by_name = {change.name: change for change in adjusted}
    for name, value in options.items():
        seen = truncation(name, value, variables.get(name.removeprefix("loose_")))
        if seen is not None:
            by_name[name] = seen
    return list(by_name.values())


def same_value(one: str, other: str) -> bool:
    """Whether a server takes two values for the same: 256K is 262144, and ON is 1."""
    numbers = as_number(one), as_number(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    # Paths differ by case; words of a server do not.
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
