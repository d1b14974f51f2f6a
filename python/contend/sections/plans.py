"""The optimizer's plans for the statements, and the statements whose plan differs from the
baseline's.

The server of each level explains the statements of the load. If a level sends statements that
another level does not, it explains all of them, so that their plans can be compared.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from contend.errors import WorkError
from contend.experiment import Level
from contend.experiment.settings.own_statements import own_statements
from contend.findings import Constant, ReportText
from contend.findings.plans import PLANS, PlanStep, StatementPlan, changed, plans_in
from contend.lab.looks import BlockToLookAt, LookAtCause
from contend.sections.looks import LooksFound, context_of, failed_sentences, head_of, looked
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.setup import varying_steps
from contend.sections.words import cell_phrase
from contend.store import LookRecord

if TYPE_CHECKING:
    from contend.lab.testbed import Ready
    from contend.load import ArmSpec
    from contend.metrics.outcome import Outcome
    from contend.servers.plans import StatementWatch

SLICE_S = 0.4

KEPT = 12
"""Shapes of statements, those that were seen most."""


def look_at_plans(block: BlockToLookAt) -> list[LookRecord]:
    """Explain the statements of the load: the user's own with example values; those of other
    workloads as one round of slices shows them in the process lists.

    Raises:
        WorkError: a server has no plans, one server has several levels in turn, or no statement
            was seen.
        LoadFailed: contend-load gave no result.
    """
    from contend.servers.kinds import KINDS

    if any(KINDS[ready.observed.kind].computes_rows for ready in block.readies):
        raise WorkError("this server has no query plans")
    if not block.has_own_servers:
        raise WorkError("one server runs all levels in turn, so their plans cannot be told apart")
    statements = _own(block.arms) or _seen(block)
    return block.records([_explain(ready, statements) for ready in block.readies])


_Statement = tuple[str, str, str]
"""Shape, statement, and its name if it is the user's own."""


def _own(arms: Sequence[ArmSpec]) -> list[_Statement]:
    """The user's own statements at all levels; empty for other workloads."""
    from contend.servers.plans import can_be_explained, shape_of

    own = {
        (one.name, shape_of(one.text)): one.text
        for arm in arms
        for one in own_statements(arm.cell["workload"])
        if can_be_explained(one.text)
    }
    return [(shape, statement, name) for (name, shape), statement in own.items()]


def _seen(block: BlockToLookAt) -> list[_Statement]:
    from contend.servers.plans import StatementWatch

    watches = [
        StatementWatch(ready.observed.connection, str(ready.address.database))
        for ready in block.readies
    ]
    with contextlib.ExitStack() as stack:

        def on_event(event: Outcome) -> None:
            # All are connected: contend-load has finished its own queries about a server.
            if event["type"] == "hello":
                for watch in watches:
                    stack.enter_context(watch)

        arms = [_as_texts(arm) for arm in block.arms]
        block.drive(block.cut(1, SLICE_S, 0.02), on_event, arms)
    statements = _most_seen(watches)
    if not statements:
        raise WorkError("no statement with a plan was seen in the process list")
    return statements


def _as_texts(arm: ArmSpec) -> ArmSpec:
    """A prepared statement is listed without its values, and cannot be explained."""
    is_prepared = arm.cell["load.protocol"] == "prepared"
    return replace(arm, cell=arm.cell.having(load__protocol="text")) if is_prepared else arm


def _most_seen(watches: Sequence[StatementWatch]) -> list[_Statement]:
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for watch in watches:
        for shape, statement, count in watch.seen():
            counts[shape] += count
            first.setdefault(shape, statement)
    return [(shape, first[shape], "") for shape, _ in counts.most_common(KEPT)]


def _explain(ready: Ready, statements: Sequence[_Statement]) -> dict[str, Any]:
    from contend.servers.plans import explained, indexes, use_database

    connection, database = ready.observed.connection, str(ready.address.database)
    use_database(connection, database)
    plans = []
    for shape, statement, name in statements:
        found = explained(connection, statement)
        plans.append(
            {
                **({"name": name} if name else {}),
                "shape": shape,
                "statement": statement,
                "tables": list(found.tables),
                "why_not": found.why_not,
            }
        )
    return {"statements": plans, "indexes": indexes(connection, database)}


@dataclass(frozen=True, slots=True)
class PlansOfCell:
    """One cell.

    Args:
        plans: by the statement's shape.
        changed: shapes whose plan differs from the baseline's; empty for the baseline.
    """

    cell: Mapping[str, Level]
    plans: Mapping[str, StatementPlan]
    changed: tuple[str, ...]


def plans_of(record: LookRecord, base: LookRecord | None) -> PlansOfCell:
    plans = plans_in(record.figures)
    theirs = {} if base is None else plans_in(base.figures)
    return PlansOfCell(record.cell, plans, changed(plans, theirs))


_TITLE = "Query plans"
_SHAPE_MAX = 160


def _show(found: LooksFound[PlansOfCell], inputs: Inputs) -> Shown:
    lead = (*((_lead(found.cells),) if found.groups else ()), *failed_sentences(found.failed))
    tables = (table for group in found.groups for table in _tables(group, inputs.compared_path))
    # The answer itself has the plans that a step of setup changes.
    return Shown(
        _TITLE, " ".join(lead), tuple(tables), is_short=not varying_steps(inputs.study.experiment)
    )


def _lead(cells: Sequence[PlansOfCell]) -> str:
    """Whether plans differ, and which statements have no known plan."""
    plans = [plan for one in cells for plan in one.plans.values()]
    unknown = {plan.shape: plan.why_not for plan in plans if not plan.steps}
    differ = {shape for one in cells for shape in one.changed}
    known = {plan.shape for plan in plans} - unknown.keys()
    sentences: list[str] = [
        ReportText("Kinds of statements seen and explained: {}.", Constant(len(known)))
    ]
    if differ:
        sentences.append(
            ReportText("With a different plan than at the baseline: {}.", Constant(len(differ)))
        )
    elif known:
        sentences.append(ReportText("All have the same plan at every level."))
    sentences += [
        f"Not explained: {_short(shape)} ({why or 'the server returned no plan'})."
        for shape, why in unknown.items()
    ]
    return " ".join(sentences)


def _tables(group: Sequence[PlansOfCell], compared: str | None) -> list[TextTable]:
    """A table for each statement whose plan differs, with the cells side by side in it."""
    shapes = list(dict.fromkeys(shape for one in group for shape in one.changed))
    phrase = str(cell_phrase(context_of(group[0], compared)))
    return [
        TextTable(
            f"{_short(shape)}{f' (with {phrase})' if phrase else ''}",
            ("", "table", "access", "index", "rows, estimated", "extra"),
            tuple(row for one in group for row in _rows(one, shape, compared)),
        )
        for shape in shapes
    ]


def _rows(one: PlansOfCell, shape: str, compared: str | None) -> list[tuple[str, ...]]:
    head, plan = head_of(one, compared), one.plans.get(shape)
    if plan is None or not plan.steps:
        why = "not seen" if plan is None else f"not known: {plan.why_not}"
        return [(head, why, "", "", "", "")]
    return [(head if n == 0 else "", *_step(step)) for n, step in enumerate(plan.steps)]


def _short(shape: str) -> str:
    return shape if len(shape) <= _SHAPE_MAX else f"{shape[: _SHAPE_MAX - 3]}..."


def _step(step: PlanStep) -> tuple[str, ...]:
    rows = "" if step.rows is None else str(step.rows)
    return (step.table, step.way, step.key or "none", rows, step.extra)


def _json(found: LooksFound[PlansOfCell], _inputs: Inputs) -> list[dict[str, Any]]:
    """Each cell: the plan of each statement, and which of them differ from the baseline's."""
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
        for one in found.cells
    ]


SECTION = Section(
    "plans",
    _TITLE,
    lambda inputs: looked(inputs, PLANS, plans_of),
    _show,
    _json,
    look=LookAtCause(PLANS, look_at_plans),
)
