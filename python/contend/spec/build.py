"""From the raw tables of a document to a validated Experiment."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from contend.spec.build_workload import data_for, read_workload
from contend.spec.document import Document
from contend.spec.errors import did_you_mean, nearest
from contend.spec.keys import OPTION_NAME, SECTIONS, TOP_LEVEL
from contend.spec.model import (
    CellSpec,
    CompareSpec,
    DataSpec,
    Experiment,
    Factor,
    Level,
    LoadSpec,
    ServerSpec,
    same_level,
)
from contend.spec.paths import Target, factor_paths, known_paths, option_name, resolve
from contend.spec.published import read_published
from contend.spec.values import AnyLevel, Refused, attribute_name, shown

_SUBTABLES = {"server": ("options",), "compare": ("baseline",)}


def build(document: Document, *, variant: str, overrides: tuple[str, ...]) -> Experiment:
    """The experiment that `document` holds; raises SpecError at the first fault."""
    _check_top_level(document)
    about = _section(document, "experiment")
    server = ServerSpec(**_section(document, "server"), options=_options(document))
    data = DataSpec(**_section(document, "data"))
    load = LoadSpec(**_section(document, "load"))
    factors = _factors(document)
    workload = read_workload(document, factors)
    data = data_for(data, document, workload, factors)
    compare = CompareSpec(**_section(document, "compare"), baseline=_baseline(document, factors))
    return Experiment(
        name=about["name"] or _name_of_file(document.file),
        question=about["question"],
        base=CellSpec(server=server, data=data, workload=workload, load=load),
        factors=factors,
        compare=compare,
        published=read_published(document),
        explain=about["explain"],
        variant=variant,
        source=document.text,
        overrides=overrides,
    )


def _check_top_level(document: Document) -> None:
    for name, value in document.tree.items():
        if name not in TOP_LEVEL:
            paths = [path for path in known_paths() if path.endswith(f".{name}")]
            close = f'Did you mean "{paths[0]}"?' if paths else did_you_mean(name, TOP_LEVEL)
            document.refuse((name,), f'unknown table or key "{name}"', hint=close)
        if not isinstance(value, dict):
            document.refuse((name,), f"[{name}] must be a table, not {shown(value)}")


def _section(document: Document, section: str) -> dict[str, Any]:
    """The attributes of a section with fixed keys: those given, defaults for the others."""
    keys = {key.name: key for key in SECTIONS[section]}
    table = document.table((section,))
    subtables = _SUBTABLES.get(section, ())
    for name in table:
        if name not in keys and name not in subtables:
            _unknown_key(document, (section, name), (*keys, *subtables))
    return {
        attribute_name(key): (
            document.read((section, name), key, table[name]) if name in table else key.default
        )
        for name, key in keys.items()
    }


def _unknown_key(document: Document, path: tuple[str, ...], names: Iterable[str]) -> None:
    *table, name = path
    hint = did_you_mean(name, names)
    elsewhere = [p for p in known_paths() if p.endswith(f".{name}")]
    if elsewhere and nearest(name, names) is None:
        hint = f'Did you mean "{elsewhere[0]}"?'
    document.refuse(path, f'unknown key "{name}" in [{".".join(table)}]', hint=hint)


def _options(document: Document) -> dict[str, Level]:
    options: dict[str, Level] = {}
    for name, value in document.table(("server", "options")).items():
        path = ("server", "options", name)
        if re.fullmatch(OPTION_NAME, name) is None:
            document.refuse(path, f'"{name}" is not the name of a server option')
        if option_name(name) in options:
            document.refuse(path, f'server option "{option_name(name)}" is given twice')
        try:
            options[option_name(name)] = AnyLevel().read(value)
        except Refused as refused:
            document.refuse(path, f"server.options.{name} {refused.reason}")
    return options


def _factors(document: Document) -> tuple[Factor, ...]:
    factors: dict[str, Factor] = {}
    for path, value in document.table(("factors",)).items():
        target = _factor_target(document, path, value)
        if target.path in factors:
            document.refuse(("factors", path), f'factor "{target.path}" is given twice')
        factors[target.path] = Factor(target.path, _levels(document, path, target, value))
    return tuple(factors.values())


def _factor_target(document: Document, path: str, value: object) -> Target:
    place = ("factors", path)
    if isinstance(value, dict):
        inner = next(iter(value), "…")
        document.refuse(
            place,
            f'the path of factor "{path}.{inner}" must be in quotes',
            hint=f'Write "{path}.{inner}" = […].',
        )
    try:
        target = resolve(path)
    except Refused as refused:
        document.refuse(place, f"factor {refused.reason}", hint=refused.hint)
    if not target.can_vary:
        hint = did_you_mean(path, factor_paths())
        document.refuse(place, f'"{path}" cannot be a factor: no cell depends on it', hint=hint)
    return target


def _levels(document: Document, path: str, target: Target, value: object) -> tuple[Level, ...]:
    place = ("factors", path)
    if not isinstance(value, list):
        document.refuse(
            place,
            f'factor "{path}" must be a list of levels, not {shown(value)}',
            hint=f"Write [{shown(value)}, …], or set {target.path} itself.",
        )
    if not value:
        document.refuse(place, f'factor "{path}" has no levels', hint="Give at least one level.")
    levels: list[Level] = []
    read: list[object] = []
    for index, level in enumerate(value):
        try:
            scalar = AnyLevel().read(level)
            meant = target.key.level.read(scalar)
        except Refused as refused:
            sentence = f'level {shown(level)} of factor "{path}" {refused.reason}'
            document.refuse((*place, index), sentence, hint=refused.hint)
        if any(same_level(meant, earlier) for earlier in read):
            document.refuse((*place, index), f'factor "{path}" has level {shown(level)} twice')
        levels.append(scalar)
        read.append(meant)
    return tuple(levels)


def _baseline(document: Document, factors: tuple[Factor, ...]) -> dict[str, Level]:
    place = ("compare", "baseline")
    table = document.table(place)
    if not table:
        return {}
    if len(table) > 1:
        document.refuse(
            place,
            f"compare.baseline must name one factor, not {len(table)}",
            hint="The other factors are the cells in which it is compared.",
        )
    ((path, value),) = table.items()
    if isinstance(value, dict):
        inner = next(iter(value), "…")
        document.refuse(
            (*place, path),
            "the path in compare.baseline must be in quotes",
            hint=f'Write baseline = {{ "{path}.{inner}" = … }}.',
        )
    known = {factor.path: factor for factor in factors}
    try:
        target = resolve(path)
    except Refused as refused:
        close = did_you_mean(path, known)
        document.refuse((*place, path), f"compare.baseline: {refused.reason}", hint=close)
    factor = known.get(target.path)
    if factor is None:
        document.refuse(
            (*place, path),
            f'compare.baseline names "{path}", which is not a factor',
            hint="Give it levels in [factors]"
            + (f", or compare {', '.join(known)}." if known else "."),
        )
    return {target.path: _baseline_level(document, (*place, path), target, factor, value)}


def _baseline_level(
    document: Document, place: tuple[str, ...], target: Target, factor: Factor, value: object
) -> Level:
    try:
        meant = target.key.kind.read(value)
    except Refused as refused:
        sentence = f'the baseline of "{factor.path}" {refused.reason}'
        document.refuse(place, sentence, hint=refused.hint)
    same = [x for x in factor.levels if same_level(target.key.kind.read(x), meant)]
    if not same:
        levels = ", ".join(shown(level) for level in factor.levels)
        sentence = f'the baseline {shown(value)} is not a level of "{factor.path}"'
        document.refuse(place, sentence, hint=f"Its levels are {levels}.")
    if len(factor.levels) == 1:
        sentence = f'nothing to compare: "{factor.path}" has no level but the baseline'
        document.refuse(place, sentence, hint="Give it a second level.")
    return same[0]


def _name_of_file(file: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(file).stem).lstrip("._-")
    return name or "experiment"
