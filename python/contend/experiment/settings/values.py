"""The kinds of value that a key of an experiment file can have.

Each kind reads one TOML value into its final form, or refuses it with a phrase for what it must be;
describes itself in words for the reference page; and returns its JSON Schema. A kind knows nothing
of files: the caller adds the place.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeGuard

from contend.errors import nearest
from contend.units import parse_duration_s

Level = str | int | float | bool
"""One value of a factor, in TOML's form."""


class Refused(Exception):
    """A value that its key rejects.

    Args:
        reason: continues after the name of the key: "must be …".
        at: path from the key to the fault, if that is further inside.
        whole: the reason is a complete sentence, which names the fault.
    """

    def __init__(
        self,
        reason: str,
        *,
        hint: str | None = None,
        at: tuple[str | int, ...] = (),
        whole: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.at = at
        self.whole = whole


@contextmanager
def at_place(*steps: str | int) -> Iterator[None]:
    """A value refused in this context is at these steps."""
    try:
        yield
    except Refused as refused:
        refused.at = (*steps, *refused.at)
        raise


class ValueKind(Protocol):
    """The possible values of a key."""

    def read(self, value: object) -> Any:
        """The value in its final form; raises Refused."""

    def expected(self) -> str:
        """The condition on a value, to follow "must be"."""

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""


class BaseKind(ValueKind):
    """Base of the kinds with the usual refusal."""

    def wrong(self, value: object, hint: str | None = None) -> Refused:
        return Refused(f"must be {self.expected()}, not {shown(value)}", hint=hint)


def shown(value: object) -> str:
    """A value in the file's form, shortened, for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def level_word(level: object) -> str:
    """A level in a text line: a switch is on or off, and empty text is `''`. Reports format long
    numbers and paths, and text that reads like a number, differently; see `level_label`."""
    if isinstance(level, bool):
        return "on" if level else "off"
    return "''" if level == "" else str(level)


@dataclass(frozen=True, slots=True)
class Text(BaseKind):
    """A string; if `pattern` is set, one that matches it as a whole."""

    pattern: str | None = None
    meaning: str = "text in quotes"

    def read(self, value: object) -> str:
        if isinstance(value, str) and re.fullmatch(self.pattern or "(?s:.*)", value):
            return value
        raise self.wrong(value)

    def expected(self) -> str:
        return self.meaning

    def schema(self) -> dict[str, Any]:
        pattern = {} if self.pattern is None else {"pattern": f"^(?:{self.pattern})$"}
        return {"type": "string", **pattern}


@dataclass(frozen=True, slots=True)
class Choice(BaseKind):
    """One of a few names, in their exact spelling."""

    names: tuple[str, ...]

    def read(self, value: object) -> str:
        if isinstance(value, str) and value in self.names:
            return value
        close = nearest(value, self.names) if isinstance(value, str) else None
        raise self.wrong(value, None if close is None else f'Did you mean "{close}"?')

    def expected(self) -> str:
        quoted = [f'"{name}"' for name in self.names]
        return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.names)}


@dataclass(frozen=True, slots=True)
class WholeNumber(BaseKind):
    """A whole number between `least` and `most`, both included."""

    least: int = 0
    most: int = 2**63 - 1

    def read(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(value, _count_hint(value))
        if not self.least <= value <= self.most:
            raise self.wrong(value)
        return value

    def expected(self) -> str:
        if self.most == 2**63 - 1:
            return f"a whole number of at least {self.least}"
        return f"a whole number from {self.least} to {self.most}"

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


def _count_hint(value: object) -> str | None:
    """Users write `"20M"` for rows; return the correct form."""
    match = re.fullmatch(r"(\d+)\s*([kKmM])", value) if isinstance(value, str) else None
    if match is None:
        return None
    number = int(match.group(1)) * (1000 if match.group(2) in "kK" else 1_000_000)
    return f"Write {number:_}."


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Real(BaseKind):
    """A number strictly between `above` and `below`."""

    above: float
    below: float

    def read(self, value: object) -> float:
        if is_number(value) and self.above < value < self.below:
            return float(value)
        raise self.wrong(value)

    def expected(self) -> str:
        return f"a number between {self.above:g} and {self.below:g}"

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": self.above, "exclusiveMaximum": self.below}


@dataclass(frozen=True, slots=True)
class Bounded(BaseKind):
    """A number from `least` to `most`, both included."""

    least: float
    most: float

    def read(self, value: object) -> int | float:
        if is_number(value) and self.least <= value <= self.most:
            return value
        raise self.wrong(value)

    def expected(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Width(BaseKind):
    """A width as a ratio: 0.02, `"2 %"` or `"±2 %"`."""

    _pattern = r"\s*±?\s*(\d+(?:\.\d+)?)\s*%\s*"

    def read(self, value: object) -> float:
        if isinstance(value, str):
            match = re.fullmatch(self._pattern, value)
            if match is None:
                raise self.wrong(value)
            value = float(match.group(1)) / 100
        return Real(0.0, 1.0).read(value)

    def expected(self) -> str:
        return 'half the width of an interval, such as "±2 %" or 0.02'

    def schema(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"^{self._pattern}$".replace("(?:", "(")}
        return {"anyOf": [text, Real(0.0, 1.0).schema()]}


@dataclass(frozen=True, slots=True)
class Duration(BaseKind):
    """A time span as text with a unit, or a bare number of seconds; read as seconds.

    `most` is the maximum, in the form of a file.
    """

    zero_allowed: bool = False
    most: str = "30d"

    def read(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(value)
        most_s = parse_duration_s(self.most)
        too_long = f"must be at most {shown(self.most)}, not {shown(value)}"
        if isinstance(value, int) and value > most_s:  # it may exceed the range of a float
            raise Refused(too_long)
        try:
            seconds = parse_duration_s(value)
        except ValueError as error:
            raise Refused(f"must be {self.expected()}: {error}") from None
        if seconds == 0 and not self.zero_allowed:
            raise Refused(f"must be longer than 0, not {shown(value)}")
        if seconds > most_s:
            raise Refused(too_long)
        return seconds

    def expected(self) -> str:
        return 'a duration such as "2s", "500ms" or "8m"'

    def schema(self) -> dict[str, Any]:
        pattern = r"^\s*([0-9]+(\.[0-9]+)?\s*(us|µs|ms|s|m|min|h|d)\s*)+$"
        least = "minimum" if self.zero_allowed else "exclusiveMinimum"
        return {"anyOf": [{"type": "string", "pattern": pattern}, {"type": "number", least: 0}]}


@dataclass(frozen=True, slots=True)
class Flag(BaseKind):
    """True or false."""

    def read(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(value)
        return value

    def expected(self) -> str:
        return "true or false"

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class AnyLevel(BaseKind):
    """Text, a number or true/false, unchanged: the values of a server option."""

    def read(self, value: object) -> Level:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float):
            if not abs(value) < 2**64:
                raise Refused(f"must be a number of at most 64 bits, not {shown(value)}")
            return value
        raise self.wrong(value)

    def expected(self) -> str:
        return "text, a number or true/false"

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True, slots=True)
class Several(BaseKind):
    """A list of values of one kind, each once if they are `unique`."""

    each: ValueKind
    noun: str
    unique: bool = False

    def read(self, value: object) -> list[Any]:
        if not isinstance(value, list):
            raise self.wrong(value)
        found = [self.each.read(item) for item in value]
        if self.unique and len(set(found)) < len(found):
            raise Refused("names one of them twice")
        return found

    def expected(self) -> str:
        return f"a list of {self.noun}"

    def schema(self) -> dict[str, Any]:
        unique = {"uniqueItems": True} if self.unique else {}
        return {"type": "array", "items": self.each.schema(), **unique}


Texts = partial(Several, Text(), "texts in quotes")


@dataclass(frozen=True, slots=True)
class Command(BaseKind):
    """A program with its arguments: a list, or text that is split like in a shell."""

    def read(self, value: object) -> list[str]:
        if isinstance(value, str):
            try:
                return shlex.split(value)
            except ValueError as error:
                raise Refused(f"cannot be split like in a shell: {error}") from None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(value)
        return list(value)

    def expected(self) -> str:
        return "a program with its arguments, as a list or as one text"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, Texts().schema()]}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table: its name, kind of value, default and meaning.

    A default of None means that the key may be left out and then has no value. `required` keys have
    no default. `level_kind` is set if a level of a factor may be less than a value of the key.
    """

    name: str
    kind: ValueKind
    default: object
    means: str
    required: bool = False
    level_kind: ValueKind | None = None

    @property
    def level(self) -> ValueKind:
        """The possible levels of a factor."""
        return self.level_kind or self.kind

    def schema(self) -> dict[str, object]:
        schema = {"description": self.means, **self.kind.schema()}
        if self.default is not None and not self.required:
            default = self.default
            schema["default"] = list(default) if isinstance(default, tuple) else default
        return schema


def attribute_name(key: Key) -> str:
    """The key's name in the objects: a duration is in seconds, and its name says so."""
    return f"{key.name}_s" if isinstance(key.kind, Duration) else key.name
