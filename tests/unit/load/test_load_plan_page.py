"""The pages on plans name every key of the schema, each with the default that it has."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PAGE = "".join((REFERENCE / name).read_text("utf-8") for name in ("load-plan.md", "tpcc.md"))
SCHEMA: dict[str, Any] = json.loads(
    (resources.files("contend.load") / "plan.schema.json").read_text(encoding="utf-8")
)
DEFAULTS = {
    match["key"]: json.loads(match["default"])
    for match in re.finditer(r"^\| `(?P<key>\w+)` \| (?P<default>[^|]*) \| [^|]* \|$", PAGE, re.M)
    if match["default"].strip()
}


def properties() -> dict[str, Any]:
    """Every key of a plan with its schema. Keys of one name have one meaning."""
    found: dict[str, Any] = {}

    def walk(node: object) -> None:
        if isinstance(node, dict):
            for name, schema in node.get("properties", {}).items():
                # What an arm says otherwise has no default of its own.
                if "default" not in found.get(name, {}):
                    found[name] = schema
            for below in node.values():
                walk(below)
        elif isinstance(node, list):
            for below in node:
                walk(below)

    walk(SCHEMA)
    return found


def test_every_key_and_kind_is_named() -> None:
    missing = [name for name in properties() if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE]
    assert missing == []
    kinds = [
        variant["properties"]["kind"]["const"] for variant in SCHEMA["$defs"]["Workload"]["oneOf"]
    ]
    assert len(kinds) == 20
    assert [kind for kind in kinds if f"| `{kind}` |" not in PAGE] == []


@pytest.mark.parametrize("key", DEFAULTS)
def test_defaults_are_those_of_the_schema(key: str) -> None:
    assert properties()[key]["default"] == DEFAULTS[key]
