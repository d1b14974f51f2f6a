"""Fake hosts: trees of files as the kernel shows them, small but complete where a test looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max file size             unlimited            unlimited            bytes
Max data size             unlimited            unlimited            bytes
Max stack size            8388608              unlimited            bytes
Max core file size        0                    unlimited            bytes
Max resident set          unlimited            unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max locked memory         8388608              8388608              bytes
Max address space         unlimited            unlimited            bytes
Max file locks            unlimited            unlimited            locks
Max pending signals       96365                96365                signals
Max msgqueue size         819200               819200               bytes
Max nice priority         0                    0
Max realtime priority     0                    0
Max realtime timeout      unlimited            unlimited            us
"""

COMMON = {
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "proc/self/limits": LIMITS,
    "proc/self/status": "Name:\tcat\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n",
    "proc/sys/net/core/somaxconn": "4096\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "sys/class/net/lo/mtu": "65536\n",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/fs/file-max": "9223372036854775807\n",
    "proc/uptime": "1234.56 2000.00\n",
    "proc/loadavg": "0.52 0.40 0.30 1/146 25984\n",
    "proc/swaps": "Filename Type Size Used Priority\n/swapfile file 2097148 0 -2\n",
    "proc/meminfo": (
        "MemTotal:       16384000 kB\nMemFree: 1000 kB\nMemAvailable:   8192000 kB\n"
        "SwapTotal: 2097148 kB\nSwapFree: 2097148 kB\nDirty: 4 kB\n"
        "HugePages_Total:       3\nHugepagesize:       2048 kB\n"
    ),
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
    "proc/pressure/memory": (
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=20\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=10\n"
    ),
    "proc/pressure/io": (
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=300\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=200\n"
    ),
    "proc/vmstat": "pgfault 9\npgmajfault 5\npswpin 1\npswpout 2\noom_kill 0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never\n",
    "sys/kernel/mm/ksm/run": "0\n",
}

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_CLOCK = "sys/devices/system/clocksource/clocksource0"


def cpuinfo(count: int, model: str, flags: str) -> str:
    return "\n".join(
        f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: {model}\n"
        f"microcode\t: 0x2b\ncpu MHz\t\t: {2800 + cpu}.000\nflags\t\t: {flags}\n"
        for cpu in range(count)
    )


def _two_sockets() -> dict[str, str]:
    """Two sockets of two cores with two threads each, 2 NUMA nodes, frequency control, NVMe."""
    files = {
        **COMMON,
        "proc/cpuinfo": cpuinfo(8, "Intel(R) Xeon(R)  CPU X5660 @ 2.80GHz", "fpu tsc constant_tsc"),
        "proc/cmdline": (
            "BOOT_IMAGE=/vmlinuz root=UUID=secret-disk ro quiet nopti noibrs noibpb "
            "isolcpus=2-3 systemd.unit=x mitigations=off -- --token=s3cret"
        ),
        "proc/stat": "cpu  100 0 50 800 10 0 5 0 0 0\n"
        + "".join(f"cpu{n} 1 0 1 1 0 0 0 0 0 0\n" for n in range(8)),
        "proc/self/cgroup": "0::/user.slice/session.scope\n",
        "proc/self/mountinfo": (
            "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro\n"
            "40 22 259:2 / /srv/my\\040data rw,noatime shared:9 - xfs /dev/nvme0n1p1 rw,attr2\n"
            "41 22 0:50 / /srv/pool rw shared:7 - btrfs /dev/nvme0n1p1 rw,compress=zstd:1\n"
            "42 22 0:60 / /run rw,nosuid - tmpfs tmpfs rw,size=800000k\n"
            "43 22 0:61 / /merged rw - overlay overlay rw,lowerdir=/l\n"
        ),
        "proc/sys/kernel/numa_balancing": "1\n",
        "proc/sys/vm/zone_reclaim_mode": "0\n",
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "sys/class/dmi/id/sys_vendor": "Google\n",
        f"{_CPU}/online": "0-7\n",
        f"{_CPU}/smt/active": "1\n",
        f"{_CPU}/isolated": "2-3\n",
        f"{_CPU}/intel_pstate/no_turbo": "0\n",
        f"{_CPU}/cpuidle/current_driver": "intel_idle\n",
        f"{_CPU}/cpu0/cpuidle/state0/name": "POLL\n",
        f"{_CPU}/cpu0/cpuidle/state0/latency": "0\n",
        f"{_CPU}/cpu0/cpuidle/state10/name": "C6\n",
        f"{_CPU}/cpu0/cpuidle/state10/latency": "133\n",
        f"{_CPU}/cpu0/cpuidle/state10/disable": "1\n",
        f"{_CPU}/cpu0/cache/index0/level": "1\n",
        f"{_CPU}/cpu0/cache/index0/type": "Data\n",
        f"{_CPU}/cpu0/cache/index0/size": "32K\n",
        f"{_CPU}/vulnerabilities/meltdown": "Vulnerable\n",
        f"{_CPU}/vulnerabilities/mds": "Mitigation: Clear CPU buffers\n",
        f"{_CLOCK}/current_clocksource": "tsc\n",
        f"{_CLOCK}/available_clocksource": "tsc hpet acpi_pm\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "sys/fs/cgroup/user.slice/session.scope/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/user.slice/session.scope/cpu.stat": "usage_usec 9\nthrottled_usec 7000\n",
        "sys/fs/cgroup/user.slice/session.scope/memory.max": "max\n",
        "sys/block/nvme0n1/queue/scheduler": "[none] mq-deadline kyber\n",
        "sys/block/nvme0n1/queue/rotational": "0\n",
        "sys/block/nvme0n1/queue/read_ahead_kb": "128\n",
        "sys/block/nvme0n1/queue/nr_requests": "1023\n",
        "sys/block/nvme0n1/queue/write_cache": "write through\n",
        "sys/block/nvme0n1/queue/discard_max_bytes": "2199023255040\n",
        "sys/block/nvme0n1/device/model": "Fast Disk 1  \n",
        "sys/block/nvme0n1/nvme0n1p1/partition": "1\n",
    }
    for cpu in range(8):
        socket, core = cpu % 2, cpu // 2 % 2
        folder = f"{_CPU}/cpu{cpu}"
        files[f"{folder}/topology/physical_package_id"] = f"{socket}\n"
        files[f"{folder}/topology/core_id"] = f"{core}\n"
        files[f"{folder}/topology/thread_siblings_list"] = f"{cpu % 4},{cpu % 4 + 4}\n"
        files[f"{folder}/cache/index3/level"] = "3\n"
        files[f"{folder}/cache/index3/shared_cpu_list"] = ("0,2,4,6\n", "1,3,5,7\n")[socket]
        files[f"{folder}/cpufreq/scaling_governor"] = "powersave\n" if cpu else "performance\n"
        files[f"{folder}/cpufreq/scaling_driver"] = "intel_pstate\n"
        files[f"{folder}/cpufreq/cpuinfo_max_freq"] = "3200000\n"
        files[f"{folder}/thermal_throttle/core_throttle_count"] = "2\n"
    for node, cpus in enumerate(("0,2,4,6", "1,3,5,7")):
        files[f"{_NODE}/node{node}/cpulist"] = f"{cpus}\n"
        files[f"{_NODE}/node{node}/distance"] = "10 21\n" if node == 0 else "21 10\n"
        files[f"{_NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:       8192000 kB\n"
    return files


def _micro_vm() -> dict[str, str]:
    """A small virtual machine: no DMI, no frequency control, one node, older control groups."""
    files = {
        **COMMON,
        "proc/cpuinfo": cpuinfo(2, "AMD EPYC", "fpu constant_tsc nonstop_tsc hypervisor"),
        "proc/cmdline": "console=ttyS0 reboot=k psi=1 cpuidle_haltpoll.force=1\n",
        "proc/stat": "cpu  100 0 50 800 10 0 5 30 0 0\ncpu0 1 0\ncpu1 1 0\n",
        "proc/self/cgroup": "2:cpu,cpuacct:/job\n1:memory:/job\n",
        "proc/self/mountinfo": "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n",
        ".dockerenv": "",
        f"{_CPU}/online": "0-1\n",
        f"{_CLOCK}/current_clocksource": "tsc\n",
        f"{_CLOCK}/available_clocksource": "tsc kvm-clock\n",
        f"{_NODE}/node0/cpulist": "0-1\n",
        f"{_NODE}/node0/distance": "10\n",
        f"{_NODE}/node0/meminfo": "Node 0 MemTotal:       16384000 kB\n",
        "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/cpu/job/cpu.stat": "nr_throttled 1\nthrottled_time 5000000\n",
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824\n",
        "sys/block/vda/queue/scheduler": "none [mq-deadline] kyber\n",
        "sys/block/vda/queue/rotational": "1\n",
    }
    for cpu in range(2):
        files[f"{_CPU}/cpu{cpu}/topology/physical_package_id"] = "0\n"
        files[f"{_CPU}/cpu{cpu}/topology/core_id"] = f"{cpu}\n"
    return files


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def link(root: Path, name: str, target: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(root / target)


@pytest.fixture
def two_sockets(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "two_sockets", _two_sockets())
    link(root, "sys/dev/block/259:2", "sys/block/nvme0n1/nvme0n1p1")
    link(root, "sys/class/block/nvme0n1p1", "sys/block/nvme0n1/nvme0n1p1")
    return root


@pytest.fixture
def micro_vm(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "micro_vm", _micro_vm())
    link(root, "sys/dev/block/254:0", "sys/block/vda")
    return root


@pytest.fixture
def tree_of(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """A host of just the given files."""

    def build(files: dict[str, str]) -> Path:
        return write_tree(tmp_path / "host", files)

    return build
