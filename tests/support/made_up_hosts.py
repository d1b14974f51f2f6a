"""Hosts as trees of files, made from the documented formats of the kernel, and some that were
recorded: bare metal with two and eight nodes, SMT, big.LITTLE, AWS, Docker, LXC; a micro VM and
guests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

Files = dict[str, str]
"""Content by path below the root; `-> PATH` is a link to another path below it."""

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_CLOCK = "sys/devices/system/clocksource/clocksource0"
_THP = "sys/kernel/mm/transparent_hugepage"


def write(root: Path, files: Mapping[str, str]) -> Path:
    """A tree of these files; of a path whose text is "" there is an empty file."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(root / text[3:])
        else:
            path.write_text(text, encoding="utf-8")
    return root


def limits(files: int | str = 524288, processes: int | str = 96365) -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        f"Max processes             {processes!s:<20} {processes!s:<20} processes \n"
        f"Max open files            {1024!s:<20} {files!s:<20} files     \n"
    )


def stat(nice: int = 0) -> str:
    return f"4242 (a (b) c) S 1 4242 4242 0 -1 4194560 9 0 0 0 1 2 0 0 20 {nice} 1 0 99 1000 50\n"


def meminfo(total_kb: int, **more: int) -> str:
    values = {
        "MemTotal": total_kb,
        "MemAvailable": total_kb // 2,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Hugepagesize": 2048,
        **more,
    }
    counts = {"HugePages_Total": 0, "HugePages_Free": 0, "HugePages_Rsvd": 0}
    counts |= {name: values.pop(name) for name in list(values) if name.startswith("HugePages")}
    lines = [f"{name + ':':<16}{value:>8} kB" for name, value in values.items()]
    return "\n".join([*lines, *(f"{name}: {value:>6}" for name, value in counts.items())]) + "\n"


def machine(
    cpus: int,
    *,
    nodes: int = 1,
    threads: int = 1,
    model: str = "Intel(R) Xeon(R) CPU E5-2637 v4 @ 3.50GHz",
    flags: str = "fpu tsc constant_tsc nonstop_tsc",
    memory_kb: int = 128 << 20,
) -> Files:
    """A well set up machine of bare metal: nothing in it is a fault."""
    cores = cpus // threads
    files = {
        "proc/cpuinfo": "\n".join(
            f"processor\t: {n}\nvendor_id\t: GenuineIntel\nmodel name\t: {model}\n"
            f"cpu MHz\t\t: 3500.000\nflags\t\t: {flags}\n"
            for n in range(cpus)
        ),
        "proc/meminfo": meminfo(memory_kb),
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 ro quiet\n",
        "proc/pressure/cpu": "some avg10=0.00 avg60=0.10 avg300=0.00 total=1000000\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        "proc/self/cgroup": "0::/user.slice\n",
        "proc/self/limits": limits(),
        "proc/self/mountinfo": "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
        "30 22 259:3 / /data rw,noatime shared:9 - xfs /dev/nvme0n1p3 rw,attr2,inode64\n",
        "proc/self/numa_maps": "00400000 interleave:0-1 file=/usr/bin/x mapped=2 N0=2\n"
        if nodes > 1
        else "00400000 default file=/usr/bin/x mapped=2 N0=2\n",
        "proc/self/stat": stat(),
        "proc/self/status": f"Name:\tx\nCpus_allowed_list:\t0-{cpus - 1}\n",
        "proc/self/timerslack_ns": "50000\n",
        "proc/sys/fs/aio-max-nr": "1048576\n",
        "proc/sys/fs/aio-nr": "512\n",
        "proc/sys/kernel/hostname": "metal\n",
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/sys/kernel/osrelease": "6.1.0-37-amd64\n",
        "proc/sys/kernel/sched_autogroup_enabled": "0\n",
        "proc/sys/net/core/somaxconn": "4096\n",
        "proc/sys/net/ipv4/ip_local_port_range": "10000\t65535\n",
        "proc/sys/net/ipv4/tcp_tw_reuse": "2\n",
        "proc/sys/vm/dirty_bytes": "268435456\n",
        "proc/sys/vm/dirty_ratio": "0\n",
        "proc/sys/vm/swappiness": "1\n",
        "proc/sys/vm/zone_reclaim_mode": "0\n",
        "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
        "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
        "sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 9\nnr_periods 0\nnr_throttled 0\n"
        "throttled_usec 0\n",
        "sys/fs/cgroup/user.slice/memory.max": "max\n",
        f"{_CPU}/online": f"0-{cpus - 1}\n",
        f"{_CPU}/smt/active": f"{int(threads > 1)}\n",
        f"{_CPU}/smt/control": "on\n",
        f"{_CPU}/intel_pstate/no_turbo": "1\n",
        f"{_CPU}/vulnerabilities/meltdown": "Not affected\n",
        f"{_CPU}/vulnerabilities/mds": "Not affected\n",
        f"{_CLOCK}/current_clocksource": "tsc\n",
        f"{_CLOCK}/available_clocksource": "tsc hpet acpi_pm\n",
        f"{_THP}/enabled": "always [madvise] never\n",
        "sys/kernel/mm/ksm/run": "0\n",
        "sys/block/nvme0n1/queue/scheduler": "[none] mq-deadline kyber\n",
        "sys/block/nvme0n1/queue/rotational": "0\n",
        "sys/block/nvme0n1/queue/read_ahead_kb": "128\n",
        "sys/block/nvme0n1/queue/write_cache": "write through\n",
        "sys/block/nvme0n1/nvme0n1p3/partition": "3\n",
        "sys/dev/block/259:3": "-> sys/block/nvme0n1/nvme0n1p3",
    }
    for cpu in range(cpus):
        core = cpu % cores
        together = ",".join(str(core + cores * n) for n in range(threads))
        folder = f"{_CPU}/cpu{cpu}"
        files |= {
            f"{folder}/topology/physical_package_id": f"{core % nodes}\n",
            f"{folder}/topology/core_id": f"{core}\n",
            f"{folder}/topology/thread_siblings_list": f"{together}\n",
            f"{folder}/cpufreq/scaling_governor": "performance\n",
            f"{folder}/cpufreq/cpuinfo_max_freq": "3700000\n",
            f"{folder}/thermal_throttle/core_throttle_count": "0\n",
            f"{folder}/thermal_throttle/package_throttle_count": "0\n",
            f"{folder}/cpuidle/state0/name": "POLL\n",
            f"{folder}/cpuidle/state0/latency": "0\n",
            f"{folder}/cpuidle/state0/disable": "0\n",
            f"{folder}/cpuidle/state1/name": "C1\n",
            f"{folder}/cpuidle/state1/latency": "2\n",
            f"{folder}/cpuidle/state1/disable": "0\n",
        }
    for node in range(nodes):
        mine = ",".join(str(cpu) for cpu in range(cpus) if cpu % nodes == node)
        files |= {
            f"{_NODE}/node{node}/cpulist": f"{mine}\n",
            f"{_NODE}/node{node}/distance": " ".join(
                "10" if other == node else "21" for other in range(nodes)
            )
            + "\n",
            f"{_NODE}/node{node}/meminfo": node_meminfo(
                node, memory_kb // nodes, memory_kb // nodes // 2
            ),
        }
    return files


def node_meminfo(node: int, total_kb: int, free_kb: int) -> str:
    return (
        f"Node {node} MemTotal:       {total_kb} kB\nNode {node} MemFree:        {free_kb} kB\n"
        f"Node {node} HugePages_Total:     0\n"
    )


def bare_metal() -> Files:
    return machine(4)


def two_nodes() -> Files:
    """Two sockets of two cores with two threads each."""
    return machine(8, nodes=2, threads=2)


def eight_nodes() -> Files:
    return machine(16, nodes=8, memory_kb=512 << 20)


def uneven_nodes() -> Files:
    """Three nodes: the last has memory and no CPUs, as memory behind a bus has."""
    files = machine(8, nodes=2)
    return files | {
        f"{_NODE}/node2/cpulist": "\n",
        f"{_NODE}/node2/distance": "21 21 10\n",
        f"{_NODE}/node2/meminfo": node_meminfo(2, 16 << 20, 15 << 20),
    }


def big_little() -> Files:
    """Four strong and four weak cores, by the capacity that ARM kernels show."""
    files = machine(8, model="Cortex-A76", flags="")
    for cpu in range(8):
        files[f"{_CPU}/cpu{cpu}/cpu_capacity"] = "1024\n" if cpu >= 4 else "446\n"
        files[f"{_CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = (
            "2400000\n" if cpu >= 4 else "1800000\n"
        )
        files[f"{_CPU}/cpu{cpu}/cpufreq/scaling_governor"] = "schedutil\n"
    files[f"{_CLOCK}/current_clocksource"] = files[f"{_CLOCK}/available_clocksource"] = (
        "arch_sys_counter\n"
    )
    return files


def _without(files: Files, *beginnings: str) -> Files:
    return {name: text for name, text in files.items() if not name.startswith(beginnings)}


def aws() -> Files:
    """A Nitro instance: no frequency control, time of the hypervisor, EBS as NVMe."""
    files = machine(
        4,
        threads=2,
        model="Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        flags="fpu tsc constant_tsc nonstop_tsc hypervisor",
    )
    files = _without(files, f"{_CPU}/intel_pstate")
    files = {
        name: text
        for name, text in files.items()
        if "/cpufreq/" not in name and "/thermal_throttle/" not in name
    }
    return files | {
        "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
        f"{_CLOCK}/current_clocksource": "xen\n",
        f"{_CLOCK}/available_clocksource": "xen tsc hpet acpi_pm\n",
        "proc/sys/kernel/osrelease": "6.8.0-1021-aws\n",
    }


def docker() -> Files:
    """A container with a quota and a memory limit, unified hierarchy, /sys read-only, overlay."""
    files = machine(4)
    files = _without(files, "sys/fs/cgroup/user.slice", "run/")
    return files | {
        ".dockerenv": "",
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": (
            "600 500 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/u\n"
            "601 600 0:60 / /proc rw,nosuid - proc proc rw\n"
            "602 600 0:61 / /sys ro,nosuid - sysfs sysfs ro\n"
        ),
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/cpu.stat": "usage_usec 9\nnr_periods 1000\nnr_throttled 250\n"
        "throttled_usec 7000000\n",
        "sys/fs/cgroup/memory.max": f"{2 << 30}\n",
    }


def lxc() -> Files:
    """A system container, older hierarchy, a cpuset of two of eight CPUs."""
    files = _without(machine(8), "sys/fs/cgroup")
    return files | {
        "proc/1/environ": "container=lxc\0",
        "proc/self/cgroup": "4:memory:/lxc/db\n3:cpuset:/lxc/db\n2:cpu,cpuacct:/lxc/db\n",
        "proc/self/status": "Name:\tx\nCpus_allowed_list:\t2-3\nMems_allowed_list:\t0\n",
        "sys/fs/cgroup/cpu,cpuacct/lxc/db/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/lxc/db/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/lxc/db/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/cpu/lxc/db/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
        "sys/fs/cgroup/memory/lxc/db/memory.limit_in_bytes": f"{4 << 30}\n",
    }


def recorded(name: str) -> Callable[[], Files]:
    """A tree that was recorded on a host; `recorded_hosts/README.md` says how."""

    def read() -> Files:
        file = Path(__file__).parent / "recorded_hosts" / f"{name}.json"
        files: Files = json.loads(file.read_text(encoding="utf-8"))
        return files

    return read


HOSTS = {
    "bare metal": bare_metal,
    "two nodes": two_nodes,
    "eight nodes": eight_nodes,
    "uneven nodes": uneven_nodes,
    "big.LITTLE": big_little,
    "aws": aws,
    "docker": docker,
    "lxc": lxc,
    "micro vm": recorded("micro-vm"),
    "guest of two nodes": recorded("guest-two-nodes"),
    "guest of eight nodes": recorded("guest-eight-nodes"),
    "guest with threads": recorded("guest-threads"),
    "guest of uneven nodes": recorded("guest-uneven"),
}
