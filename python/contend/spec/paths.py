"""Paths of an experiment: `load.connections`, `server.options.key_buffer_size`, `workload.points`.

A path names one value of the file. Factors, `--set` and the variants use the same paths, and all
of them are resolved here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contend.errors import did_you_mean
from contend.settings import SETTINGS
from contend.settings.model import Setting
from contend.settings.tables import Nested, can_vary
from contend.settings.values import Key, Refused
from contend.spec.keys import PLAIN_TABLES

SCRIPT_OPTIONS_PREFIX = "workload.options."


@dataclass(frozen=True, slots=True)
class PathTarget:
    """Where a path leads: its spelling, the keys from the top of the file, what it holds.

    `setting` is whose value it is, or is part of; None if it is none of a cell.
    """

    path: str
    steps: tuple[str, ...]
    key: Key
    setting: Setting | None

    @property
    def can_vary(self) -> bool:
        return self.setting is not None and can_vary(self.key)

    def put(self, values: Mapping[str, Any], level: object) -> Any:
        """The setting's value with the level in it."""
        setting = self.setting
        assert setting is not None
        value, inner = self.key.kind.read(level), self.steps[len(setting.steps) :]
        if not inner:
            return value
        assert isinstance(setting.key.kind, Nested)
        return setting.key.kind.put(values[setting.path], inner, value)


def resolve(path: str) -> PathTarget:
    """Where `path` leads; raises Refused with the nearest known path."""
    for setting in SETTINGS:
        if path == setting.path:
            return PathTarget(path, setting.steps, setting.key, setting)
        kind = setting.key.kind
        if path.startswith(f"{setting.path}.") and isinstance(kind, Nested):
            inside = kind.inside(path.removeprefix(f"{setting.path}."))
            if inside is not None:
                steps = (*setting.steps, *inside[0])
                return PathTarget(".".join(steps), steps, inside[1], setting)
    section, _, name = path.partition(".")
    for key in PLAIN_TABLES.get(section, ()):
        if key.name == name:
            return PathTarget(path, (section, name), key, None)
    raise Refused(
        f'"{path}" names nothing in an experiment', hint=did_you_mean(path, known_paths())
    )


def known_paths() -> tuple[str, ...]:
    """Every path but those of names that are free, which only the server or the script knows."""
    paths = [f"{section}.{key.name}" for section, keys in PLAIN_TABLES.items() for key in keys]
    for setting in SETTINGS:
        kind = setting.key.kind
        if isinstance(kind, Nested):
            paths.extend(f"{setting.path}.{inner}" for inner in kind.paths())
        else:
            paths.append(setting.path)
    return tuple(paths)


def factor_paths() -> tuple[str, ...]:
    """The known paths that can be factors."""
    return tuple(path for path in known_paths() if resolve(path).can_vary)
