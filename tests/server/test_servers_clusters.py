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
from contend.servers.errors import ServerFailed, UnusableServer
from contend.servers.galera import require_synced, start_nodes

SMALL = {"innodb_buffer_pool_size": "16M", "performance_schema": 0}
NODES = 3


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
    start_nodes(made, SMALL)
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
    limit_s = time.monotonic() + 30
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


def test_a_front_of_spider_asks_the_backend_that_has_the_row(tmp_path: Path) -> None:
    binary = debian.get("mariadb", extras=("spider",))
    plain = replace(binary, argv=tuple(a for a in binary.argv if "spider" not in Path(a).name))
    front = PrivateServer(binary, tmp_path / "front")
    backends = [PrivateServer(plain, tmp_path / f"backend-{number}") for number in (1, 2)]
    servers = [front, *backends]
    try:
        for server in servers:
            server.initialise()
            server.start(SMALL)
        for backend in backends:
            query(backend, "CREATE DATABASE d", "CREATE TABLE d.t (w INT PRIMARY KEY, v INT)")
        for number, backend in enumerate(backends, 1):
            query(
                front,
                f"CREATE SERVER backend_{number} FOREIGN DATA WRAPPER mysql OPTIONS "
                f"(SOCKET '{backend.socket}', USER 'root', DATABASE 'd')",
            )
        query(
            front,
            "CREATE DATABASE d",
            "CREATE TABLE d.t (w INT PRIMARY KEY, v INT) ENGINE=SPIDER "
            'COMMENT=\'wrapper "mysql", table "t"\' PARTITION BY RANGE (w) ('
            "PARTITION p1 VALUES LESS THAN (3) COMMENT = 'srv \"backend_1\"', "
            "PARTITION p2 VALUES LESS THAN MAXVALUE COMMENT = 'srv \"backend_2\"')",
            "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
            "COMMIT",
        )
        held = [
            [row[0] for row in query(each, "SELECT w FROM d.t ORDER BY w")] for each in backends
        ]
        assert held == [[1, 2], [3, 4]]
    finally:
        for server in servers:
            server.kill()
