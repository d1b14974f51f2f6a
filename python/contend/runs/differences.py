"""The differences between two run folders. Those with a cost measured near their runs come first,
the most costly on top; then the others, those that affect a verdict first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contend.findings import RunCondition, Study, conditions_of
from contend.metrics.host import UNITS, Cost, cost_between, in_words, measured_beside

_KINDS = ("doctor", "server", "variable", "host", "experiment", "contend")

Conditions = Mapping[str, RunCondition]


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One thing that differs.

    about: doctor, server, variable, host, experiment, contend; measured, if no setting explains it.
    cost: its measured cost on both, as text; empty if it was not measured.
    """

    about: str
    name: str
    one: str
    other: str
    cost: str = ""

    @property
    def is_measured(self) -> bool:
        return bool(self.cost) or self.about == "measured"


def differences_between(one: Study, other: Study) -> tuple[DifferenceRow, ...]:
    """The differences between the first sessions of two folders."""
    measured = [measured_beside(study.measured) for study in (one, other)]
    found = [
        (cost_between(measure, *measured), measure, row)
        for measure, row in _unlike(conditions_of(one), conditions_of(other))
    ]
    explained = {measure for cost, measure, _ in found if cost is not None}
    for name, (_, _, title) in UNITS.items():
        cost = cost_between(name, *measured)
        if name not in explained and cost is not None and cost.size:
            texts = (in_words(name, each[name]) for each in measured)
            found.append((cost, name, DifferenceRow("measured", title, *texts)))
    costly = sorted((each for each in found if each[0]), key=lambda each: -_size(each[0]))
    others = [row for cost, _, row in found if cost is None]
    return (*(_with(cost, row) for cost, _, row in costly), *others)


def _size(cost: Cost | None) -> float:
    return 0.0 if cost is None else cost.size


def _with(cost: Cost | None, row: DifferenceRow) -> DifferenceRow:
    if cost is None or row.about == "measured":
        return row
    return DifferenceRow(row.about, row.name, row.one, row.other, cost.said)


def _unlike(ours: Conditions, theirs: Conditions) -> Iterator[tuple[str | None, DifferenceRow]]:
    keys = dict.fromkeys(itertools.chain(ours, theirs))
    for key in sorted(keys, key=lambda one: _KINDS.index(one.partition(":")[0])):
        sides = ours.get(key), theirs.get(key)
        known = next(side for side in sides if side is not None)
        values = [side and side.value for side in sides]
        if values[0] != values[1]:
            texts = (known.otherwise if side is None else side.text for side in sides)
            yield known.measure, DifferenceRow(known.kind, known.name, *texts)
