"""What `contend try` compares, as it is typed: an option with its levels, or a set of options.

Levels are parted by commas. One that has a comma, a blank at an end, or nothing at all is put in
quotes; inside of them the same quote twice is one of it. The shell takes quotes of its own away, so
quotes for contend stand inside others: "optimizer_switch='mrr=on,mrr_cost_based=off','mrr=off'".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from contend.errors import RequestError
from contend.servers.options import as_text, normal_name, same_value
from contend.spec import Level

_QUOTES = "'\""
_QUOTED = re.compile(r"""(['"])((?:(?!\1).|\1\1)*+)\1""", re.DOTALL)
_LEVEL = re.compile(rf"""\s*+(?:{_QUOTED.pattern}|((?!['"])[^,]*?))\s*(,|\Z)""", re.DOTALL)
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,19})")
_REAL = re.compile(r"-?\d{1,20}\.\d{1,20}")
_FLAG = re.compile(r"(--)?[A-Za-z][\w-]*")
_AROUND_EQUALS = re.compile(
    r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.)|[ \t]+=[ \t]*|=[ \t]+(?![\w.-]+[ \t]*=)""", re.DOTALL
)
"""Blanks, as option files may have them, and what is in quotes, where they stay."""

SHELL = (
    "A level with a comma, or an empty one, is put in quotes that the shell does not take away: "
    "\"sql_mode='ANSI,TRADITIONAL',''\"."
)


def option_levels(text: str) -> tuple[str, tuple[Level, ...]]:
    """`NAME=LEVEL,…`: the option's name, and its levels; raises RequestError."""
    name, equals, levels = text.partition("=")
    if not equals:
        raise RequestError(
            f"{text!r} is no option with values",
            hint="Write an option of the server with two values, the first the baseline: "
            "sort_buffer_size=256K,4M.",
        )
    return normal_name(name), tuple(level_of(one) for one in split_levels(levels, text))


def option_set(text: str) -> dict[str, Level]:
    """`NAME=VALUE NAME = VALUE FLAG`: the options of a set, a flag as true; quotes as a shell has
    them. Raises RequestError."""
    try:
        words = shlex.split(_AROUND_EQUALS.sub(lambda found: found[1] or "=", text))
    except ValueError as error:
        raise RequestError(
            f"{text!r} cannot be split into options: {str(error).lower()}",
            hint="Write --a 'sort_buffer_size=4M join_buffer_size=1M'.",
        ) from None
    found: dict[str, Level] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals and not _FLAG.fullmatch(word):
            raise RequestError(
                f"{word!r} in {text!r} is not an option",
                hint="Write NAME=VALUE, or NAME alone for a flag. Option files are not read.",
            )
        name = normal_name(name)
        if name in found:
            raise RequestError(
                f"{text!r} names {name} twice",
                hint="Give each option once: a server is started with one value of it.",
            )
        found[name] = level_of(value) if equals else True
    return found


def split_levels(text: str, of: str) -> list[str]:
    """The levels of `LEVEL,LEVEL,…`, without their quotes.

    Args:
        of: what was typed, for messages.
    """
    levels, at = [], 0
    while True:
        found = _LEVEL.match(text, at)
        if found is None:
            raise RequestError(f"{of!r} has {_wrong_quotes(text[at:].lstrip())}", hint=SHELL)
        quote, quoted, plain, more = found.groups()
        if plain == "":
            raise RequestError(f"{of!r} has an empty level", hint=SHELL)
        levels.append(plain or quoted.replace(2 * quote, quote))
        if not more:
            return levels
        at = found.end()


def _wrong_quotes(text: str) -> str:
    found = _QUOTED.match(text)
    if found is None:
        return f"a {text[0]} that nothing closes"
    after = text[found.end() :].lstrip()
    return f"{after.partition(',')[0]!r} after a level in quotes"


def level_of(text: str) -> Level:
    """A number if it is written as one, else the text itself."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def same(one: Level, other: Level) -> bool:
    """Whether a server takes two levels for the same value."""
    return same_value(as_text(one), as_text(other))


def as_typed(name: str, levels: Sequence[Level]) -> str:
    """As it could be typed: `option_levels` reads it back."""
    return f"{name}={','.join(_quoted(as_text(level)) for level in levels)}"


def _quoted(level: str) -> str:
    is_plain = level and level == level.strip() and "," not in level and level[0] not in _QUOTES
    return level if is_plain else "'{}'".format(level.replace("'", "''"))
