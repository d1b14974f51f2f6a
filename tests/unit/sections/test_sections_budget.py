"""The time of a query: parts of a look, reconciled with the response time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_looks import record, rounds, slow

from contend.sections import budget_parts as budget
from contend.sections.budget import BUDGET, budget_of
from contend.sections.budget_parts import Budget
from contend.sections.looks import groups_of
from contend.store import LookRecord

NOBODY = {"reads": 0, "running": 0, "idle": 0, "blocked": {}, "futexes": []}


def means(found: Budget) -> dict[str, float]:
    return {name: part.mean for name, part in found.parts.items()}


def test_parts_sum_to_the_response_time() -> None:
    found = budget_of(record(rounds()))
    parts = means(found)
    assert parts[budget.USER] == pytest.approx(375)
    assert parts[budget.SYSTEM] == pytest.approx(125)
    assert parts[budget.FOR_CPU] == pytest.approx(200)
    assert parts["blocked: futex"] == pytest.approx(500)
    assert parts[budget.CLIENT] == pytest.approx(100)
    # 40 % of the time each thread waits for the next command: 800 us an event.
    assert parts[budget.WIRE] == pytest.approx(700)
    assert parts[budget.REMAINDER] == pytest.approx(0, abs=1e-6)
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("changes", "part", "us", "remainder"),
    [
        # What no counter has is in no part.
        ({"run_us": 300_000.0}, "blocked: futex", 500, 200),
        ({"run_us": 400_000.0, "host_stolen_us": 100_000.0}, budget.STOLEN, 40, 60),
    ],
)
def test_what_is_in_no_part_is_the_remainder(
    changes: dict[str, float], part: str, us: float, remainder: float
) -> None:
    parts = means(budget_of(record(rounds(**changes))))
    assert parts[budget.REMAINDER] == pytest.approx(remainder)
    assert parts[part] == pytest.approx(us)


def test_an_open_loop_waits_to_be_sent() -> None:
    found = budget_of(record(rounds(), arrival="open-loop", lag_us_mean=150.0))
    parts = means(found)
    assert parts[budget.TO_BE_SENT] == 150
    assert parts[budget.WIRE] == pytest.approx(550)


def test_one_address_that_has_the_waits_is_a_hot_lock() -> None:
    hot = budget_of(record(rounds())).hot_lock
    assert hot is not None
    assert (hot.address, hot.reads) == ("0x7f", 500)
    assert (hot.share, hot.of_response) == (pytest.approx(0.96), pytest.approx(0.25))
    scattered = [{"address": hex(n), "reads": 30} for n in range(8)]
    assert budget_of(record(rounds(futexes=scattered))).hot_lock is None
    seldom = rounds(blocked={"futex": 25, "disk": 225}, futexes=[{"address": "0x7f", "reads": 25}])
    assert budget_of(record(seldom)).hot_lock is None


def test_threads_that_wait_for_a_new_connection_are_not_blocked() -> None:
    """Two threads more than connections are in the server's cache, as happens if connections are
    opened anew: looks meet them too, at one address."""
    plain = means(budget_of(record(rounds())))
    look = rounds()[1]["look"]
    threads, reads = look["threads"], look["reads"]
    spare = reads * 2 // threads
    blocked = {**look["blocked"], "futex": look["blocked"]["futex"] + spare}
    more = rounds(threads=threads + 2, reads=reads + spare, blocked=blocked)
    found = budget_of(record(more))
    assert means(found) == pytest.approx(plain)
    assert found.hot_lock is None


def test_a_round_whose_looks_met_nobody_is_left_out() -> None:
    """As of a host that gave the looking thread no CPU in one of them."""
    whole = rounds()
    first, *others = [one for one in whole if one.get("look")]
    unmet = [{**one, "look": {**one["look"], **NOBODY}} if one is first else one for one in whole]
    found = budget_of(record(unmet))
    assert means(found) == pytest.approx(means(budget_of(record(whole))))
    assert found.reads == sum(one["look"]["reads"] for one in others)
    assert (found.left_out, found.unknown) == (1, ())


def short_of_threads(*numbers: int, **changes: Any) -> list[dict[str, Any]]:
    """Four rounds of eight are looked at; in these, one of the two threads did not run."""
    return [
        {**one, "look": {**one["look"], "threads": 1}} if one["round"] in numbers else one
        for one in rounds(8, **changes)
    ]


def test_a_round_in_which_a_thread_did_not_run_is_left_out() -> None:
    """As of a host that gave one of the server's threads no CPU in one of them."""
    found = budget_of(record(short_of_threads(5)))
    assert means(found) == pytest.approx(means(budget_of(record(rounds(8)))))
    assert (found.response_us.n, found.left_out, found.unknown) == (3, 1, ())


def test_slow_events_of_a_round_that_is_left_out_count() -> None:
    found = budget_of(record(short_of_threads(5, slow=slow())))
    assert found.slow is not None
    assert (found.response_us.n, found.slow.events, found.slow.reads) == (3, 40, 160)


def test_if_most_rounds_lack_threads_a_connection_has_none_of_its_own() -> None:
    found = budget_of(record(short_of_threads(1, 2, 5)))
    assert budget.USER in found.parts and budget.WIRE not in found.parts
    assert (found.response_us.n, found.left_out) == (4, 0)
    (unknown,) = found.unknown
    assert "outside the server" in unknown


def test_threads_that_may_not_be_seen_leave_what_the_scheduler_counts() -> None:
    refused = rounds(refused="syscall: Permission denied", reads=0, running=0, blocked={})
    found = budget_of(record(refused))
    unseen = [dict(one) for one in refused]
    for one in unseen:
        if "look" in one:
            one["look"] = {**one["look"], "threads": 0, "run_us": 0.0, "wait_us": 0.0}
            one["look"] |= {"other_run_us": 500_000.0, "other_wait_us": 200_000.0}
    # Nobody knows which threads serve: it is all of them.
    assert means(budget_of(record(unseen))) == means(found)
    assert budget.FOR_CPU in found.parts
    assert budget.WIRE not in found.parts and budget.REMAINDER not in found.parts
    (unknown,) = found.unknown
    assert unknown.endswith(": syscall: Permission denied")


def test_a_process_that_is_hidden_leaves_the_client_alone() -> None:
    """As with hidepid=2, for another user than the server's."""
    refused = "/proc/PID/task: No such file or directory"
    hidden = rounds(
        **{**NOBODY, "refused": refused, "scheduled": False, "threads": 0},
        **{"run_us": 0.0, "wait_us": 0.0, "user_us": None, "system_us": None},
    )
    found = budget_of(record(hidden))
    assert set(found.parts) <= {budget.CLIENT, budget.STOLEN}
    assert found.response_us.mean == 2000 and found.hot_lock is None
    waits, counted = found.unknown
    assert refused in waits and "schedstat" in counted


def test_a_server_elsewhere_has_a_budget_without_its_inside() -> None:
    plain = [{k: v for k, v in one.items() if k != "look"} for one in rounds()]
    found = budget_of(record(plain, is_here=False))
    assert found.parts == {} and found.response_us.mean == 2000
    assert "does not run on this host" in found.unknown[0]


@pytest.mark.parametrize(
    ("changes", "connections", "part", "known", "reason"),
    [
        (NOBODY, 2, budget.WIRE, budget.FOR_CPU, "no thread was sampled"),
        ({}, 64, budget.WIRE, budget.FOR_CPU, "one thread per connection"),
        ({"scheduled": False, "run_us": 0.0}, 2, budget.FOR_CPU, budget.WIRE, "schedstat"),
    ],
)
def test_a_part_that_cannot_be_known_is_named_with_its_reason(
    changes: dict[str, Any], connections: int, part: str, known: str, reason: str
) -> None:
    found = budget_of(record(rounds(**changes), connections=connections))
    assert part not in found.parts and known in found.parts
    assert any(reason in unknown for unknown in found.unknown)


def test_rounds_without_the_look_say_what_it_did() -> None:
    slowed, base = record(rounds(8, 0.5)), record(rounds(8, 0.8))
    found = budget_of(slowed, base)
    assert found.speed.mean == pytest.approx(0.5)
    assert found.effect is not None and found.effect.mean == pytest.approx(0.625)
    assert budget_of(base).effect is None


def test_the_looks_effect_is_that_of_the_same_minutes_if_a_round_had_no_answer() -> None:
    """Of three groups of rounds the level lacks the first, and the look costs more each time."""
    slower = [
        {**one, "qps": one["qps"] * (1 - 0.1 * (place // 4) if one.get("look") else 1)}
        for place, one in enumerate(rounds(12))
    ]
    without = [{**slower[0], "qps": 0.0}, *slower[1:]]
    found = budget_of(record(without), record(slower))
    assert found.effect is not None
    assert (found.effect.mean, found.effect.n) == (pytest.approx(1), 2)


def test_slow_events_have_a_budget_by_looks_alone() -> None:
    assert budget_of(record(rounds())).slow is None
    assert budget_of(record(rounds(slow=slow(reads=0)))).slow is None
    found = budget_of(record(rounds(slow=slow(lag_us=2000.0)))).slow
    assert found is not None
    assert (found.events, found.reads, found.response_us.mean) == (20, 80, 10_000)
    parts = {name: part.mean for name, part in found.parts.items()}
    assert parts["blocked: futex"] == pytest.approx(6000)
    assert parts[budget.TO_BE_SENT] == 2000 and parts[budget.SLOW_INSIDE] == pytest.approx(1600)
    assert sum(parts.values()) == pytest.approx(10_000)


def test_changes_are_of_neighbours_in_each_round() -> None:
    level = rounds()
    level[2]["latency_us"] = {"mean": 1900.0}
    found = budget_of(record(level), record(rounds()))
    assert found.changes[budget.RESPONSE].mean == pytest.approx(-50)
    assert found.changes[budget.RESPONSE].n == 2
    assert found.changes[budget.USER].mean == pytest.approx(0)
    rest = sum(one.mean for name, one in found.changes.items() if name != budget.RESPONSE)
    assert rest == pytest.approx(-50)
    assert budget_of(record(rounds())).changes == {}


def test_the_last_look_at_a_cell_counts_and_one_that_failed_does_not() -> None:
    first, again = record(rounds()), record(rounds(run_us=1.0))
    second = LookRecord("budget", 2, {"a": 1}, "", "", again.figures)
    failed = LookRecord("budget", 3, {"a": 1}, "", "", error="no server")
    ((found,),) = groups_of([first, second, failed], BUDGET, budget_of, "a", 1)
    assert found.parts[budget.USER].mean < 1
    assert groups_of([failed], BUDGET, budget_of, "a", 1) == ()


@given(
    threads=st.integers(0, 3),
    reads=st.integers(0, 5),
    running=st.integers(0, 5),
    run_us=st.floats(0, 1e7),
    stolen=st.floats(0, 1e7) | st.none(),
    user=st.floats(0, 1e6) | st.none(),
)
def test_no_look_breaks_it(
    threads: int, reads: int, running: int, run_us: float, stolen: float | None, user: float | None
) -> None:
    odd = rounds(
        threads=threads, reads=reads, running=running, run_us=run_us, host_stolen_us=stolen
    )
    for one in odd:
        if "look" in one:
            one["look"]["user_us"] = user
    found = budget_of(record(odd))
    if budget.REMAINDER in found.parts:
        total = sum(part.mean for part in found.parts.values())
        assert total == pytest.approx(2000, abs=1e-3)
