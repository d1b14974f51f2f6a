"""The workload of an experiment: its kind, its parameters, and the options of its scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contend.errors import did_you_mean
from contend.settings.plan_keys import SCRIPT
from contend.settings.schemas import SCRIPT_SCHEMA, imported_name, schema_of
from contend.settings.tables import Named, Tagged
from contend.settings.values import Key, Level, Refused
from contend.spec.document import Document
from contend.spec.keys import SCRIPT_OPTIONS_PREFIX, resolve
from contend.spec.model import Factor, WorkloadSpec
from contend.spec.scripts import (
    BUNDLED,
    is_file,
    option_key,
    option_names,
    reference,
)

Levels = Mapping[str, tuple[Level, ...]]
Values = Mapping[str, Any]


def read_tagged(
    document: Document, key: Key, path: tuple[str, ...], factors: tuple[Factor, ...]
) -> dict[str, object]:
    """The keys given in a table whose `kind` says which keys it has; raises SpecError."""
    assert isinstance(key.kind, Tagged)
    levels = {factor.path: factor.levels for factor in factors}
    return _tagged(document, key.kind, path, levels, _referenced(document))


def check_script(document: Document, values: Values, factors: tuple[Factor, ...]) -> None:
    """Refuse options that the scripts of the workload do not take."""
    levels = {factor.path: factor.levels for factor in factors}
    workload = values["workload"]
    if SCRIPT in _kinds(workload["kind"], levels):
        _check_options(document, _scripts(workload, levels), levels)


def with_data_of_script(
    document: Document, values: dict[str, Any], factors: tuple[Factor, ...]
) -> dict[str, Any]:
    """`values` with the defaults of `[data]` that depend on the workload.

    Scripts ask numbered tables. A file of the user's, in an experiment that says nothing of data,
    makes its own.
    """
    levels = {factor.path: factor.levels for factor in factors}
    workload = values["workload"]
    kinds = _kinds(workload["kind"], levels)
    if values["data.schema"] == SCRIPT_SCHEMA:
        other = next((kind for kind in kinds if kind != SCRIPT), None)
        if other is not None:
            document.refuse(
                ("data", "schema"),
                f'data.schema "{SCRIPT_SCHEMA}" is for scripts: workload "{other}" makes no tables',
                hint='Write schema = "sbtest".',
            )
        return values
    schema = values["data.schema"]
    if SCRIPT not in kinds or schema_of(schema).tables or imported_name(schema) is not None:
        return values
    silent = "data" not in document.tree and not any(p.startswith("data.") for p in levels)
    scripts = _scripts(workload, levels)
    if silent and kinds == (SCRIPT,) and all(is_file(script) for script in scripts):
        return {**values, "data.schema": SCRIPT_SCHEMA}
    return values if values["data.tables"] is not None else {**values, "data.tables": 1}


def script_files(workload: WorkloadSpec, factors: Iterable[Factor]) -> tuple[str, ...]:
    """The files of scripts that the experiment runs, as it names them."""
    levels = {factor.path: factor.levels for factor in factors}
    if SCRIPT not in _kinds(workload.kind, levels):
        return ()
    return tuple(name for name in _scripts(workload.parameters, levels) if is_file(name))


def _kinds(kind: str, levels: Levels) -> tuple[str, ...]:
    varied = levels.get("workload.kind")
    return (kind,) if varied is None else tuple(str(level) for level in varied)


def _scripts(parameters: Mapping[str, object], levels: Levels) -> tuple[str, ...]:
    varied = levels.get("workload.script")
    return (str(parameters["script"]),) if varied is None else tuple(map(str, varied))


def _tagged(
    document: Document,
    tagged: Tagged,
    path: tuple[str, ...],
    levels: Levels,
    referenced: frozenset[str] = frozenset(),
) -> dict[str, object]:
    """The keys given in a table whose `kind` says which keys it has.

    Where the kind is a factor, a key must belong to one of its levels, and a factor to all; to a
    script a factor belongs too if one of its options refers to it.
    """
    table = document.table(path)
    prefix = ".".join(path)
    if (varied := levels.get(f"{prefix}.kind")) is not None:
        kinds = tuple(str(level) for level in varied)
    else:
        given = table.get("kind", tagged.default_kind)
        key = Key("kind", tagged.kind_choice(), tagged.default_kind, "")
        kinds = (str(document.read((*path, "kind"), key, given)),)
    values: dict[str, object] = {"kind": kinds[0]}
    for name, value in table.items():
        if name == "kind":
            continue
        place = (*path, name)
        try:
            key = tagged.find(name, kinds)
        except Refused as refused:
            document.refuse(place, f"{'.'.join(place)} {refused.reason}", hint=refused.hint)
        values[name] = document.read(place, key, value)
        if isinstance(key.kind, Tagged):
            values[name] = _tagged(document, key.kind, place, levels)
    for factor in (p for p in levels if p.startswith(f"{prefix}.")):
        asked = [kind for kind in kinds if not (kind == SCRIPT and factor in referenced)]
        _check_applies(document, factor, tagged, prefix, asked)
    for kind in kinds:
        for key in tagged.kinds[kind]:
            if isinstance(key.kind, Tagged) and key.name not in table:
                _tagged(document, key.kind, (*path, key.name), levels)
            if key.required and key.name not in table and f"{prefix}.{key.name}" not in levels:
                document.refuse(
                    path,
                    f'{tagged.noun} "{kind}" needs {prefix}.{key.name}: {key.kind.words()}',
                )
    return values


def _check_applies(
    document: Document, factor: str, tagged: Tagged, prefix: str, kinds: Iterable[str]
) -> None:
    """A factor that does nothing in some cells would compare a cell with itself."""
    name = factor.removeprefix(f"{prefix}.").partition(".")[0]
    for kind in kinds:
        if name != "kind" and all(key.name != name for key in tagged.kinds[kind]):
            document.refuse(
                ("factors", factor),
                f'factor "{factor}" does nothing: {tagged.noun} "{kind}" has no {name}',
                hint=did_you_mean(name, [key.name for key in tagged.kinds[kind]]),
            )


def _referenced(document: Document) -> frozenset[str]:
    """Paths that options of a script refer to, as far as they are written as such."""
    workload = document.table(("workload",))
    options = workload.get("options")
    values = options.values() if isinstance(options, dict) else ()
    return frozenset(path for path in map(reference, values) if path is not None)


def _check_options(
    document: Document,
    scripts: tuple[str, ...],
    levels: Levels,
) -> None:
    """Options belong to the scripts, and their values are such as they take."""
    for script in scripts:
        if not is_file(script) and script not in BUNDLED:
            varied = "workload.script" in levels
            document.refuse(
                ("factors", "workload.script") if varied else ("workload", "script"),
                f'there is no bundled script "{script}"',
                hint=did_you_mean(script, BUNDLED)
                or "A file is named by a path: it has a slash or ends in .lua.",
            )
    given = document.table(("workload",)).get("options")
    table = given if isinstance(given, dict) else {}
    for name, value in table.items():
        place = ("workload", "options", name)
        normal = name.replace("-", "_")
        if sum(other.replace("-", "_") == normal for other in table) > 1:
            document.refuse(place, f'option "{normal}" is given twice')
        if (path := reference(value)) is not None:
            _check_reference(document, place, path)
        else:
            _check_option(document, place, f"workload.options.{name}", normal, value, scripts)
    for factor, values in levels.items():
        if factor.startswith(SCRIPT_OPTIONS_PREFIX):
            name = factor.removeprefix(SCRIPT_OPTIONS_PREFIX)
            for value in values:
                what = f'a level of factor "{factor}"'
                _check_option(document, ("factors", factor), what, name, value, scripts)


def _check_option(
    document: Document,
    place: tuple[str, ...],
    what: str,
    name: str,
    value: object,
    scripts: tuple[str, ...],
) -> None:
    for script in scripts:
        try:
            key = option_key(name, script)
            if key is None:
                document.refuse(
                    place,
                    f'script "{script}" has no option "{name}"',
                    hint=did_you_mean(name, option_names(script)),
                )
            key.kind.read(value)
        except Refused as refused:
            document.refuse(place, f"{what} {refused.reason}", hint=refused.hint)


def _check_reference(document: Document, place: tuple[str, ...], path: str) -> None:
    sentence = f"{'.'.join(place)} refers to"
    try:
        target = resolve(path)
    except Refused as refused:
        document.refuse(place, f"{sentence} {path}: {refused.reason}", hint=refused.hint)
    if not target.can_vary or isinstance(target.key.kind, Tagged | Named):
        document.refuse(place, f"{sentence} {path}, which is no value of a cell")
    if "options" in target.steps:
        document.refuse(place, f"{sentence} {path}, which is an option itself")
