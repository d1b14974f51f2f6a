"""Checks an experiment stored in a run folder, which a user may have edited since: the types of its
dataclasses, and limits that the types do not express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contend.settings import SETTINGS
from contend.shape import WrongShape

_SHARES = ("margin", "confidence", "fail_if_slower", "until")


def require_sizes(stored: Mapping[str, Any]) -> None:
    """Refuse impossible numbers; raises WrongShape. The types are right."""
    compare = stored.get("compare") or {}
    for name in _SHARES:
        share = compare.get(name)
        if share is not None and not 0 < share < 1:
            raise WrongShape("between 0 and 1", share, ["compare", name])
    if not 0 < compare.get("repeats", 1) <= 1_000_000:
        raise WrongShape("between 1 and a million", compare["repeats"], ["compare", "repeats"])
    for index, factor in enumerate(stored.get("factors") or ()):
        if not factor["levels"]:
            raise WrongShape("a level or more", factor["levels"], ["factors", index, "levels"])


_KINDS: Mapping[type, tuple[type, ...]] = {
    bool: (bool,),
    int: (int, float),
    float: (int, float),
    str: (str,),
    list: (list,),
    tuple: (list,),
    dict: (dict,),
}


def require_base(base: Mapping[str, Any]) -> None:
    """Likewise for the settings' values: each has the type of its default, or is null."""
    for setting in SETTINGS:
        value = base.get(setting.path)
        usual = _KINDS.get(type(setting.usual))
        if value is None or usual is None:
            continue
        if type(value) not in usual:
            raise WrongShape(f"like {setting.usual!r}", value, ["base", setting.path])
    workload = base.get("workload")
    if not isinstance(workload, dict) or not isinstance(workload.get("kind"), str):
        raise WrongShape("an object with a kind", workload, ["base", "workload"])
