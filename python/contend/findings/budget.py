"""Where the time of a query goes, cell by cell: what a look at the threads of a server found, as
estimates over its rounds, what differs from the baseline, and what the look itself did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.findings.budget_parts import (
    BLOCKED,
    PARTS,
    RESPONSE,
    SLOW_PARTS,
    has_threads,
    parts_of_round,
    share_of,
    slow_parts_of_round,
    spare_threads,
)
from contend.findings.look_rounds import Rounds, effect_of, speed_of
from contend.findings.looks import baseline_of, last_looks
from contend.spec import Level
from contend.stats import Estimate, estimate
from contend.store import LookRecord

BUDGET = "budget"

HOT_SHARE, HOT_TIME = 0.5, 0.1
"""One address is a hot lock if it has this share of all waits for memory, and they this share of
the response time."""


@dataclass(frozen=True, slots=True)
class HotLock:
    """One word of the server's memory for which threads wait.

    Args:
        share: of all waits for such words.
        of_response: of the response time that these waits take together.
        reads: looks that found a thread waiting for a word of memory.
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
        events, reads: how many there were, and looks at their threads meanwhile.
    """

    response_us: Estimate
    parts: Mapping[str, Estimate]
    over_us: float
    events: int
    reads: int


@dataclass(frozen=True, slots=True)
class Budget:
    """The time of an event in one cell, in microseconds; n counts rounds that were looked at.

    Args:
        parts: by name, in the order of PARTS; one that is not known is missing.
        unknown: what could not be seen, and why.
        speed: what the look did to queries a second: with it over without it.
        effect: what it did to the ratio of this level to the baseline; None for the baseline.
        changes: from the baseline to this level, by name, RESPONSE among them: a difference of
            neighbours in each round. Empty for the baseline.
        slow: of the slowest hundredth of events; None if it is not known which thread works for
            which connection.
        left_out: rounds that were looked at and are in no part: see `_looked`.
        reads: looks at threads.
        look_cpu_share: of one CPU that the look took.
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


def budgets_of(
    looks: Sequence[LookRecord], compared: str | None, baseline: Level | None
) -> list[list[Budget]]:
    """A budget of each cell that was looked at, those side by side together. Of a cell that was
    looked at again the last look counts."""
    found = []
    for records in last_looks([one for one in looks if one.figures.get("rounds")], BUDGET):
        base = baseline_of(records, compared, baseline)
        found.append([budget_of(record, None if record is base else base) for record in records])
    return found


def budget_of(record: LookRecord, base: LookRecord | None = None) -> Budget:
    """The budget of one cell; `base` is that of the baseline, looked at in the same block."""
    figures = record.figures
    rounds: Rounds = figures["rounds"]
    looked = _looked(rounds, figures)
    parts = _by_round(record)
    names = _known(parts.values())
    response = [one["latency_us"]["mean"] for one in looked or rounds]
    return Budget(
        cell=record.cell,
        response_us=estimate(response),
        parts={name: estimate([one[name] for one in parts.values()]) for name in names},
        unknown=_unknown(figures, looked),
        speed=speed_of(rounds),
        effect=None if base is None else effect_of(rounds, base.figures["rounds"]),
        changes={} if base is None else _changes(parts, _by_round(base)),
        hot_lock=_hot_lock(looked, figures),
        slow=_slow(rounds),
        left_out=sum(1 for one in rounds if one.get("look")) - len(looked),
        reads=sum(one["look"]["reads"] for one in looked),
        look_cpu_share=share_of(
            sum(one["look"]["look_cpu_us"] for one in looked),
            sum(one["look"]["duration_s"] for one in looked) * 1e6,
        ),
    )


def _by_round(record: LookRecord) -> dict[int, dict[str, float]]:
    """The parts of each round that was looked at."""
    return {
        one["round"]: parts_of_round(one, record.figures)
        for one in _looked(record.figures["rounds"], record.figures)
    }


def _looked(rounds: Rounds, figures: Mapping[str, Any]) -> Rounds:
    """The rounds that were looked at. On a busy host the thread that looks, or one of those that
    are looked at, can be without a CPU for all of a short round: such rounds are left out, unless
    most are so."""
    looked = [one for one in rounds if one.get("look") and one["begun"] > 0]
    met = [one for one in looked if one["look"]["reads"]]
    whole = [one for one in met if has_threads([one], figures)]
    return whole if 2 * len(whole) >= len(looked) else met or looked


def _known(rounds: Collection[Mapping[str, float]]) -> list[str]:
    """Those parts that every round knows."""
    return [name for name in PARTS if rounds and all(name in one for one in rounds)]


def _changes(
    of_level: Mapping[int, Mapping[str, float]], of_base: Mapping[int, Mapping[str, float]]
) -> dict[str, Estimate]:
    pairs = [(one, of_base[number]) for number, one in of_level.items() if number in of_base]
    known = _known([one for pair in pairs for one in pair])
    return {
        name: estimate([one[name] - other[name] for one, other in pairs])
        for name in (*((RESPONSE,) if pairs else ()), *known)
    }


def _unknown(figures: Mapping[str, Any], looked: Rounds) -> tuple[str, ...]:
    if not figures.get("is_here"):
        return ("the inside of the server: it does not run on this host",)
    if not looked:
        return ("the inside of the server: no round was looked at",)
    said = []
    refused = next((r for one in looked if (r := one["look"].get("refused"))), None)
    if refused is not None:
        said.append(f"where threads wait: {refused}")
    if not all(one["look"]["scheduled"] for one in looked):
        said.append("time on a CPU and waiting for one: the kernel counts none (schedstat)")
    if refused is None and not has_threads(looked, figures):
        said.append("what is outside the server: its threads are not one for each connection")
    elif refused is None and not any(one["look"]["reads"] for one in looked):
        said.append("where threads wait: no look met one, as if the host had no time for looks")
    return tuple(said)


def _hot_lock(looked: Rounds, figures: Mapping[str, Any]) -> HotLock | None:
    addresses: Counter[str] = Counter()
    waits = reads = 0
    of_response = []
    for one in looked:
        look = one["look"]
        for futex in look["futexes"]:
            addresses[futex["address"]] += futex["reads"]
        waits += look["blocked"].get("futex", 0)
        reads += look["reads"]
        name = BLOCKED["futex"]
        parts = parts_of_round(one, figures)
        if name in parts:
            of_response.append(share_of(parts[name], one["latency_us"]["mean"]))
    # Which of the addresses is where spare threads wait is not known.
    if not waits or not of_response or any(spare_threads(o["look"], figures) for o in looked):
        return None
    (address, found), *_ = addresses.most_common(1)
    share, time = found / waits, sum(of_response) / len(of_response)
    if share < HOT_SHARE or time < HOT_TIME:
        return None
    return HotLock(address, share, time, waits)


def _slow(rounds: Rounds) -> SlowBudget | None:
    """Rounds in which no look met a slow event say nothing of them. It takes no thread for each
    connection, and a round in which one did not run has slow events above all."""
    looks = [one["look"] for one in rounds if one.get("look")]
    seen = [slow for look in looks if (slow := look.get("slow")) and slow["reads"]]
    if not seen:
        return None
    parts = [slow_parts_of_round(one) for one in seen]
    return SlowBudget(
        response_us=estimate([one["response_us"] for one in seen]),
        parts={
            name: estimate([one[name] for one in parts])
            for name in SLOW_PARTS
            if any(one[name] for one in parts)
        },
        over_us=seen[-1]["over_us"],
        events=sum(one["events"] for one in seen),
        reads=sum(one["reads"] for one in seen),
    )
