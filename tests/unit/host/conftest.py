"""Fake hosts: trees of files as the kernel shows them, small but complete where a test looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_hosts import Files, limits, machine, write

_CPU = "sys/devices/system/cpu"
_CGROUP = "sys/fs/cgroup"

_LIMITS = (
    "cpu time,file size,data size,stack size,core file size,resident set,locked memory,"
    "address space,file locks,pending signals,msgqueue size,nice priority,realtime priority,"
    "realtime timeout"
)

COMMON = {
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "proc/self/limits": limits()
    + "".join(f"Max {name:<21} unlimited unlimited\n" for name in _LIMITS.split(",")),
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/loadavg": "0.52 0.40 0.30 1/146 25984\n",
    "proc/swaps": "Filename Type Size Used Priority\n/swapfile file 2097148 0 -2\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
    "proc/pressure/io": "some avg10=0.00 total=300\nfull avg10=0.00 total=200\n",
    "proc/vmstat": "pgfault 9\npgmajfault 5\npswpin 1\npswpout 2\noom_kill 0\n",
    "sys/class/net/lo/mtu": "65536\n",
}


def _two_sockets() -> Files:
    """Two sockets of two cores with two threads each, 2 NUMA nodes, frequency control, NVMe."""
    files = machine(
        8,
        nodes=2,
        threads=2,
        model="Intel(R) Xeon(R)  CPU X5660 @ 2.80GHz",
        flags="fpu tsc constant_tsc",
        memory_kb=16384000,
    )
    own = f"{_CGROUP}/user.slice"
    files |= {
        **COMMON,
        "proc/cmdline": (
            "BOOT_IMAGE=/vmlinuz root=UUID=secret-disk ro quiet nopti noibrs noibpb "
            "isolcpus=2-3 systemd.unit=x mitigations=off -- --token=s3cret"
        ),
        "proc/meminfo": files["proc/meminfo"].replace(
            "HugePages_Total:      0", "HugePages_Total: 3"
        ),
        "proc/self/status": "Name:\tcat\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n",
        "proc/stat": "cpu  100 0 50 800 10 0 5 0 0 0\n"
        + "".join(f"cpu{n} 1 0 1 1 0 0 0 0 0 0\n" for n in range(8)),
        "proc/self/mountinfo": (
            "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro\n"
            "40 22 259:3 / /srv/my\\040data rw,noatime shared:9 - xfs /dev/nvme0n1p3 rw,attr2\n"
            "41 22 0:50 / /srv/pool rw shared:7 - btrfs /dev/nvme0n1p3 rw,compress=zstd:1\n"
            "42 22 0:60 / /run rw,nosuid - tmpfs tmpfs rw,size=800000k\n"
            "43 22 0:61 / /merged rw - overlay overlay rw,lowerdir=/l\n"
        ),
        "proc/sys/kernel/numa_balancing": "1\n",
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "sys/class/dmi/id/sys_vendor": "Google\n",
        "sys/class/block/nvme0n1p3": "-> sys/block/nvme0n1/nvme0n1p3",
        f"{_CPU}/isolated": "2-3\n",
        f"{_CPU}/intel_pstate/no_turbo": "0\n",
        f"{_CPU}/cpu0/cpuidle/state10/name": "C6\n",
        f"{_CPU}/cpu0/cpuidle/state10/latency": "133\n",
        f"{_CPU}/cpu0/cpuidle/state10/disable": "1\n",
        f"{_CPU}/cpu0/cache/index0/level": "1\n",
        f"{_CPU}/cpu0/cache/index0/type": "Data\n",
        f"{_CPU}/cpu0/cache/index0/size": "32K\n",
        f"{_CPU}/vulnerabilities/meltdown": "Vulnerable\n",
        f"{_CPU}/vulnerabilities/mds": "Mitigation: Clear CPU buffers\n",
        f"{own}/cpu.max": "150000 100000\n",
        f"{own}/cpu.stat": "usage_usec 9\nthrottled_usec 7000\n",
        "sys/block/nvme0n1/device/model": "Fast Disk 1  \n",
    }
    for cpu in range(8):
        folder = f"{_CPU}/cpu{cpu}"
        files[f"{folder}/cache/index3/level"] = "3\n"
        files[f"{folder}/cache/index3/shared_cpu_list"] = ("0,2,4,6\n", "1,3,5,7\n")[cpu % 2]
        files[f"{folder}/cpufreq/scaling_governor"] = "powersave\n" if cpu else "performance\n"
        files[f"{folder}/cpufreq/scaling_driver"] = "intel_pstate\n"
        files[f"{folder}/thermal_throttle/core_throttle_count"] = "2\n"
    return files


def _micro_vm() -> Files:
    """A small virtual machine: no DMI, no frequency control, one node, older control groups."""
    files = machine(2, model="AMD EPYC", flags="fpu constant_tsc hypervisor", memory_kb=16384000)
    hidden = ("cpufreq", "thermal_throttle", "cpuidle", "intel_pstate", "nvme0n1", _CGROUP)
    files = {name: text for name, text in files.items() if not any(one in name for one in hidden)}
    return files | {
        **COMMON,
        "proc/cmdline": "console=ttyS0 reboot=k psi=1 cpuidle_haltpoll.force=1\n",
        "proc/self/cgroup": "2:cpu,cpuacct:/job\n1:memory:/job\n",
        "proc/self/mountinfo": "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n",
        ".dockerenv": "",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock\n",
        f"{_CGROUP}/cpu/job/cpu.cfs_quota_us": "-1\n",
        f"{_CGROUP}/cpu/job/cpu.cfs_period_us": "100000\n",
        f"{_CGROUP}/cpu/job/cpu.stat": "nr_throttled 1\nthrottled_time 5000000\n",
        f"{_CGROUP}/memory/job/memory.limit_in_bytes": "1073741824\n",
        "sys/block/vda/queue/scheduler": "none [mq-deadline] kyber\n",
        "sys/dev/block/254:0": "-> sys/block/vda",
    }


@pytest.fixture
def two_sockets(tmp_path: Path) -> Path:
    return write(tmp_path / "two_sockets", _two_sockets())


@pytest.fixture
def micro_vm(tmp_path: Path) -> Path:
    return write(tmp_path / "micro_vm", _micro_vm())


@pytest.fixture
def tree_of(tmp_path: Path) -> Callable[[Files], Path]:
    """A host of just the given files."""
    return lambda files: write(tmp_path / "host", files)
