"""Both sides at the same load: finds a rate that every level of a block holds, and measures all
levels at it; then each kind of event by itself on one connection, slice by slice.

The search comes before the first block of a context: each level in a closed loop, in short slices.
The smallest capacity times `load.rate_share` is the rate of all blocks of that context. It is kept
with each run, so that a resumed run continues with it. The same slices tell the kinds of event.

The rate shows the wait of clients, which includes waiting for other statements: at the same rate a
level with cheap selects has more idle CPUs for its inserts. Only by itself a statement does not
wait for others, and meets the same caches and the same neighbours on all levels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contend.errors import RequestError
from contend.experiment import (
    Cell,
    CellKey,
    Experiment,
    Planned,
    cell_key,
    cell_specs,
    is_of_treatments,
)
from contend.experiment.settings.equal_load import (
    ALONE,
    CLOSED,
    EQUAL,
    RATE,
    SHARE,
    has_alone,
    has_rate,
)
from contend.experiment.settings.load import SETTLE_S, Slicing
from contend.experiment.settings.one_kind import OLTP, of_one_kind, part_of
from contend.host.placement import Placed
from contend.lab import probes
from contend.lab.design import Design
from contend.lab.events import Listener, Notice
from contend.lab.probes import Observed
from contend.load import ArmSpec, LoadDriver, LoadFailed, plan_in_slices
from contend.metrics.outcome import Done, Outcome, Percentiles
from contend.metrics.probed import Alone, Probes, RunWarning
from contend.metrics.read import THREAD_SHARE_MAX
from contend.store import RunFolder, RunRecord
from contend.units import format_duration

SEARCH_S = 1.0
"""Minimum time of each level in the search, and at the rate that it finds."""

ROUNDS_MIN = 2

RATE_BLOCK_S = 0.5
"""Minimum time of each level at the rate, in a block."""

ALONE_S, RESPONSES = 0.1, 6
"""Minimum length of a slice of one kind by itself, and the events that it has time for."""

ALONE_ROUNDS, ALONE_BLOCK_S = 2, 0.5
"""Minimum rounds, and seconds, of a kind in a block."""

KINDS_MAX = 12
"""Kinds of event that are measured by themselves: those that take most of the time."""

HELD_SHARE, TRIES = 0.8, 3
"""Share of the rate that a level must answer in a trial of the rate, and the number of trials."""

_LOWER = f'Lower {SHARE}, or write {RATE} = "{CLOSED}".'


def why_not_equal_load(experiment: Experiment, design: Design) -> str | None:
    """Why levels are not measured at the same load; None if they are.

    Raises:
        RequestError: the experiment insists on it.
    """
    specs = list(cell_specs(experiment))
    if experiment.compared is None or is_of_treatments(experiment):
        return "nothing is compared"
    if not any(has_rate(spec.values) or has_alone(spec.values) for spec in specs):
        return "no cell wants it"
    if design.in_slices:
        return None
    why = design.why or 'compare.by is "runs"'
    for path, value, text in ((RATE, EQUAL, f'"{EQUAL}"'), (ALONE, True, "true")):
        if any(spec[path] == value for spec in specs):
            raise RequestError(
                f"{path} = {text} needs levels that are compared in slices: {why}",
                hint=f"Remove {path}, or what prevents slices.",
            )
    return why


@dataclass(frozen=True, slots=True)
class Offered:
    """The rate of a context, in events per second, and what each level does in a closed loop; None
    if nothing is measured at a rate. `kinds` has those that are measured by themselves, with the
    seconds that one event takes at the slowest level."""

    rate: float | None
    capacities: Mapping[CellKey, float]
    kinds: Mapping[str, float]

    @property
    def least(self) -> float:
        return min(self.capacities.values())


class EqualLoads:
    """The rates of an experiment's contexts, and the measurements at them.

    Args:
        records: runs of earlier sessions, which have the rates found then.
    """

    def __init__(
        self,
        experiment: Experiment,
        load: LoadDriver,
        listen: Listener,
        records: Iterable[RunRecord] = (),
    ) -> None:
        self._experiment = experiment
        self._load = load
        self._listen = listen
        self._offered: dict[CellKey, Offered] = {}
        self._without: set[CellKey] = set()
        for record in records:
            self._remember(record)

    def _remember(self, record: RunRecord) -> None:
        equal, alone = record.probes.get("equal_load"), record.probes.get("alone", {})
        if equal is None and not alone:
            return
        context = self._context(record.cell)
        before = self._offered.get(context, Offered(None, {}, {}))
        kinds = dict(before.kinds)
        for kind, one in alone.items():
            kinds[kind] = max(kinds.get(kind, 0.0), _median_s(one["done"]))
        found = replace(before, kinds=kinds)
        if equal is not None:
            capacities = {**before.capacities, cell_key(record.cell): equal["capacity"]}
            found = Offered(equal["rate"], capacities, kinds)
        self._offered[context] = found

    def _context(self, cell: Cell) -> CellKey:
        compared = self._experiment.compare.baseline
        return cell_key({path: level for path, level in cell.items() if path not in compared})

    def find(
        self,
        runs: Sequence[Planned],
        arms: Sequence[ArmSpec],
        slices: Slicing,
        *,
        seed: int,
        env: Mapping[str, str],
    ) -> None:
        """Find the rate and the kinds for the context of these runs, if they are not known. Without
        a rate, unless the file insists, its blocks have none.

        Raises:
            RequestError: the file insists, and a level answers nothing or does not hold the rate.
        """
        context = self._context(runs[0].cell)
        if context in self._offered or context in self._without:
            return
        at_rate = all(has_rate(arm.cell.values) for arm in arms)
        by_itself = all(has_alone(arm.cell.values) for arm in arms)
        if not at_rate and not by_itself:
            self._without.add(context)
            return
        cut = _cut(slices, SEARCH_S)
        try:
            closed = self._drive(arms, cut, seed, env)
        except LoadFailed:
            # The next block will report the error.
            return
        offered = Offered(None, {}, _kinds_of(arms, closed) if by_itself else {})
        if by_itself and arms[0].cell[ALONE] and not offered.kinds:
            raise RequestError(
                f"no event ended in {format_duration(cut.rounds * cut.slice_s)}, so no kind can be "
                "measured by itself",
                hint=f"Make load.slice longer, or write {ALONE} = false.",
            )
        if at_rate:
            try:
                offered = self._with_rate(offered, runs, arms, closed, cut, seed, env)
            except RequestError as error:
                if arms[0].cell[RATE] == EQUAL:
                    raise
                self._listen(Notice(f"nothing is measured at the same rate: {error.message}"))
        self._offered[context] = offered

    def _with_rate(
        self,
        offered: Offered,
        runs: Sequence[Planned],
        arms: Sequence[ArmSpec],
        closed: Sequence[Done],
        cut: Slicing,
        seed: int,
        env: Mapping[str, str],
    ) -> Offered:
        """The rate that all levels hold, after their closed loops."""
        found = [_events_per_s(done) for done in closed]
        if none := next((arm for arm, one in zip(arms, found, strict=True) if not one), None):
            raise RequestError(
                f"no rate is found for the same load: {none.name} ended no event in "
                f"{format_duration(cut.rounds * cut.slice_s)}",
                hint=f'Make load.slice longer, or write {RATE} = "{CLOSED}".',
            )
        share = float(arms[0].cell[SHARE])
        for tries_left in reversed(range(TRIES)):
            rate = share * min(found)
            behind = self._behind(arms, rate, cut, seed, env)
            if not behind:
                break
            if not tries_left:
                arm = arms[next(iter(behind))]
                raise RequestError(
                    f"{arm.name} does not hold {rate:,.4g} events per second", hint=_LOWER
                )
            # A neighbour may have left the search more of the CPUs.
            found = [min(one, behind.get(at, one)) for at, one in enumerate(found)]
        slowest = min(range(len(arms)), key=found.__getitem__)
        keys = [cell_key(run.cell) for run in runs]
        capacities = dict(zip(keys, found, strict=True))
        text = (
            f"both sides at the same load: {rate:,.4g} events per second, {share:.0%} of what "
            f"{arms[slowest].name} holds"
        )
        if closed[slowest]["client_busiest_thread_share"] > THREAD_SHARE_MAX:
            text = f"{text}; there the client is at its limit, so the server may hold more"
        self._listen(Notice(text))
        return replace(offered, rate=rate, capacities=capacities)

    def _behind(
        self, arms: Sequence[ArmSpec], rate: float, cut: Slicing, seed: int, env: Mapping[str, str]
    ) -> dict[int, float]:
        """The arms that do not hold a rate, by their places, and how much they ended per second."""
        try:
            tried = self._drive([_open(arm, rate) for arm in arms], cut, seed, env)
        except LoadFailed as error:
            raise RequestError(
                f"a level failed at {rate:,.4g} events per second: {error.message}", hint=_LOWER
            ) from error
        found = {}
        for at, done in enumerate(tried):
            loop = done.get("open")
            due = loop.get("due", 0) if loop else 0
            ended = done.get("events", 0)
            if ended < HELD_SHARE * due:
                found[at] = max(1, ended) / done["measured_s"]
        return found

    def measure(
        self,
        runs: Sequence[Planned],
        arms: Sequence[ArmSpec],
        slices: Slicing,
        *,
        seed: int,
        env: Mapping[str, str],
        placed: Placed | None = None,
        observed: Sequence[Observed] = (),
    ) -> list[Probes]:
        """Measure the levels of a block: each kind by itself, then all at the rate. This comes
        before the closed loop, which would leave more after-effects of writing on a faster level.

        Args:
            observed: the server of each level; empty if levels share one.

        Returns:
            a result for each run; none if nothing is measured at the same load.

        Raises:
            LoadFailed: contend-load gave no result.
        """
        context = self._context(runs[0].cell)
        offered = self._offered.get(context)
        if offered is None:
            return []
        alone: dict[str, list[Alone]] = {}
        took = dict(offered.kinds)
        for kind, took_s in offered.kinds.items():
            asked = [_alone(arm, kind) for arm in arms]
            cut = _cut_alone(slices, took_s, len(took))
            try:
                alone[kind] = self._drive_alone(asked, cut, seed, env, placed, observed)
                took[kind] = max(_median_s(one["done"]) for one in alone[kind])
            except LoadFailed as error:
                if error.code is not None or (kind == list(took)[-1] and not alone):
                    raise
                # No event fitted into a slice: this block is without the kind.
                took[kind] = 2 * took_s
        self._offered[context] = replace(offered, kinds=took)
        found: list[Probes] = [
            {"alone": {kind: of[at] for kind, of in alone.items()}} if alone else {}
            for at in range(len(runs))
        ]
        if offered.rate is None:
            return found
        rounds = max(slices.rounds, math.ceil(RATE_BLOCK_S / slices.slice_s))
        at_rate = [_open(arm, offered.rate) for arm in arms]
        dones = self._drive(at_rate, replace(slices, rounds=rounds), seed, env, placed)
        for run, done, probes_of in zip(runs, dones, found, strict=True):
            probes_of["equal_load"] = {
                "rate": offered.rate,
                "share": float(arms[0].cell[SHARE]),
                "capacity": offered.capacities.get(cell_key(run.cell), offered.least),
                "least": offered.least,
                "done": done,
            }
        return found

    def _drive_alone(
        self,
        arms: Sequence[ArmSpec],
        slices: Slicing,
        seed: int,
        env: Mapping[str, str],
        placed: Placed | None,
        observed: Sequence[Observed],
    ) -> list[Alone]:
        before: list[probes.Counters] = []

        def on_event(event: Outcome) -> None:
            # contend-load has finished its own queries about a server.
            if event["type"] == "hello":
                before.extend(map(probes.look_at_costs, observed))

        dones = self._drive(arms, slices, seed, env, placed, on_event)
        after = [probes.look_at_costs(one) for one in observed]
        if not before or not all((*before, *after)):
            return [{"done": done} for done in dones]
        return [
            {"done": done, "status": probes.costs_change(one, two)}
            for done, one, two in zip(dones, before, after, strict=True)
        ]

    def _drive(
        self,
        arms: Sequence[ArmSpec],
        slices: Slicing,
        seed: int,
        env: Mapping[str, str],
        placed: Placed | None = None,
        on_event: Callable[[Outcome], None] = lambda _event: None,
    ) -> list[Done]:
        plan = plan_in_slices(arms, slices, seed=seed)
        whole = self._load.run(plan, env=env, on_event=on_event, placed=placed)
        return [arm["done"] for arm in whole["arms"]]


def equal_loads(
    experiment: Experiment,
    design: Design,
    folder: RunFolder,
    load: LoadDriver,
    listen: Listener,
) -> EqualLoads | None:
    """Those of a run folder; None if its levels are not measured at the same load. A folder of a
    contend that did not measure them goes on without."""
    if why_not_equal_load(experiment, design) is not None:
        return None
    measured = [one for one in folder.records(intervals=False) if one.status == "ok"]
    if measured and not any({"equal_load", "alone"} & one.probes.keys() for one in measured):
        return None
    return EqualLoads(experiment, load, listen, measured)


def _cut(slices: Slicing, least_s: float) -> Slicing:
    rounds = max(ROUNDS_MIN, math.ceil(least_s / slices.slice_s))
    return replace(slices, rounds=rounds, look_reads_per_s=None)


def _plain(arm: ArmSpec, **changes: object) -> ArmSpec:
    return replace(arm, cell=arm.cell.having(**changes))


def _open(arm: ArmSpec, rate: float) -> ArmSpec:
    return _plain(arm, load__arrival={"kind": "open", "rate": rate})


def _alone(arm: ArmSpec, kind: str) -> ArmSpec:
    workload = of_one_kind(arm.cell["workload"], kind)
    one: dict[str, Any] = {"load__connections": 1, "load__depth": 1, "load__threads": None}
    return _plain(arm, workload=workload, load__arrival={"kind": "closed"}, **one)


def _cut_alone(slices: Slicing, took_s: float, kinds: int) -> Slicing:
    """Short slices for short events, and as many rounds as all kinds together have time for."""
    slice_s = min(slices.slice_s, max(ALONE_S, RESPONSES * took_s))
    of_all_s = max(ALONE_BLOCK_S, slices.rounds * slices.slice_s / kinds)
    rounds = max(ALONE_ROUNDS, round(of_all_s / slice_s))
    settle_s = min(slices.settle_s, slice_s, max(SETTLE_S, took_s))
    return replace(slices, slice_s=slice_s, settle_s=settle_s, rounds=rounds)


def _kinds_of(arms: Sequence[ArmSpec], closed: Sequence[Done]) -> dict[str, float]:
    """The kinds that ended an event. By itself an event waits for fewer others than among all
    connections."""
    others = math.sqrt(arms[0].cell["load.connections"])
    seconds: dict[str, float] = {}
    share: dict[str, float] = defaultdict(float)
    for arm, done in zip(arms, closed, strict=True):
        for name, ended, times in _times_of(arm.cell.workload.kind, done):
            share[name] += times["mean"] * ended
            seconds[name] = max(seconds.get(name, 0.0), times["p50"] / 1e6 / others)
    most = sorted(seconds, key=lambda name: -share[name])[:KINDS_MAX]
    return {name: one for name, one in seconds.items() if name in most}


def _times_of(workload: str, done: Done) -> Iterable[tuple[str, int, Percentiles]]:
    """Each kind that ended an event: its name, the number of events, and their times."""
    if workload not in OLTP and not done.get("kinds"):
        # Of a single kind there are only its statements: `read`, or `read.1` and `read.2`.
        names = {one["name"].partition(".")[0] for one in done.get("classes", ())}
        kinds = ((name, done["events"], done["latency_us"]) for name in names)
    elif workload not in OLTP:
        kinds = ((one["name"], one["events"], one["latency_us"]) for one in done.get("kinds", ()))
    else:
        # Leave out BEGIN and COMMIT.
        kinds = (
            (part, one["queries"], one["latency_us"])
            for one in done.get("classes", ())
            if (part := part_of(one["name"])) in OLTP[workload]
        )
    return (one for one in kinds if one[1])


def _median_s(done: Done) -> float:
    return done["latency_us"]["p50"] / 1e6


def _events_per_s(done: Done) -> float:
    return done["events_in_parts"] / done["measured_s"] if done["measured_s"] > 0 else 0.0


def with_equal_load(record: RunRecord, started_at: str, found: Probes) -> RunRecord:
    """A run with its measurements at the same load, which came before it."""
    equal = found.get("equal_load")
    marks: list[RunWarning] = [
        {**mark, "message": f"at the same load: {mark['message']}"}
        for mark in (probes.warnings_of(equal["done"], {}, probes.Expected()) if equal else ())
        if mark["code"] in _MARKS
    ]
    return replace(
        record,
        started_at=started_at,
        probes={**record.probes, **found},
        warnings=[*record.warnings, *marks],
    )


_MARKS = frozenset({"client-limited", "overloaded", "queries-failed", "ended-early"})
