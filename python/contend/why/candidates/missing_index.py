"""Queries read whole tables, for want of an index.

Which index that is, EXPLAIN says if somebody looked (`contend run … --budget`): the one by which
the faster side reads the table that the slower side reads whole. Without a look all that is known
of columns is that k of sbtest is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from contend.findings.plans import PLANS, WHOLE, plans_in
from contend.why.candidate import Candidate, Pair, Proposal, Seen, Side, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, is_database

_BY_K = ("random_points", "random_ranges")

_NOBODY_READS = {"mariadb": "IGNORED", "mysql": "INVISIBLE"}
"""An index that is kept and that no query uses."""


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if wanted := _wanted(pair):
        return _of(
            f"one more index, on what is asked for ({_words(wanted)})",
            _indexed(pair, wanted),
            _indexed(pair, wanted, _NOBODY_READS.get(pair.kind, "IGNORED")),
        )
    if pair.cells["slower"].data.schema != "sbtest" or not _asks_by_k(pair):
        return (
            "no look said which index the other side has (`contend run … --budget`), and without "
            "one contend knows of columns only that k of sbtest is asked for"
        )
    tables = pair.cells["slower"].data.table_names
    return _of(
        "one more index, on what is asked for",
        _indexed(pair, dict.fromkeys(tables, ("k",))),
        _indexed(pair, dict.fromkeys(tables, ("pad",))),
    )


def _of(words: str, index: Mapping[str, Any], placebo: Mapping[str, Any]) -> Proposal:
    return Proposal(
        doses=(Treatment(words, index),),
        placebo=Treatment("one more index, which no query reads", placebo),
        least=0.5,
    )


def _wanted(pair: Pair) -> dict[str, tuple[str, ...]]:
    """Columns by table: of the index by which the faster side reads what the slower reads whole."""
    slower, faster = pair.looked(PLANS, "slower"), pair.looked(PLANS, "faster")
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


def _words(wanted: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{table}: {', '.join(columns)}" for table, columns in wanted.items())


def _read_whole(pair: Pair, side: Side) -> float | None:
    """Tables that plans of this side read from begin to end."""
    figures = pair.looked(PLANS, side)
    if figures is None:
        return None
    steps = [step for plan in plans_in(figures).values() for step in plan.steps]
    return float(sum(step.way in WHOLE for step in steps))


def _asks_by_k(pair: Pair) -> bool:
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


CANDIDATE = Candidate(
    name="missing-index",
    title="queries read whole tables, for want of an index",
    limit="queries a second: as many as the rows of the table allow",
    signature=(
        Sign("status.Handler_read_rnd_next_per_query", "slower", least=100),
        Sign("status.Handler_read_rnd_next_per_query", "over", least=3),
        Sign(Seen("tables_read_whole", _read_whole), "slower", least=1, if_known=True),
    ),
    propose=_propose,
    refuted_by="a difference that stays if there is the index",
)
