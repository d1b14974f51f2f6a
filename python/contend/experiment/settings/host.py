"""The state of the host as settings: kernel files that are written before a cell is measured, and
always restored at the end. Nothing is changed without --touch-host.

All levels share the host, so it is compared by runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError
from contend.experiment.settings.model import Differs, HostRequest, Launch, Need, Setting, Values
from contend.experiment.settings.place import CpuNames
from contend.experiment.settings.values import Choice, Flag, Key, Text, ValueKind, WholeNumber
from contend.host.placement import cpus
from contend.host.placement.model import as_list

SECTION = "host"
_CPU = "sys/devices/system/cpu"
_EACH_CPU = f"{_CPU}/cpu[0-9]*"

Requests = Callable[[str, Any], list[HostRequest]]
"""The kernel files for a setting's path and value."""


@dataclass(frozen=True)
class HostFile(Setting):
    """Its value is written to files of the kernel."""

    requests: Requests = lambda _path, _value: []

    def refuse(self, cell: Values, *, own: bool) -> None:
        del own
        self.launch(cell, Launch())

    def launch(self, cell: Values, launch: Launch) -> None:
        if cell[self.path] is not None:
            launch.host += self.requests(self.path, cell[self.path])


@dataclass(frozen=True)
class PageCache(Setting):
    """Nothing is undone: dropped pages are read again."""

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.drop_page_cache = cell[self.path] == "dropped"


def _row(
    name: str, kind: ValueKind, means: str, requests: Requests | str, need: Need = Need.NOTHING
) -> HostFile:
    """A key, its valid values, its meaning, and its kernel files or a function for them."""

    def plain(path: str, value: Any) -> list[HostRequest]:
        return [HostRequest(path, str(requests), str(int(value) if value is True else value or 0))]

    return HostFile(
        SECTION,
        Key(name, kind, None, means),
        need=need,
        differs=Differs.HOST,
        requests=plain if isinstance(requests, str) else requests,
    )


def _vm(name: str, kind: ValueKind, means: str) -> HostFile:
    return _row(name, kind, f"vm.{name}: {means}", f"proc/sys/vm/{name}")


def _boost(path: str, value: bool) -> list[HostRequest]:
    """Intel's driver has the opposite value. One of the two files exists, if any."""
    return [
        HostRequest(path, f"{_CPU}/cpufreq/boost", str(int(value)), optional=True),
        HostRequest(path, f"{_CPU}/intel_pstate/no_turbo", str(int(not value)), optional=True),
    ]


def _smt(path: str, value: bool) -> list[HostRequest]:
    """Turning a CPU off removes it from the sets of the older control groups for good, and moves
    its interrupts to other CPUs."""
    others = ("sys/fs/cgroup/cpuset/**/cpuset.cpus", "proc/irq/[0-9]*/smp_affinity_list")
    return [HostRequest(path, f"{_CPU}/smt/control", "on" if value else "off", others)]


def _idle(path: str, most_us: int) -> list[HostRequest]:
    """`?latency>N` stands for the states that take longer to wake up from."""
    states = f"{_EACH_CPU}/cpuidle/state[0-9]*/disable"
    return [
        HostRequest(path, f"{states}?latency>{most_us}", "1", optional=True),
        HostRequest(path, f"{states}?latency<={most_us}", "0", optional=True),
    ]


def _irq(path: str, value: str) -> list[HostRequest]:
    """Raises RequestError for CPUs that do not exist."""
    numbers = as_list(cpus.cpus_of(value, cpus.layout(), path))
    # Some interrupts take no value, such as a timer's, or a queue's that the kernel itself places.
    return [HostRequest(path, "proc/irq/[0-9]*/smp_affinity_list", numbers, optional=True)]


_NUMBER = WholeNumber(0, 1 << 40)
_PERCENT = WholeNumber(0, 100)
_WORD = Text(r"[A-Za-z0-9_-]+", 'a name such as "none"')

HOST: tuple[Setting, ...] = (
    _row(
        "smt",
        Flag(),
        "simultaneous multithreading: whether all threads of a core are used",
        _smt,
    ),
    _row(
        "governor",
        _WORD,
        "cpufreq governor of all CPUs: performance, powersave, schedutil, …",
        f"{_EACH_CPU}/cpufreq/scaling_governor",
    ),
    _row("boost", Flag(), "whether CPUs may run faster than their nominal frequency", _boost),
    _row(
        "idle_latency_us",
        _NUMBER,
        "turn off idle states that take longer than this to wake up from, and turn on the others; "
        "0: no deep sleep",
        _idle,
    ),
    _row(
        "io_scheduler",
        _WORD,
        "I/O scheduler of the disk that holds the data: none, mq-deadline, kyber, bfq",
        "sys/block/{disk}/queue/scheduler",
    ),
    _row(
        "read_ahead_kb",
        WholeNumber(0, 1 << 20),
        "read-ahead of that disk; the kernel rounds it to whole pages",
        "sys/block/{disk}/queue/read_ahead_kb",
    ),
    _row(
        "transparent_hugepage",
        Choice(("always", "madvise", "never")),
        "transparent huge pages: for all memory, only on request (madvise), or never",
        "sys/kernel/mm/transparent_hugepage/enabled",
    ),
    _row(
        "huge_pages",
        WholeNumber(0, 1 << 30),
        "vm.nr_hugepages: huge pages to reserve; the kernel reserves fewer if memory is fragmented",
        "proc/sys/vm/nr_hugepages",
    ),
    _vm("swappiness", WholeNumber(0, 200), "how readily the memory of processes is swapped out"),
    _vm(
        "zone_reclaim_mode",
        WholeNumber(0, 7),
        "whether a full NUMA node evicts its own pages before it uses a different node",
    ),
    _row(
        "numa_balancing",
        WholeNumber(0, 3),
        "kernel.numa_balancing: whether memory moves to the NUMA node that uses it",
        "proc/sys/kernel/numa_balancing",
    ),
    _row(
        "autogroup",
        Flag(),
        "kernel.sched_autogroup_enabled: whether CPU time is divided between sessions first. The "
        "server is restarted, because a thread keeps its first group",
        "proc/sys/kernel/sched_autogroup_enabled",
        Need.RESTART,
    ),
    _vm("dirty_ratio", _PERCENT, "percentage of memory that may be dirty before writers wait"),
    _vm("dirty_background_ratio", _PERCENT, "percentage that may be dirty before write-back"),
    _vm("dirty_bytes", _NUMBER, "dirty_ratio in bytes, which it replaces"),
    _vm("dirty_background_bytes", _NUMBER, "dirty_background_ratio in bytes, which it replaces"),
    _vm("dirty_expire_centisecs", _NUMBER, "maximum age of dirty data, in units of 10 ms"),
    _vm("dirty_writeback_centisecs", _NUMBER, "interval of write-backs, in units of 10 ms"),
    _row(
        "busy_poll",
        _NUMBER,
        "net.core.busy_poll: microseconds that poll() spins for network packets",
        "proc/sys/net/core/busy_poll",
    ),
    _row(
        "busy_read",
        _NUMBER,
        "net.core.busy_read: microseconds that a read spins for network packets",
        "proc/sys/net/core/busy_read",
    ),
    _row(
        "irq_cpus",
        CpuNames(cpus.PATTERN, 'CPUs such as "0" or "0-3"'),
        "CPUs that handle device interrupts, except those that the kernel itself places",
        _irq,
    ),
    _row(
        "rt_runtime_us",
        _NUMBER,
        "microseconds per second that contend's control group may spend on real-time processes "
        "(cpu.rt_runtime_us of cgroup v1)",
        "sys/fs/cgroup/cpu/{group}/cpu.rt_runtime_us",
    ),
    PageCache(
        SECTION,
        Key(
            "page_cache",
            Choice(("as-found", "dropped")),
            "as-found",
            "dropped: empty the page cache of the whole host before each run, and before "
            "server.warm fills it",
        ),
        differs=Differs.HOST,
    ),
)
"""In the order in which they are applied."""


def refuse_untouched(cell: Values) -> None:
    """Raise RequestError if the cell changes the host without permission."""
    for setting in HOST:
        if cell[setting.path] != setting.key.default:
            raise RequestError(
                f"{setting.path} changes this host, which needs --touch-host",
                hint="Add --touch-host. contend records the old values on disk and restores them "
                "at the end; after a crash, run `contend restore host`.",
            )
