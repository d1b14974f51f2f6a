"""The typed comparison: an option with its levels, or a set of options.

Commas separate levels. A level that has a comma or a blank at an end, or is empty, is put in
quotes; inside them a doubled quote stands for one. The shell removes its own quotes, so put
contend's quotes inside others: "optimizer_switch='mrr=on,mrr_cost_based=off','mrr=off'".
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contend.errors import RequestError
from contend.experiment import Level
from contend.servers.options import as_text, normal_name, same_value

_QUOTES = "'\""
_QUOTED = re.compile(r"""(['"])((?:(?!\1).|\1\1)*+)\1""", re.DOTALL)
_LEVEL = re.compile(rf"""\s*+(?:{_QUOTED.pattern}|((?!['"])[^,]*?))\s*(,|\Z)""", re.DOTALL)
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,19})")
_REAL = re.compile(r"-?\d{1,20}\.\d{1,20}")
_FLAG = re.compile(r"(--)?[A-Za-z][\w-]*")
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
_AROUND_EQUALS = re.compile(
    r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.)|[ \t]+=[ \t]*|=[ \t]+(?![\w.-]+[ \t]*=)""", re.DOTALL
)
"""Blanks around `=`, as in option files; and quoted text, in which they stay."""

SHELL = (
    "Quote an empty level or one with a comma, and protect the quotes from the shell: "
    "\"sql_mode='ANSI,TRADITIONAL',''\"."
)


TWO_VALUES = "Give a server option two values, the baseline first: sort_buffer_size=256K,4M."


def option_levels(text: str) -> tuple[str, tuple[Level, ...]]:
    """`NAME=LEVEL,…`: the option's name, and its levels; raises RequestError."""
    name, equals, levels = text.partition("=")
    if not equals:
        raise RequestError(
            f"option {text!r} has no values",
            hint=TWO_VALUES,
        )
    return normal_name(name), tuple(level_of(one) for one in split_levels(levels, text))


def option_set(text: str) -> dict[str, Level]:
    """`NAME=VALUE NAME = VALUE FLAG`: the options of a set, a flag as true; quotes work like in a
    shell. Raises RequestError."""
    try:
        arguments = shlex.split(_AROUND_EQUALS.sub(lambda found: found[1] or "=", text))
    except ValueError as error:
        raise RequestError(
            f"{text!r} cannot be split into options: {str(error).lower()}",
            hint="Write --a 'sort_buffer_size=4M join_buffer_size=1M'.",
        ) from None
    found: dict[str, Level] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals and not _FLAG.fullmatch(argument):
            raise RequestError(
                f"{argument!r} in {text!r} is not an option",
                hint="Write NAME=VALUE, NAME for a flag, or only the path of an option file.",
            )
        name = normal_name(name)
        if name in found:
            raise RequestError(
                f"{text!r} names {name} twice",
                hint="Give each option once.",
            )
        found[name] = level_of(value) if equals else True
    return found


def option_pairs(text: str) -> tuple[dict[str, Level], dict[str, Level]]:
    """`NAME=OLD,NEW NAME=OLD,NEW`: the old and the new set; quotes as in `option_levels`.

    Raises:
        RequestError: an option has one value, or more than two, or occurs twice.
    """
    text = _AROUND_EQUALS.sub(lambda found: found[1] or "=", text)
    if _WORD.sub("", text).strip():
        raise RequestError(f"{text!r} has an unclosed quote", hint=SHELL)
    old: dict[str, Level] = {}
    new: dict[str, Level] = {}
    for word in _WORD.findall(text):
        name, levels = option_levels(word)
        if name in old:
            raise RequestError(f"{text!r} names {name} twice", hint="Give each option once.")
        if len(levels) != 2:
            only = as_text(levels[0])
            raise RequestError(
                f"{name} has {len(levels)} value{'s' if len(levels) > 1 else ''}, not two: {word}",
                hint=f"Give the old value and the new one, {name}=OLD,NEW, in quotes if they have "
                "commas."
                if len(levels) > 1
                else f"Add the value of the baseline: {name}=…,{only}.",
            )
        refuse_twice(name, levels, word)
        old[name], new[name] = levels
    return old, new


def refuse_twice(name: str, levels: Sequence[Level], typed: str) -> None:
    """Refuse two levels that a server takes for the same value."""
    for one, other in itertools.combinations(levels, 2):
        if same(one, other):
            twice = str(one) if one == other else f"{as_text(one)} and {as_text(other)}"
            is_one = "is given twice" if one == other else "are the same value"
            raise RequestError(f"{typed}: {twice} of {name} {is_one}", hint="Give each value once.")


@dataclass(frozen=True, slots=True)
class FileSet:
    """A set of options from an option file.

    Args:
        label: the name of the file, without folders.
        options: by their names.
        places: the file and the line of each option.
    """

    label: str
    options: Mapping[str, Level]
    places: Mapping[str, str]


def is_option_file(text: str) -> bool:
    """Whether the text of a set is the path of an option file."""
    return "=" not in text and ("/" in text or text.endswith((".cnf", ".ini")))


def split_levels(text: str, of: str) -> list[str]:
    """The levels of `LEVEL,LEVEL,…`, without their quotes.

    Args:
        of: the user's text, for messages.
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
        return f"an unclosed {text[0]}"
    after = text[found.end() :].lstrip()
    return f"{after.partition(',')[0]!r} after a quoted level"


def level_of(text: str) -> Level:
    """A number if it is written as one, else the text itself."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def same(one: Level, other: Level) -> bool:
    """Whether a server takes two levels for the same value."""
    return same_value(as_text(one), as_text(other))


def as_typed(name: str, levels: Sequence[Level]) -> str:
    """The typed form: `option_levels` reads it back."""
    return f"{name}={','.join(_quoted(as_text(level)) for level in levels)}"


def try_command(name: str, levels: Sequence[Level]) -> str:
    """The command that compares these levels, for a shell."""
    typed = as_typed(name, levels)
    is_in_double = "'" in typed and not set(typed) & set('"$`\\!')
    quoted = f'"{typed}"' if is_in_double else shlex.quote(typed)
    return f"contend try {quoted}"


def _quoted(level: str) -> str:
    is_plain = level and level == level.strip() and "," not in level and level[0] not in _QUOTES
    return level if is_plain else "'{}'".format(level.replace("'", "''"))
