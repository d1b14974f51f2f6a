"""The same load on all levels: a rate that each of them holds, and each kind of event by itself.

In a closed loop a level that answers sooner also gets more work. At the same rate, clients of both
levels wait for the same work. By itself on one connection, a statement does not wait for others,
so its time is that of the statement itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contend.experiment.settings.load import ends_with_its_work
from contend.experiment.settings.model import Differs, Setting, Values
from contend.experiment.settings.one_kind import DIVISIBLE
from contend.experiment.settings.own_statements import own_statements
from contend.experiment.settings.values import Choice, Flag, Real, Refused

EQUAL, CLOSED = "equal", "closed"

RATE, SHARE, ALONE = "load.rate", "load.rate_share", "load.alone"

_WITHOUT_END = "Remove load.events, load.events_each or workload.times."


@dataclass(frozen=True, slots=True)
class RateSetting(Setting):
    """Whether levels are also measured at the same load."""

    def check(self, cell: Values) -> None:
        if cell[self.path] != EQUAL:
            return
        if not sends_at_once(cell):
            raise Refused(
                '= "equal" and load.arrival cannot be combined: both say when events begin',
                hint="Remove load.arrival: contend finds the rate.",
            )
        if ends_with_its_work(cell):
            raise Refused(
                '= "equal" needs a workload without an end, but this one is a fixed amount of work',
                hint=_WITHOUT_END,
            )


@dataclass(frozen=True, slots=True)
class AloneSetting(Setting):
    """Whether each kind of event is also measured by itself."""

    def check(self, cell: Values) -> None:
        if not cell[self.path]:
            return
        kind = cell["workload"]["kind"]
        if kind not in DIVISIBLE:
            raise Refused(
                f'= true needs events that can be asked one kind at a time, and "{kind}" has none',
                hint=f"Use {', '.join(DIVISIBLE[:-1])} or {DIVISIBLE[-1]}.",
            )
        if ends_with_its_work(cell):
            raise Refused(
                "= true needs a workload without an end, but this one is a fixed amount of work",
                hint=_WITHOUT_END,
            )


def sends_at_once(cell: Values) -> bool:
    """Whether each connection sends its next event at once."""
    arrival = cell["load.arrival"]
    return arrival["kind"] == "closed" and not arrival.get("think")


def has_rate(cell: Values) -> bool:
    """Whether a cell's levels are also measured at the same rate: if the file says so, or if the
    statements are of several kinds, which wait for one another in a closed loop."""
    if cell[RATE] is not None:
        return bool(cell[RATE] == EQUAL)
    return _kinds(cell["workload"]) > 1 and sends_at_once(cell) and not ends_with_its_work(cell)


def has_alone(cell: Values) -> bool:
    """Whether each kind of event is also measured by itself: if the file says so, or for the user's
    own statements at the same rate."""
    if cell[ALONE] is not None:
        return bool(cell[ALONE])
    return has_rate(cell) and cell["workload"]["kind"] == "sql"


def parts_of_block(cell: Values) -> int:
    """A block's measurements of about the same length: the closed loop, and those at the same
    load."""
    return 1 + has_rate(cell) + has_alone(cell)


def _kinds(workload: Mapping[str, Any]) -> int:
    """Kinds of event of the user's own statements; 1 if they are not known before the run."""
    if workload["kind"] != "sql":
        return 1
    return len({one.event for one in own_statements(workload)})


EQUAL_LOAD = (
    RateSetting.of(
        "load",
        "rate",
        Choice((EQUAL, CLOSED)),
        None,
        "equal: before the closed loop of each block, measure times of statements with the same "
        "load on all levels: at a rate that each holds. closed: do not (default: equal for several "
        "kinds of statements that are compared in slices)",
        differs=Differs.LOAD,
    ),
    Setting.of(
        "load",
        "rate_share",
        Real(0.0, 1.0),
        0.7,
        "the rate, as a share of what the slower level holds",
        differs=Differs.LOAD,
    ),
    AloneSetting.of(
        "load",
        "alone",
        Flag(),
        None,
        "whether each kind of event is also measured by itself, on one connection, with what it "
        "costs (default: for the kinds of sql, if they have a rate)",
        differs=Differs.LOAD,
    ),
)
"""For comparisons in slices."""
