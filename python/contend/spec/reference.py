"""The keys of an experiment file as Markdown tables, from the same tables that the reader uses."""

from __future__ import annotations

from collections.abc import Iterable

from contend.spec.keys import MEANINGS, SECTIONS
from contend.spec.values import Duration, Key, Tagged
from contend.spec.workloads import WORKLOAD
from contend.units import format_duration


def key_tables() -> str:
    """One heading and table for each table of a file that has keys of its own."""
    parts = []
    for section, keys in SECTIONS.items():
        if section == "load":
            parts.append(_workloads())
        parts.append(_heading(section) + _table(keys))
    return "\n".join(parts)


def _heading(section: str) -> str:
    meaning = MEANINGS[section]
    return f"### `[{section}]`\n\n{meaning[:1].upper()}{meaning[1:]}.\n\n"


def _table(keys: Iterable[Key]) -> str:
    rows = [
        f"| `{key.name}` | {_escape(_kind(key))} | {_default(key)} | {_escape(key.means)} |"
        for key in keys
    ]
    return "\n".join(["| Key | Value | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _workloads() -> str:
    parts = [_heading("workload") + _kinds(WORKLOAD)]
    parts.append(_table(_unique(WORKLOAD)))
    nested = {
        key.name: key.kind
        for keys in WORKLOAD.kinds.values()
        for key in keys
        if isinstance(key.kind, Tagged)
    }
    for name, tagged in nested.items():
        parts.append(f"### `[workload.{name}]`\n\n" + _kinds(tagged))
        parts.append(_table(_unique(tagged)))
    return "\n".join(parts)


def _unique(tagged: Tagged) -> Iterable[Key]:
    """Every key of every kind, each once: one name means the same in all kinds that have it."""
    return {key.name: key for keys in tagged.kinds.values() for key in keys}.values()


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
    if isinstance(key.default, tuple):
        return ", ".join(f'`"{one}"`' for one in key.default)
    if isinstance(key.default, bool):
        return "`true`" if key.default else "`false`"
    return f"`{key.default}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
