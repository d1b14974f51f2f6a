"""For each check a host that has the fault and one that has not: one of the hosts, with what is
other on it, what was measured there, and the server that runs there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from made_up_hosts import HOSTS, limits, meminfo, node_meminfo, stat, write

from contend.host import Tree
from contend.host.doctor.model import SeenServer, Subject
from contend.metrics.host import Measure

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_VM = "proc/sys/vm"
_QUEUE = "sys/block/nvme0n1/queue"
_CLOCK = "sys/devices/system/clocksource/clocksource0"
_THP = "sys/kernel/mm/transparent_hugepage"
_DAMON = "sys/kernel/mm/damon/admin/kdamonds"


@dataclass(frozen=True)
class Case:
    """Where a check looks. `files` stand in place of the host's; None of them are taken away.
    `space` is what is free: bytes, of how many, and files."""

    host: str = "bare metal"
    files: Mapping[str, str | None] = field(default_factory=dict)
    measured: Mapping[str, float | Measure] = field(default_factory=dict)
    server: SeenServer | None = None
    space: tuple[int, int, int] | None = None
    folder: str = "/data/run"

    def subject(self, roots: Path) -> Subject:
        """`roots` has a folder for each host that was made there."""
        changed = hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()[:12]
        root = roots / f"{self.host} {changed}"
        if not root.exists():
            files = {**HOSTS[self.host](), **self.files}
            write(root, {name: text for name, text in files.items() if text is not None})
        return Subject(
            Tree(root),
            Path(self.folder),
            {
                name: value if isinstance(value, Measure) else Measure(value, value, value)
                for name, value in self.measured.items()
            },
            self.server,
        )


@dataclass(frozen=True)
class Pair:
    """`severity` of the fault, and words of its evidence."""

    faulty: Case
    severity: str
    says: str
    well: Case = Case()


def files(host: str = "bare metal", **named: str | None) -> Case:
    return Case(host, named)


def measured(**values: float | Measure) -> Case:
    return Case(measured=values)


_VARIABLES = {
    "version": "10.11.19-MariaDB",
    "version_comment": "Debian 12",
    "datadir": "/data/mysql/",
    "general_log": "OFF",
    "slow_query_log": "OFF",
    "long_query_time": "10.000000",
    "performance_schema": "OFF",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_doublewrite": "ON",
    "innodb_use_native_aio": "ON",
    "log_bin": "OFF",
    "sync_binlog": "0",
    "query_cache_type": "OFF",
    "query_cache_size": "0",
}


def server(*, pid: int | None = 77, here: bool = True, **own: str) -> SeenServer:
    """A server that is set up well, but for what is given."""
    variables: dict[str, Any] = {**_VARIABLES, **own}
    return SeenServer(
        "socket:/run/s.sock",
        "mariadb",
        variables["version"],
        variables,
        pid,
        here,
    )


def served(**given: Any) -> Case:
    files = {
        "proc/77/limits": limits(),
        "proc/77/status": "Name:\tmariadbd\nVmSwap:\t       0 kB\nCpus_allowed_list:\t0-3\n",
    }
    return Case(files={**files, **given.pop("files", {})}, server=server(**given))


_WELL = served()
_SWAP = {"proc/meminfo": meminfo(16 << 20, SwapTotal=4 << 20, SwapFree=4 << 20)}

PAIRS: dict[str, Pair] = {
    # Neighbours.
    "steal": Pair(measured(steal_share=0.04), "warning", "4.0%", measured(steal_share=0.001)),
    "noisy-neighbours": Pair(
        measured(busy_share=0.6), "severe", "60.0%", measured(busy_share=0.01)
    ),
    "cpu-pressure": Pair(
        files(**{"proc/pressure/cpu": "some avg10=41.50 avg60=1.0 avg300=0.0 total=9\n"}),
        "warning",
        "41.5 %",
    ),
    "virtual-machine": Pair(Case("aws"), "note", "a virtual machine (kvm)"),
    # CPUs.
    "smt": Pair(Case("two nodes"), "note", "share each core"),
    "mitigations": Pair(
        files(**{f"{_CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n"}), "warning", "meltdown"
    ),
    "unequal-cpus": Pair(Case("big.LITTLE"), "warning", "capacity 446 to 1024"),
    "cpu-distance": Pair(measured(handover_ns=410), "warning", "410 ns", measured(handover_ns=80)),
    "cpus-move": Pair(
        measured(handover_ns=Measure(110, 80, 420)),
        "warning",
        "80 to 420 ns",
        measured(handover_ns=Measure(80, 73, 116)),
    ),
    "wake-up": Pair(measured(wake_us=260), "warning", "260 µs", measured(wake_us=25)),
    "governor": Pair(
        files(**{f"{_CPU}/cpu3/cpufreq/scaling_governor": "powersave\n"}),
        "warning",
        "performance, powersave",
    ),
    "boost": Pair(files(**{f"{_CPU}/intel_pstate/no_turbo": "0\n"}), "note", "nominal"),
    "idle-states": Pair(
        files(
            **{
                f"{_CPU}/cpu0/cpuidle/state2/name": "C6\n",
                f"{_CPU}/cpu0/cpuidle/state2/latency": "133\n",
                f"{_CPU}/cpu0/cpuidle/state2/disable": "0\n",
            }
        ),
        "warning",
        "C6 takes 133 µs",
    ),
    "throttling": Pair(
        files(**{f"{_CPU}/cpu1/thermal_throttle/core_throttle_count": "17\n"}),
        "warning",
        "17 times",
    ),
    # Control groups, older and unified.
    "cpu-quota": Pair(Case("docker"), "warning", "1.5 CPUs", Case("lxc")),
    "cpu-throttled": Pair(Case("docker"), "warning", "250 of 1000 periods", Case("lxc")),
    "cpuset": Pair(Case("lxc"), "warning", "2 of 8 CPUs"),
    "memory-limit": Pair(Case("lxc"), "warning", "4 GiB of 128 GiB"),
    # Memory.
    "transparent-huge-pages": Pair(
        files(**{f"{_THP}/enabled": "[always] madvise never\n"}), "warning", "for all memory"
    ),
    "swappiness": Pair(
        Case(files={**_SWAP, f"{_VM}/swappiness": "60\n"}), "warning", "60", Case("micro vm")
    ),
    "swap-in-use": Pair(
        files(**{"proc/meminfo": meminfo(16 << 20, SwapTotal=4 << 20, SwapFree=3 << 20)}),
        "warning",
        "1 GiB of 4 GiB",
        Case(files=_SWAP),
    ),
    "damon-pageout": Pair(
        Case("micro vm", measured={"refault_pages": 900}),
        "warning",
        "900 pages",
        files(**{f"{_DAMON}/nr_kdamonds": "1\n", f"{_DAMON}/0/state": "off\n"}),
    ),
    "ksm": Pair(files(**{"sys/kernel/mm/ksm/run": "1\n"}), "note", "KSM"),
    "dirty-pages": Pair(
        files(**{f"{_VM}/dirty_bytes": "0\n", f"{_VM}/dirty_ratio": "20\n"}), "note", "25.6 GiB"
    ),
    "memory-latency": Pair(measured(memory_ns=190), "warning", "190 ns", measured(memory_ns=90)),
    # NUMA.
    "numa-balancing": Pair(
        files("two nodes", **{"proc/sys/kernel/numa_balancing": "1\n"}), "note", "2 nodes"
    ),
    "zone-reclaim": Pair(
        files("two nodes", **{f"{_VM}/zone_reclaim_mode": "1\n"}),
        "severe",
        "is 1",
        Case("two nodes"),
    ),
    "node-memory": Pair(
        files("eight nodes", **{f"{_NODE}/node5/meminfo": node_meminfo(5, 0, 0)}),
        "severe",
        "node5",
        Case("eight nodes"),
    ),
    "numa-interleave": Pair(
        files("two nodes", **{"proc/self/numa_maps": "00400000 default file=/x mapped=2 N0=2\n"}),
        "warning",
        "of 2",
        Case("two nodes"),
    ),
    # The disk.
    "io-scheduler": Pair(
        files(**{f"{_QUEUE}/scheduler": "none mq-deadline [bfq]\n"}), "warning", "bfq"
    ),
    "read-ahead": Pair(files(**{f"{_QUEUE}/read_ahead_kb": "8192\n"}), "note", "8192 KiB"),
    "write-cache": Pair(
        Case(measured={"fsync_us": 9000}),
        "warning",
        "writes through",
        Case(measured={"fsync_us": 90}),
    ),
    "fsync-latency": Pair(measured(fsync_us=72_000), "severe", "72 ms", measured(fsync_us=400)),
    "filesystem": Pair(Case("docker"), "warning", "overlay"),
    "barriers": Pair(
        files(
            **{"proc/self/mountinfo": "30 22 259:3 / /data rw - ext4 /dev/nvme0n1p3 rw,nobarrier\n"}
        ),
        "severe",
        "nobarrier",
    ),
    "mount-options": Pair(
        files(
            **{
                "proc/self/mountinfo": "30 22 259:3 / /data rw,sync - ext4 /dev/nvme0n1p3 "
                "rw,data=journal\n"
            }
        ),
        "warning",
        "data=journal",
    ),
    "free-space": Pair(
        Case(space=(500 << 20, 1 << 40, 10**6)),
        "severe",
        "500 MiB of 1 TiB",
        Case(space=(1 << 39, 1 << 40, 10**6)),
    ),
    # The clock.
    "clock-source": Pair(Case("aws"), "severe", "xen"),
    "timer": Pair(
        Case(measured={"timer_late_us": 900}),
        "warning",
        "900 µs late",
        Case(measured={"timer_late_us": 55}),
    ),
    # Limits.
    "open-files": Pair(files(**{"proc/self/limits": limits(files=1024)}), "severe", "1024"),
    "processes": Pair(files(**{"proc/self/limits": limits(processes=2000)}), "warning", "2000"),
    "aio-requests": Pair(
        files(**{"proc/sys/fs/aio-max-nr": "65536\n", "proc/sys/fs/aio-nr": "65000\n"}),
        "warning",
        "65000 of 65536",
    ),
    # The network.
    "somaxconn": Pair(files(**{"proc/sys/net/core/somaxconn": "128\n"}), "warning", "128"),
    "tcp-ports": Pair(
        files(**{"proc/sys/net/ipv4/ip_local_port_range": "32768\t40000\n"}), "warning", "7233"
    ),
    "autogroup": Pair(
        files(**{"proc/sys/kernel/sched_autogroup_enabled": "1\n"}), "warning", "autogroup is on"
    ),
    "boot-parameters": Pair(
        files(**{"proc/cmdline": "ro init_on_alloc=1 slub_debug=FZ quiet -- kasan\n"}),
        "warning",
        "init_on_alloc=1 slub_debug=FZ",
        files(**{"proc/cmdline": "ro init_on_alloc=0 quiet\n"}),
    ),
    "nice": Pair(files(**{"proc/self/stat": stat(nice=10)}), "warning", "nice 10"),
    # Servers.
    "server-performance-schema": Pair(served(performance_schema="ON"), "note", "is on", _WELL),
    "server-slow-log": Pair(served(general_log="ON"), "severe", "general_log", _WELL),
    "server-build": Pair(served(version="10.11.19-MariaDB-debug"), "severe", "debug", _WELL),
    "server-where": Pair(served(here=False, pid=None), "note", "another host", _WELL),
    "server-swapped": Pair(
        served(files={"proc/77/status": "Name:\tmariadbd\nVmSwap:\t  524288 kB\n"}),
        "severe",
        "512 MiB",
        _WELL,
    ),
    "server-flush": Pair(
        served(innodb_flush_log_at_trx_commit="2"), "warning", "loses commits", _WELL
    ),
    "server-doublewrite": Pair(served(innodb_doublewrite="OFF"), "warning", "half-written", _WELL),
    "server-native-aio": Pair(served(innodb_use_native_aio="OFF"), "warning", "OFF", _WELL),
    "server-query-cache": Pair(
        served(query_cache_type="ON", query_cache_size=str(64 << 20)), "warning", "64 MiB", _WELL
    ),
}
