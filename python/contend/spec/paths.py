"""Paths of an experiment: `load.connections`, `server.options.key_buffer_size`, `workload.points`.

A path names one value of the file. Factors, `--set` and the variants use the same paths, and all
of them are resolved here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from contend.spec.errors import did_you_mean
from contend.spec.keys import OPTION_NAME, SECTIONS
from contend.spec.values import AnyLevel, Key, Options, Refused, Tagged, Texts
from contend.spec.workloads import WORKLOAD

OPTIONS_PREFIX = "server.options."
SCRIPT_OPTIONS_PREFIX = "workload.options."
_VARYING_SECTIONS = ("server", "data", "load")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path leads: its spelling, the keys from the top of the file, what it holds."""

    path: str
    steps: tuple[str, ...]
    key: Key
    can_vary: bool


def option_name(name: str) -> str:
    """Options are one name whether written with dashes or underscores."""
    return name.replace("-", "_")


def resolve(path: str) -> Target:
    """Where `path` leads; raises Refused with the nearest known path."""
    if path.startswith(OPTIONS_PREFIX):
        return _resolve_option(path, OPTIONS_PREFIX, "a server option")
    if path.startswith(SCRIPT_OPTIONS_PREFIX):
        return _resolve_option(path, SCRIPT_OPTIONS_PREFIX, "a script's option")
    section, _, rest = path.partition(".")
    if section == "workload" and rest:
        target = _resolve_workload(rest)
        if target is not None:
            return target
    for key in SECTIONS.get(section, ()):
        if key.name == rest:
            can_vary = section in _VARYING_SECTIONS
            return Target(path, (section, rest), key, can_vary)
    raise Refused(
        f'"{path}" names nothing in an experiment', hint=did_you_mean(path, known_paths())
    )


def known_paths() -> tuple[str, ...]:
    """Every path but those of options, which only the server or the script knows."""
    paths = [f"{section}.{key.name}" for section, keys in SECTIONS.items() for key in keys]
    paths.append("workload.kind")
    for name, key in _parameters(WORKLOAD).items():
        if isinstance(key.kind, Tagged):
            paths.append(f"workload.{name}.kind")
            paths.extend(f"workload.{name}.{inner}" for inner in _parameters(key.kind))
        elif not isinstance(key.kind, Options):
            paths.append(f"workload.{name}")
    return tuple(paths)


def factor_paths() -> tuple[str, ...]:
    """The known paths that can be factors."""
    return tuple(path for path in known_paths() if resolve(path).can_vary)


def _resolve_option(path: str, prefix: str, what: str) -> Target:
    name = path.removeprefix(prefix)
    if re.fullmatch(OPTION_NAME, name) is None:
        raise Refused(f'"{name}" is not the name of {what}')
    name = option_name(name)
    section = prefix.partition(".")[0]
    key = Key(name, AnyLevel(), None, f"the {section}'s option {name}")
    return Target(prefix + name, (section, "options", name), key, True)


def _resolve_workload(rest: str) -> Target | None:
    path = f"workload.{rest}"
    if rest == "kind":
        return Target(path, ("workload", "kind"), _kind_key(WORKLOAD), True)
    name, _, inner = rest.partition(".")
    key = _parameters(WORKLOAD).get(name)
    if key is None:
        return None
    if isinstance(key.kind, Options):
        return None
    if not isinstance(key.kind, Tagged):
        # A list of lists would be a list of levels.
        can_vary = not isinstance(key.kind, Texts)
        return None if inner else Target(path, ("workload", name), key, can_vary)
    if inner == "kind":
        return Target(path, ("workload", name, "kind"), _kind_key(key.kind), True)
    inner_key = _parameters(key.kind).get(inner)
    if inner_key is None:
        return None
    return Target(path, ("workload", name, inner), inner_key, True)


def _parameters(tagged: Tagged) -> dict[str, Key]:
    """Every parameter of every kind. One name means the same in all kinds that have it."""
    return {key.name: key for keys in tagged.kinds.values() for key in keys}


def _kind_key(tagged: Tagged) -> Key:
    return Key("kind", tagged.kind_choice(), tagged.default_kind, f"which {tagged.noun}")
