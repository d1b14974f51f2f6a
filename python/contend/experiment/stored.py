"""Whether a document has the shape of a type, checked once, when a run folder is read;
and the shape of a stored experiment, which a user may have edited since.

Unknown keys are ignored, because a later contend may have written them.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import (
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from contend.experiment.settings import SETTINGS

Check = Callable[[Any], None]

INT_MAX, FLOAT_MAX = 2**64, 1e30
"""Limits for numbers: figures computed from larger ones would not be finite."""


class WrongShape(ValueError):
    """A value does not fit its place; `path` leads there from the whole document."""

    def __init__(self, expected: str, value: Any, path: Sequence[str | int] = ()) -> None:
        super().__init__()
        self.expected = expected
        self.found = _shown(value)
        self.path = list(path)

    def __str__(self) -> str:
        place, *more = map(str, self.path or ("it",))
        at = f"{place}: {'.'.join(more)}" if more else place
        return f"{at} is {self.found}, not {self.expected}" if self.found else f"{at} is missing"


MISSING: Any = object()


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return f'"{value[:40]}"'
    return "" if value is MISSING else repr(value)[:40]


def require(value: Any, kind: Any, *path: str | int) -> Any:
    """The value, if it has the shape of a type.

    Raises:
        WrongShape: it does not; `path` is where the document lies.
    """
    try:
        check_of(kind)(value)
    except WrongShape as wrong:
        wrong.path[:0] = path
        raise
    return value


def require_moment(value: Any, *path: str | int) -> datetime:
    """An ISO 8601 time with its zone."""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None and moment.timestamp() >= 0:
            return moment
    except (TypeError, ValueError, OverflowError, OSError):
        pass
    raise WrongShape("a time with its zone", value, path)


NEEDED: dict[type, frozenset[str]] = {}
"""For a type with keys that are not always written: the required keys. All other types require the
keys that the type requires."""

NULLED: set[type] = set()
"""Types whose values may be null: a value that JSON cannot express does not invalidate a run."""

LEAST: dict[type, Mapping[str, float]] = {}
"""Type -> minimum values of some keys, by name; `*` means all others."""


@cache
def check_of(kind: Any) -> Check:
    """A function that raises WrongShape unless a value has this type."""
    if kind is Any or kind is object:
        return lambda _value: None
    if kind is type(None):
        return _plain(type(None), "null")
    if kind is float:
        return _float
    if kind is int:
        return _int
    if kind in (str, bool):
        return _plain(kind, {str: "text", bool: "true or false"}[kind])
    if hasattr(kind, "__required_keys__") or dataclasses.is_dataclass(kind):
        return _object(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin in (list, tuple):
        return _list(check_of(arguments[0]))
    if origin in (dict, Mapping):
        return _dict(check_of(arguments[1]))
    if origin is NotRequired:
        return check_of(arguments[0])
    raise TypeError(f"no check of {kind}")


def _int(value: Any) -> None:
    if type(value) is not int or not -INT_MAX <= value <= INT_MAX:
        raise WrongShape("a whole number", value)


def _float(value: Any) -> None:
    # Both conditions are false for NaN.
    if type(value) not in (int, float) or not -FLOAT_MAX <= value <= FLOAT_MAX:
        raise WrongShape("a number", value)


def _plain(kind: type, name: str) -> Check:
    def check(value: Any) -> None:
        if type(value) is not kind:
            raise WrongShape(name, value)

    return check


def _literal(values: tuple[Any, ...]) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in values:
            raise WrongShape(" or ".join(map(str, values)), value)

    return check


def _union(kinds: tuple[Any, ...]) -> Check:
    checks = [check_of(kind) for kind in kinds]

    def check(value: Any) -> None:
        failed = []
        for one in checks:
            try:
                one(value)
            except WrongShape as wrong:
                failed.append(wrong)
            else:
                return
        # The deepest failure is the most informative.
        deepest = max(failed, key=lambda wrong: len(wrong.path))
        if not deepest.path:
            deepest.expected = " or ".join(dict.fromkeys(wrong.expected for wrong in failed))
        raise deepest

    return check


def _check_part(check: Check, part: Any, key: str | int) -> None:
    try:
        check(part)
    except WrongShape as wrong:
        wrong.path.insert(0, key)
        raise


def _list(check_item: Check) -> Check:
    def check(value: Any) -> None:
        if type(value) is not list:
            raise WrongShape("a list", value)
        for index, item in enumerate(value):
            _check_part(check_item, item, index)

    return check


def _dict(check_value: Check) -> Check:
    def check(value: Any) -> None:
        if type(value) is not dict:
            raise WrongShape("an object", value)
        for key, item in value.items():
            _check_part(check_value, item, key)

    return check


def _object(kind: Any) -> Check:
    hints = get_type_hints(kind, include_extras=True)
    needed = NEEDED.get(kind, _needed(kind, hints))
    least = LEAST.get(kind, {})
    checks: dict[str, Check] = {}

    def check_key(name: str) -> Check:
        # On first use, because a type may contain itself.
        floor = least.get(name, least.get("*"))
        hint = hints[name]
        made = _or_null(check_of(hint)) if kind in NULLED else check_of(hint)
        checks[name] = made if floor is None else _at_least(floor, made)
        return checks[name]

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise WrongShape("an object", value)
        for key, item in value.items():
            if key in hints:
                _check_part(checks.get(key) or check_key(key), item, key)
        for key in needed:
            if key not in value:
                raise WrongShape("", MISSING, [key])

    return check


def _needed(kind: Any, hints: Mapping[str, Any]) -> frozenset[str]:
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        return frozenset(
            field.name
            for field in dataclasses.fields(kind)
            if field.default is missing and field.default_factory is missing
        )
    # If a module's annotations are strings, Python considers all keys required.
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    return frozenset(kind.__required_keys__ - optional)


Built = TypeVar("Built")


def built(value: Any, kind: type[Built]) -> Built:
    """A dataclass, from the document it was stored as.

    Raises:
        WrongShape: the document does not have its shape.
        TypeError: it has a key that the dataclass lacks.
    """
    found: Built = _built(require(value, kind), kind)
    return found


def _built(value: Any, kind: Any) -> Any:
    if dataclasses.is_dataclass(kind) and value is not None:
        hints = get_type_hints(kind)
        return kind(**{name: _built(part, hints.get(name)) for name, part in value.items()})  # type: ignore[operator]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and isinstance(value, dict):
        # Of a union, only a dataclass is stored as an object.
        return _built(value, next(filter(dataclasses.is_dataclass, arguments), None))
    if origin is tuple:
        return tuple(_built(part, arguments[0]) for part in value)
    if origin is Mapping:
        return {key: _built(part, arguments[1]) for key, part in value.items()}
    return value


def _or_null(check_kind: Check) -> Check:
    def check(value: Any) -> None:
        if value is not None:
            check_kind(value)

    return check


def _at_least(floor: float, check_kind: Check) -> Check:
    def check(value: Any) -> None:
        check_kind(value)
        if type(value) in (int, float) and value < floor:
            raise WrongShape(f"{floor:g} or more", value)

    return check


_SHARES = ("margin", "confidence", "until")


def require_sizes(stored: Mapping[str, Any]) -> None:
    """Refuse impossible numbers; raises WrongShape. The types are right."""
    compare = stored.get("compare") or {}
    for name in _SHARES:
        share = compare.get(name)
        if share is not None and not 0 < share < 1:
            raise WrongShape("between 0 and 1", share, ["compare", name])
    for name, share in (compare.get("fail_if_slower") or {}).items():
        if not 0 < share < 1:
            raise WrongShape("between 0 and 1", share, ["compare", "fail_if_slower", name])
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
