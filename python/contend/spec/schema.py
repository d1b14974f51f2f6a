"""The JSON Schema of an experiment file, from the same tables that the reader uses."""

from __future__ import annotations

from contend.spec.keys import MEANINGS, OPTION_NAME, SECTIONS, VARIANTS
from contend.spec.paths import factor_paths, known_paths, resolve
from contend.spec.values import AnyLevel, ValueKind
from contend.spec.workloads import WORKLOAD

_OPTION_PATH = rf"^(server|workload)\.options\.{OPTION_NAME}$"


def json_schema() -> dict[str, object]:
    """Draft 2020-12. Editors with TOML support complete and check experiment files with it."""
    properties: dict[str, object] = {
        section: _table(section, {key.name: key.schema() for key in keys})
        for section, keys in SECTIONS.items()
    }
    options = {"type": "object", "description": MEANINGS["server.options"]}
    _properties(properties, "server")["options"] = {
        **options,
        "patternProperties": {f"^{OPTION_NAME}$": AnyLevel().schema()},
        "additionalProperties": False,
    }
    _properties(properties, "compare")["baseline"] = {
        **_by_path("compare.baseline", factor_paths(), lists=False, scalars=True),
        "maxProperties": 1,
    }
    properties["workload"] = {"description": MEANINGS["workload"], **WORKLOAD.schema()}
    properties["factors"] = _by_path("factors", factor_paths(), lists=True, scalars=False)
    properties["published"] = _published()
    for variant in VARIANTS:
        properties[variant] = _by_path(variant, known_paths(), lists=True, scalars=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "contend experiment",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _table(section: str, properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "description": MEANINGS[section],
        "properties": properties,
        "additionalProperties": False,
    }


def _properties(tables: dict[str, object], section: str) -> dict[str, object]:
    table = tables[section]
    assert isinstance(table, dict)
    properties = table["properties"]
    assert isinstance(properties, dict)
    return properties


def _by_path(
    section: str, paths: tuple[str, ...], *, lists: bool, scalars: bool
) -> dict[str, object]:
    """A table whose keys are paths: to a value, to a list of levels, or to either."""

    def entry(value: ValueKind, level: ValueKind) -> dict[str, object]:
        items = level.schema()
        levels = {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}
        if lists and scalars:
            return {"anyOf": [value.schema(), levels]}
        return levels if lists else items

    return {
        "type": "object",
        "description": MEANINGS[section],
        "properties": {
            path: {"description": key.means, **entry(key.kind, key.level)}
            for path, key in ((path, resolve(path).key) for path in paths)
        },
        "patternProperties": {_OPTION_PATH: entry(AnyLevel(), AnyLevel())},
        "additionalProperties": False,
    }


def _published() -> dict[str, object]:
    level = AnyLevel().schema()
    row = {
        "type": "object",
        "properties": {
            "cell": {
                "type": "object",
                "description": "the levels that the row belongs to",
                "additionalProperties": level,
            },
            "gain_percent": {
                "type": "array",
                "description": "gain over the baseline in percent, one number a column",
                "items": {"type": "number"},
            },
        },
        "required": ["cell", "gain_percent"],
        "additionalProperties": False,
    }
    machine = {
        "type": "object",
        "properties": {
            "machine": {"type": "string", "description": "the machine they were measured on"},
            "source": {"type": "string", "description": "where they were published"},
            "columns": {
                "type": "object",
                "description": "the path that the columns vary, and its levels",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": {"type": "array", "items": level, "minItems": 1},
            },
            "rows": {"type": "array", "items": row},
        },
        "required": ["columns"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": MEANINGS["published"],
        "additionalProperties": machine,
    }
