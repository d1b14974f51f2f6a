"""Facts of fake hosts: what is there is found, what is not says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contend.host import facts
from contend.host.tree import chosen, cpu_list


def found(root: Path, folder: Path | None = None) -> dict[str, Any]:
    return facts(root, folder=folder)


TWO_SOCKETS = {
    "cpu.model": "Intel(R) Xeon(R) CPU X5660 @ 2.80GHz",
    **{"cpu.count": 8, "cpu.sockets": 2, "cpu.cores": 4, "cpu.smt_active": True},
    "cpu.mhz_now": 3500.0,
    "cpu.governor": "performance, powersave",
    **{"cpu.turbo": True, "cpu.max_khz": "3700000", "cpu.frequency_driver": "intel_pstate"},
    "cpu.caches": ["L1d 32K"],
    "cpu.flags": ["constant_tsc"],
    "cpu.idle_states": ["POLL 0 µs", "C1 2 µs", "C6 133 µs (disabled)"],
    "cpu.cache_groups": ["0,2,4,6", "1,3,5,7"],
    "cpu.thread_siblings": ["0,4", "1,5", "2,6", "3,7"],
    **{"cpu.allowed": "0-1", "numa.allowed": "0"},
    **{"network.somaxconn": 4096, "network.loopback_mtu": 65536},
    "network.tcp_rmem": "4096 131072 6291456",
    **{"numa.node_count": 2, "numa.balancing": True, "numa.zone_reclaim_mode": 0},
    "numa.nodes": [
        {"node": node, "cpus": cpus, "memory_bytes": 8192000 * 1024, "distances": distances}
        for node, cpus, distances in ((0, "0,2,4,6", [10, 21]), (1, "1,3,5,7", [21, 10]))
    ],
    **{"disk.filesystem": "xfs", "disk.device": "nvme0n1", "disk.scheduler": "none"},
    "disk.options": "rw,noatime,attr2",
    **{"disk.rotational": 0, "disk.read_ahead_kb": 128, "disk.write_cache": "write through"},
    "disk.model": "Fast Disk 1",
    "kernel.release": "6.1.0-37-amd64",
    "kernel.mitigations": {"mds": "Mitigation: Clear CPU buffers", "meltdown": "Vulnerable"},
    **{"kernel.clocksource": "tsc", "kernel.clocksources": ["tsc", "hpet", "acpi_pm"]},
    **{"kernel.aslr": 2, "kernel.isolated_cpus": "2-3", "kernel.pressure_stall": True},
    "memory.total_bytes": 16384000 * 1024,
    **{"memory.huge_pages": 3, "memory.huge_page_bytes": 2 << 20},
    "memory.swaps": ["file 2097148 kB"],
    **{"memory.transparent_hugepage": "madvise", "memory.swappiness": 60, "memory.ksm": 0},
    # Of a vendor that also hosts virtual machines.
    **{"machine.virtualisation": "none", "machine.container": "none"},
    **{"machine.cpu_quota": 1.5, "machine.memory_limit_bytes": None},
}
MICRO_VM = {
    **{"cpu.count": 2, "cpu.sockets": 1, "cpu.governor": None, "machine.virtualisation": "kvm"},
    # A container's image booted as a machine is no container: its root is a disk.
    "machine.container": "none",
    **{"machine.cpu_quota": None, "machine.memory_limit_bytes": 1 << 30},
    **{"disk.device": "vda", "disk.scheduler": "mq-deadline"},
    "kernel.parameters": ["psi=1", "cpuidle_haltpoll.force=1"],
}


def same_of(host: dict[str, Any], expected: dict[str, object]) -> dict[str, object]:
    """The facts of the names that are expected."""
    return {name: host[name.partition(".")[0]][name.partition(".")[2]] for name in expected}


def test_a_server_with_two_sockets(two_sockets: Path) -> None:
    host = found(two_sockets, Path("/srv/my data/run"))
    assert same_of(host, TWO_SOCKETS) == TWO_SOCKETS
    assert host["disk"]["total_bytes"] > 0


def test_a_micro_vm(micro_vm: Path) -> None:
    host = found(micro_vm, Path("/data"))
    assert same_of(host, MICRO_VM) == MICRO_VM
    assert "no frequency control" in host["missing"]["cpu.governor"]
    assert "/vda/device/model does not exist" in host["missing"]["disk.model"]


def test_a_file_system_of_several_devices_names_its_source(two_sockets: Path) -> None:
    disk = found(two_sockets, Path("/srv/pool"))["disk"]
    assert (disk["filesystem"], disk["device"]) == ("btrfs", "nvme0n1")


@pytest.mark.parametrize(("folder", "kind"), [("/run/x", "tmpfs"), ("/merged/a", "overlay")])
def test_where_no_device_is_visible(two_sockets: Path, folder: str, kind: str) -> None:
    host = found(two_sockets, Path(folder))
    assert host["disk"]["filesystem"] == kind
    assert host["disk"]["scheduler"] is None
    assert host["missing"]["disk.scheduler"] == f"no block device is visible below this {kind}"


def test_without_a_folder_there_is_no_disk(two_sockets: Path) -> None:
    host = found(two_sockets)
    assert host["disk"]["scheduler"] is None
    assert host["missing"]["disk.scheduler"] == "no folder was named"


def test_boot_parameters_that_can_change_speed_and_no_others(two_sockets: Path) -> None:
    kernel = found(two_sockets)["kernel"]
    assert kernel["parameters"] == ["nopti", "noibrs", "noibpb", "isolcpus=2-3", "mitigations=off"]
    assert kernel["parameters_left_out"] == 5
    assert "secret" not in json.dumps(found(two_sockets))
    assert "s3cret" not in json.dumps(found(two_sockets))


def test_limits_are_complete(two_sockets: Path) -> None:
    shown = found(two_sockets)["limits"]
    assert shown["open_files"] == {"soft": 1024, "hard": 524288}
    assert shown["max_memory_size_bytes"] == {"soft": "unlimited", "hard": "unlimited"}
    assert len(shown) == 16
    assert None not in shown.values()


def test_what_the_kernel_does_with_idle_memory(
    tree_of: Callable[[dict[str, str]], Path], two_sockets: Path
) -> None:
    damon = "sys/kernel/mm/damon/admin/kdamonds"
    scheme = "contexts/0/schemes/{}/action"
    files = {
        f"{damon}/nr_kdamonds": "2\n",
        f"{damon}/0/state": "on\n",
        f"{damon}/0/{scheme.format(0)}": "pageout\n",
        f"{damon}/0/{scheme.format(1)}": "stat\n",
        f"{damon}/1/state": "off\n",
        f"{damon}/1/{scheme.format(0)}": "pageout\n",
    }
    assert found(tree_of(files))["memory"]["idle_schemes"] == ["pageout"]
    without = found(two_sockets)
    assert without["memory"]["idle_schemes"] is None
    assert "damon" in without["missing"]["memory.idle_schemes"]


@pytest.mark.parametrize(("enabled", "schemes"), [("Y", ["pageout"]), ("N", [])])
def test_the_module_that_reclaims_idle_memory_has_a_scheme_of_its_own(
    tree_of: Callable[[dict[str, str]], Path], enabled: str, schemes: list[str]
) -> None:
    files = {"sys/module/damon_reclaim/parameters/enabled": f"{enabled}\n"}
    assert found(tree_of(files))["memory"]["idle_schemes"] == schemes


def test_an_empty_host_has_a_reason_for_everything(tmp_path: Path) -> None:
    host = found(tmp_path)
    for group, values in host.items():
        if group == "missing":
            continue
        for name, value in values.items():
            if value is None:
                assert host["missing"][f"{group}.{name}"], name


def test_a_file_that_holds_something_else(tree_of: Callable[[dict[str, str]], Path]) -> None:
    root = tree_of({"proc/sys/vm/swappiness": "lots\n", "proc/cpuinfo": "nonsense: \n\nx"})
    host = found(root)
    assert host["memory"]["swappiness"] is None
    reason = host["missing"]["memory.swappiness"]
    assert reason.startswith("/proc/sys/vm/swappiness ") and reason.endswith("'lots'")


def test_facts_are_json(two_sockets: Path, micro_vm: Path) -> None:
    for root in (two_sockets, micro_vm):
        host = found(root)
        assert json.loads(json.dumps(host)) == host


def test_the_identity_tells_machines_apart_and_names_none(
    two_sockets: Path, micro_vm: Path
) -> None:
    one, other = found(two_sockets)["machine"]["id"], found(micro_vm)["machine"]["id"]
    # Both have the same /etc/machine-id, as copies of one image do.
    assert one != other
    assert one == found(two_sockets)["machine"]["id"]
    assert len(one) == 12
    meminfo = two_sockets / "proc/meminfo"
    text = meminfo.read_text(encoding="utf-8").replace("16384000 kB", "16379000 kB")
    meminfo.write_text(text, encoding="utf-8")
    assert found(two_sockets)["machine"]["id"] == one


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"run/.containerenv": ""}, "podman"),
        ({".dockerenv": ""}, "docker"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({"proc/self/cgroup": "0::/kubepods/burstable/pod1\n"}, "kubepods"),
        ({}, "none"),
    ],
)
def test_containers(
    tree_of: Callable[[dict[str, str]], Path], files: dict[str, str], expected: str
) -> None:
    assert found(tree_of({"proc/stat": "", **files}))["machine"]["container"] == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        ({"sys/class/dmi/id/sys_vendor": "VMware, Inc.\n"}, "vmware"),
        ({"sys/class/dmi/id/product_name": "KVM\n"}, "kvm"),
        ({}, "unknown"),
    ],
)
def test_hypervisors(
    tree_of: Callable[[dict[str, str]], Path], files: dict[str, str], expected: str
) -> None:
    root = tree_of({"proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n", **files})
    assert found(root)["machine"]["virtualisation"] == expected


def test_an_arm_processor_without_a_name(tree_of: Callable[[dict[str, str]], Path]) -> None:
    first = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n"
    root = tree_of({"proc/cpuinfo": f"{first}\nprocessor : 1\n"})
    cpu = found(root)["cpu"]
    assert (cpu["model"], cpu["count"]) == ("implementer 0x41 part 0xd0c", 2)


def test_this_host_says_the_basics(tmp_path: Path) -> None:
    host = facts(folder=tmp_path)
    cpu: Any = host["cpu"]
    kernel: Any = host["kernel"]
    disk: Any = host["disk"]
    assert cpu["count"] >= 1
    assert kernel["release"]
    assert disk["filesystem"]


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-3,8", [0, 1, 2, 3, 8]), ("", []), ("5", [5]), ("1,3", [1, 3])]
)
def test_lists_of_cpus(text: str, numbers: list[int]) -> None:
    assert cpu_list(text) == numbers


@pytest.mark.parametrize("text", ["x", "0-99999999"])
def test_what_is_no_list_of_cpus(text: str) -> None:
    with pytest.raises(ValueError, match=r"CPUs|invalid"):
        cpu_list(text)


@pytest.mark.parametrize(
    ("text", "choice"), [("always [madvise] never", "madvise"), ("none", "none"), ("]a[", "]a[")]
)
def test_choices_in_brackets(text: str, choice: str) -> None:
    assert chosen(text) == choice
