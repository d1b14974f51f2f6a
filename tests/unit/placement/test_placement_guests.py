"""Placement in guests with several nodes, threads that share a core, nodes without memory or
without CPUs: what settings ask, read back from the process. QEMU emulates them, so that they tell
where things run and never how fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from guest import GUESTS, Guest
from guest_image import kernel, write_image

Guests = dict[str, Guest]


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    """They boot together, and each is waited for when it is first asked."""
    folder = tmp_path_factory.mktemp("guests")
    image_of = kernel()
    image = write_image(folder / "image.cpio")
    with ExitStack() as stack:
        made = {}
        for name, topology in GUESTS.items():
            own = folder / name
            own.mkdir()
            made[name] = Guest(topology, own, image_of, image)
            stack.callback(made[name].close)
        yield made


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

    def test_a_real_time_one(self, guests: Guests) -> None:
        asked = {"place.server.cpus": "3", "place.server.class": "rr", "place.server.priority": 4}
        said = guests["two_nodes"].call("place", asked=asked)
        assert (said["differ"], said["seen"]["class"]) == ([], "rr 4")

    def test_the_c_library_asks_for_huge_pages(self, guests: Guests) -> None:
        # A kernel with less than 512 MB begins with "never".
        guest = guests["two_nodes"]
        guest.call("write", files={"/sys/kernel/mm/transparent_hugepage/enabled": "madvise"})
        huge = {
            words: guest.call("place", asked={"place.server.huge_pages": words})
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

    @pytest.mark.parametrize(
        ("asked", "refused"),
        [
            ({"cpus": "9"}, "this host has no CPU 9"),
            ({"cpus": "0-7"}, "this host has no CPU 4-7"),
            ({"cpus": "node:2"}, "names node 2, and this host has nodes 0-1"),
            ({"memory": "bind:0-3"}, "names node 2-3, and this host has nodes 0-1"),
            ({"memory": "node:7"}, "names node 7, and this host has nodes 0-1"),
            ({"cpus": "0-3", "class": "fifo"}, "would have 0-3 of this host"),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, guests: Guests, asked: dict[str, str], refused: str
    ) -> None:
        keys = {f"place.server.{name}": value for name, value in asked.items()}
        assert refused in guests["two_nodes"].call("place", asked=keys)["refused"]

    def test_the_kernel_s_no_is_told(self, guests: Guests) -> None:
        said = guests["two_nodes"].call("become", asked={"memory": "bind", "nodes": [5]})
        assert (said["code"], said["out"]) == (127, "")
        assert said["error"].endswith("memory bind of the nodes [5]: Invalid argument\n")

    def test_within_a_control_group(self, guests: Guests) -> None:
        within = {"cpuset.cpus": "0-1", "cpuset.mems": "0"}

        def refused(name: str, value: str) -> str:
            asked = {f"place.server.{name}": value}
            return str(guests["two_nodes"].call("place", asked=asked, within=within)["refused"])

        assert "CPU 2 is outside of what this process may use" in refused("cpus", "1-2")
        assert "may use no CPU of node 1" in refused("cpus", "node:1")
        assert "memory of node 1 is outside of what this process may use" in refused(
            "memory", "bind:1"
        )
        all_of_it = {"place.server.cpus": "all", "place.server.memory": "interleave"}
        said = guests["two_nodes"].call("place", asked=all_of_it, within=within)
        assert said["differ"] == []
        assert (said["status"]["Cpus_allowed_list"], said["policy"]) == ("0-1", "interleave:0")

    def test_a_nicer_one_counts_less(self, guests: Guests) -> None:
        usual, nicer = guests["two_nodes"].call(
            "shares", one={"cpus": [1], "nice": 0}, other={"cpus": [1], "nice": 19}
        )
        assert usual > 4 * nicer

    def test_a_quota_holds_it_back(self, guests: Guests) -> None:
        free, held = guests["two_nodes"].call(
            "shares", one={"cpus": [1]}, other={"cpus": [1], "cpu_quota": 0.25}
        )
        assert free > 2 * held


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

    def test_which_holds_it_back(self, guests: Guests) -> None:
        free, held = guests["threads"].call(
            "shares", one={"cpus": [2]}, other={"cpus": [2], "cpu_quota": 0.25}
        )
        assert free > 2 * held

    def test_within_a_control_group(self, guests: Guests) -> None:
        within = {"cpuset.cpus": "2,3,6", "cpuset.mems": "0-1"}

        def placed(cpus: str) -> str:
            asked = {"place.server.cpus": cpus}
            said = guests["threads"].call("place", asked=asked, within=within)
            return str(said.get("refused") or said["status"]["Cpus_allowed_list"])

        assert placed("one-thread-a-core") == "2,6"
        assert placed("node:1") == "6"
        assert "CPU 4-5 is outside" in placed("4-6")


class TestEightNodes:
    def test_each_node_is_one_cpu(self, guests: Guests) -> None:
        of = guests["eight_nodes"].call("host")
        assert of["nodes"] == {str(node): [node] for node in range(8)}

    def test_memory_lies_on_all_of_them_or_on_some(self, guests: Guests) -> None:
        def pages(memory: str) -> dict[str, int]:
            said = guests["eight_nodes"].call("place", asked={"place.server.memory": memory})
            assert said["differ"] == []
            return dict(said["pages"])

        assert pages("interleave").keys() == set("01234567")
        assert pages("interleave:2,4-5").keys() == set("245")
        assert pages("node:6").keys() == {"6"}


class TestUneven:
    """A node without memory, and one without CPUs."""

    def test_cpus_without_memory_take_it_elsewhere(self, guests: Guests) -> None:
        said = guests["uneven"].call("place", asked={"place.server.cpus": "node:1"})
        assert said["status"]["Cpus_allowed_list"] == "2-3"
        assert "1" not in said["pages"]

    def test_memory_lies_on_nodes_that_have_some(self, guests: Guests) -> None:
        asked = {"place.server.memory": "interleave"}
        said = guests["uneven"].call("place", asked=asked)
        assert said["differ"] == []
        assert (said["policy"], said["pages"].keys()) == ("interleave:0,2", {"0", "2"})

    def test_memory_without_cpus_can_be_bound(self, guests: Guests) -> None:
        asked = {"place.server.cpus": "node:0", "place.server.memory": "bind:2"}
        said = guests["uneven"].call("place", asked=asked)
        assert (said["differ"], said["pages"].keys()) == ([], {"2"})

    @pytest.mark.parametrize(
        ("asked", "refused"),
        [
            ({"memory": "bind:1"}, "node 1 has no memory of its own"),
            ({"memory": "node:1"}, "node 1 has no memory of its own"),
            ({"memory": "interleave:0-2"}, "node 1 has no memory of its own"),
            ({"cpus": "node:2"}, "node 2 has memory and no CPUs"),
            ({"memory": "node:2"}, 'place.server.memory = "node:2": node 2 has memory and no CPUs'),
        ],
    )
    def test_what_a_node_has_not_is_refused(
        self, guests: Guests, asked: dict[str, str], refused: str
    ) -> None:
        keys = {f"place.server.{name}": value for name, value in asked.items()}
        assert refused in guests["uneven"].call("place", asked=keys)["refused"]
