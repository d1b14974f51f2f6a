"""Facts of fake hosts: what is there is found, what is not says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contend.host import Tree, facts, limits
from contend.host.tree import chosen, cpu_list


def found(root: Path, folder: Path | None = None) -> dict[str, Any]:
    return facts(root, folder=folder)


def test_a_server_with_two_sockets(two_sockets: Path) -> None:
    host = found(two_sockets, Path("/srv/my data/run"))
    cpu = host["cpu"]
    assert cpu["model"] == "Intel(R) Xeon(R) CPU X5660 @ 2.80GHz"
    assert (cpu["count"], cpu["sockets"], cpu["cores"], cpu["smt_active"]) == (8, 2, 4, True)
    assert cpu["mhz_now"] == pytest.approx(2803.5)
    assert cpu["governor"] == "performance, powersave"
    assert (cpu["turbo"], cpu["max_khz"], cpu["frequency_driver"]) == (
        True,
        "3200000",
        "intel_pstate",
    )
    assert cpu["caches"] == ["L1d 32K"]
    assert cpu["flags"] == ["constant_tsc"]
    assert cpu["idle_states"] == ["POLL 0 µs", "C6 133 µs (disabled)"]


def test_who_shares_a_core_or_a_cache_and_where_we_may_run(two_sockets: Path) -> None:
    host = found(two_sockets)
    assert host["cpu"]["cache_groups"] == ["0,2,4,6", "1,3,5,7"]
    assert host["cpu"]["thread_siblings"] == ["0,4", "1,5", "2,6", "3,7"]
    assert (host["cpu"]["allowed"], host["numa"]["allowed"]) == ("0-1", "0")


def test_network(two_sockets: Path) -> None:
    network = found(two_sockets)["network"]
    assert (network["somaxconn"], network["loopback_mtu"]) == (4096, 65536)
    assert network["tcp_rmem"] == "4096 131072 6291456"


def test_numa_nodes(two_sockets: Path) -> None:
    numa = found(two_sockets)["numa"]
    assert (numa["node_count"], numa["balancing"], numa["zone_reclaim_mode"]) == (2, True, 0)
    assert numa["nodes"][1] == {
        "node": 1,
        "cpus": "1,3,5,7",
        "memory_bytes": 8192000 * 1024,
        "distances": [21, 10],
    }


def test_the_disk_below_a_folder(two_sockets: Path) -> None:
    disk = found(two_sockets, Path("/srv/my data/run"))["disk"]
    assert (disk["filesystem"], disk["device"], disk["scheduler"]) == ("xfs", "nvme0n1", "none")
    assert disk["options"] == "rw,noatime,attr2"
    assert (disk["rotational"], disk["read_ahead_kb"], disk["write_cache"]) == (
        0,
        128,
        "write through",
    )
    assert disk["model"] == "Fast Disk 1"
    assert disk["total_bytes"] > 0


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


def test_kernel(two_sockets: Path) -> None:
    kernel = found(two_sockets)["kernel"]
    assert kernel["release"] == "6.1.0-18-amd64"
    assert kernel["mitigations"] == {
        "mds": "Mitigation: Clear CPU buffers",
        "meltdown": "Vulnerable",
    }
    assert (kernel["clocksource"], kernel["clocksources"]) == ("tsc", ["tsc", "hpet", "acpi_pm"])
    assert (kernel["aslr"], kernel["isolated_cpus"]) == (2, "2-3")
    assert kernel["pressure_stall"] is True


def test_limits_are_complete(two_sockets: Path) -> None:
    shown = found(two_sockets)["limits"]
    assert shown["open_files"] == {"soft": 1024, "hard": 524288}
    assert shown["max_memory_size_bytes"] == {"soft": "unlimited", "hard": "unlimited"}
    assert len(shown) == 16
    assert None not in shown.values()


def test_limits_of_another_process(tree_of: Callable[[dict[str, str]], Path]) -> None:
    line = "Max open files            5                    9                    files\n"
    root = tree_of({"proc/77/limits": line})
    assert limits(Tree(root), 77) == {"open_files": {"soft": 5, "hard": 9}}


def test_memory(two_sockets: Path) -> None:
    memory = found(two_sockets)["memory"]
    assert memory["total_bytes"] == 16384000 * 1024
    assert (memory["huge_pages"], memory["huge_page_bytes"]) == (3, 2 << 20)
    assert memory["swaps"] == ["file 2097148 kB"]
    assert (memory["transparent_hugepage"], memory["swappiness"], memory["ksm"]) == (
        "madvise",
        60,
        0,
    )


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


def test_bare_metal_of_a_vendor_that_also_hosts_virtual_machines(two_sockets: Path) -> None:
    machine = found(two_sockets)["machine"]
    assert (machine["virtualisation"], machine["container"]) == ("none", "none")
    assert machine["cpu_quota"] == 1.5
    assert machine["memory_limit_bytes"] is None


def test_a_micro_vm(micro_vm: Path) -> None:
    host = found(micro_vm, Path("/data"))
    assert (host["cpu"]["count"], host["cpu"]["sockets"]) == (2, 1)
    assert host["cpu"]["governor"] is None
    assert "no frequency control" in host["missing"]["cpu.governor"]
    assert host["machine"]["virtualisation"] == "kvm"
    # A container's image booted as a machine is no container: its root is a disk.
    assert host["machine"]["container"] == "none"
    assert (host["machine"]["cpu_quota"], host["machine"]["memory_limit_bytes"]) == (None, 1 << 30)
    assert (host["disk"]["device"], host["disk"]["scheduler"]) == ("vda", "mq-deadline")
    assert host["missing"]["disk.model"] == "/sys/block/vda/device/model does not exist"
    assert host["kernel"]["parameters"] == ["psi=1", "cpuidle_haltpoll.force=1"]


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
    assert (
        host["missing"]["memory.swappiness"]
        == "/proc/sys/vm/swappiness holds something else: 'lots'"
    )


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
