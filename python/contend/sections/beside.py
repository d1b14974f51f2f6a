"""The kinds of workload compared with each other, if they are a factor. It has the gains of each at
the same place, and the gains of the later kinds over the first.

A difference is the ratio of two gains, repeat by repeat, in its own table. Its intervals hold
together, like those of the gains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment import SCRIPT, CellKey, Factor, Level, Roles, cell_key
from contend.findings import Analysis, Finding, Study, kinds_over_first
from contend.sections.model import Inputs, Section, Shown
from contend.sections.panels import figure_table
from contend.sections.words import level_phrase
from contend.stats import finite

KIND = "workload.kind"


@dataclass(frozen=True, slots=True)
class BesideRow:
    """Gains of one kind of workload, column by column, or its extra gain over another."""

    label: str
    gains: tuple[Finding | None, ...]
    is_difference: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """The gains of several kinds of workload under one another; rows by the name of the place."""

    title: str
    lead: str
    panels: tuple[tuple[str, tuple[BesideRow, ...]], ...]


def _read(inputs: Inputs) -> Beside | None:
    return beside_of(inputs.study, inputs.layout.levels, inputs.first)


def _show(found: Beside, inputs: Inputs) -> Shown:
    tables = (
        figure_table(
            inputs.layout,
            title,
            [(row.label, *row.gains) for row in rows],
            [at for at, row in enumerate(rows) if row.is_difference],
        )
        for title, rows in found.panels
    )
    return Shown(found.title, found.lead, tuple(tables))


def _json(found: Beside, inputs: Inputs) -> list[dict[str, Any]]:
    """How much more the second of two kinds of workload gains, percent."""
    return [
        {
            "place": title,
            "row": row.label,
            "column": column,
            "percent": finite((one.change.ratio - 1) * 100),
            "low": finite((one.change.low - 1) * 100),
            "high": finite((one.change.high - 1) * 100),
            "verdict": one.word or None,
        }
        for title, rows in found.panels
        for row in rows
        if row.is_difference
        for column, one in zip(inputs.layout.column_values, row.gains, strict=True)
        if one is not None
    ]


SECTION = Section("beside", "Side by side", _read, _show, _json)


def beside_of(study: Study, labels: Sequence[str], analysis: Analysis | None) -> Beside | None:
    """None if there is one kind, or nothing is compared.

    `labels` are those of the layout's levels, the baseline's first.
    """
    roles = study.roles
    kinds = next((factor for factor in roles.tables if factor.path == KIND), None)
    if kinds is None or roles.baseline is None or len(kinds.levels) < 2:
        return None
    places = _places(roles)
    differences = kinds_over_first(study, kinds, places, analysis.table) if analysis else {}
    panels = tuple(
        (
            ", ".join(level_phrase(path, level) for path, level in place.items()),
            _rows(study, kinds, labels, place, analysis, differences),
        )
        for place in places
    )
    names = tuple(_name(study, kind) for kind in kinds.levels)
    return Beside(
        title=f"{', '.join(names[:-1])} and {names[-1]}, side by side",
        lead=_lead(list(differences.values()), names),
        panels=panels,
    )


def _places(roles: Roles) -> list[Mapping[str, Level]]:
    """The tables of the layout without the kind of workload, each once."""
    found: dict[CellKey, Mapping[str, Level]] = {}
    for context in roles.table_contexts():
        rest = {path: level for path, level in context.items() if path != KIND}
        found.setdefault(cell_key(rest), rest)
    return list(found.values())


def _rows(
    study: Study,
    kinds: Factor,
    labels: Sequence[str],
    place: Mapping[str, Level],
    analysis: Analysis | None,
    differences: Mapping[CellKey, Finding],
) -> tuple[BesideRow, ...]:
    roles = study.roles
    comparisons = analysis.compared.comparisons if analysis else ()
    gains = {cell_key(one.cell): one for one in comparisons}
    rows: list[BesideRow] = []
    for label, level in list(zip(labels, roles.levels, strict=True))[1:]:

        def along(
            known: Mapping[CellKey, Finding], kind: Level, level: Level | None = level
        ) -> tuple[Finding | None, ...]:
            context = {**place, KIND: kind}
            return tuple(
                known.get(cell_key(roles.cell(context, column, level)))
                for column in roles.column_levels
            )

        for kind in kinds.levels:
            name = f"{label}, {_name(study, kind)}"
            rows.append(BesideRow(name, along(gains, kind)))
        for kind in kinds.levels[1:]:
            name = f"{_name(study, kind)} over {_name(study, kinds.levels[0])}"
            rows.append(BesideRow(name, along(differences, kind), is_difference=True))
    return tuple(rows)


def _name(study: Study, kind: Level) -> str:
    """`random_points`, or a script by its name."""
    if kind != SCRIPT:
        return str(kind)
    script = study.experiment.base.workload.parameters.get("script")
    return str(script).rpartition("/")[2] if script else SCRIPT


def _lead(differences: Sequence[Finding], names: Sequence[str]) -> str:
    known = [one.change for one in differences if one.change.df > 0]
    if not known:
        return "No place has repeats of both kinds yet."
    covered = sum(one.low <= 1 <= one.high for one in known)
    return (
        "The same change on the same server and tables, measured in one run with "
        f"{' and with '.join(names)}. At {covered} of {len(known)} places the gains differ by no "
        "more than the error. A difference is the ratio of the two gains, in percent; the "
        "intervals of all differences hold together."
    )
