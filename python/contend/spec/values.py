"""The kinds of value a key of an experiment file can hold.

Each kind reads one TOML value into what the objects hold, or refuses it with a phrase that says
what it must be; states itself in words for the reference page; and gives its JSON Schema. A kind
knows nothing of files: whoever asks adds the place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from contend.spec.errors import did_you_mean, nearest
from contend.spec.model import Level
from contend.units import parse_duration_s


class Refused(Exception):
    """A value that its key cannot take."""

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class ValueKind(Protocol):
    """What a key's value may be."""

    def read(self, value: object) -> object:
        """The value as the objects hold it; raises Refused."""

    def words(self) -> str:
        """What it must be, to stand after "must be"."""

    def schema(self) -> dict[str, object]:
        """Its JSON Schema."""


def shown(value: object) -> str:
    """A value as the file would have it, shortened, for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True, slots=True)
class Text:
    """A string; where `pattern` is set, one that it matches as a whole."""

    pattern: str | None = None
    meaning: str = "text in quotes"

    def read(self, value: object) -> str:
        if not isinstance(value, str):
            raise Refused(f"must be {self.meaning}, not {shown(value)}")
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise Refused(f"must be {self.meaning}, not {shown(value)}")
        return value

    def words(self) -> str:
        return self.meaning

    def schema(self) -> dict[str, object]:
        schema: dict[str, object] = {"type": "string"}
        if self.pattern is not None:
            schema["pattern"] = f"^(?:{self.pattern})$"
        return schema


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few names, in their exact spelling."""

    names: tuple[str, ...]

    def read(self, value: object) -> str:
        if isinstance(value, str) and value in self.names:
            return value
        close = nearest(value, self.names) if isinstance(value, str) else None
        hint = f'Did you mean "{close}"?' if close is not None else None
        raise Refused(f"must be {self.words()}, not {shown(value)}", hint=hint)

    def words(self) -> str:
        quoted = [f'"{name}"' for name in self.names]
        return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def schema(self) -> dict[str, object]:
        return {"enum": list(self.names)}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number between `least` and `most`, both included."""

    least: int = 0
    most: int = 2**63 - 1

    def read(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(f"must be {self.words()}, not {shown(value)}", hint=_count_hint(value))
        if not self.least <= value <= self.most:
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        return value

    def words(self) -> str:
        if self.most == 2**63 - 1:
            return f"a whole number of at least {self.least}"
        return f"a whole number from {self.least} to {self.most}"

    def schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


def _count_hint(value: object) -> str | None:
    """`"20M"` is what people write for rows; say how the file wants it."""
    match = re.fullmatch(r"(\d+)\s*([kKmM])", value) if isinstance(value, str) else None
    if match is None:
        return None
    number = int(match.group(1)) * (1000 if match.group(2) in "kK" else 1_000_000)
    return f"Write {number:_}."


@dataclass(frozen=True, slots=True)
class Real:
    """A number strictly between `above` and `below`."""

    above: float
    below: float

    def read(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        if not self.above < value < self.below:
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        return float(value)

    def words(self) -> str:
        return f"a number between {self.above:g} and {self.below:g}"

    def schema(self) -> dict[str, object]:
        return {
            "type": "number",
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
        }


@dataclass(frozen=True, slots=True)
class Duration:
    """A time span as text with a unit, or a bare number of seconds; read as seconds."""

    zero_allowed: bool = False
    most_s: float = 30 * 86400.0

    def read(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        if isinstance(value, int) and value > self.most_s:
            raise Refused(f"must be at most 30 days, not {shown(value)}")
        try:
            seconds = parse_duration_s(value)
        except ValueError as error:
            raise Refused(f"must be {self.words()}: {error}") from None
        if seconds == 0 and not self.zero_allowed:
            raise Refused(f"must be longer than 0, not {shown(value)}")
        if seconds > self.most_s:
            raise Refused(f"must be at most 30 days, not {shown(value)}")
        return seconds

    def words(self) -> str:
        return 'a duration such as "2s", "500ms" or "8m"'

    def schema(self) -> dict[str, object]:
        least = "minimum" if self.zero_allowed else "exclusiveMinimum"
        return {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": r"^\s*([0-9]+(\.[0-9]+)?\s*(us|µs|ms|s|m|min|h|d)\s*)+$",
                },
                {"type": "number", least: 0},
            ]
        }


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def read(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        return value

    def words(self) -> str:
        return "true or false"

    def schema(self) -> dict[str, object]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class AnyLevel:
    """Text, a number or true/false, as it stands: what a server option can be."""

    def read(self, value: object) -> Level:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float):
            if not abs(value) < 2**64:
                raise Refused(f"must be a number of at most 64 bits, not {shown(value)}")
            return value
        raise Refused(f"must be {self.words()}, not {shown(value)}")

    def words(self) -> str:
        return "text, a number or true/false"

    def schema(self) -> dict[str, object]:
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True, slots=True)
class Options:
    """A table of names and scalars; whoever knows what is configured checks the names."""

    def read(self, value: object) -> dict[str, Level]:
        if not isinstance(value, dict):
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        return {str(name).replace("-", "_"): level for name, level in value.items()}

    def words(self) -> str:
        return "a table of the options by name"

    def schema(self) -> dict[str, object]:
        return {"type": "object", "additionalProperties": AnyLevel().schema()}


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of strings."""

    def read(self, value: object) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Refused(f"must be {self.words()}, not {shown(value)}")
        return value

    def words(self) -> str:
        return "a list of texts in quotes"

    def schema(self) -> dict[str, object]:
        return {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table: its name, kind of value, default and what it means.

    A default of None means that the key may be left out and nothing stands in its place.
    `required` keys have no default at all. `level_kind` is set where a level of a factor may be
    less than a value of the key.
    """

    name: str
    kind: ValueKind
    default: object
    means: str
    required: bool = False
    level_kind: ValueKind | None = None

    @property
    def level(self) -> ValueKind:
        """What a level of a factor may be."""
        return self.level_kind or self.kind

    def schema(self) -> dict[str, object]:
        schema = {"description": self.means, **self.kind.schema()}
        if self.default is not None and not self.required:
            default = self.default
            schema["default"] = list(default) if isinstance(default, tuple) else default
        return schema


def attribute_name(key: Key) -> str:
    """The key's name in the objects: a duration is seconds there, and its name says so."""
    return f"{key.name}_s" if isinstance(key.kind, Duration) else key.name


@dataclass(frozen=True, slots=True)
class Tagged:
    """A table whose `kind` says which other keys it has, such as a distribution."""

    noun: str
    kinds: Mapping[str, tuple[Key, ...]]
    default_kind: str
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: object) -> dict[str, object]:
        """The table itself; which keys it may have depends on its kind, see `find`."""
        if isinstance(value, dict):
            return value
        known = isinstance(value, str) and value in self.kinds
        hint = f"Write {{ kind = {shown(value)} }}." if known else None
        raise Refused(f"must be {self.words()}, not {shown(value)}", hint=hint)

    def kind_choice(self) -> Choice:
        return Choice(tuple(self.kinds))

    def find(self, name: str, kinds: tuple[str, ...]) -> Key:
        """The key `name` of one of `kinds`; raises Refused with the nearest name."""
        for kind in kinds:
            for key in self.kinds[kind]:
                if key.name == name:
                    return key
        known = [key.name for kind in kinds for key in self.kinds[kind]]
        of = f'{self.noun} "{kinds[0]}"' if len(kinds) == 1 else f"none of its {self.noun}s"
        raise Refused(
            f"is not a parameter of {of}",
            hint=did_you_mean(name, known) or f"{of[:1].upper()}{of[1:]} has no parameters.",
        )

    def complete(self, kind: str, given: Mapping[str, object]) -> dict[str, object]:
        """The parameters of `kind`: those given that belong to it, defaults for the others."""
        values: dict[str, object] = {}
        for key in self.kinds[kind]:
            value = given.get(key.name, key.default)
            if isinstance(key.kind, Tagged):
                inner = dict(value) if isinstance(value, Mapping) else {}
                inner_kind = str(inner.pop("kind", key.kind.default_kind))
                value = {"kind": inner_kind, **key.kind.complete(inner_kind, inner)}
            values[key.name] = value
        return values

    def words(self) -> str:
        return f"a table with the {self.noun}'s kind and its parameters"

    def schema(self) -> dict[str, object]:
        variants = []
        for kind, keys in self.kinds.items():
            properties: dict[str, object] = {
                "kind": {"const": kind, "description": self.descriptions.get(kind, "")}
            }
            properties.update({key.name: key.schema() for key in keys})
            variants.append(
                {"type": "object", "properties": properties, "additionalProperties": False}
            )
        # Where the kind is a factor, the table has keys of all of its levels and no kind.
        every = {key.name: key.schema() for keys in self.kinds.values() for key in keys}
        variants.append({"type": "object", "properties": every, "additionalProperties": False})
        return {
            "type": "object",
            "properties": {"kind": {"enum": list(self.kinds), "default": self.default_kind}},
            "anyOf": variants,
        }
