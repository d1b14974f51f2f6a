"""The JSON Schema of an experiment file, from the same tables that the reader uses."""

from __future__ import annotations

from contend.settings.registry import SETTINGS
from contend.settings.tables import Named, Tagged
from contend.settings.values import AnyLevel, Key, ValueKind
from contend.spec.keys import FIXED, MEANINGS, VARIANTS, settings_by_section
from contend.spec.paths import factor_paths, known_paths, resolve


def json_schema() -> dict[str, object]:
    """Draft 2020-12. Editors with TOML support complete and check experiment files with it."""
    properties: dict[str, object] = {
        section: _table(section, {key.name: key.schema() for key in keys})
        for section, keys in FIXED.items()
    }
    for section, settings in settings_by_section().items():
        keys: dict[str, object] = {one.key.name: one.key.schema() for one in settings}
        properties.update({section: _table(section, keys)} if section else keys)
    _properties(properties, "compare")["baseline"] = {
        **_by_path("compare.baseline", factor_paths(), lists=False, scalars=True),
        "maxProperties": 1,
    }
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
        "patternProperties": {
            f"^{path.replace('.', chr(92) + '.')}[.]{named.pattern}$": entry(each, each)
            for path, named in _free_names()
            for each in (named.each or AnyLevel(),)
        },
        "additionalProperties": False,
    }


def _free_names() -> list[tuple[str, Named]]:
    """Tables whose names are free, by path."""
    found: list[tuple[str, Key]] = []
    for setting in SETTINGS:
        found.append((setting.path, setting.key))
        if isinstance(setting.key.kind, Tagged):
            inner = setting.key.kind.parameters().items()
            found += [(f"{setting.path}.{name}", key) for name, key in inner]
    return [(path, key.kind) for path, key in found if isinstance(key.kind, Named)]


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
