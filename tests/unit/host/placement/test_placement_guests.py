"""Placement and the state of the host in guests with several nodes, threads that share a core,
nodes without memory or without CPUs: what settings ask, read back from the kernel. QEMU emulates
them, so that they tell where things run and never how fast."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guest import GUESTS, Guest, with_disk
from guest_image import kernel, write_image

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


class Guests(dict[str, Guest]):
    """By name; each boots when it is first asked for, and runs until the tests of this file are
    over."""

    def __init__(self, folder: Path, kernel: Path, image: Path) -> None:
        super().__init__()
        self._folder, self._kernel, self._image = folder, kernel, image

    def __missing__(self, name: str) -> Guest:
        own = self._folder / name
        own.mkdir()
        self[name] = Guest(with_disk(GUESTS[name], own), own, self._kernel, self._image)
        return self[name]


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory, load_program: Path) -> Iterator[Guests]:
    """Hosts that this one is not."""
    folder = tmp_path_factory.mktemp("guests")
    image = write_image(folder / "image.cpio", programs=(load_program,))
    made = Guests(folder, kernel(), image)
    yield made
    for guest in made.values():
        guest.close()


class TestTwoNodes:
    def test_a_node_is_its_cpus_and_its_memory(self, guests: Guests) -> None:
        said = guests["two_nodes"].call("place", asked={"place.server.memory": "node:1"})
        assert said["differ"] == []
        assert said["status"]["Cpus_allowed_list"] == "2-3"
        assert said["policy"] == "bind:1"
        assert said["pages"].keys() == {"1"}

    @pytest.mark.parametrize(
        ("memory", "policy", "on"),
        [
            ("bind:0", "bind:0", {"0"}),
            ("preferred:0", "prefer:0", {"0"}),
            ("interleave", "interleave:0-1", {"0", "1"}),
            ("local", "local", {"1"}),
            ("default", "default", {"1"}),
        ],
    )
    def test_memory_lies_where_its_policy_says(
        self, guests: Guests, memory: str, policy: str, on: set[str]
    ) -> None:
        """The program runs on node 1."""
        asked = {"place.server.cpus": "node:1", "place.server.memory": memory}
        said = guests["two_nodes"].call("place", asked=asked)
        assert said["differ"] == []
        assert (said["policy"], said["pages"].keys()) == (policy, on)
        if memory == "interleave":
            few, many = sorted(said["pages"].values())
            assert many < 1.2 * few

    def test_the_rest_of_a_placement(self, guests: Guests) -> None:
        asked = {
            "place.server.cpus": "1,3",
            "place.server.class": "batch",
            "place.server.nice": 7,
            "place.server.io_class": "best-effort:2",
            "place.server.open_files": 777,
            "place.server.huge_pages": "never",
            "place.server.cpu_quota": 0.5,
        }
        said = guests["two_nodes"].call("place", asked=asked)
        assert said["differ"] == []
        assert said["seen"]["session nice"] == "7"
        assert said["status"]["Cpus_allowed_list"] == "1,3"
        assert said["status"]["THP_enabled"] == "0"
        # Below the slice, whose groups may have quotas; ours has processes and may not.
        assert said["group"].startswith("0::/user.slice/contend-")

    def test_the_c_library_asks_for_huge_pages(self, guests: Guests) -> None:
        huge = {
            words: guests["two_nodes"].call("place", asked={"place.server.huge_pages": words})
            for words in ("malloc", "never")
        }
        assert huge["malloc"]["huge_kb"] >= 2048
        assert huge["never"]["huge_kb"] == 0

    @pytest.mark.parametrize(
        ("relation", "server", "client"),
        [("apart", "0-1", [2, 3]), ("together", "0-1", [0, 1]), ("one-each", "0", [2])],
    )
    def test_server_and_client(
        self, guests: Guests, relation: str, server: str, client: list[int]
    ) -> None:
        said = guests["two_nodes"].call("place", asked={"place.server.cpus": relation})
        assert (said["status"]["Cpus_allowed_list"], said["client"]) == (server, client)

    def test_a_quota_holds_it_back(self, guests: Guests) -> None:
        free, held = guests["two_nodes"].call(
            "shares", one={"cpus": [1]}, other={"cpus": [1], "cpu_quota": 0.25}
        )
        assert free > 2 * held

    def test_memory_of_each_node_is_read_from_both(
        self, guests: Guests, load_program: Path
    ) -> None:
        """contend-load places it, and the kernel there says that it did."""
        found = guests["two_nodes"].call("nodes_of_memory", program=str(load_program))
        nodes = [(one["no_cpus"], one["no_memory"]) for one in found["nodes"]]
        assert nodes == [(None, None)] * 2
        pairs = {(one["cpus_of"], one["memory_of"]) for one in found["pairs"]}
        assert pairs == {(0, 0), (0, 1), (1, 0), (1, 1)}
        assert all(one["bandwidth_gb_s"] > 0 for one in found["pairs"])

    def test_threads_by_role(self, guests: Guests) -> None:
        """And those that they make later, as a server's first one makes those of connections."""
        asked = {
            "place.server.threads.connection.cpus": "node:1",
            "place.server.threads.connection.class": "fifo",
            "place.server.threads.connection.priority": 7,
            "place.server.threads.purge.cpus": "0",
            "place.server.threads.purge.nice": 5,
        }
        said = guests["two_nodes"].call("guest_host.roles", asked=asked)
        for which in ("thread", "later"):
            placed = {role: one[which] for role, one in said.items()}
            serving = placed["connection"]
            assert (serving["cpus"], serving["class"]) == ("2-3", "fifo 7")
            assert (placed["purge"]["cpus"], placed["purge"]["nice"]) == ("0", "5")
            # Nothing was asked of it.
            assert (placed["log"]["cpus"], placed["log"]["class"]) == ("0-3", "other")
        assert said["connection"]["said"]["threads"] == "1"


class TestThreads:
    def test_one_thread_a_core(self, guests: Guests) -> None:
        asked = {"place.server.cpus": "one-thread-a-core"}
        said = guests["threads"].call("place", asked=asked)
        assert said["status"]["Cpus_allowed_list"] == "0,2,4,6"

    def test_each_has_whole_cores_of_a_node(self, guests: Guests) -> None:
        said = guests["threads"].call("place", asked={"place.server.cpus": "apart"})
        assert (said["status"]["Cpus_allowed_list"], said["client"]) == ("0-3", [4, 5, 6, 7])
        assert guests["threads"].call("host")["cores"] == [[0, 1], [2, 3], [4, 5], [6, 7]]

    def test_a_quota_in_the_older_hierarchy(self, guests: Guests) -> None:
        said = guests["threads"].call("place", asked={"place.server.cpu_quota": 1.5})
        assert (said["differ"], said["seen"]["cpu_quota"]) == ([], "1.5")
        assert ":/user.slice/session.scope/contend-" in said["group"]


class TestManyNodes:
    """Eight, of which one has no memory, and one no CPUs."""

    def test_memory_lies_on_all_that_have_some_or_on_those_named(self, guests: Guests) -> None:
        def placed(memory: str) -> dict[str, Any]:
            said = guests["many_nodes"].call("place", asked={"place.server.memory": memory})
            assert said["differ"] == []
            return dict(said)

        everywhere = placed("interleave")
        assert everywhere["policy"] == "interleave:0,2-7"
        # The guest's own files fill one or the other of these small nodes.
        assert len(everywhere["pages"]) >= 5 and "1" not in everywhere["pages"]
        some = placed("interleave:2,4-5,7")
        assert some["policy"] == "interleave:2,4-5,7"
        # A node that is full lends from a neighbour.
        named = {node: pages for node, pages in some["pages"].items() if node in "2457"}
        assert len(named) >= 2 and 2 * sum(named.values()) > sum(some["pages"].values())
        assert placed("bind:6-7")["policy"] == "bind:6-7"

    def test_cpus_without_memory_take_it_elsewhere(self, guests: Guests) -> None:
        said = guests["many_nodes"].call("place", asked={"place.server.cpus": "node:1"})
        assert said["status"]["Cpus_allowed_list"] == "1"
        assert "1" not in said["pages"]


VM = "proc/sys/vm"
DISK = "sys/block/vda/queue"
CPU = "sys/devices/system/cpu"

HOST = {
    "swappiness": (1, {f"{VM}/swappiness": "1"}),
    "zone_reclaim_mode": (1, {f"{VM}/zone_reclaim_mode": "1"}),
    "numa_balancing": (0, {"proc/sys/kernel/numa_balancing": "0"}),
    "autogroup": (True, {"proc/sys/kernel/sched_autogroup_enabled": "1"}),
    "transparent_hugepage": ("never", {"sys/kernel/mm/transparent_hugepage/enabled": "never"}),
    "huge_pages": (8, {f"{VM}/nr_hugepages": "8"}),
    "dirty_ratio": (5, {f"{VM}/dirty_ratio": "5"}),
    "dirty_background_ratio": (3, {f"{VM}/dirty_background_ratio": "3"}),
    "dirty_bytes": (100003840, {f"{VM}/dirty_bytes": "100003840", f"{VM}/dirty_ratio": "0"}),
    "dirty_background_bytes": (
        50003968,
        {f"{VM}/dirty_background_bytes": "50003968", f"{VM}/dirty_background_ratio": "0"},
    ),
    "dirty_expire_centisecs": (100, {f"{VM}/dirty_expire_centisecs": "100"}),
    "dirty_writeback_centisecs": (100, {f"{VM}/dirty_writeback_centisecs": "100"}),
    "busy_poll": (50, {"proc/sys/net/core/busy_poll": "50"}),
    "busy_read": (50, {"proc/sys/net/core/busy_read": "50"}),
    "io_scheduler": ("mq-deadline", {f"{DISK}/scheduler": "mq-deadline"}),
    "read_ahead_kb": (6, {f"{DISK}/read_ahead_kb": "4"}),
}
"""Value, and what the files of the kernel that change say then: of the older two of two, a 0."""


class TestHost:
    """The state of the host, in guests that may be changed."""

    def test_each_setting_is_brought_about_and_put_back_also_after_a_kill(
        self, guests: Guests
    ) -> None:
        asked = {f"host.{name}": value for name, (value, _) in HOST.items()}
        said = guests["two_nodes"].call("guest_host.tried", asked=asked)
        for name, (_, files) in HOST.items():
            one = said[f"host.{name}"]
            assert one["brought"] == files, name
            assert one["left"] == {}, name
            assert one["killed"] == {"written": files, "brought": files}, name
            assert one["restored"] == {"written": {}, "brought": {}}, name
        (rounded,) = said["host.read_ahead_kb"]["rounded"]
        assert rounded.startswith("host.read_ahead_kb: requested 6") and rounded.endswith("4")

    def test_the_page_cache_is_emptied(self, guests: Guests) -> None:
        assert guests["two_nodes"].call("guest_host.pages_dropped") == 1

    def test_threads_of_a_core_are_turned_off_and_on(self, guests: Guests) -> None:
        """With their CPUs go those of the older control groups, which do not come back with them:
        contend has noted what they were."""
        said = guests["threads"].call("guest_host.tried", asked={"host.smt": False})["host.smt"]
        groups = {path: cpus for path, cpus in said["brought"].items() if "cpuset" in path}
        others = {path: cpus for path, cpus in said["brought"].items() if path not in groups}
        assert others == {f"{CPU}/online": "0,2,4,6", f"{CPU}/smt/control": "off"}
        assert len(groups) == 3 and set(groups.values()) == {"0,2,4,6"}
        assert said["left"] == {}
        for moment in ("written", "brought"):
            assert said["killed"][moment] == said["brought"]
            assert said["restored"][moment] == {}

    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("governor", "performance", "this host has no /sys/devices/system/cpu"),
            ("boost", False, "this host has no /sys/devices/system/cpu"),
            ("rt_runtime_us", 950000, "this host has no /sys/fs/cgroup/cpu"),
            ("io_scheduler", "deadline", "does not offer 'deadline'"),
            ("irq_cpus", "8", "this host has no CPU 8"),
        ],
    )
    def test_what_this_kernel_has_not_is_refused(
        self, guests: Guests, name: str, value: object, says: str
    ) -> None:
        asked = {f"host.{name}": value}
        said = guests["threads"].call("guest_host.tried", asked=asked)[f"host.{name}"]
        assert says in said["refused"]
        assert said["refused"].startswith(f"host.{name}") and said["hint"]
        assert said["left"] == {}
