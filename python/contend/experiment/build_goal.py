"""Builds the goal of an experiment, and refuses what cannot be combined with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from contend.experiment.build_workload import Levels
from contend.experiment.document import Document
from contend.experiment.goal import first_rate
from contend.experiment.model import GoalSpec
from contend.metrics import metric_of
from contend.units import format_duration, parse_duration_s

_CLOSED = ("load.events", "load.events_each", "load.slice", "load.settle")
"""Settings of a fixed amount of work, or of slices, in which no queue can build up."""

_SET_HERE = ("rate", "stages", "think", "think_scatters")
"""Keys of an arrival that the search sets, or that only a closed loop has."""

_NOT_WITH_GOAL = {
    "experiment": ("explain", "why"),
    "compare": ("fail_if_slower", "layout", "by"),
    "load": ("alone",),
}


def read_goal(document: Document, given: Mapping[str, Any], levels: Levels) -> GoalSpec | None:
    """The goal, if the file has one.

    Args:
        given: the values of `[goal]`.
    """
    goal: GoalSpec | None = given["hold"]
    if goal is None:
        if table := document.table(("goal",)):
            document.refuse(
                ("goal", next(iter(table))),
                "[goal] has no goal to search for",
                hint='Write hold = "p99<20ms" in it.',
            )
        return None
    goal = replace(goal, lowest=given["lowest"], highest=given["highest"])
    if not 0 < goal.lowest <= goal.highest:
        document.refuse(
            ("goal", "lowest"),
            f"goal.lowest is {goal.lowest:,.10g} and goal.highest {goal.highest:,.10g}: no rate "
            "is between them",
            hint="Make lowest the smaller one, above 0.",
        )
    arrival = document.table(("load", "arrival"))
    if arrival.get("kind") == "closed":
        document.refuse(
            ("load", "arrival", "kind"),
            f'the goal {goal.text} needs an open loop, but load.arrival.kind is "closed": a '
            "closed loop sends less if the server is slow",
            hint='Leave load.arrival out, or write arrival = { kind = "open" }.',
        )
    for name in _SET_HERE:
        path = f"load.arrival.{name}"
        if name in arrival or path in levels:
            _refuse_both(document, goal, path, levels)
    for section, names in _NOT_WITH_GOAL.items():
        table = document.table((section,))
        for name in names:
            if table.get(name) and table[name] != "runs":
                _refuse_both(document, goal, f"{section}.{name}", levels)
    if document.table(("published",)):
        _refuse_both(document, goal, "published", levels)
    return goal


def make_open(document: Document, goal: GoalSpec, values: dict[str, Any], levels: Levels) -> None:
    """Make the load of `values` an open loop at the first rate of the search."""
    closed = [path for path in _CLOSED if values[path] is not None or path in levels]
    if values["workload"].get("times") is not None or "workload.times" in levels:
        closed.append("workload.times")
    if closed:
        document.refuse(
            _place(closed[0], levels),
            f"the goal {goal.text} needs a load without end, not {closed[0]}",
            hint=f"Leave {closed[0]} out.",
        )
    _refuse_short(document, goal, values, levels)
    arrival = document.table(("load", "arrival"))
    process = {name: value for name, value in arrival.items() if name == "process"}
    values["load.arrival"] = {**process, "kind": "open", "rate": first_rate(goal)}


RUNS_OVER_LIMIT = 10
"""Least length of a run over the time of a goal: in a shorter one even a queue that grows does not
reach it."""


def _refuse_short(
    document: Document, goal: GoalSpec, values: dict[str, Any], levels: Levels
) -> None:
    metric = metric_of(goal.metric)
    if metric.unit != "µs" or "response_us" not in metric.name or goal.over_idle is not None:
        return
    least_s = RUNS_OVER_LIMIT * goal.limit / 1e6
    lengths = [parse_duration_s(one) for one in levels.get("load.measure", ())]
    shortest_s = min(lengths or [values["load.measure"]])
    if shortest_s < least_s:
        document.refuse(
            _place("load.measure", levels),
            f"load.measure of {format_duration(shortest_s)} is too short for the goal "
            f"{goal.text}: no queue reaches it in that time",
            hint=f'Make load.measure at least "{format_duration(least_s).replace(" ", "")}".',
        )


def _refuse_both(document: Document, goal: GoalSpec, path: str, levels: Levels) -> NoReturn:
    document.refuse(
        _place(path, levels),
        f"{path} cannot be combined with the goal {goal.text}",
        hint=f"Leave {path} out: the search sets the rate."
        if path.startswith("load.arrival.")
        else "Leave one of them out.",
    )


def _place(path: str, levels: Levels) -> tuple[str, ...]:
    return ("factors", path) if path in levels else tuple(path.split("."))
