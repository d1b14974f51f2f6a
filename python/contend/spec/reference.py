"""The keys of an experiment file as Markdown tables, from the same tables that the reader uses."""

from __future__ import annotations

from collections.abc import Iterable

from contend.settings.tables import Named, Table, Tables, Tagged
from contend.settings.values import Duration, Key
from contend.spec.keys import FIXED, MEANINGS, settings_by_section
from contend.units import format_duration


def key_tables() -> str:
    """One heading and table for each table of a file that has keys of its own."""
    sections = settings_by_section()
    alone = [setting.key for setting in sections.pop("", ())]
    parts = [_section("experiment", FIXED["experiment"])]
    for section, settings in sections.items():
        if section == "load":
            parts += [_nested(key.name, key) for key in alone]
        parts.append(_section(section, tuple(setting.key for setting in settings)))
    parts.append(_section("compare", FIXED["compare"]))
    return "\n".join(parts)


def _section(section: str, keys: tuple[Key, ...]) -> str:
    """A table of the file, and the tables in it."""
    own = [key for key in keys if not isinstance(key.kind, Tagged | Table | Named)]
    parts = [_heading(section, MEANINGS[section]) + _table(own)]
    parts += [_nested(f"{section}.{key.name}", key) for key in keys if key not in own]
    return "\n".join(filter(None, parts))


def _nested(path: str, key: Key) -> str:
    """A key that is a table; whose names are free is described by hand."""
    heading = _heading(path, key.means)
    match key.kind:
        case Tagged():
            keys = tuple(key.kind.parameters().values())
            parts = [heading + _kinds(key.kind), _table(keys)]
            parts += [_nested(f"{path}.{one.name}", one) for one in keys]
            return "\n".join(filter(None, parts))
        case Table() | Tables():
            return heading + _table(key.kind.keys)
        case _:
            return ""


def _heading(path: str, meaning: str) -> str:
    return f"### `[{path}]`\n\n{meaning[:1].upper()}{meaning[1:]}.\n\n"


def _table(keys: Iterable[Key]) -> str:
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
    return key.kind.words()


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
    if isinstance(key.default, bool):
        return "`true`" if key.default else "`false`"
    return f"`{key.default}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
