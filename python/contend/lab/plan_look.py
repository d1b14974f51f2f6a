"""A look at the plans of the optimizer: what is asked under the load, explained on the server of
each level. A level that asks other statements than another one is explained all of them, so that
plans stand beside one another."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contend.errors import WorkError
from contend.lab.look_block import BlockToLookAt
from contend.lab.looks import SLICE_S
from contend.lab.testbed import Ready
from contend.load import ArmSpec
from contend.outcome import Outcome
from contend.servers.kinds import KINDS
from contend.servers.plans import StatementWatch, explained, indexes, use_database
from contend.store import LookRecord

PLANS = "plans"

KEPT = 12
"""Shapes of statements, those that were seen most."""


def look_at_plans(block: BlockToLookAt) -> list[LookRecord]:
    """See in the process lists what is asked in one round of slices, and have it explained.

    Raises:
        WorkError: a server has no plans, one server has several levels in turn, or no statement
            was seen.
        LoadFailed: contend-load gave no result.
    """
    if any(KINDS[ready.observed.kind].computes_rows for ready in block.readies):
        raise WorkError("this server has no plans to look at")
    if not block.has_own_servers:
        raise WorkError("one server has all levels in turn, so their plans cannot be told apart")
    watches = [
        StatementWatch(ready.observed.connection, str(ready.address.database))
        for ready in block.readies
    ]
    with contextlib.ExitStack() as stack:

        def on_event(event: Outcome) -> None:
            # All are connected. What contend-load wants to know of a server it has asked by then.
            if event["type"] == "hello":
                for watch in watches:
                    stack.enter_context(watch)

        arms = [_as_texts(arm) for arm in block.arms]
        block.drive(block.cut(1, SLICE_S, 0.02), on_event, arms)
    asked = _most_seen(watches)
    if not asked:
        raise WorkError("no SELECT, UPDATE or DELETE was met in the process list")
    return block.records([_explain(ready, asked) for ready in block.readies])


def _as_texts(arm: ArmSpec) -> ArmSpec:
    """A prepared statement is listed without its values, and cannot be explained."""
    is_prepared = arm.cell["load.protocol"] == "prepared"
    return replace(arm, cell=arm.cell.having(load__protocol="text")) if is_prepared else arm


def _most_seen(watches: Sequence[StatementWatch]) -> list[tuple[str, str]]:
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for watch in watches:
        for shape, statement, count in watch.seen():
            counts[shape] += count
            first.setdefault(shape, statement)
    return [(shape, first[shape]) for shape, _ in counts.most_common(KEPT)]


def _explain(ready: Ready, asked: Sequence[tuple[str, str]]) -> dict[str, Any]:
    connection, database = ready.observed.connection, str(ready.address.database)
    use_database(connection, database)
    statements = []
    for shape, statement in asked:
        found = explained(connection, statement)
        statements.append(
            {
                "shape": shape,
                "statement": statement,
                "tables": list(found.tables),
                "why_not": found.why_not,
            }
        )
    return {"statements": statements, "indexes": indexes(connection, database)}
