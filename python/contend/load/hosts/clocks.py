"""How the clocks of hosts stand to this one's, and when they begin together."""

from __future__ import annotations

import json
import time
from pathlib import Path

from contend.errors import WorkError
from contend.load.process import Child, judge
from contend.outcome import ClockOffset

WALL_APART_S = 60.0
"""Whose time of day is so wrong has a clock that nobody sets: it may step at any time, its log
cannot be read beside another, and certificates are not valid there."""

LEAD_S = 0.5
"""From agreeing the begin to the begin, and four times as long as the slowest host took to answer:
enough for the last of them to hear of it."""

ASK_S = 30.0


def ask_clock(program: Path, address: str) -> ClockOffset:
    """What to add to our clocks to get those of the host that answers at `address`.

    Raises:
        LoadFailed: nobody answers there.
    """
    last = None
    with Child([str(program), "clock", address], {}) as child:
        for line in child.lines(limit_s=ASK_S):
            last = json.loads(line)
        code, tail = child.wait(), child.stderr_tail()
    said = judge(last, code, tail, done="clock")
    return {name: said[name] for name in ("steady_us", "wall_us", "error_us")}  # type: ignore[return-value]


def refuse_apart(host: str, offset: ClockOffset) -> None:
    """Raise if the time of day of a host is another one than ours."""
    apart_s = offset["wall_us"] / 1e6
    if abs(apart_s) > WALL_APART_S:
        raise WorkError(
            f"the clock of host {host} is {abs(apart_s):,.0f} s "
            f"{'ahead of' if apart_s > 0 else 'behind'} the one here",
            hint="Set the clocks (chrony or another client of NTP), then try again.",
        )


def begin_ns(slowest_s: float) -> int:
    """When to begin, by our steady clock."""
    return time.monotonic_ns() + int((LEAD_S + 4 * slowest_s) * 1e9)


def on_clock(at_ns: int, offset: ClockOffset) -> int:
    """A moment of our steady clock, by that of another host."""
    return at_ns + round(offset["steady_us"] * 1e3)
