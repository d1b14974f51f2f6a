"""Where the time of a query goes, cell by cell: from the response time through its parts to the
remainder. It also has the differences from the baseline, and the effect of the diagnostic pass on
the server. Half of its rounds are without samples, on the same servers and connections.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contend.experiment import Level
from contend.findings import Study, cell_figures
from contend.lab.looks import BlockToLookAt, LookAtCause
from contend.metrics import Metric, Run
from contend.metrics.counters import SOURCES, CounterSource, counters_in
from contend.sections.budget_charts import bars_chart, parts_of, slow_chart, waterfalls
from contend.sections.budget_parts import (
    BLOCKED,
    PARTS,
    RESPONSE,
    SLOW_PARTS,
    Budget,
    HotLock,
    SlowBudget,
    has_threads,
    parts_of_round,
    share_of,
    slow_parts_of_round,
    spare_threads,
)
from contend.sections.looks import (
    LooksFound,
    Rounds,
    context_of,
    cost_json,
    cost_rows,
    each_in_words,
    effect_of,
    failed_sentences,
    head_of,
    looked,
    side_by_side,
    speed_of,
    with_cell,
)
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import estimate_text, figure_json, known_text, significant
from contend.stats import Estimate, estimate
from contend.store import LookRecord

if TYPE_CHECKING:
    from contend.metrics.outcome import Outcome, Slice

BUDGET = "budget"

ROUNDS = 1 + 16
"""The first may be slow. Half of the others have the diagnostic pass: four groups of two with it
between two without."""

SLICE_S = 0.4
SETTLE_S = 0.1
"""Longer than those of a comparison: the threads are counted at both ends of a slice."""

THREAD_S, SLICE_MOST_S = 0.0039, 2.0
"""Slice time per connection, and its maximum. Reading the time of a thread at both ends costs 4 us
of CPU, which is a tenth of a percent of it."""

READS_PER_S = 250
"""Samples of threads, fewer per second in longer slices. About 760 in a cell give a tenth of the
response time to 2.1 points."""


def look_at_threads(block: BlockToLookAt) -> list[LookRecord]:
    """Look at the threads of the servers of these cells in half of the rounds of slices.

    Raises:
        LoadFailed: contend-load gave no result.
    """
    from contend.servers.kinds import KINDS

    connections = sum(int(arm.cell["load.connections"]) for arm in block.arms)
    slice_s = min(SLICE_MOST_S, max(SLICE_S, THREAD_S * connections))
    reads_per_s = round(READS_PER_S * SLICE_S / slice_s)
    cut = replace(block.cut(ROUNDS, slice_s, SETTLE_S), look_reads_per_s=reads_per_s)
    arms = [
        replace(arm, watch_threads=KINDS[ready.observed.kind].connection_threads)
        for arm, ready in zip(block.arms, block.readies, strict=True)
    ]
    rounds: list[list[dict[str, Any]]] = [[] for _ in arms]

    def on_event(event: Outcome) -> None:
        if event["type"] == "slice" and event["round"] > 0:
            rounds[event["arm_index"]].append(_kept(event))

    done = block.drive(cut, on_event, arms)
    return block.records(
        [
            {
                "rounds": rounds[place],
                "is_here": arm.watch_pid is not None,
                "connections": one["done"].get("connections"),
                "depth": one["done"].get("depth"),
                "arrival": one["done"]["arrival"],
                "lag_us_mean": _lag_us(one["done"].get("open") or {}),
                "latency_hdr_ns": one["done"]["latency_hdr_ns"],
            }
            for place, (arm, one) in enumerate(zip(arms, done["arms"], strict=True))
        ]
    )


_SLICE_KEYS = (
    *("round", "position", "duration_s", "begun", "events", "queries", "qps", "latency_us"),
    *("client_cpu_us", "look"),
)


def _kept(event: Slice) -> dict[str, Any]:
    fields: dict[str, Any] = dict(event)
    return {key: fields[key] for key in _SLICE_KEYS if key in fields}


def _lag_us(open_loop: Any) -> float | None:
    lag = open_loop.get("lag_us")
    return None if lag is None else float(lag["mean"])


HOT_SHARE, HOT_TIME = 0.5, 0.1
"""One address is a hot lock if it has this share of all waits for memory, and they this share of
the response time."""


def budget_of(record: LookRecord, base: LookRecord | None = None) -> Budget:
    """The budget of one cell; `base` is that of the baseline, from the same block."""
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
    """The parts of each round with a diagnostic pass."""
    return {
        one["round"]: parts_of_round(one, record.figures)
        for one in _looked(record.figures["rounds"], record.figures)
    }


def _looked(rounds: Rounds, figures: Mapping[str, Any]) -> Rounds:
    """The rounds with a diagnostic pass. On a busy host the sampling thread, or a sampled one, can
    be without a CPU for all of a short round. Such rounds are left out, unless they are the
    majority."""
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
        return ("the inside of the server: no round had a diagnostic pass",)
    unknown = []
    refused = next((r for one in looked if (r := one["look"].get("refused"))), None)
    if refused is not None:
        unknown.append(f"where threads wait: {refused}")
    if not all(one["look"]["scheduled"] for one in looked):
        unknown.append("time on a CPU and waiting for one: not counted by this kernel (schedstat)")
    if refused is None and not has_threads(looked, figures):
        unknown.append("the part outside the server: it does not have one thread per connection")
    elif refused is None and not any(one["look"]["reads"] for one in looked):
        unknown.append(
            "where threads wait: no thread was sampled; the host may have lacked CPU time for it"
        )
    return tuple(unknown)


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
    # It is not known at which of the addresses the spare threads wait.
    if not waits or not of_response or any(spare_threads(o["look"], figures) for o in looked):
        return None
    (address, found), *_ = addresses.most_common(1)
    share, time = found / waits, sum(of_response) / len(of_response)
    if share < HOT_SHARE or time < HOT_TIME:
        return None
    return HotLock(address, share, time, waits)


def _slow(rounds: Rounds) -> SlowBudget | None:
    """Rounds in which no sample met a slow event have no information on them. A thread for each
    connection is not needed: a round in which one did not run has mostly slow events."""
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


_SHOWN: Mapping[str, str] = {
    "status": r"Handler_(?!commit|external_lock).+|Innodb_row_lock_(time|waits)|Table_locks_waited"
    r"|Created_tmp_.+|Sort_merge_passes|Qcache_(hits|inserts|lowmem_prunes|not_cached)"
    r"|Key_(read_requests|reads|write_requests|writes)|Aria_pagecache_reads"
    r"|Innodb_(buffer_pool_reads|buffer_pool_wait_free|log_waits|data_fsyncs|os_log_fsyncs)",
    "innodb": r".*(wait|lock|usec|latency).*",
    "key_cache": r".+",
}
"""Which counters, by their source."""

_IN_MS = frozenset({"Innodb_row_lock_time"})
"""Reported in microseconds, like all times of a query."""


@dataclass(frozen=True, slots=True)
class ServerCount:
    """One counter per query, in the cells side by side; None where it was not kept."""

    name: str
    figures: tuple[Estimate | None, ...]


def server_counts(study: Study, cells: Sequence[Mapping[str, Level]]) -> list[ServerCount]:
    """The counts in these cells, in the order of the sources; missing counts are left out. n
    counts repeats."""
    runs = [run for cell in cells for run in study.runs_of(cell)]
    found = {(source.name, name) for run in runs for source, name in counters_in(run)}
    shown = [
        _count_of(source, name)
        for source in SOURCES
        if source.queries is not None
        for name in sorted(name for of, name in found if of == source.name)
        if re.fullmatch(_SHOWN.get(source.name, "(?!)"), name)
    ]
    wanted = replace(study, shown=tuple(shown))
    figures = [cell_figures(wanted, cell) for cell in cells]
    counts = [
        ServerCount(
            metric.title,
            tuple(None if one is None else one.figures.get(metric.name) for one in figures),
        )
        for metric in shown
    ]
    return [one for one in counts if any(figure and figure.mean for figure in one.figures)]


def _count_of(source: CounterSource, name: str) -> Metric:
    metric = source.metric(name)
    if name not in _IN_MS:
        return replace(metric, title=name if source.name == "status" else f"{source.name}.{name}")

    def in_us(run: Run) -> float | None:
        value = metric.value(run)
        return None if value is None else value * 1000

    return replace(metric, title=f"{name}, us", value=in_us)


_TITLE = "Where the time of a query goes"


def _read(inputs: Inputs) -> LooksFound[Budget] | None:
    whole = [one for one in inputs.looks if one.error is not None or one.figures.get("rounds")]
    return looked(replace(inputs, looks=whole), BUDGET, budget_of)


def _show(found: LooksFound[Budget], inputs: Inputs) -> Shown:
    compared, groups = inputs.compared_path, found.groups
    notable = [text for one in found.cells for text in _notable(one)]
    tables = []
    for group in groups:
        counts = server_counts(inputs.study, [one.cell for one in group])
        tables += _tables(group, counts, compared)
    charts = [bars_chart(group, compared) for group in groups]
    charts += [chart for group in groups if (chart := slow_chart(group, compared)) is not None]
    charts += [fall for group in groups for fall in waterfalls(group, compared)]
    largest = [
        each_in_words("Largest part of the response time", group, compared, _largest)
        for group in groups
    ]
    lead = " ".join((*notable, *failed_sentences(found.failed), *filter(None, largest)))
    return Shown(_TITLE, lead, tuple(tables), tuple(charts), is_short=True)


def _largest(one: Budget) -> str:
    if not one.parts:
        return ""
    name, part = max(one.parts.items(), key=lambda each: each[1].mean)
    return f"{name}, {known_text(part)} of {known_text(one.response_us)} us"


def _notable(one: Budget) -> list[str]:
    """The notable results of a cell: a hot lock, and the unknown parts."""
    at, sentences = with_cell(one.cell), []
    if one.hot_lock is not None:
        lock = one.hot_lock
        sentences.append(
            f"One lock is hot{at}: {lock.share * 100:.0f} % of the {lock.reads} sampled "
            f"waits for memory are for one address ({lock.address}). All such waits take "
            f"{lock.of_response * 100:.0f} % of the response time."
        )
    return sentences + [f"Not known{at}: {part}." for part in one.unknown]


def _tables(
    group: Sequence[Budget], counts: Sequence[ServerCount], compared: str | None
) -> list[TextTable]:
    """The parts of the cells side by side, the differences, the server's own counts, and the cost
    of the diagnostic pass."""
    where = with_cell(context_of(group[0], compared))
    heads = [head_of(one, compared) for one in group]
    names = [RESPONSE, *parts_of(group)]
    levels = [one for one in group if one.changes]
    base = next((head_of(one, compared) for one in group if not one.changes), "")
    return [
        TextTable(
            f"Mean microseconds per event{where} (intervals after ±; n counts rounds)",
            ("part", *heads, *(f"{head_of(one, compared)} less {base}" for one in levels)),
            tuple(
                (
                    name,
                    *(
                        known_text(one.response_us if name == RESPONSE else one.parts.get(name))
                        for one in group
                    ),
                    *(_signed(one.changes.get(name)) for one in levels),
                )
                for name in names
            ),
        ),
        *_slow_table(group, where, compared),
        *(
            [
                TextTable(
                    f"The server's own counters per query{where} (from the measured runs; n "
                    "counts repeats)",
                    ("counter", *heads),
                    tuple((one.name, *map(known_text, one.figures)) for one in counts),
                )
            ]
            if counts
            else ()
        ),
        side_by_side(
            f"Effect of the diagnostic pass{where}",
            group,
            compared,
            [
                *cost_rows("with it over without"),
                ("thread samples", lambda one: str(one.reads)),
                *(
                    [("rounds left out (no CPU for a thread)", lambda one: str(one.left_out))]
                    if any(one.left_out for one in group)
                    else ()
                ),
                (
                    "CPU time of the pass, of one CPU",
                    lambda one: f"{one.look_cpu_share * 100:.2f} %",
                ),
            ],
        ),
    ]


def _slow_table(group: Sequence[Budget], where: str, compared: str | None) -> list[TextTable]:
    """The slowest hundredth of events, from samples of their threads."""
    known = [(head_of(one, compared), one.slow) for one in group if one.slow is not None]
    if not known:
        return []
    names = [name for name in SLOW_PARTS if any(name in slow.parts for _, slow in known)]
    return [
        TextTable(
            f"The slowest hundredth of events{where}: mean microseconds (intervals after ±; n "
            "counts rounds)",
            ("part", *(head for head, _ in known)),
            (
                (RESPONSE, *(known_text(slow.response_us) for _, slow in known)),
                *(
                    # No sample found a thread waiting there.
                    (
                        name,
                        *(
                            known_text(slow.parts[name]) if name in slow.parts else "0"
                            for _, slow in known
                        ),
                    )
                    for name in names
                ),
                ("slow if above, us", *(significant(slow.over_us, 3) for _, slow in known)),
                ("samples of their threads", *(str(slow.reads) for _, slow in known)),
            ),
        )
    ]


def _signed(change: Estimate | None) -> str:
    if change is None:
        return "not known"
    text = str(estimate_text(change))
    return text if text.startswith("-") else f"+{text}"


def _json(found: LooksFound[Budget], _inputs: Inputs) -> list[dict[str, Any]]:
    """Each cell with a diagnostic pass; microseconds per event, ratios unchanged."""
    return [
        {
            "factors": dict(one.cell),
            "response_us": figure_json(one.response_us),
            "parts_us": {name: figure_json(part) for name, part in one.parts.items()},
            "changes_us": {name: figure_json(part) for name, part in one.changes.items()},
            "unknown": list(one.unknown),
            "hot_lock": None
            if one.hot_lock is None
            else {
                "address": one.hot_lock.address,
                "share_of_waits": one.hot_lock.share,
                "share_of_response": one.hot_lock.of_response,
                "reads": one.hot_lock.reads,
            },
            "slow": None if one.slow is None else _slow_json(one.slow),
            "look": {
                **cost_json(one.speed, one.effect),
                "rounds_left_out": one.left_out,
                "reads": one.reads,
                "cpu_share": one.look_cpu_share,
            },
        }
        for one in found.cells
    ]


def _slow_json(slow: SlowBudget) -> dict[str, Any]:
    return {
        "over_us": slow.over_us,
        "response_us": figure_json(slow.response_us),
        "parts_us": {name: figure_json(part) for name, part in slow.parts.items()},
        "events": slow.events,
        "reads": slow.reads,
    }


SECTION = Section("budgets", _TITLE, _read, _show, _json, look=LookAtCause(BUDGET, look_at_threads))
