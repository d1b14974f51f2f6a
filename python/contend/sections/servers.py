"""The remaining differences between compared servers: their variables, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.experiment import Level
from contend.findings import Study
from contend.findings.conditions import OF_THE_PLACE
from contend.sections.model import Section, Shown, TextTable
from contend.sections.naming import USE
from contend.sections.words import level_phrase

PROFILE = "server.profile"

_TITLE = "Remaining differences between the servers"

_SCHEMA = "performance_schema"
_SIZES = f"{_SCHEMA}_"
"""Prefix of the variables for its records, which mean nothing if it is off."""

_SPELLINGS = {"ON": "1", "YES": "1", "TRUE": "1", "OFF": "0", "NO": "0", "FALSE": "0"}
_MISSING = "–"


def differences_of(study: Study) -> Shown | None:
    """The variables whose values differ; None unless several servers reported theirs."""
    found = _variables(study)
    tables, leads = [], []
    for profile, servers in found.items():
        if len(servers) < 2:
            continue
        name = "" if profile is None else level_phrase(PROFILE, profile)
        table = _table(name, servers)
        tables.append(table)
        leads.append(_lead(name, servers, len(table.rows)))
    if not tables:
        return None
    return Shown(_TITLE, leads[0], tuple(tables), more=tuple(leads[1:]))


def _variables(study: Study) -> dict[Level | None, dict[str, Mapping[str, str]]]:
    """Profile -> server -> its variables, in the order of the experiment's levels."""
    levels = next((f.levels for f in study.experiment.factors if f.path == USE), ())
    found: dict[Level | None, dict[str, Mapping[str, str]]] = {}
    for record in study.records:
        variables = record.probes.get("variables")
        if variables and USE in record.cell:
            of_profile = found.setdefault(record.cell.get(PROFILE), {})
            of_profile.setdefault(str(record.cell[USE]), variables)
    order = {str(level): place for place, level in enumerate(levels)}
    return {
        profile: {name: of_profile[name] for name in sorted(of_profile, key=order.__getitem__)}
        for profile, of_profile in found.items()
    }


def _table(name: str, servers: Mapping[str, Mapping[str, str]]) -> TextTable:
    """A row for each variable that at least two of the servers have, with different values."""
    rows = []
    is_off = all(_normal(variables.get(_SCHEMA, "OFF")) == "0" for variables in servers.values())
    for variable in sorted({one for variables in servers.values() for one in variables}):
        values = [variables.get(variable) for variables in servers.values()]
        there = [value for value in values if value is not None]
        if len(there) < 2 or OF_THE_PLACE.fullmatch(variable.lower()):
            continue
        if is_off and variable.startswith(_SIZES):
            continue
        if len({_normal(value) for value in there}) > 1:
            rows.append((variable, *_shown(values)))
    caption = "Variables whose values differ" + (f", {name}" if name else "")
    return TextTable(caption, ("variable", *servers), tuple(rows))


def _lead(name: str, servers: Mapping[str, Mapping[str, str]], differ: int) -> str:
    """How many differ, and how many cannot be compared."""
    alone = []
    for server, variables in servers.items():
        others = [other for one, other in servers.items() if one != server]
        only = sum(all(variable not in other for other in others) for variable in variables)
        alone.append(f"{server} {only}")
    with_name = f"With {name}, " if name else ""
    subject = "1 variable differs" if differ == 1 else f"{differ} variables differ"
    text = f"{with_name}{subject}. Variables that only one server has: {', '.join(alone)}."
    return text[:1].upper() + text[1:]


def _normal(value: str) -> str:
    """One spelling of a value: `ON` is 1, and 1.000000 as well."""
    text = _SPELLINGS.get(value.upper(), value)
    try:
        return f"{float(text):.12g}"
    except ValueError:
        return ",".join(sorted(text.lower().split(",")))


def _shown(values: Sequence[str | None]) -> list[str]:
    """The values; for lists (optimizer_switch, sql_mode), the items that the others lack."""
    parts = [value.split(",") if value is not None else None for value in values]
    if not any(part is not None and len(part) > 3 for part in parts):
        return [_MISSING if value is None else value or '""' for value in values]
    there = [set(part) for part in parts if part is not None]
    common = set.intersection(*there)
    return [
        _MISSING if part is None else ", ".join(one for one in part if one not in common) or '""'
        for part in parts
    ]


SECTION = Section(
    "differences",
    _TITLE,
    lambda inputs: differences_of(inputs.study),
    lambda shown, _inputs: shown,
    on_paper=False,
)
