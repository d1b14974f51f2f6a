"""The plan of `contend why` on made-up pairs: which candidates fit in the time."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made_up_pairs import SIGNS

from contend.why import plan as why
from contend.why.candidate import Pair, Proposal
from contend.why.candidates import CANDIDATES
from contend.why.tried import LOOKS


def finding(low: float, high: float, verdict: str = "higher", n: int = 8) -> Any:
    change = SimpleNamespace(ratio=math.sqrt(low * high), low=low, high=high, verdict=verdict, n=n)
    return SimpleNamespace(change=change, is_certain=verdict in ("higher", "lower"))


def differences(monkeypatch: pytest.MonkeyPatch, *found: Any) -> None:
    comparisons = SimpleNamespace(compared=SimpleNamespace(comparisons=found))
    monkeypatch.setattr(why, "compared_of", lambda _study: (comparisons,))


def explained() -> Any:
    return why._difference(None, Path("run"))  # type: ignore[arg-type]


def test_a_difference_that_is_nearly_certain_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is measured again with the treatments, and no cause is named unless it is certain then."""
    hardly, surely = finding(0.98, 1.3, "inconclusive"), finding(1.5, 2.0)
    differences(monkeypatch, hardly, finding(0.9, 1.2, "inconclusive"))
    assert explained() is hardly
    differences(monkeypatch, hardly, surely)
    assert explained() is surely


def test_the_most_certain_difference_is_explained_in_either_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gain, loss, wild = finding(1.8, 2.2), finding(0.2, 0.3), finding(0.01, 0.9)
    differences(monkeypatch, gain, loss, wild)
    assert explained() is loss
    differences(monkeypatch, gain, wild)
    assert explained() is gain


def test_the_hint_has_the_missing_repeats_if_they_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = finding(0.99, 1.0101, "equivalent")
    differences(monkeypatch, never, finding(0.75, 1.7, "inconclusive"))
    with pytest.raises(why.NotTried) as refused:
        explained()
    assert "83 more" in str(refused.value.hint)
    assert "compare.repeats=91" in str(refused.value.hint)
    for nothing in ((), (never, finding(0.5, 2.0, "inconclusive"))):
        differences(monkeypatch, *nothing)
        with pytest.raises(why.NotTried) as refused:
            explained()
        assert "--for TIME" in (hint := str(refused.value.hint)) and "repeats=" not in hint


def proposals(*names: str) -> tuple[Pair, list[tuple[Any, Proposal]]]:
    found = []
    for name in names:
        proposal = CANDIDATES[name].propose(SIGNS[name][0])
        assert isinstance(proposal, Proposal)
        found.append((CANDIDATES[name], proposal))
    return deepcopy(SIGNS[names[0]][0]), found


STEADY = np.array([0.50, 0.51, 0.49, 0.50, 0.51, 0.49])
NOISY = np.array([0.50, 1.00, 0.00, 0.50, 1.00, 0.00])


@pytest.mark.parametrize(
    ("took_s", "ratios", "chosen"),
    [
        (0.0, STEADY, 3),
        (1.5, STEADY, 3),
        (0.0, NOISY, 3),
        (4.0, NOISY, 2),
        (60.0, STEADY, 1),
        (4.0, NOISY - 0.3, 2),  # the noise is more than the difference
        (0.0, NOISY[:2], 3),  # the scatter is unknown
    ],
)
def test_as_many_are_tried_as_can_be_decided_in_the_time(
    took_s: float, ratios: np.ndarray, chosen: int
) -> None:
    """It depends on the time of a block and on the scatter of the run; at least one is tried. With
    much scatter, more are tried than can be decided: some are soon set aside."""
    pair, found = proposals("thread-cache", "log-flush", "sort-passes")
    for run in (*pair.runs["slower"], *pair.runs["faster"]):
        run.plan["load"] = {"slices": {"rounds": 16}}
    untested: dict[str, str] = {}
    tried, repeats = why._in_time(pair, found, 170.0, took_s, ratios, untested)
    assert len(tried) == chosen
    assert why.REPEATS <= repeats <= why.REPEATS_MOST
    assert all("--minutes" in reason for reason in untested.values())
    assert len(untested) == 3 - chosen


def test_a_treatment_of_two_candidates_is_measured_once() -> None:
    _, ((_, one), (_, other)) = proposals("log-flush", "sort-passes")
    assert one.placebo.sets == other.placebo.sets
    tables: dict[str, dict[str, Any]] = {}
    named = why._treatment_name
    names = [named(tables, each.placebo, name) for each, name in ((one, "a"), (other, "b"))]
    assert names == ["a", "a"] and list(tables) == ["a"]
    assert named(tables, one.whole, "c") == "c"


def test_candidates_whose_signs_differ_most_come_first() -> None:
    pair, _ = proposals("log-flush")
    slower, faster = pair.runs["slower"][0], pair.runs["faster"][0]
    slower.probes["status"] |= {"Sort_merge_passes": 500, "Threads_created": 900}
    faster.probes["status"] |= {"Sort_merge_passes": 300, "Threads_created": 100}
    tried = [one.name for one, _ in why.fitting(pair, {})]
    # Only the slower side flushes the log.
    assert tried == ["log-flush", "log-device", "thread-cache", "sort-passes"]


def test_a_slow_setting_comes_last() -> None:
    pair, _ = proposals("redo-log")
    for side, flushed in (("slower", 900), ("faster", 100)):
        for run in pair.runs[side]:
            run.probes["status"] |= {"Sort_merge_passes": flushed, "Questions": 1000}
    tried = why.fitting(pair, {})
    assert [one.name for one, _ in tried][-1] == "redo-log" and len(tried) > 1
    assert [proposal.dose_s for _, proposal in tried] == [0.0] * (len(tried) - 1) + [5.0]


def test_repeats_take_less_after_the_first_and_the_second_look() -> None:
    first, second = sorted(LOOKS)[:2]
    laps_s = (10.0, 5.0, 2.0)
    assert why._seconds(first - 1, laps_s) == 10.0 * (first - 1)
    assert why._seconds(second, laps_s) == 10.0 * first + 5.0 * (second - first)
    assert why._seconds(second + 3, laps_s) == why._seconds(second, laps_s) + 6.0


def test_a_block_takes_as_long_as_until_the_next_begins() -> None:
    starts = ["2026-03-01T10:00:00+00:00", "2026-03-01T10:00:05+00:00", "2026-03-01T10:00:12+00:00"]
    records = [
        SimpleNamespace(block=block, started_at=at)
        for block, at in enumerate(starts)
        for _ in range(2)
    ]
    assert why._block_s(SimpleNamespace(measured=records)) == 6.0  # type: ignore[arg-type]
    assert why._block_s(SimpleNamespace(measured=records[:2])) == 0.0  # type: ignore[arg-type]


def test_a_treatment_of_the_compared_setting_is_detected() -> None:
    pair, ((_, proposal),) = proposals("log-flush")
    assert why._touched(pair, proposal) is None
    compared = replace(pair, compared="server.options.innodb_flush_log_at_trx_commit")
    assert why._touched(compared, proposal) == "innodb_flush_log_at_trx_commit"


def test_without_counters_all_have_one_reason() -> None:
    pair, _ = proposals("log-flush")
    for run in (*pair.runs["slower"], *pair.runs["faster"]):
        run.probes.pop("status")
    untested: dict[str, str] = {}
    why.fitting(pair, untested)
    assert untested["log-flush"] == untested["sort-passes"] == why._NO_COUNTERS
    assert untested["client-bound"] == "not recorded: client_ceiling_share"
