"""The workload of an experiment: its kind, its parameters, and the options of its scripts. Also its
data: the keys that its schema has, and those that it does not use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contend.errors import did_you_mean
from contend.experiment.document import Document
from contend.experiment.keys import SCRIPT_OPTIONS_PREFIX
from contend.experiment.model import Experiment, Factor, WorkloadSpec
from contend.experiment.scripts import (
    BUNDLED,
    IN_PLACE_OF_PREPARE,
    is_file,
    of_prepare,
    option_key,
    option_names,
    reference,
)
from contend.experiment.settings.plan_keys import SCHEMA_OF, SCRIPT, STATEMENTS
from contend.experiment.settings.schemas import SCRIPT_SCHEMA, Schema, imported_name, schema_of
from contend.experiment.settings.tables import Named, Tagged
from contend.experiment.settings.values import Key, Level, Refused

Levels = Mapping[str, tuple[Level, ...]]
Values = Mapping[str, Any]


def read_tagged(
    document: Document, key: Key, path: tuple[str, ...], levels: Levels
) -> dict[str, object]:
    """The keys of a table whose `kind` decides which it may have; raises SpecError."""
    assert isinstance(key.kind, Tagged)
    return _tagged(document, key.kind, path, levels, _referenced(document))


def check_script(document: Document, values: Values, levels: Levels) -> None:
    """Refuse options that the scripts of the workload do not take."""
    workload = values["workload"]
    if SCRIPT in kinds_of(workload["kind"], levels):
        has_tables = values["data.schema"] != SCRIPT_SCHEMA
        _check_options(document, _scripts(workload, levels), levels, has_tables=has_tables)


def with_data_of_script(
    document: Document, values: dict[str, Any], levels: Levels
) -> dict[str, Any]:
    """`values` with the defaults of `[data]` that depend on the workload.

    Scripts query numbered tables. In an experiment without `[data]`, a user's own script makes its
    tables itself.
    """
    workload = values["workload"]
    kinds = kinds_of(workload["kind"], levels)
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


def prepared_with(experiment: Experiment) -> str | None:
    """The values that a script's `prepare` gets for options that are factors, whose levels only the
    runs have; None if no option is a factor, or the script makes no tables."""
    base = experiment.base.values
    if base["data.schema"] != SCRIPT_SCHEMA:
        return None
    options = {name.replace("-", "_"): value for name, value in base["workload"]["options"].items()}
    values = []
    for factor in experiment.factors:
        if factor.path.startswith(SCRIPT_OPTIONS_PREFIX):
            name = factor.path.removeprefix(SCRIPT_OPTIONS_PREFIX)
            values.append(f"{name} = {options[name]}" if name in options else f"its default {name}")
    return " and ".join(values) or None


def script_files(workload: WorkloadSpec, factors: Iterable[Factor]) -> tuple[str, ...]:
    """The files of scripts that the experiment runs, with the paths that it gives."""
    levels = {factor.path: factor.levels for factor in factors}
    if SCRIPT not in kinds_of(workload.kind, levels):
        return ()
    return tuple(name for name in _scripts(workload.parameters, levels) if is_file(name))


def kinds_of(kind: str, levels: Levels) -> tuple[str, ...]:
    """The kinds of workload of the cells."""
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
    """The keys of a table whose `kind` decides which it may have.

    If the kind is a factor, a key must belong to one of its levels, and a factor to all. A factor
    also belongs to a script if one of the script's options refers to it.
    """
    table = document.table(path)
    prefix = ".".join(path)
    if (varied := levels.get(f"{prefix}.kind")) is not None:
        kinds = tuple(str(level) for level in varied)
    else:
        kind = table.get("kind", tagged.default_kind)
        key = Key("kind", tagged.kind_choice(), tagged.default_kind, "")
        kinds = (str(document.read((*path, "kind"), key, kind)),)
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
        checked = [kind for kind in kinds if not (kind == SCRIPT and factor in referenced)]
        _check_applies(document, factor, tagged, prefix, checked)
    for kind in kinds:
        for key in tagged.kinds[kind]:
            if isinstance(key.kind, Tagged) and key.name not in table:
                _tagged(document, key.kind, (*path, key.name), levels)
            if key.required and key.name not in table and f"{prefix}.{key.name}" not in levels:
                document.refuse(
                    path,
                    f'{tagged.noun} "{kind}" needs {prefix}.{key.name}: {key.kind.expected()}',
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
                f'factor "{factor}" has no effect: {tagged.noun} "{kind}" has no {name}',
                hint=did_you_mean(name, [key.name for key in tagged.kinds[kind]]),
            )


def _referenced(document: Document) -> frozenset[str]:
    """Paths that a script's options refer to, if they are written as references."""
    workload = document.table(("workload",))
    options = workload.get("options")
    values = options.values() if isinstance(options, dict) else ()
    return frozenset(path for path in map(reference, values) if path is not None)


def _check_options(
    document: Document,
    scripts: tuple[str, ...],
    levels: Levels,
    *,
    has_tables: bool,
) -> None:
    """Check that options belong to the scripts, have valid values, and are read by a run.

    Args:
        has_tables: contend makes the tables, without a `prepare`.
    """
    for script in scripts:
        if not is_file(script) and script not in BUNDLED:
            varied = "workload.script" in levels
            document.refuse(
                ("factors", "workload.script") if varied else ("workload", "script"),
                f'there is no bundled script "{script}"',
                hint=did_you_mean(script, BUNDLED)
                or "The path of a file has a slash or ends in .lua.",
            )
    options = document.table(("workload",)).get("options")
    table = options if isinstance(options, dict) else {}
    for name, value in table.items():
        place = ("workload", "options", name)
        normal = name.replace("-", "_")
        if sum(other.replace("-", "_") == normal for other in table) > 1:
            document.refuse(place, f'option "{normal}" is given twice')
        if (path := reference(value)) is not None:
            _check_reference(document, place, path)
        else:
            _check_option(document, place, f"workload.options.{name}", normal, value, scripts)
            if has_tables:
                _refuse_of_prepare(document, place, normal, scripts)
    for factor, values in levels.items():
        if factor.startswith(SCRIPT_OPTIONS_PREFIX):
            name = factor.removeprefix(SCRIPT_OPTIONS_PREFIX)
            for value in values:
                label = f'a level of factor "{factor}"'
                _check_option(document, ("factors", factor), label, name, value, scripts)
            _refuse_of_prepare(document, ("factors", factor), name, scripts)


def _check_option(
    document: Document,
    place: tuple[str, ...],
    label: str,
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
            document.refuse(place, f"{label} {refused.reason}", hint=refused.hint)


def _refuse_of_prepare(
    document: Document, place: tuple[str, ...], name: str, scripts: tuple[str, ...]
) -> None:
    """Refuse an option that runs do not read: its levels would not differ."""
    if all(of_prepare(name, script) for script in scripts):
        document.refuse(
            place,
            f'no run reads option "{name}", only the prepare of {" and ".join(scripts)}',
            hint=f"Use {IN_PLACE_OF_PREPARE[name]} for the tables that contend makes.",
        )


def _check_reference(document: Document, place: tuple[str, ...], path: str) -> None:
    sentence = f"{'.'.join(place)} refers to"
    target = document.target(place, path, f"{sentence} {path}: ")
    if not target.can_vary or isinstance(target.key.kind, Tagged | Named):
        document.refuse(place, f"{sentence} {path}, which is not a value of a cell")
    if "options" in target.steps:
        document.refuse(place, f"{sentence} {path}, which is an option itself")


_SECTION = "data."

_OF_A_DUMP = (
    "An import has the tables, rows and engines of its dump. For a different engine, import it "
    "under a different name with `contend data import --engine`; data.schema can be a factor."
)


def with_data_of_schema(
    document: Document, values: dict[str, Any], levels: Levels
) -> dict[str, Any]:
    """`values` with the schema's default size if none is given.

    Raises:
        SpecError: the schema does not use a key, or the workload queries different tables.
    """
    names = levels.get("data.schema", (values["data.schema"],))
    schemas = [schema_of(str(name)) for name in names]
    places = {
        **{f"{_SECTION}{name}": ("data", name) for name in document.table(("data",))},
        **{path: ("factors", path) for path in levels if path.startswith(_SECTION)},
    }
    for path, place in places.items():
        _check_key(document, place, path.removeprefix(_SECTION), schemas)
    _check_kinds(document, kinds_of(values["workload"]["kind"], levels), schemas)
    usual = {schema.rows for schema in schemas}
    if "data.rows" not in places and len(usual) == 1 and (rows := usual.pop()) is not None:
        return {**values, "data.rows": rows}
    return values


def _check_key(
    document: Document, place: tuple[str, ...], name: str, schemas: list[Schema]
) -> None:
    """A key must be used by one of the schemas; a factor by all of them."""
    knows = [name in (*schema.common, *schema.keys) for schema in schemas]
    if all(knows) or (any(knows) and place[0] == "data"):
        return
    schema = next(schema for schema, known in zip(schemas, knows, strict=True) if not known)
    document.refuse(
        place,
        f'data.{name} has no effect on the schema "{schema.name}"',
        hint=_OF_A_DUMP
        if imported_name(schema.name) is not None
        else did_you_mean(name, schema.keys) or f"It has {', '.join(schema.keys)}.",
    )


def _check_kinds(document: Document, kinds: Sequence[str], schemas: list[Schema]) -> None:
    """Most kinds query the tables of sbtest."""
    for kind in kinds:
        other = next((schema.name for schema in schemas if not _may_query(kind, schema.name)), None)
        if other is not None:
            wanted = SCHEMA_OF[kind]
            document.refuse(
                ("workload", "kind") if "kind" in document.table(("workload",)) else ("workload",),
                f'workload "{kind}" queries the tables of {wanted}, but data.schema is "{other}"',
                hint=f'Write schema = "{wanted}" in [data], or use a different kind of workload.',
            )
    own = next((schema for schema in schemas if schema.tables or imported_name(schema.name)), None)
    takes_scripts = own is not None and own.scripts
    fits = STATEMENTS | SCHEMA_OF.keys() | ({SCRIPT} if takes_scripts else set())
    unfit = next((kind for kind in kinds if kind not in fits), None)
    if own is not None and unfit is not None:
        document.refuse(
            ("data", "schema"),
            f'workload "{unfit}" queries the tables of sbtest, but the schema is "{own.name}"',
            hint=f'Write kind = "{own.kind}" in [workload], or use your own statements ("sql").'
            if own.kind is not None
            else 'Use your own statements (kind = "sql").',
        )


def _may_query(kind: str, schema: str) -> bool:
    """The tables of an import are unknown until they are read."""
    wanted = SCHEMA_OF.get(kind)
    if wanted is None or wanted == schema:
        return True
    return schema_of(wanted).in_dumps and imported_name(schema) is not None
