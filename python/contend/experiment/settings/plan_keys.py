"""The keys of contend-load for a workload and for the load.

They come from the schema of its plans: kinds, keys, meanings, defaults and ranges are read from the
copy that is shipped with this package. So a file can be checked, and an editor complete it, without
starting a program. Parameters that follow from `[data]` are left out of a workload.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from contend.experiment.settings.schemas import SCHEMAS
from contend.experiment.settings.tables import Named, Tagged, TomlTable, TomlTables
from contend.experiment.settings.values import (
    Bounded,
    Choice,
    Duration,
    Flag,
    Key,
    Real,
    Several,
    Text,
    Texts,
    ValueKind,
    WholeNumber,
)

SCRIPT = "lua"
"""The kind of workload that is a sysbench script."""

TWINS = "twins"
"""The kind of workload that asks each statement of a recording on all levels in turn. It has a plan
and an outcome of its own."""

RECORDED = "recorded"
"""The kind of workload that is the transactions of a recording."""

HANDLER_SOCKET = "handler_socket"
"""The protocol of MariaDB's plugin of that name, which queries rows by key."""

SCHEMA_OF = {schema.kind: schema.name for schema in SCHEMAS.values() if schema.kind is not None}
"""The kinds of workload that query the tables of one schema other than sbtest."""

SUPPLIED = frozenset({"table", *(key for schema in SCHEMAS.values() for key in schema.supplied)})
"""Parameters of the plan that the lab fills in from the dataset."""

OPTION_NAME = r"[A-Za-z][A-Za-z0-9_.-]*"

_SCRIPT_KEYS = (
    Key(
        "script",
        Text(r"[^\x00-\x1f]+", "a bundled script's name, or the path of a file"),
        None,
        "a bundled script's name, or a file's path from the folder of this file, with a slash or "
        "ending in .lua",
        required=True,
    ),
    Key(
        "options",
        Named("option", "a script's option", OPTION_NAME, each=None),
        {},
        "options of the script",
    ),
)
"""For a script, whose options the lab checks itself."""


def load_schema(name: str = "plan") -> dict[str, Any]:
    """A JSON Schema of contend-load, as `contend-load schema NAME` prints it."""
    # By folder: importing that package here would be circular.
    file = resources.files("contend") / "load" / f"{name}.schema.json"
    text = file.read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def tagged(schema: Mapping[str, Any], name: str, default_kind: str) -> Tagged:
    """The kinds that a definition of the schema has as its variants."""
    kinds, descriptions = {}, {}
    for variant in schema["$defs"][name]["oneOf"]:
        properties = dict(variant["properties"])
        kind = properties.pop("kind")["const"]
        descriptions[kind] = sentence(variant["description"])
        required = frozenset(variant["required"])
        kinds[kind] = (
            _SCRIPT_KEYS
            if kind == SCRIPT
            else tuple(
                _RECORDING if key == _RECORDING.name else _key(schema, key, value, required)
                for key, value in properties.items()
                if key not in SUPPLIED
            )
        )
    return Tagged(
        noun=name.lower(), kinds=kinds, default_kind=default_kind, descriptions=descriptions
    )


def load_keys(schema: Mapping[str, Any]) -> tuple[Key, ...]:
    """The keys of the plan's `load`."""
    load = schema["$defs"]["Load"]
    required = frozenset(load["required"])
    return tuple(_key(schema, name, value, required) for name, value in load["properties"].items())


def writes(schema: Mapping[str, Any]) -> dict[str, bool | None]:
    """For each kind whether its events change the rows; None if it depends."""
    variants = schema["$defs"]["Workload"]["oneOf"]
    return {variant["properties"]["kind"]["const"]: variant["x-writes"] for variant in variants}


def metrics(schema: Mapping[str, Any]) -> dict[str, str]:
    """For each kind its default metric for comparisons."""
    variants = schema["$defs"]["Workload"]["oneOf"]
    return {variant["properties"]["kind"]["const"]: variant["x-metric"] for variant in variants}


def _key(
    schema: Mapping[str, Any], name: str, value: Mapping[str, Any], required: frozenset[str]
) -> Key:
    # A plan has the unit in the name, a file in the value.
    is_duration = name.endswith("_s")
    return Key(
        name.removesuffix("_s"),
        Duration(zero_allowed=True) if is_duration else value_kind(schema, value),
        _default(value.get("default")),
        sentence(value.get("description", "")),
        required=name in required,
    )


def _default(default: Any) -> Any:
    """A plan's default in the form of a file."""
    if isinstance(default, Mapping):
        return {name.removesuffix("_s"): _default(value) for name, value in default.items()}
    return default


def value_kind(schema: Mapping[str, Any], value: Mapping[str, Any]) -> ValueKind:
    """The kind of a value, from its schema."""
    if "oneOf" in value:
        return Choice(tuple(name for variant in value["oneOf"] for name in _names(variant)))
    first = value.get("anyOf", [value])[0]
    if "$ref" in first:
        return _referred(schema, first["$ref"].rpartition("/")[2], value.get("default"))
    types = value["type"] if isinstance(value["type"], list) else [value["type"]]
    match next(name for name in types if name != "null"):
        case "integer":
            return WholeNumber(value.get("minimum", 0), value.get("maximum", 2**63 - 1))
        case "number" if "exclusiveMinimum" in value:
            return Real(value["exclusiveMinimum"], value["exclusiveMaximum"])
        case "number" if "maximum" in value:
            return Bounded(value["minimum"], value["maximum"])
        case "number":
            return Real(0.0, _LARGEST)
        case "boolean":
            return Flag()
        case "array":
            return _listed(schema, value["items"])
        case "object":
            return _PERCENTS
        case _:
            return Text()


_PERCENTS = Named("event", "an event", r"[A-Za-z0-9_]+", WholeNumber(0, 100), dashes=False)
"""The only free table of a plan besides a script's options: shares of events, by name."""

_LARGEST = 1e9
"""Maximum of a rate."""


def _listed(schema: Mapping[str, Any], items: Mapping[str, Any]) -> ValueKind:
    each = value_kind(schema, items)
    if isinstance(each, TomlTable):
        return TomlTables(each.keys)
    return Several(each, "whole numbers") if isinstance(each, WholeNumber) else Texts()


def _referred(schema: Mapping[str, Any], name: str, default: object) -> ValueKind:
    definition = schema["$defs"][name]
    if "oneOf" not in definition:
        required = frozenset(definition.get("required", ()))
        return TomlTable(
            tuple(_key(schema, key, one, required) for key, one in definition["properties"].items())
        )
    variants = definition["oneOf"]
    if any("const" in variant or "enum" in variant for variant in variants):
        return Choice(tuple(name for variant in variants for name in _names(variant)))
    if all("kind" in variant["properties"] for variant in variants):
        first = default.get("kind") if isinstance(default, Mapping) else None
        return tagged(schema, name, str(first or variants[0]["properties"]["kind"]["const"]))
    return TomlTable(())  # Distinguished by a different key: the lab does not use it.


def _names(variant: Mapping[str, Any]) -> list[str]:
    return variant.get("enum") or [variant["const"]]


def sentence(description: str) -> str:
    """A description in the form used in tables: on one line, a phrase."""
    text = " ".join(description.split()).removesuffix(".")
    if text.count("`") == 2 and text.startswith("`") and text.endswith("`"):
        return text[1:-1]
    # SQL keywords and names keep their capitals.
    first = text.partition(" ")[0]
    return text if any(letter.isupper() for letter in first[1:]) else text[:1].lower() + text[1:]


_RECORDING = Key(
    "recording",
    Text(r"[A-Za-z0-9_-]+", "the name of a recording"),
    None,
    "name of the recording (`contend log list`)",
    required=True,
)
"""An experiment names a recording, whose file the plan has."""

_OF_TWINS = ("each", "templates", "limit_s", "writes", "set_timestamp")


def _twins() -> tuple[Key, ...]:
    """The keys of a plan for twins that an experiment may set."""
    schema = load_schema("ask_plan")
    keys = (_key(schema, name, schema["properties"][name], frozenset()) for name in _OF_TWINS)
    return (_RECORDING, *keys)


_SCHEMA = load_schema()

DISTRIBUTION = tagged(_SCHEMA, "Distribution", "uniform")
_KINDS = tagged(_SCHEMA, "Workload", "point_select")
WORKLOAD = replace(
    _KINDS,
    kinds={**_KINDS.kinds, TWINS: _twins()},
    descriptions={
        **_KINDS.descriptions,
        TWINS: "each statement of a recording by itself, on all levels in turn",
    },
)
LOAD = load_keys(_SCHEMA)
# Writes of twins are rolled back.
WRITES = {**writes(_SCHEMA), TWINS: False}
METRICS = {**metrics(_SCHEMA), TWINS: "recorded_statement_us"}

SUPPLIED_OF: Mapping[str, frozenset[str]] = {
    variant["properties"]["kind"]["const"]: SUPPLIED & variant["properties"].keys()
    for variant in _SCHEMA["$defs"]["Workload"]["oneOf"]
} | {TWINS: frozenset()}
"""The parameters of each kind of workload that describe the tables."""

DURATIONS_OF = {
    variant["properties"]["kind"]["const"]: frozenset(
        name.removesuffix("_s") for name in variant["properties"] if name.endswith("_s")
    )
    for variant in _SCHEMA["$defs"]["Workload"]["oneOf"]
} | {TWINS: frozenset()}
"""The parameters of each kind of workload that a plan of a load has in seconds, by their names in a
file."""

STATEMENTS = frozenset(kind for kind, supplied in SUPPLIED_OF.items() if not supplied)
"""The kinds of workload without such parameters: the user's own statements name the tables, and
those of TPC-C imply them."""
