"""All sections, in the order in which they are read."""

from __future__ import annotations

from typing import Any

from contend.lab.looks import LookAtCause
from contend.sections import (
    beside,
    bounds,
    budget,
    counters,
    goal,
    host_state,
    hosts,
    lock_waits,
    locks,
    memory_nodes,
    plans,
    prediction,
    profile,
    recorded,
    scaling,
    screen,
    servers,
    sessions,
    setup,
    shape,
    statement_costs,
    statements,
    switches,
    tpcc,
    twins,
    why,
)
from contend.sections.model import Section

SECTIONS: tuple[Section[Any], ...] = (
    goal.SECTION,
    screen.SECTION,
    prediction.SECTION,
    why.CAUSE,
    why.WHY,
    sessions.SECTION,
    beside.SECTION,
    twins.SECTION,
    setup.SECTION,
    statements.SECTION,
    recorded.SECTION,
    statement_costs.SECTION,
    shape.SECTION,
    bounds.SECTION,
    budget.SECTION,
    switches.SECTION,
    plans.SECTION,
    lock_waits.SECTION,
    profile.SECTION,
    scaling.SECTION,
    counters.SECTION,
    tpcc.SECTION,
    locks.SECTION,
    hosts.SECTION,
    host_state.SECTION,
    memory_nodes.SECTION,
    servers.SECTION,
)

LOOKS: tuple[LookAtCause, ...] = tuple(one.look for one in SECTIONS if one.look is not None)
"""The diagnostic passes of a run that is to find where time goes, in this order."""
