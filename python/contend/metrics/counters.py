"""All counters of a run, source by source: the server's, its process's, the client's, the host's.

A counter is compared per query, so that a faster level does not count more of everything. A gauge
is compared unchanged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from contend.metrics import read
from contend.metrics.model import Metric, Read, Run
from contend.metrics.outcome import ProcessDelta

_LISTS = tomllib.loads(
    (resources.files("contend.metrics") / "status_variables.toml").read_text(encoding="utf-8")
)

GAUGES_OF: dict[str, frozenset[str]] = {
    kind: frozenset(names) for kind, names in _LISTS["gauges"].items()
}
"""For `every` kind of server, only `mariadb`, only `mysql`, and those of only some servers."""

IDENTITIES = frozenset(_LISTS["identities"]["names"])
"""Numbers that are only identifiers, or settings of a library."""

GAUGES = frozenset().union(*GAUGES_OF.values()) | IDENTITIES
"""They show a state at one moment instead of a count."""

CLOCKS = frozenset(_LISTS["clocks"]["names"])
"""Counters that follow the clock."""

QUERIES = frozenset(_LISTS["queries"]["names"])
"""Counters of the queries themselves, which rise by one per query."""

REDO = ("Innodb_lsn_current", "Innodb_redo_log_current_lsn", "Innodb_os_log_written")
"""Bytes of the redo log: of MariaDB, of MySQL, and of versions that show only writes to the file,
whole blocks. The first that a server has counts."""

ROWS_READ = tuple(
    f"Handler_read_{how}" for how in ("first", "key", "last", "next", "prev", "rnd", "rnd_next")
)
"""Together the rows that the server examined, in any engine."""

PAGES_WRITTEN, ROW_LOCK_MS = "Innodb_pages_written", "Innodb_row_lock_time"

COST_COUNTERS = ("Questions", "Threads_running", *REDO, *ROWS_READ, PAGES_WRITTEN, ROW_LOCK_MS)
"""What a statement costs, the number of statements in the same time, and those that run now."""

Counts = Mapping[str, float]

PER_QUERY = "_per_query"

_SIGN_LOST = 2**63


@dataclass(frozen=True, slots=True)
class CounterSource:
    """A source of counters.

    name: prefix of the names of its metrics. title: its name for readers.
    counts: name -> count over a run; None if nothing was read. A missing counter did not rise, if
    the same server has others.
    queries: their number in the same time; None for gauges, which are not divided.
    seconds: the time covered; None for gauges.
    of_block: it covers a whole block, so in slices it has no values for a level.
    """

    name: str
    title: str
    counts: Callable[[Run], Counts | None]
    queries: Read | None
    seconds: Read | None
    of_block: bool = False

    def metric(self, counter: str) -> Metric:
        """`status.Created_tmp_tables_per_query`; for a gauge `status.Threads_connected`."""
        if self.queries is None:
            name = f"{self.name}.{counter}"
            return Metric(name, counter, "", self._reader(counter))
        title = f"{counter} per query"
        return Metric(
            f"{self.name}.{counter}{PER_QUERY}",
            title if self.name == "status" else f"{title} ({self.title})",
            "",
            read.over(self._reader(counter), self.queries),
            phrase=f"take {title}",
            counted=True,
        )

    def _reader(self, counter: str) -> Read:
        return read.field(self.counts, lambda counts: counts[counter])


def _status(run: Run) -> Counts | None:
    """The sum, if several servers form one level. Older records have gauges among them."""
    found: Counts | None = run.probes.get("status")
    if members := run.probes.get("members"):
        names = dict.fromkeys(name for member in members for name in member["status"])
        found = {name: sum(one["status"].get(name, 0) for one in members) for name in names}
    return found and {name: value for name, value in found.items() if name not in GAUGES}


def _of_one(found: Counts | None, run: Run) -> Counts | None:
    """The counters of a single server; None for a level that is several."""
    return None if run.probes.get("members") else found


def _gauges(run: Run) -> Counts | None:
    """Gauges without impossible values: a number below 0 that was written without its sign."""
    found = _of_one(run.probes.get("gauges"), run)
    return found and {
        name: value
        for name, value in found.items()
        if name not in IDENTITIES and value < _SIGN_LOST
    }


def _innodb(run: Run) -> Counts | None:
    return _of_one(run.probes.get("innodb_metrics"), run)


def _key_caches(run: Run) -> Counts | None:
    """Named caches, summed over their segments; SHOW GLOBAL STATUS has the default one."""
    segments = run.probes.get("key_caches")
    if segments is None or run.probes.get("members"):
        return None
    found: dict[str, float] = {}
    for one in segments:
        counted: dict[str, object] = {**one}
        cache = str(counted.pop("cache", "default"))
        counted.pop("segment", None)
        for name, value in counted.items():
            if cache != "default" and isinstance(value, int):
                key = f"{cache}.{name}"
                found[key] = found.get(key, 0) + value
    return found


_USED: dict[str, Callable[[ProcessDelta], float | None]] = {
    "cpu_us": lambda used: used["cpu_us"],
    "voluntary_switches": lambda used: used["voluntary_switches"],
    "involuntary_switches": lambda used: used["involuntary_switches"],
    "read_bytes": lambda used: used["read_bytes"],
    "write_bytes": lambda used: used["write_bytes"],
}


def _process(find: read.Find[ProcessDelta]) -> Callable[[Run], Counts | None]:
    """Resources that a process used over the measured window."""
    fields = {name: read.field(find, pick) for name, pick in _USED.items()}

    def counts(run: Run) -> Counts | None:
        found = ((name, value(run)) for name, value in fields.items())
        return {name: value for name, value in found if value is not None} or None

    return counts


def _host(run: Run) -> Counts | None:
    """Faults and swapping in pages, the rest in microseconds of a CPU or of the clock."""
    host = run.probes.get("host")
    if host is None:
        return None
    elapsed_us = host["elapsed_s"] * 1e6
    cpu_us = elapsed_us * host["cpus"]
    return {
        **host["vm"],
        **{f"stall_us.{name}": share * elapsed_us for name, share in host["stall_share"].items()},
        "steal_us": host["steal_share"] * cpu_us,
        "iowait_us": host["iowait_share"] * cpu_us,
        "throttled_us": (host["throttled_s"] or 0.0) * 1e6,
    }


_elapsed_s = read.field(lambda run: run.probes.get("host"), lambda host: host["elapsed_s"])

SOURCES: tuple[CounterSource, ...] = (
    CounterSource("status", "SHOW GLOBAL STATUS", _status, read.queries_of_server, _elapsed_s),
    CounterSource("status", "SHOW GLOBAL STATUS", _gauges, None, None),
    CounterSource("innodb", "INNODB_METRICS", _innodb, read.queries_of_server, _elapsed_s),
    CounterSource("key_cache", "KEY_CACHES", _key_caches, read.queries_of_server, _elapsed_s),
    CounterSource("server", "server process", _process(read.server), read.queries, read.measured_s),
    CounterSource("client", "contend-load", _process(read.client), read.queries, read.measured_s),
    CounterSource("host", "the host", _host, read.queries_of_server, _elapsed_s, of_block=True),
)


def is_guise(source: CounterSource, counter: str) -> bool:
    """Whether a counter only shows the throughput: it counts queries, or it follows the clock."""
    return source.name == "status" and counter in (CLOCKS | QUERIES)


def is_name(counter: str) -> bool:
    """Whether a counter can be part of a metric's name: words, separated by points."""
    return all(word.isidentifier() for word in counter.split("."))


def counter_metric(name: str) -> Metric | None:
    """The metric for a name such as `status.Handler_read_key_per_query`; None for other names."""
    prefix, _, rest = name.partition(".")
    counter = rest.removesuffix(PER_QUERY)
    if not is_name(counter):
        return None
    if prefix == "status" and (counter in GAUGES) != (rest == counter):
        return None
    for source in SOURCES:
        if source.name == prefix and (rest != counter) == (source.queries is not None):
            return source.metric(counter)
    return None


def counters_in(run: Run) -> Iterator[tuple[CounterSource, str]]:
    """Every counter and gauge of a run that can be a metric."""
    for source in SOURCES:
        for name in source.counts(run) or {}:
            if is_name(name):
                yield source, name
