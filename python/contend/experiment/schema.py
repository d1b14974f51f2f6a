"""The keys of an experiment file for other readers: a JSON Schema for editors and the Markdown
tables of the reference, both generated from the tables that the reader uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contend.experiment.for_report import WORDS
from contend.experiment.keys import (
    MEANINGS,
    PLAIN_TABLES,
    VARIANTS,
    factor_paths,
    known_paths,
    resolve,
    settings_by_section,
)
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.tables import Named, Tagged, TomlTable, TomlTables
from contend.experiment.settings.values import AnyLevel, Duration, Key, ValueKind
from contend.metrics import THROUGHPUT
from contend.units import format_duration


def json_schema() -> dict[str, object]:
    """Draft 2020-12. Editors with TOML support complete and check experiment files with it."""
    properties: dict[str, object] = {
        section: _object(MEANINGS[section], {key.name: key.schema() for key in keys})
        for section, keys in PLAIN_TABLES.items()
    }
    for section, settings in settings_by_section().items():
        keys: dict[str, object] = {setting.key.name: setting.key.schema() for setting in settings}
        inside = _make_tables(properties, section)
        inside.update(keys)
    _properties(properties, "compare")["baseline"] = {
        **_by_path("compare.baseline", factor_paths(), lists=False, scalars=True),
        "maxProperties": 1,
    }
    properties["factors"] = _by_path("factors", factor_paths(), lists=True, scalars=False)
    properties["words"] = _words()
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


def _make_tables(properties: dict[str, object], section: str) -> dict[str, object]:
    """The properties of a table; creates it and its parents if missing."""
    path = ""
    for name in filter(None, section.split(".")):
        path = f"{path}.{name}".lstrip(".")
        properties.setdefault(name, _object(MEANINGS[path], {}))
        properties = _properties(properties, name)
    return properties


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

    properties = {
        path: {"description": key.means, **entry(key.kind, key.level)}
        for path, key in ((path, resolve(path).key) for path in paths)
    }
    patterns = {
        f"^{path.replace('.', chr(92) + '.')}[.]{named.pattern}$": entry(each, each)
        for path, named in _free_names()
        for each in (named.each or AnyLevel(),)
    }
    return _object(MEANINGS[section], properties, patternProperties=patterns)


def _free_names() -> list[tuple[str, Named]]:
    """Tables with free names, by path."""
    keys: list[tuple[str, Key]] = []
    for setting in SETTINGS:
        keys.append((setting.path, setting.key))
        if isinstance(setting.key.kind, Tagged):
            inner = setting.key.kind.parameters().items()
            keys += [(f"{setting.path}.{name}", key) for name, key in inner]
    return [(path, key.kind) for path, key in keys if isinstance(key.kind, Named)]


def _object(
    description: str, properties: Mapping[str, object], **more: object
) -> dict[str, object]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": False,
        **more,
    }


def _any_key(section: str, each: Mapping[str, object], **more: object) -> dict[str, object]:
    """A table with free keys."""
    return {"type": "object", "description": section, "additionalProperties": each, **more}


def _text(means: str, **more: object) -> dict[str, object]:
    return {"type": "string", "description": means, **more}


def _list_of(items: object, means: str = "", **more: object) -> dict[str, object]:
    return {"type": "array", "items": items, **({"description": means} if means else {}), **more}


def _words() -> dict[str, object]:
    text = {"type": "string"}
    keys = {
        "change": _text(WORDS["change"]),
        "levels": _any_key(WORDS["levels"], text),
        "plural": _list_of(text, WORDS["plural"]),
    }
    return _any_key(MEANINGS["words"], _object("the levels of one factor", keys))


def _published() -> dict[str, object]:
    level = AnyLevel().schema()
    row = _object(
        "published figures of one cell",
        {
            "cell": _any_key("the levels that the row belongs to", level),
            "gain_percent": _list_of(
                {"type": "number"}, "gain over the baseline in percent, one number per column"
            ),
            "figures": _list_of(
                {"type": "number", "exclusiveMinimum": 0}, "the figures themselves, one per column"
            ),
        },
        required=["cell"],
        oneOf=[{"required": ["gain_percent"]}, {"required": ["figures"]}],
    )
    columns = "the path that varies over the columns, and its levels"
    machine = _object(
        "figures of one machine",
        {
            "machine": _text("the machine they were measured on"),
            "source": _text("where they were published"),
            "metric": _text("the metric of the rows", default=THROUGHPUT),
            "columns": _any_key(
                columns, _list_of(level, minItems=1), minProperties=1, maxProperties=1
            ),
            "rows": _list_of(row),
        },
        required=["columns"],
    )
    return _any_key(MEANINGS["published"], machine)


def key_tables() -> str:
    """One heading and table for each table of a file that has its own keys."""
    sections = settings_by_section()
    alone = [setting.key for setting in sections.pop("", ())]
    parts = [_section("experiment", PLAIN_TABLES["experiment"])]
    for section, settings in sections.items():
        if section == "load":
            parts += filter(None, (_nested(key.name, key) for key in alone))
        parts.append(_section(section, tuple(setting.key for setting in settings)))
    parts += [_section(name, PLAIN_TABLES[name]) for name in ("compare", "goal", "predict")]
    return "\n".join(parts)


def _section(section: str, keys: tuple[Key, ...]) -> str:
    """A table of the file, and the tables in it."""
    own = [key for key in keys if not isinstance(key.kind, Tagged | TomlTable | Named)]
    parts = [_heading(section, MEANINGS[section]) + _key_table(own)]
    parts += [_nested(f"{section}.{key.name}", key) for key in keys if key not in own]
    return "\n".join(filter(None, parts))


def _nested(path: str, key: Key) -> str:
    """A key that is a table; tables with free names are described by hand."""
    heading = _heading(path, key.means)
    match key.kind:
        case Tagged():
            keys = tuple(key.kind.parameters().values())
            parts = [heading + _kinds(key.kind), _key_table(keys)]
            parts += [_nested(f"{path}.{key.name}", key) for key in keys]
            return "\n".join(filter(None, parts))
        case TomlTable() | TomlTables():
            return heading + _key_table(key.kind.keys)
        case _:
            return ""


def _heading(path: str, meaning: str) -> str:
    return f"### `[{path}]`\n\n{meaning[:1].upper()}{meaning[1:]}.\n\n"


def _key_table(keys: Iterable[Key]) -> str:
    rows = [
        f"| `{key.name}` | {_escape(_kind(key))} | {_default(key)} | {_escape(key.means)} |"
        for key in keys
    ]
    return "\n".join(["| Key | Value | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _kinds(tagged: Tagged) -> str:
    rows = []
    for kind, keys in tagged.kinds.items():
        names = ", ".join(f"`{key.name}`" for key in keys) or "none"
        default = " (default)" if kind == tagged.default_kind else ""
        rows.append(f"| `{kind}`{default} | {_escape(tagged.descriptions[kind])} | {names} |")
    return "\n".join(["| `kind` | What it is | Its keys |", "|---|---|---|", *rows]) + "\n"


def _kind(key: Key) -> str:
    return key.kind.expected()


def _default(key: Key) -> str:
    if key.default is None or key.default == {}:
        return ""
    if isinstance(key.kind, Duration) and isinstance(key.default, float):
        return f'`"{format_duration(key.default).replace(" ", "")}"`'
    if isinstance(key.default, dict):
        inner = ", ".join(f'{name} = "{value}"' for name, value in key.default.items())
        return f"`{{ {inner} }}`"
    if isinstance(key.default, str):
        return f'`"{key.default}"`'
    if isinstance(key.default, tuple):
        return ", ".join(f'`"{name}"`' for name in key.default)
    if isinstance(key.default, bool):
        return "`true`" if key.default else "`false`"
    return f"`{key.default}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
