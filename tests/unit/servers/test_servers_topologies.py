"""Members of a topology: names, roles, and which keys are whose own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from contend.experiment import CellSpec
from contend.servers import PrivateServer
from contend.servers.deployment import Deployment, all_or_none, alone, last_keys
from contend.servers.error_log import Truncated
from contend.servers.errors import PortTaken, ServerDied
from contend.servers.topologies import deployment_of
from contend.servers.topologies.galera import Galera, peer_past_its_line, why_not_synced


@dataclass(frozen=True)
class Program:
    argv: tuple[str, ...] = ("mariadbd", "--plugin-load-add=ha_spider", "--no-defaults")


class Stub:
    """Stands for a server that does not run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.binary = Program()
        self.killed = False
        self.dead = False

    def kill(self) -> None:
        self.killed = True

    def check(self) -> None:
        if self.dead:
            raise ServerDied("the server ended by itself.", hint="Its log is here.")


def made(**cell: Any) -> Deployment:
    values = {name.replace("__", "."): value for name, value in cell.items()}
    whole = CellSpec().having(**{"data.schema": "tpcc", **values}).values
    return deployment_of(whole, lambda name: cast(PrivateServer, Stub(name)))


def test_one_server_is_the_plain_case() -> None:
    deployment = made()
    assert [(one.name, one.role, one.owns) for one in deployment.members] == [
        ("server", "server", None)
    ]
    assert deployment.others == ()
    assert cast(Any, deployment.entry).name == ""


def test_backends_share_the_keys_and_are_without_the_plugin() -> None:
    deployment = made(
        server__topology="spider", server__fronts=2, server__backends=3, data__warehouses=7
    )
    assert [(one.name, one.role, one.owns) for one in deployment.members] == [
        ("front-1", "front", None),
        ("front-2", "front", None),
        ("backend-1", "backend", 2),
        ("backend-2", "backend", 4),
        ("backend-3", "backend", 7),
    ]
    argv = [member.server.binary.argv for member in deployment.members]
    assert ["ha_spider" in " ".join(one) for one in argv] == [True, True, False, False, False]
    data = CellSpec().having(**{"data.schema": "tpcc", "data.warehouses": 7}).data
    shares = [deployment.data_of(member, data) for member in deployment.members]
    found = [(one.own["first_warehouse"], one.own["last_warehouse"]) for one in shares if one]
    # Fronts have the first backend's, for the sake of the tables that nobody owns.
    assert found == [(1, 2), (1, 2), (1, 2), (3, 4), (5, 7)]


def test_nodes_without_a_key_own_none() -> None:
    deployment = made(server__topology="galera", server__nodes=3, data__warehouses=2)
    assert [(one.name, one.owns) for one in deployment.members] == [
        ("node-1", None),
        ("node-2", 1),
        ("node-3", 2),
    ]
    assert last_keys(4, 4) == [1, 2, 3, 4]


def test_a_member_that_ended_is_named_and_one_alone_is_not() -> None:
    deployment = made(server__topology="galera", data__warehouses=3)
    cast(Any, deployment.members[1].server).dead = True
    with pytest.raises(ServerDied, match=r"node-2, one of 3 servers, ended"):
        deployment.check()
    single = Stub("")
    single.dead = True
    with pytest.raises(ServerDied, match=r"^the server ended by itself"):
        alone(cast(PrivateServer, single)).check()


def test_if_not_all_can_be_started_none_runs() -> None:
    members = made(server__topology="galera", data__warehouses=3).members
    with pytest.raises(ValueError, match="no"), all_or_none(members):
        raise ValueError("no")
    assert all(cast(Any, member.server).killed for member in members)


NODE = {
    "wsrep_ready": "ON",
    "wsrep_local_state_comment": "Synced",
    "wsrep_cluster_size": "3",
    "wsrep_cluster_status": "Primary",
}


def test_what_is_wrong_with_a_node_is_said() -> None:
    def why(**other: str) -> str | None:
        return why_not_synced([*({**NODE, **other}).items()], 3)

    assert why() is None
    fallen = why(wsrep_cluster_size="2")
    assert fallen is not None and "wsrep_cluster_size = 2" in fallen
    assert "Donor" in (why(wsrep_local_state_comment="Donor/Desynced") or "")
    parted = why(wsrep_cluster_status="non-Primary", wsrep_ready="OFF", wsrep_cluster_size="1")
    assert parted is not None and "(wsrep_cluster_status = non-" in parted
    assert why_not_synced([], 3) is not None


def test_a_node_that_asks_another_beside_its_line_is_found() -> None:
    names = {4000: "node-1", 4001: "node-2"}
    by_lines = [("127.0.0.1", 4000), ("127.0.0.1", 4001), ("127.0.0.2", 5000)]
    assert peer_past_its_line(by_lines, names) is None
    assert peer_past_its_line([*by_lines, ("127.0.0.2", 4001)], names) == "node-2"


class TakenPorts(Galera):
    """Nodes of which one finds its ports taken so many times."""

    def __init__(self, times: int) -> None:
        super().__init__([])
        self.times = times
        self._ports = [(1, 2)]
        self.tried: list[tuple[int, int]] = []

    def _start_one(self, node: PrivateServer, number: int, *_: Any) -> list[Truncated]:
        del node
        self.tried.append(self._ports[number])
        if len(self.tried) <= self.times:
            raise PortTaken("mariadb did not start: its TCP port is in use.")
        return []


def test_a_port_that_somebody_took_meanwhile_is_replaced() -> None:
    cluster = TakenPorts(2)
    cluster._start_new(cast(PrivateServer, Stub("")), 0, {})
    assert len(set(cluster.tried)) == 3
    with pytest.raises(PortTaken, match="port is in use"):
        TakenPorts(9)._start_new(cast(PrivateServer, Stub("")), 0, {})
