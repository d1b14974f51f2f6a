"""Those who write wait for rows that others have locked."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database

_PATH = "workload.distribution"


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if pair.connections < 2:
        return "one connection waits for nobody's lock"
    drawn = pair.cells["slower"]["workload"].get("distribution")
    if drawn is None:
        return "which rows are asked for is part of the queries, and cannot be changed alone"
    if drawn["kind"] == "uniform":
        return "all rows are asked for alike as it is"
    return Proposal(
        doses=(
            Treatment("rows drawn less unevenly", {_PATH: {"kind": "gaussian", "iter": 3}}),
            Treatment("all rows drawn alike", {_PATH: {"kind": "uniform"}}),
        ),
        placebo=NOTHING,
        least=0.5,
    )


CANDIDATE = Candidate(
    name="row-lock",
    title="writers wait for a few rows that all of them want",
    limit="transactions a second: one at a time for the row that most want",
    signature=(
        Sign("status.Innodb_row_lock_waits_per_query", "slower", least=0.001),
        Sign("status.Innodb_row_lock_waits_per_query", "over", least=1.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays if all rows are asked for alike",
)
