"""Queries and how the server answers them: indexes, plans, estimates, round trips."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from contend.experiment import Level
from contend.findings.plans import PLANS, WHOLE, changed, plans_in
from contend.metrics import Metric, Run
from contend.why.candidate import (
    Candidate,
    Derived,
    Pair,
    Proposal,
    Side,
    Sign,
    Treatment,
    database,
    mariadb,
    more_of,
    per_question,
    setting,
)

_BY_K = ("random_points", "random_ranges")


def _read_whole(pair: Pair, side: Side) -> float | None:
    """Tables that plans of this side scan completely."""
    figures = pair.diagnosed(PLANS, side)
    if figures is None:
        return None
    steps = [step for plan in plans_in(figures).values() for step in plan.steps]
    return float(sum(step.way in WHOLE for step in steps))


def _index(pair: Pair) -> Proposal | str:
    """The missing index: the one with which the faster side reads a table that the slower side
    scans. EXPLAIN shows it after a diagnostic pass (`contend run … --budget`). Without one,
    the only known column is k of sbtest."""
    text = "an added index on the searched columns"
    if wanted := _wanted(pair):
        listed = "; ".join(f"{table}: {', '.join(columns)}" for table, columns in wanted.items())
        text = f"{text} ({listed})"
        # The server maintains such an index, and no query uses it.
        unread = _indexed(pair, wanted, "INVISIBLE" if pair.is_mysql else "IGNORED")
    elif pair.cells["slower"].data.schema != "sbtest" or not _searches_by_k(pair):
        return (
            "no recorded plan shows the index (`contend run … --budget` records plans); without "
            "one, contend only knows that column k of sbtest is searched"
        )
    else:
        tables = pair.cells["slower"].data.table_names
        wanted = dict.fromkeys(tables, ("k",))
        unread = _indexed(pair, dict.fromkeys(tables, ("pad",)))
    placebo = Treatment("an added index that no query uses", unread)
    return Proposal((Treatment(text, _indexed(pair, wanted)),), placebo)


def _wanted(pair: Pair) -> dict[str, tuple[str, ...]]:
    """Columns by table: the faster side's index for tables that the slower side scans."""
    slower, faster = pair.diagnosed(PLANS, "slower"), pair.diagnosed(PLANS, "faster")
    if slower is None or faster is None:
        return {}
    theirs = plans_in(faster)
    wanted = {}
    for shape, plan in plans_in(slower).items():
        by_table = {step.table: step for step in theirs[shape].steps} if shape in theirs else {}
        for step in plan.steps:
            other = by_table.get(step.table)
            if step.way not in WHOLE or other is None or other.key is None or other.way in WHOLE:
                continue
            columns = faster["indexes"].get(step.table, {}).get(other.key)
            if columns and not _has(slower["indexes"].get(step.table, {}), columns):
                wanted[step.table] = tuple(columns)
    return wanted


def _has(indexes: Mapping[str, Sequence[str]], columns: Sequence[str]) -> bool:
    return any(list(own[: len(columns)]) == list(columns) for own in indexes.values())


def _searches_by_k(pair: Pair) -> bool:
    workload = pair.cells["slower"].workload
    text = str(workload.parameters.get("text", "")) if workload.kind == "sql" else ""
    return workload.kind in _BY_K or re.search(r"\bWHERE\s+k\b", text, re.IGNORECASE) is not None


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


def _indexed(pair: Pair, wanted: Mapping[str, Sequence[str]], more: str = "") -> dict[str, Any]:
    name = f"contend_why_{more.lower() or 'index'}"
    steps = [
        {
            "do": f"ALTER TABLE {table} ADD INDEX {name} ({', '.join(columns)}) {more}".rstrip(),
            "undo": f"ALTER TABLE {table} DROP INDEX {name}",
        }
        for table, columns in ((_quoted(one), columns) for one, columns in wanted.items())
    ]
    before = [
        {k: v for k, v in step.items() if v is not None} for step in pair.cells["slower"]["setup"]
    ]
    return {"setup": before + steps}


_DIVES = "eq_range_index_dive_limit"


def _estimates(pair: Pair) -> Proposal | str:
    if pair.number(_DIVES, 200) == 1:
        return f"the server already estimates without index dives ({_DIVES} = 1)"
    if pair.cells["slower"]["workload"].get("points", 0) < 2:
        return "a query looks up fewer than two points, so nothing is estimated"
    without = setting("estimates from statistics instead of index dives", **{_DIVES: 1})
    return Proposal((without,), least=0.4)


def _rows_read(run: Run) -> float | None:
    """Reads of rows and of index entries per statement."""
    return per_question(
        run, lambda s: sum(v for name, v in s.items() if name.startswith("Handler_read_"))
    )


def _plans_that_differ(pair: Pair, side: Side) -> float | None:
    """Statements of this side whose plan differs from the one on the other side."""
    other: Side = "faster" if side == "slower" else "slower"
    passes = [pair.diagnosed(PLANS, each) for each in (side, other)]
    mine, theirs = (None if figures is None else plans_in(figures) for figures in passes)
    return None if mine is None or theirs is None else float(len(changed(mine, theirs)))


_DIFFERENT_PLANS = Derived("plans_that_differ", _plans_that_differ)
_ROWS_READ = Metric("handler_reads", "Reads of rows per question", "", _rows_read)

_PLAIN: dict[str, Level] = {
    "optimizer_use_condition_selectivity": 1,
    "use_stat_tables": "NEVER",
    _DIVES: 200,
}

_OTHERS = ("join_buffer_space_limit", "join_cache_level", "max_seeks_for_key")
"""Variables that plans depend on, in addition to those named `optimizer_…`."""


def _usual(pair: Pair) -> dict[str, Level]:
    """The defaults of all optimizer variables that have a different value on either side."""
    found: dict[str, Level] = {}
    for run in (*pair.runs["slower"], *pair.runs["faster"]):
        for name, one in (run.probes.get("variables_that_differ") or {}).items():
            decides = name in _OTHERS or name.startswith("optimizer_")
            if decides and not name.startswith("optimizer_trace") and one["default"]:
                found[name] = _number(one["default"])
    return found


def _number(text: str) -> Level:
    """A number if the text is one: the server does not accept numbers in quotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _plans(pair: Pair) -> Proposal:
    text = "both without statistics tables"
    more = f"{text}, and with the optimizer's default switches and variables"
    whole = {**_usual(pair), **_PLAIN, "optimizer_switch": "default"}
    return Proposal((setting(text, **_PLAIN), setting(more, **whole)))


_WAYS = {
    "batch_select": ("workload.select_by", "select", ("pipeline",)),
    "batch_insert": ("workload.insert_by", "insert", ("pipeline",)),
    "tpcc": ("workload.ask", "each", ("in", "procedure")),
}
"""By kind of workload: the setting for how it queries, the way that waits for each answer, and the
ways that wait for fewer. In a pipeline the statements stay the same, and so does the cost of each.
"""


def _added_by_cpu(pair: Pair, _: Side) -> float | None:
    """The server's CPU time as a share of the extra time of an event on the slower side. A server
    that sleeps after each query uses more CPU time for that alone."""
    slower, faster = _times_us(pair, "slower"), _times_us(pair, "faster")
    if slower is None or faster is None:
        return None
    added_us = slower[0] - faster[0]
    return (slower[1] - faster[1]) / added_us if added_us > 0 else math.inf


def _times_us(pair: Pair, side: Side) -> tuple[float, float] | None:
    """The time of an event, and its CPU time on the server."""
    response_us = pair.figure("response_us_mean", side)
    trips = pair.figure("round_trips_per_event", side)
    cpu_us = pair.figure("server_cpu_us_per_query", side)
    if response_us is None or trips is None or cpu_us is None:
        return None
    return response_us, trips * cpu_us


def _together(pair: Pair) -> Proposal | str:
    kind = pair.cells["slower"].workload.kind
    if kind not in _WAYS:
        return f"{kind} queries cannot be sent together"
    path, each, ways = _WAYS[kind]
    now = pair.cells["slower"]["workload"][path.removeprefix("workload.")]
    if now != each:
        return f"queries are already sent together ({path} = {now})"
    return Proposal(tuple(Treatment(f"queries sent together ({way})", {path: way}) for way in ways))


CANDIDATES = (
    Candidate(
        "missing-index",
        title="queries read whole tables because an index is missing",
        limit="queries per second: the rate at which whole tables are read",
        signature=(
            *more_of("status.Handler_read_rnd_next_per_query", 100, 3),
            Sign(Derived("tables_read_whole", _read_whole), "slower", least=1, if_known=True),
        ),
        needs=(database,),
        treat=_index,
        refuted_by="a difference that remains when the index exists",
    ),
    Candidate(
        "index-estimates",
        title="the server dives into the index to estimate how many rows a query will find",
        limit="points per second: one walk down the index to read each, plus the dives to estimate",
        signature=(
            *more_of("status.Innodb_buffer_pool_read_requests_per_query", 10, 1.3),
            Sign("status.Handler_read_key_per_query", "slower", least=2),
        ),
        needs=(database,),
        treat=_estimates,
        refuted_by="a difference that remains when no estimate uses index dives",
    ),
    Candidate(
        "plan-changed",
        title="the optimizer chose a different plan to read the same rows",
        limit="queries per second: the rate at which the plan's rows are read",
        signature=(
            *more_of(_ROWS_READ, 2, 1.5),
            Sign(_DIFFERENT_PLANS, "slower", least=1, if_known=True),
        ),
        needs=(mariadb,),
        treat=_plans,
        refuted_by="a difference that remains when both optimizers have the same settings",
    ),
    Candidate(
        "round-trips",
        title="an event waits for one answer after another over the network",
        limit="events per second of a connection: one divided by the time of its round trips",
        signature=(
            Sign("round_trips_per_event", "slower", least=2),
            Sign("response_us_mean", "over", least=1.1),
            Sign(Derived("server_cpu_share_of_added_response", _added_by_cpu), "slower", most=0.5),
        ),
        treat=_together,
        refuted_by="a difference that remains when an event waits for few answers",
    ),
)
