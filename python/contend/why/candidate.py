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

    words: its description for a reader: "without flushing the log".
    sets: values by the path of their setting.
    voids: other settings, or variables of a server, that do nothing under it.
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
    """The name of an option's variable, however it is spelled. It is the same variable at server
    start, when changed later and when set per connection."""
    name = path.removeprefix(GLOBALS).removeprefix(OPTIONS).removeprefix(SESSION)
    return path if name == path else plain_option(name)


def setting(words: str, *voids: str, **values: Level) -> Treatment:
    """Variables that are set while the server runs; `voids`: others without effect then."""
    return Treatment(words, {f"{GLOBALS}{name}": value for name, value in values.items()}, voids)


def started(words: str, **values: Level) -> Treatment:
    """Options that take a start."""
    return Treatment(words, {f"{OPTIONS}{name}": value for name, value in values.items()})


_UNUSED = {"lock_wait_timeout": 86_399}
"""How long DDL waits for a lock."""

NOTHING = setting("another variable set in the same way, which nobody asks for", **_UNUSED)
"""A placebo of settings changed while the server runs."""

STARTED = started(
    "the server started with another option in its place, which nobody asks for", **_UNUSED
)
"""A placebo of changes that need a restart."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a candidate is tried.

    doses: from the smaller to the whole; one if there are no steps between nothing and all.
    least: the least share of the difference, as a logarithm, that the whole dose takes away.
    dose_s: the time to bring both levels under a dose and back, if that is long.
    """

    doses: tuple[Treatment, ...]
    placebo: Treatment = NOTHING
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

    groups: a control group for a quota can be made.
    nodes: with memory; frequency: that of its CPUs can be chosen.
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
    """A level and the baseline at one place of a comparison, which differ.

    place: the levels of the other factors.
    finding: the difference.
    cells, runs: of the side that is slower by the metric that decides, and of the faster one.
    looks: for each side, the results of its last look of a name (`contend run … --budget`).
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

    def looked(self, name: str, side: Side) -> Mapping[str, Any] | None:
        """The results of the last look of that name at a side; None if there was none."""
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

    def figure(self, metric: str | Metric | Seen, side: Side) -> float | None:
        """The mean over the runs of one side, or the result of a look; None if not recorded. A
        counter that did not change is not recorded, so it is 0 if there were counters at all."""
        if isinstance(metric, Seen):
            return metric.read(self, side)
        found = metric_of(metric) if isinstance(metric, str) else metric
        values = [value for run in self.runs[side] if (value := _read(found, run)) is not None]
        return statistics.fmean(values) if values else None

    def times(self, metric: str | Metric | Seen, least: float = 0.0) -> float | None:
        """How many times the figure of the faster side that of the slower is, or how many times
        `least` if the faster one has less."""
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
        """The same as a number, `usual` if it has its default."""
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
class Seen:
    """A figure of both sides, or of diagnostic passes, which no measured run has by itself; None
    from `read` if it is not known."""

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
    """The comparison behind a finding of a single cell, with the results of looks there."""
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
        looks={"slower": found_at(looks, slower), "faster": found_at(looks, faster)},
    )


def found_at(
    looks: Sequence[LookRecord], cell: Mapping[str, Level]
) -> dict[str, Mapping[str, Any]]:
    """By name, the results of the last look at a cell."""
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

    metric: str | Metric | Seen
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


def more_of(metric: str | Metric | Seen, least: float, over: float) -> tuple[Sign, Sign]:
    """The slower side has at least `least`, and at least `over` times the faster side's figure."""
    return Sign(metric, "slower", least), Sign(metric, "over", over)


Need = Callable[[Pair], str | None]
"""A condition for trying a candidate: the reason why a pair does not meet it, or None."""


def database(pair: Pair) -> str | None:
    return "the model server has nothing of the kind" if pair.is_model else None


def mariadb(pair: Pair) -> str | None:
    return None if pair.is_mariadb else "only MariaDB has it"


def own(pair: Pair) -> str | None:
    if pair.own:
        return None
    return "it takes a start of the server, and contend does not start a server that is not its own"


def root(pair: Pair) -> str | None:
    return None if pair.host.root else NOT_ROOT


def several(pair: Pair) -> str | None:
    return "one connection waits for nobody's lock" if pair.connections < 2 else None


NOT_ROOT = "it takes root"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible cause, as data: an experiment can try it, or the figures of one study show it.

    title: the reason why the slower side is slow, to end a sentence: "the server waits for its
        log"; for a study, the heading of its section.
    refuted_by: the finding that would refute it.
    limit: which rate it limits, and how.
    signature: signs that all hold if the cause is at work.
    treat: the proposal, a function of the pair that makes it, or the reason why contend cannot try
        this cause.
    needs: conditions that are checked before `treat`.
    contains: names of candidates that are a part of this one: it is the cause only if it certainly
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
        asked = [s for s in self.signature if s.at in ("slower", "over") and s.least > 0]
        times = (pair.times(sign.metric, counts.get(sign.name, 0.0)) for sign in asked)
        return max((one for one in times if one is not None), default=1.0)


def fewer(pair: Pair) -> tuple[Treatment, ...]:
    """A small dose for causes that need many connections: a quarter fewer. None among less than
    four, where a quarter is half or all of it."""
    count = pair.connections * 3 // 4
    words = f"{count} connections in place of {pair.connections}"
    return (Treatment(words, {"load.connections": count}),) if pair.connections >= 4 else ()


def per_question(run: Run, count: Callable[[Mapping[str, int]], float]) -> float | None:
    """A count from the server's status, per statement from any client. None if no status was
    recorded, or no statement was sent."""
    status = run.probes.get("status")
    asked = (status or {}).get("Questions")
    return None if status is None or not asked else count(status) / asked
