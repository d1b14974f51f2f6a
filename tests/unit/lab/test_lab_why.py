"""What is tried, in which time: the plan of `contend why` on made-up pairs."""

from __future__ import annotations

import math
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest
from made_up_pairs import SIGNS

from contend.findings.candidate import Pair, Proposal
from contend.findings.candidates import CANDIDATES
from contend.lab import why


def finding(low: float, high: float, verdict: str = "higher", n: int = 8) -> Any:
    change = SimpleNamespace(ratio=math.sqrt(low * high), low=low, high=high, verdict=verdict, n=n)
    return SimpleNamespace(change=change)


def test_the_surest_difference_is_explained_whichever_way_it_goes() -> None:
    gain, loss, wild = finding(1.8, 2.2), finding(0.2, 0.3), finding(0.01, 0.9)
    assert max((gain, loss, wild), key=why._surely) is loss
    assert max((gain, wild), key=why._surely) is gain


def test_how_many_repeats_are_missing_is_said_if_it_is_known() -> None:
    hardly, never = finding(0.98, 1.3, "inconclusive"), finding(0.99, 1.0101, "equivalent")
    assert "About 3 more" in why._repeats_missing([hardly, never])
    nothing = why._repeats_missing([never, finding(0.5, 2.0, "inconclusive")])
    assert nothing.startswith("More repeats may show a difference")
    assert "--for TIME" in why._repeats_missing([])


def proposals(*names: str) -> tuple[Pair, list[tuple[Any, Proposal]]]:
    found = []
    for name in names:
        proposal = CANDIDATES[name].propose(SIGNS[name][0])
        assert isinstance(proposal, Proposal)
        found.append((CANDIDATES[name], proposal))
    return deepcopy(SIGNS[names[0]][0]), found


@pytest.mark.parametrize(("took_s", "chosen"), [(0.0, 3), (1.5, 3), (4.0, 1), (60.0, 1)])
def test_as_many_are_tried_as_there_is_time_for(took_s: float, chosen: int) -> None:
    """By what a block took in the run: a busy host has time for fewer, and for one at least."""
    pair, found = proposals("thread-cache", "log-flush", "sort-passes")
    for run in (*pair.runs["slower"], *pair.runs["faster"]):
        run.plan["load"] = {"slices": {"rounds": 16}}
    untested: dict[str, str] = {}
    tried, least_s = why._in_time(pair, found, 3.0, took_s, untested)
    assert len(tried) == chosen
    assert chosen == 1 or least_s <= 180
    assert all("no time was left" in reason for reason in untested.values())
    assert len(untested) == 3 - chosen


def test_a_block_takes_as_long_as_until_the_next_begins() -> None:
    starts = ["2026-03-01T10:00:00+00:00", "2026-03-01T10:00:05+00:00", "2026-03-01T10:00:12+00:00"]
    records = [
        SimpleNamespace(block=block, started_at=at)
        for block, at in enumerate(starts)
        for _ in range(2)
    ]
    assert why._block_s(SimpleNamespace(measured=records)) == 6.0  # type: ignore[arg-type]
    assert why._block_s(SimpleNamespace(measured=records[:2])) == 0.0  # type: ignore[arg-type]


def test_what_is_compared_is_not_touched() -> None:
    pair, ((_, proposal),) = proposals("log-flush")
    assert why._touched(pair, proposal) is None
    compared = Pair(
        **{
            **{name: getattr(pair, name) for name in Pair.__slots__},
            "compared": "server.options.innodb_flush_log_at_trx_commit",
        }
    )
    assert why._touched(compared, proposal) == "innodb_flush_log_at_trx_commit"


def test_without_counters_one_reason_is_said_for_all() -> None:
    pair, _ = proposals("log-flush")
    for run in (*pair.runs["slower"], *pair.runs["faster"]):
        run.probes.pop("status")
    untested: dict[str, str] = {}
    why._fitting(pair, untested)
    assert untested["log-flush"] == untested["sort-passes"] == why._NO_COUNTERS
    assert untested["client-bound"] == "client_ceiling_share was not recorded"
