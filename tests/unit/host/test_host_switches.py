"""What lines of sched_switch and sched_waking say; the lines are as a kernel 6.18 writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.host.switches import Switched, Window, Woken, event_of, switches_in

RECORDED = """\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       [000] d.h3. 34991.743299: sched_waking: comm=python pid=48 prio=130 \
target_cpu=000
          <idle>-0       [000] d..2. 34991.743329: sched_switch: prev_comm=swapper/0 prev_pid=0 \
prev_prio=120 prev_state=R ==> next_comm=python next_pid=48 next_prio=130
          python-48      [000] d..2. 34991.743409: sched_switch: prev_comm=python prev_pid=48 \
prev_prio=130 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
 con nection-49  (     40) [001] d.h2. 34991.743505: sched_waking: comm=a b pid=1 pid=45 prio=-5 \
target_cpu=000
"""


def test_recorded_lines_are_read() -> None:
    found = [event_of(line) for line in RECORDED.splitlines()]
    assert found == [
        None,
        None,
        Woken(34991.743299, 0, 48, in_interrupt=True),
        Switched(34991.743329, 0, "R", 48),
        Switched(34991.743409, 48, "S", 0),
        # A name of a thread may hold anything.
        Woken(34991.743505, 49, 45, in_interrupt=True),
    ]


@given(st.text())
def test_no_line_is_too_odd(text: str) -> None:
    event_of(text)
    for line in RECORDED.splitlines():
        event_of(line[: len(text)])
        event_of(line + text)


def switch(at_ms: float, before: int, state: str, after: int) -> str:
    return (
        f"  t-{before} [000] d..2. {1 + at_ms / 1e3:.6f}: sched_switch: prev_comm=t "
        f"prev_pid={before} prev_prio=120 prev_state={state} ==> "
        f"next_comm=t next_pid={after} next_prio=120"
    )


def waking(at_ms: float, by: int, thread: int, flags: str = "d..2.") -> str:
    return (
        f"  t-{by} [000] {flags} {1 + at_ms / 1e3:.6f}: sched_waking: comm=t pid={thread} prio=120 "
        "target_cpu=000"
    )


SERVER = {11: 7, 12: 7, 21: 8}
"""Two threads of the process 7, one of the process 8."""

WHOLE = [Window(7, 1.0, 2.0)]

HELD = [
    switch(0, 11, "S", 0),  # 11 sleeps, for what 12 has
    switch(1, 12, "R+", 99),  # 12 is preempted for 3 ms
    switch(4, 99, "S", 12),
    waking(6, 12, 11),  # and gives it up
    switch(7, 12, "S", 11),
]


def test_a_sleep_for_a_thread_that_was_preempted_is_told() -> None:
    (found,) = switches_in(HELD, SERVER, WHOLE)
    assert (found.preempted, found.slept, found.by_holder) == (1, 2, 1)
    assert found.preempted_us == pytest.approx(3000)
    assert found.asleep_us == pytest.approx(6000)
    assert found.woken_us == pytest.approx(1000)
    assert found.by_holder_us == pytest.approx(3000)
    assert found.seen == 5


def test_who_is_woken_by_the_client_or_an_interrupt_slept_for_no_holder() -> None:
    for by, flags in ((99, "d..2."), (21, "d..2."), (12, "d.h2.")):
        lines = [*HELD[:3], waking(6, by, 11, flags), HELD[4]]
        (found,) = switches_in(lines, SERVER, WHOLE)
        assert found.by_holder == 0 and found.asleep_us == pytest.approx(6000)


def test_only_the_overlap_with_the_sleep_counts() -> None:
    before = [switch(0, 12, "R", 99), switch(4, 99, "S", 12), switch(3, 11, "D", 0)]
    lines = sorted([*before, waking(6, 12, 11)], key=lambda line: line.split(": ")[0].split()[-1])
    (found,) = switches_in(lines, SERVER, WHOLE)
    assert found.by_holder_us == pytest.approx(1000)


def test_a_window_counts_its_own_process_and_its_own_time() -> None:
    windows = [Window(8, 1.0, 1.002), Window(7, 1.003, 1.010)]
    other, own = switches_in(HELD, SERVER, windows)
    assert (other.preempted, other.slept, other.preempted_us) == (0, 0, 0)
    # Off since before the window: only what lies in it.
    assert own.preempted_us == pytest.approx(1000)
    assert own.asleep_us == pytest.approx(3000)
    assert own.by_holder_us == pytest.approx(1000)
    assert switches_in(HELD, SERVER, []) == []


def test_threads_of_nobody_count_nothing() -> None:
    (found,) = switches_in(HELD, {}, WHOLE)
    assert (found.preempted, found.slept, found.asleep_us) == (0, 0, 0)
