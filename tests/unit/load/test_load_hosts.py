"""A load that several hosts share: divided, begun together, added up; and hosts that are lost."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket as sockets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import needs
import pytest
from direct_hosts import Answered, DirectCluster
from null_server import null_server

from contend.errors import RequestError, WorkError
from contend.files import find_program
from contend.host.placement import Placed, Placement
from contend.load.hosts import Fleet, cluster, fleet, worker
from contend.load.hosts.cluster import Cluster, LoadHost
from contend.load.hosts.fleet import environment_for
from contend.load.process import LoadFailed, LoadProcess


@pytest.fixture
def hosts() -> Iterator[DirectCluster]:
    direct = DirectCluster(find_program())
    yield direct
    direct.close()


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    with null_server(find_program(), tmp_path, "--threads=1") as socket:
        yield socket


def _fleet(hosts: DirectCluster) -> Fleet:
    return Fleet(LoadProcess(hosts.program), hosts)  # type: ignore[arg-type]


def _plan(socket: Path, **load: Any) -> Any:
    return {
        "version": 1,
        "server": {"socket": str(socket)},
        "workload": {"kind": "point_select", "rows": 1000},
        "load": {"connections": 4, "hosts": 2, "warmup_s": 0.0, "measure_s": 600.0, **load},
        "seed": 7,
    }


def test_two_hosts_do_what_was_asked_of_one(hosts: DirectCluster, socket: Path) -> None:
    events: list[Any] = []
    plan = _plan(socket, events=200)
    done = _fleet(hosts).run(plan, env={}, on_event=events.append)
    assert [event["type"] for event in events if event["type"] != "interval"] == [
        *("hello", "phase", "phase", "phase", "done")
    ]
    assert (done["events"], done["queries"], done["connections"]) == (200, 200, 4)
    assert [host["events"] for host in done["hosts"]] == [100, 100]
    assert [host["name"] for host in done["hosts"]] == ["host0", "host1"]
    for host in done["hosts"]:
        # Both see one clock.
        for offset in (host["clock_before"], host["clock_after"]):
            assert offset is not None and abs(offset["steady_us"]) <= offset["error_us"]
    alone = _plan(socket, events=200, hosts=1)
    assert _fleet(hosts).run(alone, env={}, on_event=lambda _: None)["events"] == 200


def test_a_refusal_of_the_server_names_the_host(hosts: DirectCluster, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"host host[01]: "):
        _fleet(hosts).run(_plan(tmp_path / "none"), env={}, on_event=lambda _: None)
    assert all(host.ask("hear")[1] is not None for host in _ended(hosts))


def test_a_host_whose_load_was_killed_fails_the_run(hosts: DirectCluster, socket: Path) -> None:
    with pytest.raises(LoadFailed, match=r"host1 was lost: contend-load ended"):
        _fleet(hosts).run(_plan(socket), env={}, on_event=_killing(hosts, 1))
    assert all(host.ask("hear")[1] is not None for host in _ended(hosts))


def test_the_others_go_on_if_that_was_asked(hosts: DirectCluster, socket: Path) -> None:
    plan = _plan(socket, host_lost="go_on", measure_s=2.0)
    done = _fleet(hosts).run(plan, env={}, on_event=_killing(hosts, 1))
    assert done["hosts"][1]["lost"].startswith("contend-load ended there with signal 9")
    assert (done["connections"], done["hosts"][0]["connections"]) == (2, 2)
    assert done["events"] == done["hosts"][0]["events"] > 0
    assert done["measured_s"] == pytest.approx(2.0, rel=0.01)
    # The next run has another one in its place.
    assert [host.name for host in hosts.hosts(2)] == ["host0", "host2"]


def test_a_server_that_goes_away_leaves_what_was_measured(
    hosts: DirectCluster, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        socket = stack.enter_context(null_server(find_program(), tmp_path, "--threads=1"))

        def on_event(event: Any) -> None:
            if event["type"] == "interval":
                stack.close()

        # Long against the half second after which the leader asks again: the end is still to come.
        plan = _plan(socket, measure_s=4.0, interval_s=0.2)
        done = _fleet(hosts).run(plan, env={}, on_event=on_event)
    assert all("lost" not in host and host["events"] > 0 for host in done["hosts"])
    # As of one host: lost connections are opened again, if the server lets them.
    assert {error["code"] for error in done["errors"]} <= {2002, 2006, 2013}
    assert sum(error["count"] for error in done["errors"]) >= 4
    assert all(host.ask("hear")[1] == 0 for host in _ended(hosts))


def test_a_worker_that_is_gone_before_the_begin_is_lost(
    hosts: DirectCluster, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = OSError("Unable to contact Actor's worker")
    for when in ("start", "exists"):
        actor = hosts.hosts(2)[1].actor
        actor.fault = lambda name, when=when: Answered(gone) if name == when else None
        done = _fleet(hosts).run(
            _plan(socket, host_lost="go_on", measure_s=0.2), env={}, on_event=lambda _: None
        )
        assert "its worker is gone" in done["hosts"][1]["lost"]
        assert done["events"] == done["hosts"][0]["events"] > 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda _name: Answered(OSError("Unable to contact Actor's worker")), "is gone"),
        (lambda name: Answered(None, comes=name != "hear"), "has not answered"),
    ],
    ids=["gone", "hangs"],
)
def test_a_worker_that_is_gone_or_hangs_is_lost(
    hosts: DirectCluster, socket: Path, monkeypatch: pytest.MonkeyPatch, fault: Any, reason: str
) -> None:
    monkeypatch.setattr(fleet, "HANG_S", 0.3)

    def fail(event: Any) -> None:
        if event["type"] == "phase":
            hosts.known[-1].actor.fault = fault

    with pytest.raises(LoadFailed, match=f"host1 was lost: its worker {reason}"):
        _fleet(hosts).run(_plan(socket), env={}, on_event=_once(fail))


def test_a_worker_that_goes_after_its_result_has_lost_nothing(
    hosts: DirectCluster, socket: Path
) -> None:
    actor = hosts.hosts(2)[1].actor
    hear = actor.worker.hear

    def hear_the_last() -> tuple[list[str], int | None, str]:
        lines, code, tail = hear()
        if any('"type":"part"' in line for line in lines):
            actor.fault = lambda name: Answered(OSError("gone")) if name == "hear" else None
            return lines, None, tail
        return lines, code, tail

    actor.worker.hear = hear_the_last  # type: ignore[method-assign]
    done = _fleet(hosts).run(_plan(socket, events=200), env={}, on_event=lambda _: None)
    assert [host["events"] for host in done["hosts"]] == [100, 100]
    assert all("lost" not in host for host in done["hosts"])
    # The next run has another one in its place.
    assert [host.name for host in hosts.hosts(2)] == ["host0", "host2"]


def test_a_host_is_asked_again_after_a_pause(
    hosts: DirectCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred hosts would cost the leader all its CPUs otherwise."""
    (host,) = hosts.hosts(1)
    asked: list[str] = []
    hears = Answered((["line"], None, ""))
    host.actor.fault = lambda name: hears if asked.append(name) is None else None  # type: ignore[func-returns-value]
    now = 1000.0
    monkeypatch.setattr(fleet.time, "monotonic", lambda: now)
    poll = fleet.HostPoll(0, host, 0.5)
    assert poll.listen() == ["line"]
    now = 1000.49
    assert poll.listen() == [] and len(asked) == 1
    now = 1000.5
    assert poll.listen() == ["line"] and len(asked) == 2


def test_a_load_that_nobody_asks_for_is_stopped(
    hosts: DirectCluster, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SILENCE_S", 0.3)
    (host,) = hosts.hosts(1)
    host.ask("start", json.dumps(_plan(socket)), 0, dict)
    load = host.actor.worker._load
    assert load._child.wait(60) == 0
    assert '"ended":"signal"' in host.ask("hear")[0][-1] or _until_told(host)


def test_who_asks_stops_the_hosts(hosts: DirectCluster, socket: Path) -> None:
    def interrupt(event: Any) -> None:
        if event["type"] == "phase":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fleet(hosts).run(_plan(socket), env={}, on_event=interrupt)
    for host in _ended(hosts):
        assert host.ask("hear")[1] == 0


def test_a_password_goes_where_nobody_reads_along(hosts: DirectCluster, socket: Path) -> None:
    plan = _plan(socket)
    plan["server"]["password_env"] = "CONTEND_TEST_SECRET"
    plan["nodes"] = [{"name": "a", "server": {"host": "b", "password_env": "CONTEND_TEST_OTHER"}}]
    env = {"CONTEND_TEST_SECRET": "x", "CONTEND_TEST_OTHER": "y", "PATH": "/"}
    (host,) = hosts.hosts(1)
    sent = environment_for(host, plan, env, is_private=True)
    assert sent == {"CONTEND_TEST_SECRET": "x", "CONTEND_TEST_OTHER": "y"}
    with pytest.raises(RequestError, match="others can read") as raised:
        environment_for(host, plan, env, is_private=False)
    assert " and ".join(sorted(sent)) in str(raised.value.hint)
    assert "tls://" in str(raised.value.hint)


def test_a_password_that_a_host_has_is_not_sent(
    hosts: DirectCluster, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_TEST_SECRET", "its own")
    plan = _plan(socket)
    plan["server"]["password_env"] = "CONTEND_TEST_SECRET"
    (host,) = hosts.hosts(1)
    assert environment_for(host, plan, {"CONTEND_TEST_SECRET": "x"}, is_private=False) == {}


def test_a_server_that_a_host_cannot_reach_is_refused(hosts: DirectCluster, socket: Path) -> None:
    (host,) = hosts.hosts(1)
    fleet.refuse_out_of_reach(host, _plan(socket))
    host.facts["processes"] = "of another machine"
    fleet.refuse_out_of_reach(host, _plan(socket))  # The same path is there.
    with pytest.raises(RequestError, match=r"host0 cannot reach .* /nowhere"):
        fleet.refuse_out_of_reach(host, _plan(Path("/nowhere")))
    plan = _plan(socket)
    plan["server"] = {"host": "127.0.0.1", "port": 3306}
    with pytest.raises(RequestError, match="each host itself"):
        fleet.refuse_out_of_reach(host, plan)


def test_a_place_of_this_host_is_none_of_all(hosts: DirectCluster, socket: Path) -> None:
    placed = Placed(Placement())
    with pytest.raises(RequestError, match=r"place\.client"):
        _fleet(hosts).run(_plan(socket), env={}, on_event=lambda _: None, placed=placed)


def test_a_clock_that_nobody_sets_is_refused() -> None:
    offset: Any = {"steady_us": 0.0, "wall_us": -7200e6, "error_us": 9.0}
    with pytest.raises(WorkError, match=r"host a is 7,200 s behind this host"):
        cluster.refuse_apart("a", offset)
    cluster.refuse_apart("a", {**offset, "wall_us": 500e3})
    assert cluster.on_clock(5, {**offset, "steady_us": -2.0}) == -1995
    assert cluster.begin_ns(1.0) > time.monotonic_ns() + 3e9


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "10.0.0.1", "http://10.0.0.1:1", "tls://127.0.0.1:9"]
)
def test_where_no_scheduler_answers_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one has no keys in Dask's own configuration."""
    needs.module("distributed")
    monkeypatch.setattr(cluster, "CONNECT_S", 1.0)
    with pytest.raises(RequestError, match=f"no Dask scheduler answers at {address}"):
        Cluster(find_program(), address).hosts(2)


class Workers:
    """A client whose scheduler has these workers."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    def wait_for_workers(self, count: int, timeout: float) -> None:
        raise TimeoutError

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.addresses, 1)


@pytest.mark.parametrize(("there", "said"), [((), "no worker"), (("tcp://a:1",), "1 worker")])
def test_fewer_workers_than_hosts_are_refused(there: tuple[str, ...], said: str) -> None:
    few = Cluster(find_program(), "tcp://scheduler:8786")
    few._client = Workers(*there)
    with pytest.raises(RequestError, match=f"load.hosts = 2, but the Dask scheduler has {said}$"):
        few.hosts(2)


def test_a_clock_behind_a_firewall_names_the_host(hosts: DirectCluster) -> None:
    (host,) = hosts.hosts(1)
    with closed_port() as port:
        host.clock = f"127.0.0.1:{port}"
        with pytest.raises(WorkError, match=r"clock of host host0 cannot be read") as raised:
            Cluster(find_program(), None).clock_of(host)
    assert "firewall" in str(raised.value.hint)


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """Bound, so that nobody else takes it, and not listened to."""
    with sockets.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_machines_come_in_turn_and_known_workers_first() -> None:
    there = ["tcp://10.0.0.1:2", "tcp://10.0.0.1:1", "tcp://10.0.0.2:5", "tcp://10.0.0.3:4"]
    assert cluster._spread(there, known=[]) == [
        *("tcp://10.0.0.1:1", "tcp://10.0.0.2:5", "tcp://10.0.0.3:4", "tcp://10.0.0.1:2")
    ]
    known = cluster._spread(there, known=["tcp://10.0.0.1:2"])
    assert known[0] == "tcp://10.0.0.1:2"


def test_a_program_that_is_another_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    there = worker.HostWorker()
    data = b"#!/bin/sh\necho contend-load 9.9\n"
    sha256 = "d" * 64
    assert there.has("/nowhere", sha256) is False
    assert there.keep(data, sha256) == "the copy is damaged"
    sha256 = hashlib.sha256(data).hexdigest()
    assert there.keep(data, sha256) is None
    assert there.has("/nowhere", sha256) is True
    assert there.version() == (0, "contend-load 9.9")


def _ended(hosts: DirectCluster) -> list[LoadHost]:
    """The hosts, after their loads have ended."""
    all_of_them = [*hosts.known, *hosts.forgotten]
    for host in all_of_them:
        load = host.actor.worker._load
        load._child.wait(60)
        for reader in load._readers:
            reader.join(60)
    return all_of_them


def _until_told(host: LoadHost) -> bool:
    for reader in host.actor.worker._load._readers:
        reader.join(60)
    return '"ended":"signal"' in host.ask("hear")[0][-1]


def _killing(hosts: DirectCluster, number: int) -> Any:
    def kill(event: Any) -> None:
        if event["type"] == "phase":
            hosts.known[number].actor.worker._load._child.kill()

    return _once(kill)


def _once(act: Any) -> Any:
    """Acts on the first phase: the load has begun."""
    seen: list[Any] = []

    def on_event(event: Any) -> None:
        if event["type"] == "phase" and not seen:
            seen.append(event)
            act(event)

    return on_event
