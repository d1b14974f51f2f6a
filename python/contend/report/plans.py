"""The plans of the optimizer as a section: the statements that are answered otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from contend.findings import Given, Said
from contend.findings.plans import PlansOfCell, PlanStep
from contend.report.lost_looks import lost_words
from contend.report.model import Section, TextTable
from contend.report.words import cell_phrase
from contend.store import LookRecord

_SHAPE_MAX = 160


def plan_section(
    groups: Sequence[Sequence[PlansOfCell]], failed: Sequence[LookRecord], compared: str | None
) -> Section | None:
    """The section; None if nobody looked."""
    if not groups and not failed:
        return None
    tables = [table for group in groups for table in _tables(group, compared)]
    return Section(
        "By which plans statements are answered",
        " ".join((*((_lead(groups),) if groups else ()), *lost_words(failed))),
        tuple(tables),
    )


def _lead(groups: Sequence[Sequence[PlansOfCell]]) -> str:
    """Whether plans differ, and which statements have none that is known."""
    plans = [plan for group in groups for one in group for plan in one.plans.values()]
    unknown = {plan.shape: plan.why_not for plan in plans if not plan.steps}
    changed = {shape for group in groups for one in group for shape in one.changed}
    known = {plan.shape for plan in plans} - unknown.keys()
    said = [Said("Kinds of statement that were met and explained: {}.", Given(len(known)))]
    if changed:
        said.append(Said("Of these have another plan than the baseline: {}.", Given(len(changed))))
    elif known:
        said.append(Said("Each of them has the same plan at all levels."))
    said += [
        Said.written(f"Not explained: {_short(shape)} ({why or 'the server gave no plan'}).")
        for shape, why in unknown.items()
    ]
    return " ".join(map(str, said))


def _tables(group: Sequence[PlansOfCell], compared: str | None) -> list[TextTable]:
    """A table for each statement whose plan is another one, with the cells side by side in it."""
    shapes = list(dict.fromkeys(shape for one in group for shape in one.changed))
    context = {path: level for path, level in group[0].cell.items() if path != compared}
    phrase = str(cell_phrase(context))
    return [
        TextTable(
            f"{_short(shape)}{f' (with {phrase})' if phrase else ''}",
            ("", "table", "read by", "index", "rows, guessed", "besides"),
            tuple(row for one in group for row in _rows(one, shape, compared)),
        )
        for shape in shapes
    ]


def _rows(one: PlansOfCell, shape: str, compared: str | None) -> list[tuple[str, ...]]:
    head = "all" if compared is None else str(one.cell[compared])
    plan = one.plans.get(shape)
    if plan is None or not plan.steps:
        why = "not met" if plan is None else f"not known: {plan.why_not}"
        return [(head, why, "", "", "", "")]
    return [(head if n == 0 else "", *_step(step)) for n, step in enumerate(plan.steps)]


def _short(shape: str) -> str:
    return shape if len(shape) <= _SHAPE_MAX else f"{shape[: _SHAPE_MAX - 3]}..."


def _step(step: PlanStep) -> tuple[str, ...]:
    rows = "" if step.rows is None else str(step.rows)
    return (step.table, step.way, step.key or "none", rows, step.extra)


def plans_json(groups: Sequence[Sequence[PlansOfCell]]) -> list[dict[str, Any]]:
    """Each cell: the plan of each statement, and which of them are other than the baseline's."""
    return [
        {
            "factors": dict(one.cell),
            "changed": list(one.changed),
            "plans": [
                {
                    "statement": plan.shape,
                    "tables": [asdict(step) for step in plan.steps],
                    "why_not": plan.why_not,
                }
                for plan in one.plans.values()
            ],
        }
        for group in groups
        for one in group
    ]
