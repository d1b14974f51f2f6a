"""A cluster that is not ours: what is wrong with it is said before anything is asked of it, and
what is done to one server is done to each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, cast

import pytest

from contend.errors import ContendError, RequestError, WorkError
from contend.lab import borrowed
from contend.lab.borrowed import (
    BorrowedTestbed,
    ClusterMember,
    ClusterTestbed,
    cluster_of,
    require_as_one,
    require_rows,
)
from contend.servers.errors import ConnectionRefused
from contend.servers.existing import Identity
from contend.spec import Experiment, load_experiment

SYNCED = {
    "wsrep_ready": "ON",
    "wsrep_local_state_comment": "Synced",
    "wsrep_cluster_size": "2",
    "wsrep_cluster_status": "Primary",
}


class Stub:
    """Stands for a server that somebody else runs."""

    def __init__(self, *, version: str = "10.11.19", gone: bool = False, **status: str) -> None:
        self.version, self.gone, self.status = version, gone, {**SYNCED, **status}
        self.warehouses: set[int] = set()

    def identity(self) -> Identity:
        if self.gone:
            raise ConnectionRefused("mysql://db/ does not answer")
        return Identity("mariadb", self.version, "")

    @contextlib.contextmanager
    def connect(self, *_: object) -> Iterator[Stub]:
        yield self

    def variables(self) -> dict[str, str]:
        return {"spider_internal_xa": "OFF"}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowed, "status_of", lambda stub: stub.status.items())
    monkeypatch.setattr(
        borrowed, "has_warehouse", lambda stub, _database, number: number in stub.warehouses
    )


def members(role: str, *stubs: Stub) -> list[ClusterMember]:
    return [
        ClusterMember(f"{role}-{n}", role, cast(Any, stub), n) for n, stub in enumerate(stubs, 1)
    ]


@pytest.mark.parametrize(
    ("second", "error", "words"),
    [
        (Stub(gone=True), WorkError, r"node-2 of the cluster is not there: .* does not answer"),
        (Stub(version="11.8.3"), RequestError, r"node-1 is mariadb 10.*, node-2 is mariadb 11\.8"),
        (
            Stub(wsrep_cluster_status="non-Primary", wsrep_ready="OFF"),
            WorkError,
            r"node-2 of the 2 nodes .* cannot be measured: it has no quorum",
        ),
        (Stub(wsrep_cluster_size="1"), WorkError, r"node-2 .* wsrep_cluster_size = 1"),
    ],
)
def test_what_is_wrong_with_a_member_is_said(
    second: Stub, error: type[ContendError], words: str
) -> None:
    require_as_one(members("node", Stub(), Stub()))
    with pytest.raises(error, match=words) as raised:
        require_as_one(members("node", Stub(), second))
    assert raised.value.hint


def experiment() -> Experiment:
    return load_experiment("cluster-ladder")


def test_backends_have_their_warehouses_and_the_front_reaches_them() -> None:
    front, one, two = Stub(), Stub(), Stub()
    servers = [("front-1", "front", front), ("backend-1", "backend", one)]
    found = cluster_of(cast(Any, [*servers, ("backend-2", "backend", two)]), experiment())
    assert [(member.name, member.owns) for member in found] == [
        ("front-1", None),
        ("backend-1", 2),
        ("backend-2", 4),
    ]
    front.warehouses, one.warehouses, two.warehouses = {2, 4}, {2}, {4}
    require_rows(found, "d")
    two.warehouses = set()
    with pytest.raises(RequestError, match=r"^backend-2 does not find warehouse 4"):
        require_rows(found, "d")
    two.warehouses, front.warehouses = {4}, {2}
    with pytest.raises(RequestError, match=r"^front-1 does not find .*which backend-2 is to have"):
        require_rows(found, "d")


class Place:
    """Stands for what is done to one of them."""

    def __init__(self) -> None:
        self.options: dict[str, object] = {}
        self.warmed = self.closed = False
        self.error: ContendError | None = None

    def set_options(self, options: dict[str, object]) -> None:
        self.options = options

    def warm(self, _how: str) -> None:
        self.warmed = True

    def death(self) -> ContendError | None:
        return self.error

    def leave(self) -> None:
        self.closed = True
        if self.error is not None:
            raise self.error


def test_each_member_gets_what_is_its_own_and_all_are_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, *others = places = [Place() for _ in range(3)]
    for name in ("set_options", "warm", "death", "leave"):
        stands_in = getattr(first, name)
        monkeypatch.setattr(
            BorrowedTestbed, name, lambda _self, *asked, stands_in=stands_in: stands_in(*asked)
        )
    monkeypatch.setattr(BorrowedTestbed, "__init__", lambda _self: None)
    stubs = [*members("front", Stub()), *members("backend", Stub(), Stub())]
    cluster = ClusterTestbed(stubs, cast(Any, others))
    cluster.set_options({"spider_bgs_mode": 1, "max_connections": 9})
    assert [set(place.options) for place in places] == [
        {"spider_bgs_mode", "max_connections"},
        {"max_connections"},
        {"max_connections"},
    ]
    cluster.warm("index")
    assert [place.warmed for place in places] == [False, True, True]
    assert cluster.death() is None
    places[1].error = WorkError("it hung up")
    assert "backend-1 has gone: it hung up" in str(cluster.death())
    with pytest.raises(WorkError, match="it hung up"):
        cluster.leave()
    assert all(place.closed for place in places)
