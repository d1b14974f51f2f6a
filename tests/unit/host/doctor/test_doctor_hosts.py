"""Whole hosts: what doctor says of each, and that it says something of any content of any file."""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_pairs import Case, served, server
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_hosts import HOSTS, limits

from contend.host import Tree
from contend.host.doctor import CHECKS, examine, lines_of
from contend.host.doctor.model import NotChecked, Result, Subject
from contend.metrics.host import UNITS, Measure

FOUND = {
    "bare metal": set(),
    "two nodes": {"smt"},
    "eight nodes": set(),
    "uneven nodes": {"node-memory"},
    "big.LITTLE": {"unequal-cpus", "governor"},
    "aws": {"virtual-machine", "smt", "clock-source"},
    "docker": {"virtual-machine", "cpu-quota", "cpu-throttled", "memory-limit", "filesystem"},
    "lxc": {"virtual-machine", "cpuset", "memory-limit"},
    "micro vm": {
        *("virtual-machine", "cpu-pressure", "mitigations", "damon-pageout", "dirty-pages"),
        *("io-scheduler", "read-ahead", "write-cache", "mount-options"),
        "autogroup",
    },
    "guest of two nodes": {
        *("virtual-machine", "mitigations", "transparent-huge-pages", "numa-balancing"),
        *("numa-interleave", "write-cache", "open-files", "processes"),
    },
    "guest with threads": {
        *("virtual-machine", "smt", "mitigations", "cpu-quota", "memory-limit", "numa-balancing"),
        *("numa-interleave", "io-scheduler", "read-ahead", "write-cache", "open-files"),
        "processes",
    },
    "guest of uneven nodes": {
        *("virtual-machine", "mitigations", "node-memory", "numa-balancing"),
        *("numa-interleave", "write-cache", "open-files", "processes"),
    },
    "guest of eight nodes": {
        *("virtual-machine", "mitigations", "zone-reclaim", "node-memory", "numa-interleave"),
        *("write-cache", "open-files", "processes"),
    },
}


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_found_on_a_whole_host(host: str, roots: Path) -> None:
    document = examine(Case(host).subject(roots))
    found = {check["id"] for check in document["checks"] if check["outcome"] == "found"}
    # What is free is that of the disk below the tests.
    assert found - {"free-space"} == FOUND[host]
    assert len(document["checks"]) >= 30
    assert all(len(line) <= 100 or " " not in line.strip() for line in lines_of(document))


RECORDED = ("micro vm", *(name for name in HOSTS if name.startswith("guest")))

ON_NONE = {"governor", "boost", "throttling"}
"""What no virtual machine shows: made-up hosts have these."""


def test_every_check_reads_what_a_kernel_wrote(roots: Path) -> None:
    """Each that measures nothing says something of a host that was recorded, and not only of those
    that are made up."""
    says = {
        check["id"]
        for host in RECORDED
        for check in examine(Case(host).subject(roots))["checks"]
        if check["outcome"] != "unseen"
    }
    of_host = {check.id for check in CHECKS if check.in_short and not check.is_of_server}
    assert of_host - says == ON_NONE


def test_memory_without_cpus_is_no_cpus_without_memory(roots: Path) -> None:
    def said(**files: str) -> tuple[object, str]:
        case = Case("uneven nodes", {f"sys/devices/system/node/{k}": v for k, v in files.items()})
        checks = {one["id"]: one for one in examine(case.subject(roots))["checks"]}
        return checks["node-memory"]["severity"], checks["node-memory"]["evidence"]

    severity, evidence = said()
    assert severity == "note" and evidence.startswith("node2 has memory")
    bare = {"node1/meminfo": "Node 1 MemTotal: 0 kB\n"}
    severity, evidence = said(**bare)
    assert severity == "severe" and evidence.startswith("node1 has CPUs")
    # Neither CPUs nor memory: it is nobody's.
    empty = {"node2/meminfo": "Node 2 MemTotal: 0 kB\n"}
    assert said(**empty)[0] is None


def test_one_node_with_memory_has_nothing_to_interleave(roots: Path) -> None:
    bare = {"sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 0 kB\n"}
    on = {"proc/sys/kernel/numa_balancing": "1\n", "proc/self/numa_maps": "004000 default N0=2\n"}
    document = examine(Case("two nodes", {**bare, **on}).subject(roots))
    said = {one["id"]: one["outcome"] for one in document["checks"]}
    assert (said["numa-interleave"], said["numa-balancing"]) == ("fine", "fine")


def test_a_server_on_another_host_says_what_cannot_be_seen(roots: Path) -> None:
    far = server(pid=None, here=False)
    document = examine(replace(Case().subject(roots), server=far))
    said = {check["id"]: check for check in document["checks"]}
    assert said["server-where"]["outcome"] == "found"
    assert "another host" in said["server-where"]["evidence"]
    assert said["server-swapped"]["outcome"] == "unseen"


class AnyTree(Tree):
    """Every file has some content, drawn by its path; every folder some names."""

    def __init__(self, texts: list[str | None], names: list[str]) -> None:
        super().__init__(Path("/nonexistent"))
        self.texts, self.listed = texts, names

    def text(self, path: str) -> str | None:
        return self.texts[zlib.crc32(path.encode()) % len(self.texts)]

    def why_not(self, path: str) -> str:
        return f"/{path} does not exist"

    def names(self, path: str) -> list[str]:
        return self.listed

    def exists(self, path: str) -> bool:
        return zlib.crc32(path.encode()) % 2 == 0


LONG = "9" * 5000
"""More digits than Python makes a number of."""

WORDS = st.sampled_from(
    [
        *("0", "1", "-1", "60", "", " ", "max 100000", "nan", "inf", "1e400", LONG, "²"),
        *("0-3", "3-0", "0-99999999", f"0-{LONG}", "a-b", "[x] y", "]x[", "always [never]"),
        *("0::/", "2:cpu:/²", "MemTotal: ² kB", "MemTotal: 0 kB\nSwapTotal: 4 kB", "x y z"),
        *("22 1 8:1 / / rw - ext4 /dev/sda rw", "22 1 8:1 / /", "nr_throttled ²"),
        *("Node 0 MemTotal: 0 kB", "Node 0 MemTotal: ٤ kB", "some avg10=x", "some avg10=nan"),
        *("x", "6.1", "6", "v6.1.64", "10 -1 3", "processor : 0\nflags: x"),
        *("a b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "CPU0\n1: 1", "kB kB", "\0\0"),
        *(f"MemTotal: {LONG} kB", f"nr_throttled {LONG}", f"Node 0 MemTotal: {LONG} kB"),
        *(f"CPU0 CPU1\n 24: {LONG} 1 x", f"{LONG} {LONG}", f"x) {f'{LONG} ' * 20}"),
        f"Max open files {LONG} {LONG} files",
    ]
)
TEXTS = st.none() | WORDS | st.text(max_size=60) | st.lists(WORDS, max_size=4).map("\n".join)
NAMES = st.lists(
    st.sampled_from(
        ["cpu0", "cpu1", "cpu\u00b2", "node0", "node1", "node\u00b2", "state0", "0", "x"]
    ),
    max_size=4,
    unique=True,
)
VALUES = st.floats(allow_nan=False, allow_infinity=False, min_value=0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=12),
    names=NAMES,
    values=st.dictionaries(st.sampled_from(sorted(UNITS)), VALUES),
    own=st.dictionaries(st.sampled_from(sorted(server().variables)), WORDS),
    has_server=st.booleans(),
)
def test_no_check_raises_on_any_content(
    texts: list[str | None],
    names: list[str],
    values: dict[str, float],
    own: dict[str, str],
    has_server: bool,
) -> None:
    subject = Subject(
        AnyTree(texts, names),
        Path("/data"),
        {name: Measure(value, value / 2, value * 2) for name, value in values.items()},
        server(**own) if has_server else None,
    )
    for check in CHECKS:
        with suppress(NotChecked):
            assert isinstance(check.look(subject), Result)


def test_limits_and_memory_are_those_of_the_server_s_process(roots: Path) -> None:
    case = served(files={"proc/77/limits": limits(files=1024)})
    document = examine(case.subject(roots))
    said = {check["id"]: check["evidence"] for check in document["checks"]}
    assert said["open-files"].startswith("the server may have 1024")
    assert said["cpuset"] == "the server may run on all 4 CPUs"
