"""Candidates: causes that an experiment can try, as data, and helpers that several of them use.

A candidate is one `Candidate` in the file of its theme (`why/candidates/`). Its signature lists
what runs show if the cause is at work. Its treatments apply to both levels of the comparison, and
it predicts how much of the difference they take away. A placebo costs as much and leaves the cause
alone: it shows the effect of any such change.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from contend.experiment import CellSpec, Level, cell_key
from contend.experiment.settings.model_server import is_model
from contend.experiment.settings.options import ANY, options_of, plain_option
from contend.experiment.settings.server import MARIADB, MYSQL, is_dsn, is_on_this_host
from contend.findings.model import Finding
from contend.findings.study import Study
from contend.metrics import Metric, Run, metric_of
from contend.store import LookRecord, RunRecord

if TYPE_CHECKING:
    from contend.why.explain import Look

Side = Literal["slower", "faster"]

OPTIONS = "server.options."
GLOBALS = "server.globals."
SESSION = "server.session."


@dataclass(frozen=True, slots=True)
class Treatment:
    """A change made to both levels of a comparison at once.

    words: its description: "the log in memory".
    sets: values by the path of their setting.
    voids: other settings, or server variables, that have no effect under it.
    """

    words: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    voids: tuple[str, ...] = ()

    def touches(self, compared: Collection[str]) -> str | None:
        """The compared settings and variables that it changes or makes void."""
        touched = (*map(bare, self.sets), *self.voids)
        return next((name for name in compared if _is_of(name, touched)), None)


def _is_of(name: str, touched: Collection[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in touched)


def bare(path: str) -> str:
    """The name of an option's variable in any spelling: the same at server start, at run time and
    per connection."""
    name = path.removeprefix(GLOBALS).removeprefix(OPTIONS).removeprefix(SESSION)
    return path if name == path else plain_option(name)


def setting(text: str, *voids: str, **values: Level) -> Treatment:
    """Variables that are set while the server runs; `voids`: others without effect then."""
    return Treatment(text, {f"{GLOBALS}{name}": value for name, value in values.items()}, voids)


def at_start(text: str, **values: Level) -> Treatment:
    """Options that need a server restart."""
    return Treatment(text, {f"{OPTIONS}{name}": value for name, value in values.items()})


_UNUSED = {"lock_wait_timeout": 86_399}
"""How long DDL waits for a lock."""

RUNTIME_PLACEBO = setting("an unrelated variable, set the same way", **_UNUSED)
"""A placebo of settings changed while the server runs."""

START_PLACEBO = at_start("the server started with an unrelated option instead", **_UNUSED)
"""A placebo of changes that need a restart."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a candidate is tried.

    doses: the smaller ones first, then the whole; only one if there are no steps between.
    least: the predicted least share of the difference, as a logarithm, that the whole dose removes.
    dose_s: the time to apply a dose to both levels and revert it, if that is long.
    """

    doses: tuple[Treatment, ...]
    placebo: Treatment = RUNTIME_PLACEBO
    least: float = 0.5
    dose_s: float = 0.0

    @property
    def whole(self) -> Treatment:
        return self.doses[-1]

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        return (*self.doses, self.placebo)


@dataclass(frozen=True, slots=True)
class HostPowers:
    """The changes that contend can make to this host and to processes on it.

    groups: a control group for a quota can be created.
    nodes: those with memory; frequency: the CPU frequency can be set.
    files_in_memory: /dev/shm has room for the logs of two servers.
    caches: the permitted CPUs that share their last cache.
    """

    cpus: int = 1
    root: bool = False
    groups: bool = False
    nodes: int = 1
    frequency: bool = False
    files_in_memory: bool = False
    caches: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A level and the baseline that differ, at one place of a comparison.

    place: the levels of the other factors.
    finding: the difference.
    cells, runs: of the side that is slower by the metric that decides, and of the faster one.
    looks: for each side, the results of its last diagnostic pass of each name
        (`contend run … --budget`).
    kind: of the server, from its record; empty if unknown.
    own: contend starts the server; here: it runs on this host.
    """

    compared: str
    place: Mapping[str, Level]
    finding: Finding
    cells: Mapping[Side, CellSpec]
    runs: Mapping[Side, Sequence[RunRecord]]
    kind: str
    own: bool
    here: bool
    host: HostPowers
    looks: Mapping[Side, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def diagnosed(self, name: str, side: Side) -> Mapping[str, Any] | None:
        """The results of the last diagnostic pass of that name at a side; None without one."""
        return self.looks.get(side, {}).get(name)

    @property
    def compared_names(self) -> frozenset[str]:
        """The settings and server variables by which the experiment makes the two levels differ.
        From a profile: the options that the other level lacks or sets to a different value."""
        names = {bare(self.compared)}
        one, other = (self._profile(side) for side in ("slower", "faster"))
        names |= {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
        return frozenset(names)

    def _profile(self, side: Side) -> dict[str, Level]:
        cell = self.cells[side]
        by_kind = options_of(cell.values)
        options = {**by_kind.get(ANY, {}), **by_kind.get(self.kind, {})}
        return {bare(f"{OPTIONS}{name}"): value for name, value in options.items()}

    def figure(self, metric: str | Metric | Derived, side: Side) -> float | None:
        """The mean over the runs of one side, or the result of a diagnostic pass; None if not
        recorded. A counter that did not change is not recorded: it is 0 if others were."""
        if isinstance(metric, Derived):
            return metric.read(self, side)
        found = metric_of(metric) if isinstance(metric, str) else metric
        values = [value for run in self.runs[side] if (value := _read(found, run)) is not None]
        return statistics.fmean(values) if values else None

    def times(self, metric: str | Metric | Derived, least: float = 0.0) -> float | None:
        """The slower side's figure divided by the faster side's, or by `least` if that is more."""
        slower, faster = self.figure(metric, "slower"), self.figure(metric, "faster")
        if slower is None or faster is None:
            return None
        faster = max(faster, least)
        if faster == 0:
            return 1.0 if slower == 0 else math.inf
        return slower / faster

    def option(self, name: str) -> Level | None:
        """The value of an option on the slower side, from the experiment or a record; None if it
        has its default there."""
        cell = self.cells["slower"]
        for table in ("server.session", "server.globals", "server.options"):
            if name in cell[table]:
                found: Level = cell[table][name]
                return found
        for run in self.runs["slower"]:
            differs = run.probes.get("variables_that_differ") or {}
            if name in differs:
                return differs[name]["value"]
        return None

    def number(self, name: str, usual: float) -> float:
        """The same as a number; `usual` if it has its default or is not a number."""
        found = self.option(name)
        try:
            return usual if found is None else float(found)
        except ValueError:
            return usual

    @property
    def is_mariadb(self) -> bool:
        return self.kind == MARIADB

    @property
    def is_mysql(self) -> bool:
        return self.kind == MYSQL

    @property
    def is_model(self) -> bool:
        return self.kind == "model" or is_model(self.cells["slower"].values)

    @property
    def connections(self) -> int:
        return int(self.cells["slower"]["load.connections"])


@dataclass(frozen=True, slots=True)
class Derived:
    """A figure of both sides together, or of a diagnostic pass, which no single measured run has.
    `read` returns None if it is unknown."""

    name: str
    read: Callable[[Pair, Side], float | None]


def _read(metric: Metric, run: Run) -> float | None:
    value = metric.value(run)
    if value is None and metric.name.startswith("status.") and run.probes.get("status"):
        return 0.0
    return value


def pair_of(
    study: Study, finding: Finding, host: HostPowers, looks: Sequence[LookRecord] = ()
) -> Pair:
    """The comparison behind a finding of a single cell, with its diagnostic passes."""
    roles = study.roles
    assert roles.compared is not None
    place = {path: one for path, one in finding.cell.items() if path != roles.compared.path}
    baseline = {**place, roles.compared.path: finding.baseline}
    level = {**place, roles.compared.path: finding.level}
    lower_is_slower = finding.metric.better == "higher"
    level_is_slower = (finding.change.ratio < 1) == lower_is_slower
    slower, faster = (level, baseline) if level_is_slower else (baseline, level)
    runs: dict[Side, Sequence[RunRecord]] = {
        "slower": study.runs_of(slower),
        "faster": study.runs_of(faster),
    }
    servers = [run.probes.get("server") for run in runs["slower"]]
    server = next((one for one in servers if one), None)
    source = "" if server is None else server["source"]
    own = not is_dsn(source)
    return Pair(
        compared=roles.compared.path,
        place=place,
        finding=finding,
        cells={"slower": study.spec_of(slower), "faster": study.spec_of(faster)},
        runs=runs,
        kind="" if server is None else server["kind"],
        own=own,
        here=is_on_this_host(source),
        host=host,
        looks={"slower": last_looks(looks, slower), "faster": last_looks(looks, faster)},
    )


def last_looks(
    looks: Sequence[LookRecord], cell: Mapping[str, Level]
) -> dict[str, Mapping[str, Any]]:
    """By name, the results of the last diagnostic pass that succeeded on a cell."""
    key = cell_key(cell)
    theirs = (one for one in looks if one.error is None and cell_key(one.cell) == key)
    return {one.look: one.figures for one in theirs}


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign in the runs that a candidate is at work.

    at: the side whose figure counts: the slower, the faster, the one with more of it, or the
        slower over the faster.
    least, most: its bounds, both included.
    if_known: a missing figure does not count against the candidate.
    """

    metric: str | Metric | Derived
    at: Literal["slower", "faster", "either", "over"]
    least: float = -math.inf
    most: float = math.inf
    if_known: bool = False

    def figure(self, pair: Pair) -> float | None:
        if self.at == "over":
            return pair.times(self.metric)
        if self.at == "either":
            both = (pair.figure(self.metric, "slower"), pair.figure(self.metric, "faster"))
            return max((one for one in both if one is not None), default=None)
        return pair.figure(self.metric, self.at)

    def holds(self, pair: Pair) -> bool | None:
        """None if it was not recorded."""
        found = self.figure(pair)
        if found is None:
            return True if self.if_known else None
        return self.least <= found <= self.most

    @property
    def name(self) -> str:
        return self.metric if isinstance(self.metric, str) else self.metric.name


def more_of(metric: str | Metric | Derived, least: float, over: float) -> tuple[Sign, Sign]:
    """The slower side has at least `least`, and at least `over` times the faster side's figure."""
    return Sign(metric, "slower", least), Sign(metric, "over", over)


Need = Callable[[Pair], str | None]
"""A condition for trying a candidate: the reason why a pair does not meet it, or None."""


def database(pair: Pair) -> str | None:
    return "the model server has no such feature" if pair.is_model else None


def mariadb(pair: Pair) -> str | None:
    return None if pair.is_mariadb else "only MariaDB has it"


def own(pair: Pair) -> str | None:
    if pair.own:
        return None
    return "it needs a server restart, and contend only restarts its own servers"


def root(pair: Pair) -> str | None:
    return None if pair.host.root else NOT_ROOT


def several(pair: Pair) -> str | None:
    return "one connection never waits for another's lock" if pair.connections < 2 else None


NOT_ROOT = "it needs root"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible cause, as data: an experiment can try it, or the figures of one study show it.

    title: the reason why the slower side is slow, as the end of a sentence: "the server waits for
        its log"; for a study, the heading of its section.
    refuted_by: the finding that would refute it.
    limit: the rate that it limits, and what bounds it.
    signature: signs that all hold if the cause is at work.
    treat: the proposal, a function of the pair that makes it, or the reason why contend cannot try
        this cause.
    needs: conditions that are checked before `treat`.
    contains: names of candidates that are part of this one: it is the cause only if it certainly
        takes away more than each of them.
    look: explains the figures of a study that names it (`explain`).
    """

    name: str
    title: str
    refuted_by: str
    limit: str = ""
    signature: tuple[Sign, ...] = ()
    treat: Proposal | str | Callable[[Pair], Proposal | str] = "the figures of a study show it"
    needs: tuple[Need, ...] = ()
    contains: tuple[str, ...] = ()
    look: Look | None = None

    def propose(self, pair: Pair) -> Proposal | str:
        """How contend tries it on a pair, or the reason why it cannot."""
        missing = next(filter(None, (need(pair) for need in self.needs)), None)
        if missing is not None:
            return missing
        return self.treat(pair) if callable(self.treat) else self.treat

    def fits(self, pair: Pair) -> bool | None:
        """Whether the signature holds; None if part of it was not recorded and the rest does not
        contradict it."""
        found = [sign.holds(pair) for sign in self.signature]
        if False in found:
            return False
        return None if None in found else True

    def times_over(self, pair: Pair) -> float:
        """How many times the faster side's cause of slowness the slower side has, by the sign with
        the largest ratio. The divisor is at least the least that counts; 1 if no sign needs a
        minimum."""
        counts = {sign.name: sign.least for sign in self.signature if sign.at == "slower"}
        minimums = [s for s in self.signature if s.at in ("slower", "over") and s.least > 0]
        times = (pair.times(sign.metric, counts.get(sign.name, 0.0)) for sign in minimums)
        return max((one for one in times if one is not None), default=1.0)


def fewer(pair: Pair) -> tuple[Treatment, ...]:
    """A small dose for causes that need many connections: a quarter fewer. None among less than
    four, where a quarter is half or all of it."""
    count = pair.connections * 3 // 4
    text = f"{count} connections instead of {pair.connections}"
    return (Treatment(text, {"load.connections": count}),) if pair.connections >= 4 else ()


def per_question(run: Run, count: Callable[[Mapping[str, int]], float]) -> float | None:
    """A count from the server's status, per statement from any client. None if no status was
    recorded, or no statement was sent."""
    status = run.probes.get("status")
    questions = (status or {}).get("Questions")
    return None if status is None or not questions else count(status) / questions
