"""Evaluates lines of `sched_switch` and `sched_waking` for the threads of a process. Counts how
often a thread was taken off its CPU while runnable (preempted), how long it waited to continue, and
how long it slept. Also how much of it its waker was preempted.

The thread that ends a wait for a lock is the one that releases it, and the trace shows it waking
the waiting thread. So the time of a sleep in which the waker was preempted counts as time for a
preempted holder. It is an upper bound: the waker may have taken the lock only after it was
preempted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A period, in seconds, in which one process was queried."""

    pid: int
    begin_s: float
    end_s: float


@dataclass(slots=True)
class Switches:
    """Sums over all threads of the process in a window; times in microseconds.

    Args:
        preempted, preempted_us: number of times a runnable thread was taken off its CPU, and the
            time until it ran again.
        slept, asleep_us: number of sleeps, and the time until the thread was woken.
        woken_us: from being woken to running.
        by_holder, by_holder_us: sleeps ended by a thread of the same process that was preempted
            meanwhile, and the duration of its preemption.
        seen: events of the window.
    """

    preempted: int = 0
    preempted_us: float = 0.0
    slept: int = 0
    asleep_us: float = 0.0
    woken_us: float = 0.0
    by_holder: int = 0
    by_holder_us: float = 0.0
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Switched:
    """A thread left a CPU, and the next one started on it."""

    at_s: float
    before: int
    state: str
    after: int


@dataclass(frozen=True, slots=True)
class Woken:
    """A thread was woken by the one running then; interrupts count as the thread they interrupt."""

    at_s: float
    by: int
    thread: int
    in_interrupt: bool


_LINE = re.compile(
    r"-(?P<by>\d+)\s+(?:\(\s*[-\d]+\)\s+)?\[\d+\]\s+(?:(?P<flags>\S+)\s+)?"
    r"(?P<at>\d+\.\d+): (?P<event>sched_switch|sched_waking): (?P<rest>.*)"
)
_SWITCH = re.compile(
    r"prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+) next_prio="
)
_WAKING = re.compile(r".*\bpid=(\d+) prio=-?\d+")


def event_of(line: str) -> Switched | Woken | None:
    """None for a line that is neither: a comment, a different event, a truncated one. A thread's
    name may contain anything."""
    found = _LINE.search(line)
    if found is None:
        return None
    at_s, rest = float(found["at"]), found["rest"]
    if found["event"] == "sched_switch":
        switch = _SWITCH.search(rest)
        if switch is None:
            return None
        return Switched(at_s, int(switch[1]), switch[2], int(switch[3]))
    woken = _WAKING.match(rest)
    if woken is None:
        return None
    flags = found["flags"] or ""
    in_interrupt = len(flags) > 2 and flags[2] in "hHsZz"
    return Woken(at_s, int(found["by"]), int(woken[1]), in_interrupt)


_KEPT = 32
"""Preemptions of a thread, which may lie in a different thread's sleep."""


@dataclass(slots=True)
class _Off:
    """A thread that is off its CPU, since when and why."""

    since_s: float
    why: str


def switches_in(
    lines: Iterable[str], process_of: Mapping[int, int], windows: Sequence[Window]
) -> list[Switches]:
    """The switches in each window, from lines in the order of time.

    Args:
        process_of: the process of each thread that counts.
        windows: in the order of time, without overlaps.
    """
    found = [Switches() for _ in windows]
    begins = [window.begin_s for window in windows]
    off: dict[int, _Off] = {}
    preempted: dict[int, deque[tuple[float, float]]] = {}
    for line in lines:
        event = event_of(line)
        if event is None:
            continue
        place = bisect_right(begins, event.at_s) - 1
        window = windows[place] if place >= 0 else None
        counted = window is not None and event.at_s <= window.end_s
        into = found[place] if counted else Switches()
        begin_s = begins[place] if counted else event.at_s
        pid = window.pid if window is not None else None
        into.seen += 1
        if isinstance(event, Woken):
            _wake(event, process_of, pid, begin_s, into, off, preempted)
            continue
        if event.before in process_of:
            is_ready = event.state.startswith("R")
            off[event.before] = _Off(event.at_s, "preempted" if is_ready else "asleep")
            if process_of[event.before] == pid:
                into.preempted += is_ready
                into.slept += not is_ready
        went = off.pop(event.after, None)
        if went is None or event.after not in process_of:
            continue
        if went.why == "preempted":
            spans = preempted.setdefault(event.after, deque(maxlen=_KEPT))
            spans.append((went.since_s, event.at_s))
        if process_of[event.after] == pid:
            us = max(0.0, event.at_s - max(went.since_s, begin_s)) * 1e6
            into.preempted_us += us if went.why == "preempted" else 0.0
            into.woken_us += us if went.why == "woken" else 0.0
    return found


def _wake(
    event: Woken,
    process_of: Mapping[int, int],
    pid: int | None,
    begin_s: float,
    into: Switches,
    off: dict[int, _Off],
    preempted: Mapping[int, Sequence[tuple[float, float]]],
) -> None:
    went = off.get(event.thread)
    if went is None or went.why != "asleep":
        return
    off[event.thread] = _Off(event.at_s, "woken")
    if process_of.get(event.thread) != pid:
        return
    since_s = max(went.since_s, begin_s)
    into.asleep_us += max(0.0, event.at_s - since_s) * 1e6
    if event.in_interrupt or process_of.get(event.by) != pid:
        return
    overlap_s = sum(
        max(0.0, min(end_s, event.at_s) - max(start_s, since_s))
        for start_s, end_s in preempted.get(event.by, ())
    )
    if overlap_s > 0:
        into.by_holder += 1
        into.by_holder_us += overlap_s * 1e6
