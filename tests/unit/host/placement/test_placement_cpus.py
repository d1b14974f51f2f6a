"""CPUs and nodes by words, on hosts that are made up in the kernel's own formats."""

from __future__ import annotations

import os
import re
from pathlib import Path

import needs
import pytest
from killed import in_a_process_of_its_own

from contend.errors import RequestError
from contend.experiment.settings import SETTINGS, launch_of
from contend.host.placement.cpus import MEMORY_PATTERN, both, cpus_of, layout, memory_of
from contend.host.placement.groups import PERIOD_US, make_group, quota_of, real_time_file
from contend.host.placement.model import as_list


def host(
    root: Path,
    cores: list[tuple[int, ...]],
    nodes: dict[int, str] | None = None,
    allowed: str | None = None,
    packages: int = 1,
) -> Path:
    """A host with these CPUs by core, spread over its packages."""
    cpus = sorted(cpu for core in cores for cpu in core)
    base = root / "sys/devices/system"
    for number, core in enumerate(cores):
        for cpu in core:
            folder = base / f"cpu/cpu{cpu}/topology"
            folder.mkdir(parents=True)
            (folder / "core_id").write_text(f"{number // packages}\n")
            (folder / "physical_package_id").write_text(f"{number % packages}\n")
    (base / "cpu/online").write_text(f"{as_list(tuple(cpus))}\n")
    for node, listed in (nodes or {0: as_list(tuple(cpus))}).items():
        (base / f"node/node{node}").mkdir(parents=True)
        (base / f"node/node{node}/cpulist").write_text(f"{listed}\n")
    (root / "proc/self").mkdir(parents=True)
    may = allowed or as_list(tuple(cpus))
    (root / "proc/self/status").write_text(f"Name:\tx\nCpus_allowed_list:\t{may}\n")
    return root


@pytest.fixture
def two_nodes(tmp_path: Path) -> Path:
    """As study B's new server: 2 sockets of 4 cores with 2 threads, odd CPUs on the second."""
    cores = [(number, number + 8) for number in range(8)]
    return host(tmp_path, cores, {0: "0,2,4,6,8,10,12,14", 1: "1,3,5,7,9,11,13,15"}, packages=2)


def test_a_node_of_two(two_nodes: Path) -> None:
    of = layout(two_nodes)
    assert cpus_of("node:1", of, "p") == (1, 9, 3, 11, 5, 13, 7, 15) or set(
        cpus_of("node:1", of, "p")
    ) == {1, 3, 5, 7, 9, 11, 13, 15}
    assert memory_of("interleave", of, "p") == ("interleave", (0, 1))
    assert memory_of("node:1", of, "p") == ("bind", (1,))
    assert memory_of("preferred:0", of, "p") == ("preferred", (0,))
    assert memory_of("local", of, "p") == ("local", ())


def test_one_thread_a_core(two_nodes: Path) -> None:
    assert sorted(cpus_of("one-thread-a-core", layout(two_nodes), "p")) == list(range(8))


def test_apart_they_have_whole_cores_of_a_node_each(two_nodes: Path) -> None:
    server, client = both("apart", layout(two_nodes), "p")
    assert set(server) == set(range(0, 16, 2))
    assert set(client) == set(range(1, 16, 2))
    assert both("together", layout(two_nodes), "p") == (server, server)
    assert both("one-each", layout(two_nodes), "p") == ((0,), (1,))


def test_of_one_core_with_two_threads_each_has_a_thread(tmp_path: Path) -> None:
    of = layout(host(tmp_path, [(0, 1)]))
    assert both("apart", of, "p") == ((0,), (1,))
    assert cpus_of("one-thread-a-core", of, "p") == (0,)


def test_of_an_odd_number_the_server_has_one_more(tmp_path: Path) -> None:
    of = layout(host(tmp_path, [(0,), (1,), (2,)]))
    assert both("apart", of, "p") == ((0, 1), (2,))


def test_cores_of_another_kind_count_as_others_do(tmp_path: Path) -> None:
    """Two large cores with two threads, four small ones."""
    of = layout(host(tmp_path, [(0, 1), (2, 3), (4,), (5,), (6,), (7,)]))
    assert cpus_of("one-thread-a-core", of, "p") == (0, 2, 4, 5, 6, 7)
    assert both("apart", of, "p") == ((0, 1, 2, 3, 4), (5, 6, 7))


def test_within_a_control_group_its_cpus_alone_count(two_nodes: Path) -> None:
    status = two_nodes / "proc/self/status"
    status.write_text("Cpus_allowed_list:\t0,2,8\n")
    of = layout(two_nodes)
    assert cpus_of("all", of, "p") == (0, 8, 2)
    assert both("apart", of, "p") == ((0, 8), (2,))
    with pytest.raises(RequestError, match="this process may not use CPU 1") as out:
        cpus_of("0-1", of, "place.server.cpus")
    assert out.value.hint == "Use CPUs from 0,2,8."
    with pytest.raises(RequestError, match="may not use CPUs of node 1"):
        cpus_of("node:1", of, "p")


@pytest.mark.parametrize(
    ("words", "says", "hint"),
    [
        ("0-99", r"place\.server\.cpus = \"0-99\": this host has no CPU 2-99", "from 0-1"),
        ("7", "this host has no CPU 7", "from 0-1"),
        ("node:1", "names node 1, but this host has one node, 0", "--set"),
        ("3-1", "is not a list of CPUs|this host has no CPU", ""),
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, words: str, says: str, hint: str) -> None:
    of = layout(host(tmp_path, [(0,), (1,)]))
    with pytest.raises(RequestError, match=says) as refused:
        cpus_of(words, of, "place.server.cpus")
    assert hint in (refused.value.hint or "")


def test_memory_of_a_node_that_is_not_there(tmp_path: Path) -> None:
    of = layout(host(tmp_path, [(0,), (1,)]))
    with pytest.raises(RequestError, match=r"place\.server\.memory names node 1,"):
        memory_of("bind:0-1", of, "place.server.memory")


@pytest.fixture
def uneven(two_nodes: Path) -> Path:
    """Node 1 has no memory, node 2 no CPUs."""
    base = two_nodes / "sys/devices/system/node"
    (base / "node2").mkdir()
    (base / "node2/cpulist").write_text("\n")
    for node, size_kb in enumerate((8000, 0, 4000)):
        (base / f"node{node}/meminfo").write_text(f"Node {node} MemTotal:  {size_kb} kB\n")
    return two_nodes


def test_memory_is_that_of_nodes_that_have_some(uneven: Path) -> None:
    of = layout(uneven)
    assert memory_of("interleave", of, "p") == ("interleave", (0, 2))
    assert memory_of("bind:2", of, "p") == ("bind", (2,))
    assert len(cpus_of("node:1", of, "p")) == 8
    with pytest.raises(RequestError, match="node 1 has no memory of its own") as bare:
        memory_of("interleave:0-2", of, "p")
    assert "0,2" in (bare.value.hint or "")
    with pytest.raises(RequestError, match="node 2 has memory but no CPUs"):
        cpus_of("node:2", of, "p")


def test_memory_outside_of_the_control_group(uneven: Path) -> None:
    (uneven / "proc/self/status").write_text("Cpus_allowed_list:\t0-15\nMems_allowed_list:\t0\n")
    of = layout(uneven)
    assert memory_of("interleave", of, "p") == ("interleave", (0,))
    with pytest.raises(RequestError, match="may not use memory of node 2"):
        memory_of("bind:2", of, "p")


@pytest.mark.parametrize(
    ("memory", "is_one"),
    [("preferred:1", True), ("preferred:0-1", False), ("preferred:0,1", False), ("bind:0-1", True)],
)
def test_one_node_is_preferred(memory: str, is_one: bool) -> None:
    """Of several the kernel takes the first."""
    assert (re.fullmatch(MEMORY_PATTERN, memory) is not None) == is_one


def test_one_cpu_has_no_two_sides(tmp_path: Path) -> None:
    of = layout(host(tmp_path, [(0,)]))
    with pytest.raises(RequestError, match=r'"apart" needs two CPUs, .* may use only CPU 0'):
        both("apart", of, "place.server.cpus")


@pytest.mark.parametrize(
    ("numbers", "text"), [((0, 1, 2, 8), "0-2,8"), ((3,), "3"), ((5, 1), "1,5"), ((), "")]
)
def test_lists_are_written_as_the_kernel_does(numbers: tuple[int, ...], text: str) -> None:
    assert as_list(numbers) == text


class TestGroups:
    def test_in_the_unified_hierarchy_it_is_below_the_nearest_that_has_the_controller(
        self, tmp_path: Path
    ) -> None:
        """A group with processes of its own gives its children no controllers."""
        base = tmp_path / "sys/fs/cgroup"
        own = base / "user.slice/session.scope"
        own.mkdir(parents=True)
        (base / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (base / "cgroup.subtree_control").write_text("cpu memory\n")
        (base / "user.slice/cgroup.subtree_control").write_text("cpu\n")
        (own / "cgroup.subtree_control").write_text("\n")
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text("0::/user.slice/session.scope\n")
        group = make_group("place.server.cpu_quota", tmp_path)
        assert group.path.parent == base / "user.slice"
        assert group.set_quota(1.5) == "1.5"
        assert (group.path / "cpu.max").read_text() == "7500 5000"
        assert group.join == str(group.path / "cgroup.procs")

    def test_in_the_older_one_it_is_below_our_own(self, tmp_path: Path) -> None:
        own = tmp_path / "sys/fs/cgroup/cpu,cpuacct/docker/1234"
        own.mkdir(parents=True)
        (own / "cpu.cfs_quota_us").write_text("-1\n")
        (own / "cpu.rt_runtime_us").write_text("0\n")
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text("4:cpu,cpuacct:/docker/1234\n0::/\n")
        group = make_group("place.server.cpu_quota", tmp_path)
        assert group.path.parent == own
        assert group.set_quota(0.25) == "0.25"
        assert (group.path / "cpu.cfs_quota_us").read_text() == "1250"
        # Of 5 ms it would be less than the least quota that the kernel takes.
        assert group.set_quota(0.01) == "0.01"
        assert (group.path / "cpu.cfs_quota_us").read_text() == "1000"
        (tmp_path / "proc/4711").mkdir()
        inside = f"/docker/1234/{group.path.name}"
        (tmp_path / "proc/4711/cgroup").write_text(f"4:cpu,cpuacct:{inside}\n")
        assert quota_of(4711, tmp_path) == "0.01"
        assert real_time_file(tmp_path) == own / "cpu.rt_runtime_us"

    def test_without_a_controller_it_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text("0::/\n")
        (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
        (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("memory pids\n")
        with pytest.raises(RequestError, match=r"cpu_quota needs the cpu controller"):
            make_group("place.server.cpu_quota", tmp_path)


def test_a_client_that_stays_on_its_half() -> None:
    """Apart, together and anywhere then are a matter of the server alone."""
    needs.two_cpus()
    server, client = both("apart", layout(), "p")
    usual = {setting.path: setting.usual for setting in SETTINGS}
    placed = {
        relation: launch_of({**usual, "place.client.cpus": "half", "place.server.cpus": relation})
        for relation in ("all", "apart", "together")
    }
    assert {launch.client.cpus for launch in placed.values()} == {client}
    assert placed["apart"].placement.cpus == server
    assert placed["together"].placement.cpus == client
    assert set(placed["all"].placement.cpus or ()) == set(layout().allowed)


def test_where_proc_and_sys_are_hidden_the_kernel_itself_is_asked(tmp_path: Path) -> None:
    """As in a container: contend may be on any CPUs that it may use, not on CPU 0 alone."""
    own = tuple(sorted(os.sched_getaffinity(0)))
    of = layout(tmp_path)
    assert (of.online, of.allowed) == (own, own)
    assert cpus_of("all", of, "p") == own
    with pytest.raises(RequestError, match="this host has no CPU 4000"):
        cpus_of("4000", of, "p")


HIDDEN = """
import ctypes, os, subprocess, sys
from pathlib import Path
from contend.host.doctor import examine, lines_of
from contend.host.doctor.model import Subject
from contend.host import Tree
from contend.host.placement import Placement, look
from contend.host.placement.cpus import layout
from contend.host.placement.groups import grouped
from contend.errors import RequestError
ctypes.CDLL(None).unshare(0x20000)
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
for hidden in ("/proc", "/sys"):
    subprocess.run(["mount", "-t", "tmpfs", "none", hidden], check=True)
cpus = tuple(sorted(os.sched_getaffinity(0)))
assert layout().allowed == cpus
asked = Placement(cpus=cpus[:1], nice=3, open_files=100)
process = subprocess.Popen([*asked.prefix(), "/bin/sleep", "60"])
seen = look.seen(process.pid)
print(seen, list(look.differences(asked, seen, "the server")))
process.kill()
try:
    with grouped(Placement(cpu_quota=0.5)):
        pass
except RequestError as error:
    print(error.message, error.hint)
document = examine(Subject(Tree(Path("/")), Path("/var")))
print(sum(check["outcome"] == "unseen" for check in document["checks"]) > 30)
print(all(check["evidence"] for check in document["checks"]))
"""


def test_a_container_that_hides_proc_is_told_what_cannot_be_seen() -> None:
    """In a mount namespace of its own. What could not be read back marks nothing."""
    needs.root("it can mount")
    seen, refused, *doctor = in_a_process_of_its_own(HIDDEN).splitlines()
    assert seen == "{} []"
    assert refused.startswith("cpu_quota needs the cpu controller")
    assert "cgroup.subtree_control" in refused
    assert doctor == ["True", "True"]


def test_the_guide_names_the_period_of_a_quota() -> None:
    guide = Path(__file__).parents[4] / "docs/guides/placement.md"
    assert f"period is {PERIOD_US / 1000:g} ms" in guide.read_text()
