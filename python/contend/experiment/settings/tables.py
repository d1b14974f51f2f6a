"""Kinds of value that contain others: tables, and lists of tables.

A path may lead inside them, so that one of their values can be a factor: `inside` returns the
target of a path, `put` puts a level there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from contend.errors import did_you_mean
from contend.experiment.settings.values import (
    AnyLevel,
    BaseKind,
    Choice,
    Key,
    Refused,
    Several,
    ValueKind,
    at_place,
    attribute_name,
    shown,
)

Inside = tuple[tuple[str, ...], Key]
"""The steps from a value to one of its own, and that value's key."""


@runtime_checkable
class Nested(Protocol):
    """A kind of value that paths lead into."""

    def inside(self, rest: str) -> Inside | None:
        """The target of the rest of a path; None if there is none."""

    def put(self, value: Any, steps: tuple[str, ...], level: object) -> Any:
        """A copy of `value` with `level` at `steps`; raises Refused if there is no such place."""

    def paths(self) -> tuple[str, ...]:
        """Every known rest of a path."""


def can_vary(key: Key) -> bool:
    """Whether a level of a factor can be a value of the key: a list of lists, say, cannot."""
    return not isinstance(key.level, Nested | Several | TomlTables)


def put_in_table(value: Any, steps: tuple[str, ...], level: object) -> dict[str, Any]:
    """A copy of nested tables with `level` at `steps`."""
    name, *rest = steps
    table = dict(value) if isinstance(value, Mapping) else {}
    table[name] = put_in_table(table.get(name), tuple(rest), level) if rest else level
    return table


def as_plan(keys: tuple[Key, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by key in the form of contend-load's plan: a duration's name ends in its unit, and
    omitted values stay out."""
    plan = {}
    for key in keys:
        value = values.get(key.name)
        if value is None:
            continue
        if isinstance(key.kind, Tagged):
            inner = as_plan(key.kind.kinds[value["kind"]], value)
            value = {"kind": value["kind"], **inner}
        elif isinstance(key.kind, TomlTable):
            value = as_plan(key.kind.keys, value)
        elif isinstance(key.kind, TomlTables):
            value = [as_plan(key.kind.keys, table) for table in value]
        plan[attribute_name(key)] = value
    return plan


class AnyTable(BaseKind):
    """A table with inner paths, none of them known in advance."""

    def put(self, value: Any, steps: tuple[str, ...], level: object) -> dict[str, Any]:
        return put_in_table(value, steps, level)

    def paths(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Named(AnyTable):
    """A table with free names, such as the options of a server.

    Args:
        noun: the noun for one of them.
        whose: the same, with its owner: "a server option".
        pattern: matches a whole name.
        each: kind of the values; None if the code that knows the configuration checks them.
        dashes: a dash in a name is the same as an underscore.
    """

    noun: str
    whose: str
    pattern: str
    each: ValueKind | None
    dashes: bool = True

    def name(self, name: str) -> str:
        """The standard spelling of a name."""
        return name.replace("-", "_") if self.dashes else name

    def read(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(value)
        table: dict[str, Any] = {}
        for spelled, level in value.items():
            name, at = self._checked(spelled, (spelled,)), (spelled,)
            if name in table:
                raise Refused(f'{self.noun} "{name}" is given twice', at=at, whole=True)
            with at_place(spelled):
                table[name] = level if self.each is None else self.each.read(level)
        return table

    def inside(self, rest: str) -> Inside:
        name = self._checked(rest, ())
        key = Key(name, self.each or AnyLevel(), None, f"the {self.noun} {name}")
        return (name,), key

    def expected(self) -> str:
        return f"a table of the {self.noun}s by name"

    def schema(self) -> dict[str, Any]:
        each = (self.each or AnyLevel()).schema()
        return {
            "type": "object",
            "patternProperties": {f"^{self.pattern}$": each},
            "additionalProperties": False,
        }

    def _checked(self, name: str, at: tuple[str, ...]) -> str:
        if re.fullmatch(self.pattern, name) is None:
            raise Refused(f'"{name}" is not the name of {self.whose}', at=at, whole=True)
        return self.name(name)


@dataclass(frozen=True, slots=True)
class TomlTable(AnyTable):
    """A table with its own keys. If it is `whole`, keys that are not given get their defaults."""

    keys: tuple[Key, ...]
    whole: bool = True

    def read(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(value)
        keys = {key.name: key for key in self.keys}
        for name in value:
            if name not in keys:
                hint = did_you_mean(name, keys)
                raise Refused(f'has no key "{name}"', hint=hint, at=())
        table: dict[str, Any] = {}
        for name, key in keys.items():
            if name not in value:
                if key.required:
                    raise Refused(f"needs {name}: {key.kind.expected()}")
                if self.whole:
                    table[name] = key.default
                continue
            with at_place(name):
                table[name] = key.kind.read(value[name])
        return table

    def inside(self, rest: str) -> Inside | None:
        key = next((key for key in self.keys if key.name == rest), None)
        return None if key is None else ((rest,), key)

    def paths(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)

    def expected(self) -> str:
        return f"a table of {', '.join(key.name for key in self.keys)}"

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {key.name: key.schema() for key in self.keys},
            "required": [key.name for key in self.keys if key.required],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class TomlTables(BaseKind):
    """A list of tables with the same keys."""

    keys: tuple[Key, ...]

    def read(self, value: object) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            raise self.wrong(value)
        tables = []
        for index, table in enumerate(value):
            with at_place(index):
                tables.append(TomlTable(self.keys).read(table))
        return tables

    def expected(self) -> str:
        return f"a list of tables of {', '.join(key.name for key in self.keys)}"

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": TomlTable(self.keys).schema()}


@dataclass(frozen=True, slots=True)
class Tagged(AnyTable):
    """A table whose `kind` decides which other keys it has, such as a distribution."""

    noun: str
    kinds: Mapping[str, tuple[Key, ...]]
    default_kind: str
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: object) -> dict[str, object]:
        """The table itself; its valid keys depend on its kind, see `find`."""
        if isinstance(value, dict):
            return value
        known = isinstance(value, str) and value in self.kinds
        hint = f"Write {{ kind = {shown(value)} }}." if known else None
        raise self.wrong(value, hint)

    def kind_choice(self) -> Choice:
        return Choice(tuple(self.kinds))

    def parameters(self) -> dict[str, Key]:
        """Every parameter of every kind. A name has the same meaning in all kinds that have it."""
        return {key.name: key for keys in self.kinds.values() for key in keys}

    def inside(self, rest: str) -> Inside | None:
        if rest == "kind":
            return ("kind",), Key(
                "kind", self.kind_choice(), self.default_kind, f"which {self.noun}"
            )
        name, _, inner = rest.partition(".")
        key = self.parameters().get(name)
        if key is None:
            return None
        if not inner:
            return (name,), key
        inside = key.kind.inside(inner) if isinstance(key.kind, Nested) else None
        return None if inside is None else ((name, *inside[0]), inside[1])

    def paths(self) -> tuple[str, ...]:
        paths = ["kind"]
        for name, key in self.parameters().items():
            if isinstance(key.kind, Nested):
                paths.extend(f"{name}.{inner}" for inner in key.kind.paths())
            else:
                paths.append(name)
        return tuple(paths)

    def find(self, name: str, kinds: tuple[str, ...]) -> Key:
        """The key `name` of one of `kinds`; raises Refused with the nearest name."""
        for kind in kinds:
            for key in self.kinds[kind]:
                if key.name == name:
                    return key
        known = [key.name for kind in kinds for key in self.kinds[kind]]
        of = f'{self.noun} "{kinds[0]}"' if len(kinds) == 1 else f"any of its {self.noun}s"
        hint = did_you_mean(name, known) or (None if known else "It has no parameters.")
        raise Refused(f"is not a parameter of {of}", hint=hint)

    def complete(self, kind: str, table: Mapping[str, object]) -> dict[str, object]:
        """The parameters of `kind`: those of the table, and defaults for the rest."""
        values: dict[str, object] = {}
        for key in self.kinds[kind]:
            value = table.get(key.name, key.default)
            if isinstance(key.kind, Tagged):
                value = key.kind.completed(value)
            values[key.name] = value
        return values

    def completed(self, value: object) -> dict[str, object]:
        """A table of this kind with its kind and all of that kind's parameters."""
        table = dict(value) if isinstance(value, Mapping) else {}
        kind = str(table.pop("kind", self.default_kind))
        return {"kind": kind, **self.complete(kind, table)}

    def expected(self) -> str:
        return f"a table with the {self.noun}'s kind and its parameters"

    def schema(self) -> dict[str, Any]:
        variants = []
        for kind, keys in self.kinds.items():
            properties: dict[str, object] = {
                "kind": {"const": kind, "description": self.descriptions.get(kind, "")}
            }
            properties.update({key.name: key.schema() for key in keys})
            variants.append(
                {"type": "object", "properties": properties, "additionalProperties": False}
            )
        # If the kind is a factor, the table has keys of all of its levels and no kind.
        every = {key.name: key.schema() for keys in self.kinds.values() for key in keys}
        variants.append({"type": "object", "properties": every, "additionalProperties": False})
        return {
            "type": "object",
            "properties": {"kind": {"enum": list(self.kinds), "default": self.default_kind}},
            "anyOf": variants,
        }
