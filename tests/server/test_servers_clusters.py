"""MariaDB with Spider, and nodes of Galera, as they are got: real servers that hold one another's
rows."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import acknowledged
import pymysql
import pytest
from run_lab import Lab
from sql import query

from contend.experiment import DataSpec
from contend.load import MemberLines
from contend.servers import PrivateServer, ServerBinary, debian
from contend.servers.deployment import Member
from contend.servers.errors import ConnectionLost, ServerFailed, UnusableServer
from contend.servers.hold import ServerHold, ServerInUse
from contend.servers.options import Value
from contend.servers.topologies.galera import Galera, require_synced
from contend.servers.topologies.spider import Spider, require_reachable, share_tables

SMALL: dict[str, Value] = {
    "innodb_buffer_pool_size": "16M",
    "innodb_log_file_size": "8M",
    "innodb_flush_log_at_trx_commit": 2,
    "performance_schema": 0,
}
NODES = 3
PATIENCE_S = 4.0
ROUND_TRIP_S = 0.001


class Cluster(Galera):
    """Nodes of Galera, apart from one another, and the lines between them."""

    def __init__(self, members: Sequence[Member], lines: MemberLines) -> None:
        super().__init__(members, PATIENCE_S)
        self.lines = lines

    @property
    def nodes(self) -> list[PrivateServer]:
        return [member.server for member in self.members]


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
    fresh_data: Callable[[ServerBinary], Path],
    load_program: Path,
) -> Iterator[Cluster]:
    """A cluster of three; the table `t` was made on the first before there was one."""
    binary = debian.get("mariadb", extras=("galera",))
    root = tmp_path_factory.mktemp("galera")
    made = [PrivateServer(binary, root / f"node-{number}") for number in range(1, NODES + 1)]
    made[0].claim()
    shutil.copytree(fresh_data(binary), made[0].data_folder, dirs_exist_ok=True)
    made[0].start(SMALL)
    query(made[0], "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB")
    query(made[0], acknowledged.TABLE, "INSERT INTO d.t VALUES (1)", "COMMIT")
    made[0].stop()
    members = tuple(Member(f"node-{n}", "node", node) for n, node in enumerate(made, 1))
    found = Cluster(members, MemberLines(load_program))
    try:
        found.start(SMALL, DataSpec(), found.lines.apart(ROUND_TRIP_S))
        yield found
    finally:
        for node in made:
            node.kill()
        found.lines.close()


def test_every_node_has_what_the_first_had_and_what_any_wrote(cluster: Cluster) -> None:
    for number, node in enumerate(cluster.nodes, 2):
        query(node, f"INSERT INTO d.t VALUES ({number})", "COMMIT")
    for node in cluster.nodes:
        # A node applies what others wrote a moment later, unless it is asked to wait.
        wait = "SET SESSION wsrep_sync_wait = 1"
        rows = query(node, wait, "SELECT id FROM d.t ORDER BY id")
        assert [row[0] for row in rows] == [1, 2, 3, 4]


def test_every_node_has_a_name_and_a_lock_of_its_own(cluster: Cluster) -> None:
    holds = [ServerHold(node.connect, "a node") for node in cluster.nodes]
    assert len({hold.take() for hold in holds}) == NODES
    for node in cluster.nodes:
        with pytest.raises(ServerInUse):
            ServerHold(node.connect, "a node").take()
    for hold in holds:
        hold.release()


OWN = """
[server]
use = "mariadb+galera"
topology = "galera"
warm = "as-found"

[data]
schema = "tpcc"
warehouses = 1
shrink = 100
history_key = true

[workload]
kind = "tpcc"

[load]
connections = 3
warmup = "100ms"
measure = "2s"

[load.errors]
retry = [1205, 1213, 1020, 1047]
retry_pause = "2ms"

[factors]
"load.route" = ["first", "round_robin"]

[compare]
by = "runs"
baseline = { "load.route" = "first" }
repeats = 2
"""


def test_a_cluster_that_somebody_else_started_is_one_level(cluster: Cluster, lab: Lab) -> None:
    lab.file.write_text(OWN)
    dsns = [f"node=mysql://root@/own?socket={node.socket}" for node in cluster.nodes]
    named = [word for dsn in dsns for word in ("--server", dsn)]
    query(cluster.nodes[0], "CREATE DATABASE own")
    done = lab.contend("run", lab.file, "--out", lab.out, "--yes", *named)
    assert done.returncode == 0, done.stderr
    assert all(lab.answered().values())
    for record in lab.records():
        assert record.done is not None
        members = {member["name"]: member for member in record.probes["members"]}
        assert list(members) == ["node-1", "node-2", "node-3"]
        # What the first one writes the others receive.
        received = [one["status"].get("wsrep_received", 0) for one in members.values()]
        assert received[1] > 0 and received[2] > 0
        said = record.probes["member_servers"]
        assert [one["role"] for one in said] == ["node"] * NODES
        assert len({one["server"]["source"] for one in said}) == NODES
        nodes = record.done.get("nodes", [])
        assert len(nodes) == (NODES if record.cell["load.route"] == "round_robin" else 0)
    # Nobody was stopped, and one that is not there is named before anything is asked.
    cluster.require_healthy(DataSpec())
    gone = lab.contend(
        *("run", lab.file, "--out", lab.folder / "other", "--yes"),
        *(*named[:4], "--server", "node=mysql://root@/own?socket=/none"),
    )
    assert gone.returncode == 1 and "node-3 of the cluster does not answer" in gone.stderr


def test_a_killed_node_costs_nothing_that_was_acknowledged_and_rejoins_by_the_lines(
    cluster: Cluster,
) -> None:
    cluster.require_healthy(DataSpec())
    passed = cluster.lines.asker()()
    assert passed is not None and passed["bytes_to_server"] > 0
    for round_, victim in enumerate((cluster.members[2], cluster.members[0])):
        survivors = [node for node in cluster.nodes if node is not victim.server]
        kept = acknowledged.while_killed(cluster.nodes, victim.server, seats=range(6), at=round_)
        require_synced(survivors)
        with pytest.raises(ServerFailed, match=r"node 1 of 3 .* wsrep_cluster_size = 2"):
            require_synced([*survivors, survivors[0]], within_s=0)
        assert kept
        for node in survivors:
            assert acknowledged.missing(node, kept) == set()
        acknowledged.rejoin(cluster, victim, SMALL)
        # Whoever told it the others' addresses, it asks them by way of their lines.
        cluster.require_healthy(DataSpec())
        assert acknowledged.missing(victim.server, kept) == set()


def test_a_server_without_galera_is_refused(mariadb_binary: ServerBinary, tmp_path: Path) -> None:
    bare = PrivateServer(mariadb_binary, tmp_path / "node")
    bare.claim()
    with pytest.raises(UnusableServer, match="has no Galera") as refused:
        Galera([Member("node-1", "node", bare)]).start(SMALL, DataSpec())
    assert "mariadb+galera" in (refused.value.hint or "")


@pytest.fixture(scope="module")
def shards(
    tmp_path_factory: pytest.TempPathFactory, fresh_data: Callable[[ServerBinary], Path]
) -> Iterator[tuple[PrivateServer, list[PrivateServer]]]:
    """A front of Spider and two backends with the table `t`."""
    binary = debian.get("mariadb", extras=("spider",))
    plain = replace(binary, argv=tuple(word for word in binary.argv if "ha_spider" not in word))
    root = tmp_path_factory.mktemp("spider")
    front = PrivateServer(binary, root / "front")
    backends = [PrivateServer(plain, root / f"backend-{number}") for number in (1, 2)]
    try:
        for server in (front, *backends):
            server.claim()
            shutil.copytree(fresh_data(binary), server.data_folder, dirs_exist_ok=True)
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


@pytest.mark.parametrize(("xa", "held"), [("OFF", [1, 0]), ("ON", [0, 0])])
def test_a_backend_that_is_killed_before_its_commit_leaves_half_of_a_transaction_without_xa(
    shards: tuple[PrivateServer, list[PrivateServer]], xa: str, held: list[int]
) -> None:
    front, backends = shards
    share_tables(front, backends, "d", {"t": "w"}, [2])
    query(front, f"SET GLOBAL spider_internal_xa = {xa}")
    query(front, "REPLACE INTO d.t VALUES (1, 0), (4, 0)", "COMMIT")
    members = [
        Member("front-1", "front", front),
        *(Member(f"backend-{n}", "backend", each) for n, each in enumerate(backends, 1)),
    ]
    assert (Spider(members).unsafe() is None) == (xa == "ON")
    with front.connect() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE d.t SET v = v + 1 WHERE w = 1")
        cursor.execute("UPDATE d.t SET v = v + 1 WHERE w = 4")
        backends[1].kill()
        with contextlib.suppress(pymysql.err.MySQLError, ConnectionLost):
            cursor.execute("COMMIT")
    with pytest.raises(ServerFailed, match="backend 2 of 2 "):
        require_reachable(front, backends, "d", "t")
    backends[1].start(SMALL)
    found = [query(each, "SELECT v FROM d.t WHERE w IN (1, 4)")[0][0] for each in backends]
    assert found == held


def test_a_table_that_no_backend_has_is_told(
    shards: tuple[PrivateServer, list[PrivateServer]],
) -> None:
    front, backends = shards
    with pytest.raises(ServerFailed, match=r"Spider's tables .*'d\.nothing' doesn't exist"):
        share_tables(front, backends, "d", {"nothing": "w"}, [2])
    with pytest.raises(ValueError, match="2 backends have 1 rising"):
        share_tables(front, backends, "d", {"t": "w"}, [])
