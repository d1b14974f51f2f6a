"""The table of workloads is that of the load generator, parameter by parameter."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest

from contend.spec.values import Choice, Flag, Key, Options, Real, Tagged, Text, Whole
from contend.spec.workloads import DISTRIBUTION, SUPPLIED, WORKLOAD

PLAN: dict[str, Any] = json.loads(
    (resources.files("contend.load") / "plan.schema.json").read_text(encoding="utf-8")
)
TYPES: dict[type, str] = {
    Whole: "integer",
    Real: "number",
    Choice: "string",
    Text: "string",
    Options: "object",
    Flag: "boolean",
}


def variants(definition: str) -> dict[str, dict[str, Any]]:
    """Kind -> its properties but `kind`, as the program's schema states them."""
    found = {}
    for variant in PLAN["$defs"][definition]["oneOf"]:
        properties = dict(variant["properties"])
        found[properties.pop("kind")["const"]] = properties
    return found


@pytest.mark.parametrize(
    ("ours", "definition", "supplied"),
    [(WORKLOAD, "Workload", SUPPLIED), (DISTRIBUTION, "Distribution", frozenset())],
)
def test_kinds_and_parameters_are_those_of_the_plan(
    ours: Tagged, definition: str, supplied: frozenset[str]
) -> None:
    theirs = variants(definition)
    assert set(ours.kinds) == set(theirs)
    for kind, keys in ours.kinds.items():
        names = {key.name for key in keys}
        assert names == set(theirs[kind]) - supplied, kind
        for key in keys:
            check(key, theirs[kind][key.name])


def check(key: Key, theirs: dict[str, Any]) -> None:
    if isinstance(key.kind, Tagged):
        assert theirs["$ref"] == f"#/$defs/{key.name.capitalize()}"
        assert theirs["default"] == key.default
        return
    assert theirs["type"] == TYPES[type(key.kind)]
    assert theirs.get("default") == key.default
    assert key.required == ("default" not in theirs)
    if isinstance(key.kind, Whole):
        bits = re.fullmatch(r"uint(\d+)", theirs["format"])
        assert bits is not None
        assert key.kind.most < 2 ** int(bits.group(1))


def test_every_kind_is_described() -> None:
    for tagged in (WORKLOAD, DISTRIBUTION):
        assert set(tagged.descriptions) == set(tagged.kinds)


def test_one_name_means_one_thing_in_all_kinds() -> None:
    """Paths such as `workload.points` are resolved without knowing the kind."""
    seen: dict[str, Key] = {}
    for keys in WORKLOAD.kinds.values():
        for key in keys:
            assert seen.setdefault(key.name, key).kind == key.kind
