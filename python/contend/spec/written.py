"""Writing an experiment file: tables of plain values as TOML, which the reader takes back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

Tables = Mapping[str, Mapping[str, object]]
"""The header of each table, and its keys. What is None is left out."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_GROUPED_FROM = 10_000


def written(tables: Tables) -> str:
    """The text of a file with these tables, in their order."""
    blocks = []
    for header, table in tables.items():
        lines = [f"{_key(name)} = {_value(v)}" for name, v in table.items() if v is not None]
        blocks.append("\n".join([f"[{header}]", *lines]) + "\n")
    return "\n".join(blocks)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:_}" if value >= _GROUPED_FROM else str(value)
        case float():
            return repr(value)
        case str():
            return _lines(value) if "\n" in value else _text(value)
        case Mapping():
            inner = ", ".join(f"{_key(str(name))} = {_value(one)}" for name, one in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case Sequence():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no value of an experiment file: {value!r}")


def _text(value: str) -> str:
    # JSON escapes as TOML does, and leaves one character that TOML does not take.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(value: str) -> str:
    """As it stands, over several lines; escaped if it has what such a text cannot hold."""
    if "'''" in value or value.endswith("'") or not value.replace("\n", "").isprintable():
        return _text(value)
    return f"'''\n{value}'''"
