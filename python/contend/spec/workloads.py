"""Which workloads there are, and what each can be told.

The load generator says so itself, in the schema of its plans: kinds, keys, meanings, defaults and
ranges are read from the copy that is shipped with this package, so that a file can be checked, and
an editor complete it, without starting a program. `rows`, `table` and `tables` are left out: they
follow from `[data]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from contend.spec.values import (
    Flag,
    Key,
    Options,
    Real,
    Tagged,
    Text,
    Texts,
    ValueKind,
    Whole,
)

SCRIPT = "lua"
"""The kind of workload that is a sysbench script."""

SUPPLIED = frozenset({"rows", "table", "tables"})
"""Parameters of the plan that the lab fills in from the dataset."""

_SCRIPT_KEYS = (
    Key(
        "script",
        Text(r"[^\x00-\x1f]+", "a bundled script's name, or the path of a file"),
        None,
        "a bundled script by name, or a file: its path, from the folder of this file, has "
        "a slash or ends in .lua",
        required=True,
    ),
    Key("options", Options(), {}, "options of the script"),
)
"""Of a script, whose options the lab checks itself."""


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of plans, as `contend-load schema plan` prints it."""
    # By the folder: that package imports this one.
    file = resources.files("contend") / "load" / "plan.schema.json"
    text = file.read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def tagged(schema: Mapping[str, Any], name: str, noun: str, default_kind: str) -> Tagged:
    """The kinds that a definition of the schema has as its variants."""
    kinds, descriptions = {}, {}
    for variant in schema["$defs"][name]["oneOf"]:
        properties = dict(variant["properties"])
        kind = properties.pop("kind")["const"]
        descriptions[kind] = _sentence(variant["description"])
        kinds[kind] = (
            _SCRIPT_KEYS
            if kind == SCRIPT
            else tuple(
                _key(schema, key, told) for key, told in properties.items() if key not in SUPPLIED
            )
        )
    return Tagged(noun=noun, kinds=kinds, default_kind=default_kind, descriptions=descriptions)


def writes(schema: Mapping[str, Any]) -> dict[str, bool | None]:
    """For each kind whether its events leave other rows than they found; None if it depends."""
    variants = schema["$defs"]["Workload"]["oneOf"]
    return {one["properties"]["kind"]["const"]: one["x-writes"] for one in variants}


def _key(schema: Mapping[str, Any], name: str, told: Mapping[str, Any]) -> Key:
    return Key(
        name,
        _value(schema, told),
        told.get("default"),
        _sentence(told["description"]),
        required="default" not in told,
    )


def _value(schema: Mapping[str, Any], told: Mapping[str, Any]) -> ValueKind:
    if "$ref" in told:
        return tagged(schema, told["$ref"].rpartition("/")[2], "distribution", "uniform")
    types = told["type"] if isinstance(told["type"], list) else [told["type"]]
    match next(one for one in types if one != "null"):
        case "integer":
            return Whole(told.get("minimum", 0), told.get("maximum", 2**63 - 1))
        case "number":
            return Real(told["exclusiveMinimum"], told["exclusiveMaximum"])
        case "boolean":
            return Flag()
        case "array":
            return Texts()
        case _:
            return Text()


def _sentence(description: str) -> str:
    """As it stands in tables: on one line, a phrase."""
    text = " ".join(description.split()).removesuffix(".")
    if text.count("`") == 2 and text.startswith("`") and text.endswith("`"):
        return text[1:-1]
    # Words of SQL, and names, keep their capitals.
    first = text.partition(" ")[0]
    return text if any(letter.isupper() for letter in first[1:]) else text[:1].lower() + text[1:]


_SCHEMA = plan_schema()

DISTRIBUTION = tagged(_SCHEMA, "Distribution", "distribution", "uniform")
WORKLOAD = tagged(_SCHEMA, "Workload", "workload", "point_select")
WRITES = writes(_SCHEMA)

STATEMENTS = frozenset(
    variant["properties"]["kind"]["const"]
    for variant in _SCHEMA["$defs"]["Workload"]["oneOf"]
    if not SUPPLIED & variant["properties"].keys()
)
"""The kinds of workload that are the user's own statements; their tables are named in them."""
