"""The parts of a query's time in one round of a diagnostic pass, in mean microseconds per event,
reconciled with the response time.

Two sources describe a thread. The scheduler counts how long it ran and waited for a CPU. Samples of
threads drawn at random give shares of the time. Threads ran or were about to, waited for the next
command, or waited elsewhere (and where). The second gives the time that the server had a
query: all but waiting for the next command. The response time, which contend-load measures, then
gives the time outside. The remainder is the time that the samples call running and the scheduler
does not count, less the hypervisor's steal. It is shown and is in no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment import Level
from contend.stats import Estimate

TO_BE_SENT, CLIENT, WIRE = "waiting to be sent", "client", "wire and waiting to be read"
USER, SYSTEM = "server on CPU, user", "server on CPU, system"
FOR_CPU, STOLEN, REMAINDER = "waiting for a CPU", "stolen", "remainder"
BLOCKED = {
    "futex": "blocked: futex",
    "disk": "blocked: disk",
    "socket": "blocked: socket",
    "page_fault": "blocked: page fault",
    "other": "blocked: other",
}
PARTS = (
    *(TO_BE_SENT, CLIENT, WIRE, USER, SYSTEM, FOR_CPU),
    *BLOCKED.values(),
    *(STOLEN, REMAINDER),
)
"""In the order in which they are shown. All that is measured sums to the response time."""

RESPONSE = "response time"

SLOW_INSIDE = "on a CPU or waiting for one"
OUTSIDE = "client, wire and waiting to be read"
SLOW_PARTS = (TO_BE_SENT, OUTSIDE, SLOW_INSIDE, *BLOCKED.values())
"""Parts of slow events, from samples of threads: the scheduler's counts have no single events."""


SEATED = 0.9
"""In a closed loop, if this share of connections has its own thread, every one does."""


@dataclass(frozen=True, slots=True)
class HotLock:
    """One word of the server's memory for which threads wait.

    Args:
        share: of all waits for such words.
        of_response: share of the response time that these waits take together.
        reads: samples that found a thread waiting for a word of memory.
    """

    address: str
    share: float
    of_response: float
    reads: int


@dataclass(frozen=True, slots=True)
class SlowBudget:
    """The time of the slowest hundredth of events, in microseconds; n counts rounds.

    Args:
        parts: by name, in the order of SLOW_PARTS.
        over_us: an event is slow if it takes longer; of the last round.
        events, reads: numbers of them, and of samples of their threads meanwhile.
    """

    response_us: Estimate
    parts: Mapping[str, Estimate]
    over_us: float
    events: int
    reads: int


@dataclass(frozen=True, slots=True)
class Budget:
    """The time of an event in one cell, in microseconds; n counts rounds with a diagnostic pass.

    Args:
        parts: by name, in the order of PARTS; unknown ones are missing.
        unknown: the parts that could not be seen, and why.
        speed: the effect of the pass on queries per second: with it over without it.
        effect: its effect on the ratio of this level to the baseline; None for the baseline.
        changes: from the baseline to this level, by name, RESPONSE among them: a difference of
            neighbours in each round. Empty for the baseline.
        slow: of the slowest hundredth of events; None if it is not known which thread works for
            which connection.
        left_out: rounds with a diagnostic pass that are in no part: see `_looked`.
        reads: samples of threads.
        look_cpu_share: share of one CPU that the pass took.
    """

    cell: Mapping[str, Level]
    response_us: Estimate
    parts: Mapping[str, Estimate]
    unknown: tuple[str, ...]
    speed: Estimate
    effect: Estimate | None
    changes: Mapping[str, Estimate]
    hot_lock: HotLock | None
    slow: SlowBudget | None
    left_out: int
    reads: int
    look_cpu_share: float


def has_threads(looked: Sequence[Mapping[str, Any]], figures: Mapping[str, Any]) -> bool:
    """Whether every connection has its own thread; in an open loop some may rest."""
    if figures.get("arrival") != "closed-loop":
        return all(one["look"]["threads"] > 0 for one in looked)
    wanted = SEATED * float(figures.get("connections") or 1)
    return all(one["look"]["threads"] >= wanted for one in looked)


def spare_threads(look: Mapping[str, Any], figures: Mapping[str, Any]) -> float:
    """Threads currently without a connection, in a closed loop that reopens connections. They wait
    in the server's cache of threads, in turn, for a new one. They wait on a word of memory that
    is not a lock."""
    connections = figures.get("connections")
    if figures.get("arrival") != "closed-loop" or not connections:
        return 0.0
    return max(0.0, float(look["threads"]) - float(connections))


def parts_of_round(one: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, float]:
    """The parts of one round with a diagnostic pass, in microseconds per event."""
    look = one["look"]
    # The events during the diagnostic pass, which is a little shorter than the round.
    events = one["begun"] / one["duration_s"] * look["duration_s"]
    response = one["latency_us"]["mean"]
    lag = figures.get("lag_us_mean")
    parts = {} if lag is None else {TO_BE_SENT: float(lag)}
    parts[CLIENT] = max(0.0, one["client_cpu_us"] - look["look_cpu_us"]) / one["begun"]
    # Without permission to sample threads, the serving ones are unknown: count all of them.
    unseen = look.get("refused") is not None and not look["threads"]
    run_us, wait_us = (
        look[f"{'other_' if unseen else ''}{name}"] for name in ("run_us", "wait_us")
    )
    if look["scheduled"] and (look["threads"] or unseen):
        user, system = (look.get(name) or 0.0 for name in ("user_us", "system_us"))
        of_user = share_of(user, user + system)
        parts[USER] = run_us / events * of_user
        parts[SYSTEM] = run_us / events * (1 - of_user)
        parts[FOR_CPU] = wait_us / events
    if look["reads"] and look.get("refused") is None:
        each_us = look["threads"] * look["duration_s"] * 1e6 / look["reads"] / events
        spare = share_of(spare_threads(look, figures), look["threads"]) * look["reads"]
        blocked = dict(look["blocked"])
        blocked["futex"] = max(0.0, blocked.get("futex", 0) - spare)
        for place, name in BLOCKED.items():
            parts[name] = blocked.get(place, 0) * each_us
        if has_threads([one], figures):
            inside = (look["running"] + sum(blocked.values())) * each_us
            parts[WIRE] = response - (lag or 0.0) - parts[CLIENT] - inside
    busy, stolen = look.get("host_busy_us"), look.get("host_stolen_us")
    if busy and stolen is not None:
        # The hypervisor takes from the running thread.
        parts[STOLEN] = stolen * min(1.0, run_us / busy) / events
    if WIRE in parts and FOR_CPU in parts:
        parts[REMAINDER] = response - sum(parts.values())
    return {RESPONSE: response, **parts}


def slow_parts_of_round(slow: Mapping[str, Any]) -> dict[str, float]:
    """The parts of slow events in one round, which sum to their response time."""
    each = (slow["response_us"] - slow["lag_us"]) / slow["reads"]
    return {
        TO_BE_SENT: slow["lag_us"],
        OUTSIDE: slow["idle"] * each,
        SLOW_INSIDE: slow["running"] * each,
        **{name: slow["blocked"].get(place, 0) * each for place, name in BLOCKED.items()},
    }


def share_of(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
