"""Treatments: named values of other settings that override a cell's. A treatment applies to all
levels of a comparison at once, to test whether their difference remains; `none` changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contend.errors import did_you_mean
from contend.experiment.settings.model import Differs, Setting, Values
from contend.experiment.settings.tables import AnyTable, Inside
from contend.experiment.settings.values import Key, Refused, Text, shown

UNTREATED = "none"

_NAME = Text(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "letters, digits, '.', '_' and '-'")


@dataclass(frozen=True, slots=True)
class TreatmentTables(AnyTable):
    """Tables of values by path, by the treatment's name. A value is checked when it is put into a
    cell."""

    def read(self, value: object) -> dict[str, dict[str, Any]]:
        if not isinstance(value, dict):
            raise Refused(f"must be {self.expected()}, not {shown(value)}")
        for name, table in value.items():
            try:
                _NAME.read(name)
            except Refused as refused:
                raise Refused(
                    f'"{name}" is not the name of a treatment: it {refused.reason}',
                    at=(str(name),),
                    whole=True,
                ) from None
            if name == UNTREATED:
                raise Refused(
                    f'"{UNTREATED}" means no treatment, and cannot have a table',
                    at=(name,),
                    whole=True,
                )
            if not isinstance(table, dict):
                raise Refused(f"must be {self.expected()}, not {shown(table)}", at=(name,))
            own = next((path for path in table if str(path).startswith("treatment")), None)
            if own is not None:
                raise Refused(f'"{own}" cannot be part of a treatment', at=(name, own), whole=True)
        return {str(name): dict(table) for name, table in value.items()}

    def inside(self, rest: str) -> Inside | None:
        """Nowhere: the name may have dots, and so may the paths below it."""
        del rest
        return None

    def expected(self) -> str:
        return 'tables of values by their path in quotes: NAME = { "load.connections" = 1 }'

    def schema(self) -> dict[str, object]:
        return {"type": "object", "additionalProperties": {"type": "object"}}


TREATMENTS = Setting(
    "",
    Key(
        "treatments",
        TreatmentTables(),
        {},
        "named values of other settings, by path; `treatment` selects those that override a cell's",
    ),
    differs=Differs.LOAD,
)


@dataclass(frozen=True)
class TreatmentSetting(Setting):
    """The active treatment."""

    def check(self, cell: Values) -> None:
        name, known = cell[self.path], cell[TREATMENTS.path]
        if name != UNTREATED and name not in known:
            hint = did_you_mean(name, known) or "Define it in a table [treatments.NAME]."
            raise Refused(f'names an unknown treatment "{name}"', hint=hint)


TREATMENT = TreatmentSetting(
    "",
    Key(
        "treatment",
        _NAME,
        UNTREATED,
        "the treatment that overrides a cell's settings and levels of factors; none: no treatment",
    ),
    differs=Differs.LOAD,
)


def treatment_of(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values that override a cell's, by path."""
    found: Mapping[str, Any] = cell[TREATMENTS.path].get(cell[TREATMENT.path], {})
    return found
