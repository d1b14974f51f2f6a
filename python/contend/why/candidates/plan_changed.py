"""One server reads other rows for the same queries: its optimizer chose another plan."""

from __future__ import annotations

from contend.findings.plans import PLANS, changed, plans_in
from contend.metrics import Metric, Run
from contend.spec import Level
from contend.why.candidate import Candidate, Pair, Proposal, Seen, Side, Sign
from contend.why.candidates._common import NOT_MARIADB, NOTHING, per_question, setting


def _rows_read(run: Run) -> float | None:
    """Reads of rows and of index entries for each statement."""
    return per_question(
        run, lambda s: sum(v for name, v in s.items() if name.startswith("Handler_read_"))
    )


def _plans_that_differ(pair: Pair, side: Side) -> float | None:
    """Statements of this side that EXPLAIN answers otherwise than on the other one."""
    looked = [pair.looked(PLANS, one) for one in (side, _OTHER[side])]
    one, other = (None if figures is None else plans_in(figures) for figures in looked)
    return None if one is None or other is None else float(len(changed(one, other)))


_OTHER: dict[Side, Side] = {"slower": "faster", "faster": "slower"}
PLANS_THAT_DIFFER = Seen("plans_that_differ", _plans_that_differ)

ROWS_READ = Metric("handler_reads", "Reads of rows per question", "", _rows_read)

_PLAIN: dict[str, Level] = {
    "optimizer_use_condition_selectivity": 1,
    "use_stat_tables": "NEVER",
    "eq_range_index_dive_limit": 200,
}


_OTHERS = ("join_buffer_space_limit", "join_cache_level", "max_seeks_for_key")
"""Variables that plans depend on, beside those that the optimizer gives its name."""


def _usual(pair: Pair) -> dict[str, Level]:
    """The defaults of all variables of the optimizer that have another value on either side."""
    found: dict[str, Level] = {}
    for run in (*pair.runs["slower"], *pair.runs["faster"]):
        for name, one in (run.probes.get("variables_that_differ") or {}).items():
            decides = name in _OTHERS or name.startswith("optimizer_")
            if decides and not name.startswith("optimizer_trace") and one["default"]:
                found[name] = _number(one["default"])
    return found


def _number(text: str) -> Level:
    """As a number if it is one: the server takes none in quotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _propose(pair: Pair) -> Proposal | str:
    if pair.kind != "mariadb":
        return NOT_MARIADB
    whole = {**_usual(pair), **_PLAIN, "optimizer_switch": "default"}
    return Proposal(
        doses=(
            setting("both without tables of statistics", **_PLAIN),
            setting(
                "both without tables of statistics, and the optimizer's switches and variables as "
                "they come",
                **whole,
            ),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="plan-changed",
    title="the optimizer reads the same rows by another plan",
    limit="queries a second: as many as the rows allow that the plan reads",
    signature=(
        Sign(ROWS_READ, "slower", least=2),
        Sign(ROWS_READ, "over", least=1.5),
        Sign(PLANS_THAT_DIFFER, "slower", least=1, if_known=True),
    ),
    propose=_propose,
    refuted_by="a difference that stays if both optimizers are set alike",
)
