"""Nodes of Galera are killed again and again: what was acknowledged is on the others, and on the
one that was killed when it is back. SIGKILL says nothing of a loss of power."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import acknowledged
import pytest

from contend.experiment import DataSpec
from contend.load import MemberLines
from contend.servers import PrivateServer, ServerBinary, debian
from contend.servers.deployment import Member
from contend.servers.options import Value
from contend.servers.topologies.galera import Galera, require_synced

KILLS = int(os.environ.get("CONTEND_KILLS", "100"))
NODES, SEATS = 3, 9
SMALL: dict[str, Value] = {
    "innodb_buffer_pool_size": "16M",
    "innodb_log_file_size": "8M",
    "innodb_flush_log_at_trx_commit": 2,
    "performance_schema": 0,
}


@pytest.mark.timeout(60 * KILLS)
def test_no_kill_of_a_node_costs_what_was_acknowledged(
    tmp_path: Path,
    fresh_data: Callable[[ServerBinary], Path],
    load_program: Path,
    record_property: Callable[[str, object], None],
) -> None:
    binary = debian.get("mariadb", extras=("galera",))
    nodes = [PrivateServer(binary, tmp_path / f"node-{number}") for number in range(1, NODES + 1)]
    members = [Member(f"node-{n}", "node", node) for n, node in enumerate(nodes, 1)]
    lines, chance = MemberLines(load_program), random.Random(25)
    cluster = Galera(members, patience_s=2.0)
    kept: set[acknowledged.Row] = set()
    try:
        nodes[0].claim()
        shutil.copytree(fresh_data(binary), nodes[0].data_folder, dirs_exist_ok=True)
        cluster.start(SMALL, DataSpec(), lines.apart(0.0005))
        with nodes[0].connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE d")
            cursor.execute(acknowledged.TABLE)
        for kill in range(KILLS):
            victim = chance.choice(members)
            survivors = [node for node in nodes if node is not victim.server]
            kept |= acknowledged.while_killed(
                nodes,
                victim.server,
                seats=range(SEATS),
                at=kill,
                before_s=chance.uniform(0.1, 0.5),
            )
            require_synced(survivors)
            for node in survivors:
                assert acknowledged.missing(node, kept) == set(), f"kill {kill}: {victim.name}"
            acknowledged.rejoin(cluster, victim, SMALL)
            cluster.require_healthy(DataSpec())
        for node in nodes:
            assert acknowledged.missing(node, kept) == set()
    finally:
        for node in nodes:
            node.kill()
        lines.close()
    record_property("kills", KILLS)
    record_property("acknowledged", len(kept))
