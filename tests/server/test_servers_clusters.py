"""MariaDB with Spider, and nodes of Galera, as they are got: real servers that hold one another's
rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sql import query

from contend.get import debian
from contend.servers import PrivateServer, ServerBinary
from contend.servers.deployment import Member
from contend.servers.errors import ServerFailed, UnusableServer
from contend.servers.topologies.galera import Galera, require_synced
from contend.servers.topologies.spider import require_reachable, share_tables
from contend.spec import DataSpec

SMALL = {"innodb_buffer_pool_size": "16M", "performance_schema": 0}
NODES = 3


def start_nodes(nodes: list[PrivateServer]) -> None:
    members = [Member(f"node-{number}", "node", node) for number, node in enumerate(nodes, 1)]
    Galera().start(members, SMALL, DataSpec())


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[PrivateServer]]:
    """A cluster of three; the table `t` was made on the first before there was one."""
    binary = debian.get("mariadb", extras=("galera",))
    root = tmp_path_factory.mktemp("galera")
    made = [PrivateServer(binary, root / f"node-{number}") for number in range(NODES)]
    made[0].initialise()
    made[0].start(SMALL)
    query(made[0], "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB")
    query(made[0], "INSERT INTO d.t VALUES (1)", "COMMIT")
    made[0].stop()
    start_nodes(made)
    yield made
    for node in made:
        node.kill()


def test_every_node_has_what_the_first_had_and_what_any_wrote(nodes: list[PrivateServer]) -> None:
    for number, node in enumerate(nodes, 2):
        query(node, f"INSERT INTO d.t VALUES ({number})", "COMMIT")
    for node in nodes:
        # A node applies what others wrote a moment later, unless it is asked to wait.
        wait = "SET SESSION wsrep_sync_wait = 1"
        rows = query(node, wait, "SELECT id FROM d.t ORDER BY id")
        assert [row[0] for row in rows] == [1, 2, 3, 4]


def test_a_cluster_that_lost_a_node_is_not_healthy(nodes: list[PrivateServer]) -> None:
    nodes[2].kill()
    limit_s = time.monotonic() + 90
    while time.monotonic() < limit_s:
        status = dict(query(nodes[0], "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'"))
        if status["wsrep_cluster_size"] == "2":
            break
        time.sleep(0.1)
    with pytest.raises(ServerFailed, match=r"node 1 of 3 .* wsrep_cluster_size = 2"):
        require_synced(nodes, within_s=0)
    require_synced(nodes[:2])


def test_a_server_without_galera_is_refused(mariadb_binary: ServerBinary, tmp_path: Path) -> None:
    bare = PrivateServer(mariadb_binary, tmp_path / "node")
    bare.claim()
    with pytest.raises(UnusableServer, match="has no Galera") as refused:
        start_nodes([bare])
    assert "mariadb+galera" in (refused.value.hint or "")


@pytest.fixture
def shards(tmp_path: Path) -> Iterator[tuple[PrivateServer, list[PrivateServer]]]:
    """A front of Spider and two backends with the table `t`."""
    binary = debian.get("mariadb", extras=("spider",))
    plain = replace(binary, argv=tuple(word for word in binary.argv if "ha_spider" not in word))
    front = PrivateServer(binary, tmp_path / "front")
    backends = [PrivateServer(plain, tmp_path / f"backend-{number}") for number in (1, 2)]
    try:
        for server in (front, *backends):
            server.initialise()
            server.start(SMALL)
        for backend in backends:
            query(backend, "CREATE DATABASE d", "CREATE TABLE d.other (w INT PRIMARY KEY)")
            query(
                backend,
                "CREATE TABLE d.t (w INT, v INT DEFAULT 7, PRIMARY KEY (w), KEY by_v (v),"
                " CONSTRAINT of_other FOREIGN KEY (w) REFERENCES d.other (w))",
                "INSERT INTO d.other VALUES (1), (2), (3), (4)",
                "COMMIT",
            )
        yield front, backends
    finally:
        for server in (front, *backends):
            server.kill()


def test_rows_through_the_front_lie_on_the_backend_of_their_key(
    shards: tuple[PrivateServer, list[PrivateServer]],
) -> None:
    front, backends = shards
    share_tables(front, backends, "d", {"t": "w"}, [2])
    query(front, "INSERT INTO d.t (w) VALUES (1), (2), (3), (4)", "COMMIT")
    held = [[row[0] for row in query(each, "SELECT w FROM d.t ORDER BY w")] for each in backends]
    assert held == [[1, 2], [3, 4]]
    assert query(front, "SELECT SUM(v) FROM d.t") == [(28,)]
    # Made anew it finds the same rows.
    share_tables(front, backends, "d", {"t": "w"}, [2])
    assert query(front, "SELECT COUNT(*) FROM d.t") == [(4,)]
    require_reachable(front, backends, "d", "t")
    backends[1].kill()
    with pytest.raises(ServerFailed, match="backend 2 of 2 does not answer through the front"):
        require_reachable(front, backends, "d", "t")


def test_a_table_that_no_backend_has_is_told(
    shards: tuple[PrivateServer, list[PrivateServer]],
) -> None:
    front, backends = shards
    with pytest.raises(ServerFailed, match=r"no tables of Spider .*'d\.nothing' doesn't exist"):
        share_tables(front, backends, "d", {"nothing": "w"}, [2])
    with pytest.raises(ValueError, match="2 backends have 1 rising"):
        share_tables(front, backends, "d", {"t": "w"}, [])
