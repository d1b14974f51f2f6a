"""Hosts of a load that are workers of a real Dask cluster, with what happens to such: they die,
they hang, their scheduler goes away. The tests share one cluster and stand in the order in which
they use it up."""

# ruff: noqa: E402 - what is imported below needs the module that may be missing

from __future__ import annotations

import contextlib
import dataclasses
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import needs
import pytest
from null_server import connections, null_server

needs.module("distributed")

import dask
from users_cluster import UsersCluster, users_cluster

from contend.errors import RequestError, WorkError
from contend.files import find_program
from contend.load.hosts import Fleet, cluster, fleet
from contend.load.hosts.cluster import Cluster, LoadHost
from contend.load.process import LoadFailed, LoadProcess

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time
PASSWORD = "a password that nobody logs 4711"


@dataclass
class Bench:
    """What the tests share."""

    users: UsersCluster
    cluster: Cluster
    fleet: Fleet
    socket: Path

    def plan(self, **load: Any) -> Any:
        """600 s, unless it is asked otherwise."""
        server = {"socket": str(self.socket), "password_env": "CONTEND_TEST_SECRET"}
        return {
            "version": 1,
            "server": server,
            "workload": {"kind": "point_select", "rows": 1000},
            "load": {"connections": 4, "hosts": 2, "warmup_s": 0.0, "measure_s": 600.0, **load},
            "seed": 7,
        }

    def run(self, plan: Any, on_begin: Callable[[], None] = lambda: None) -> Any:
        """`on_begin` is called when all are measured."""
        begun: list[Any] = []

        def on_event(event: Any) -> None:
            if event["type"] == "phase" and not begun:
                begun.append(event)
                on_begin()

        return self.fleet.run(plan, env={"CONTEND_TEST_SECRET": PASSWORD}, on_event=on_event)

    def host(self, number: int) -> LoadHost:
        return self.cluster.hosts(2)[number]

    def nobody_is_connected(self) -> None:
        deadline = time.monotonic() + 120
        while connections(self.socket):
            assert time.monotonic() < deadline, "connections are left behind"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    program, folder = find_program(), tmp_path_factory.mktemp("dask")
    with (
        users_cluster(folder, 3) as users,
        null_server(program, folder, "--threads=1") as socket,
        dask.config.set(users.settings),
    ):
        workers = Cluster(program, users.address)
        made = Fleet(LoadProcess(program), workers)
        yield Bench(users, workers, made, socket)
        made.close()


def test_workers_of_a_scheduler_share_a_load(bench: Bench) -> None:
    done = bench.run(bench.plan(events=200))
    assert (done["events"], [host["events"] for host in done["hosts"]]) == (200, [100, 100])
    bench.nobody_is_connected()


def test_workers_are_found_whatever_dask_refreshes_meanwhile(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every two seconds its client asks for what it keeps of the scheduler, without the workers."""
    assert len(bench.cluster.hosts(2)) == 2
    client = bench.cluster._client
    refresh = client._update_scheduler_info

    async def refresh_twice(**asked: Any) -> None:
        await refresh(**asked)
        await refresh(n_workers=0)

    monkeypatch.setattr(client, "_update_scheduler_info", refresh_twice)
    assert len(bench.cluster.hosts(2)) == 2


def test_a_worker_of_another_architecture_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = dataclasses.replace(bench.host(0), facts={"machine": "riscv64"})
    with pytest.raises(RequestError, match=r"is riscv64, but contend-load is for"):
        bench.cluster._bring_program(host)
    monkeypatch.setattr(cluster.platform, "python_version_tuple", lambda: ("3", "99", "1"))
    with pytest.raises(RequestError, match=r"worker at .* Python 3\..* 3\.99 here"):
        bench.cluster._look_at(host.address)


@contextmanager
def silent() -> Iterator[int]:
    """A port whose packets nobody answers, as behind a firewall that drops them: of a listener with
    a full queue."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_server_that_answers_no_packet_is_told_before_the_load_begins(bench: Bench) -> None:
    with silent() as port:
        plan = bench.plan()
        plan["server"] = {"host": "127.0.0.1", "port": port, "connect_timeout_s": 1.0}
        begun: list[None] = []
        with pytest.raises(LoadFailed, match=r"cannot connect to 127\.0\.0\.1:\d+: timed out"):
            bench.run(plan, lambda: begun.append(None))
        assert begun == []


def test_the_others_go_on_without_a_worker_that_dies(bench: Bench) -> None:
    gone = bench.host(1)
    plan = bench.plan(host_lost="go_on", measure_s=1.0)
    done = bench.run(plan, lambda: bench.users.signal(gone.address, signal.SIGKILL))
    assert done["hosts"][1]["lost"].startswith("its worker is gone")
    assert done["events"] == done["hosts"][0]["events"] > 0
    # The kernel ends what it had started.
    bench.nobody_is_connected()
    assert gone.address not in [host.address for host in bench.cluster.hosts(2)]


def test_a_worker_that_hangs_fails_the_run_and_is_let_go(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "HANG_S", 1.0)
    held = bench.host(1).address
    try:
        with pytest.raises(LoadFailed, match=r"lost: its worker .* for 1 s"):
            bench.run(bench.plan(), lambda: bench.users.signal(held, signal.SIGSTOP))
    finally:
        bench.users.signal(held, signal.SIGCONT)
    # It hears that it is to stop when it goes on.
    bench.nobody_is_connected()
    assert bench.run(bench.plan(events=200))["events"] == 200


def test_no_password_is_in_a_task_or_a_log(bench: Bench) -> None:
    """All runs before this one had it."""

    def texts(dask_scheduler: Any) -> list[str]:
        tasks = [repr((task, task.run_spec)) for task in dask_scheduler.tasks.values()]
        return [*tasks, repr(list(dask_scheduler.transition_log))]

    client = bench.cluster._client
    seen = [*client.run_on_scheduler(texts), *bench.users.logs().values()]
    seen += map(repr, client.get_worker_logs(nanny=False).values())
    assert any("contend-host-" in text for text in seen), "the actors are seen"
    assert not any(PASSWORD in text for text in seen)
    # The worker's own environment has it no more than its command line.
    for host in bench.cluster.hosts(2):
        assert host.ask("has_variables", ["CONTEND_TEST_SECRET"]) == []


def test_a_scheduler_that_goes_away_ends_the_run_and_all_connections(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # So long Dask's client looks for it.
    monkeypatch.setattr(bench.cluster._client, "_timeout", 0.5)
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    with pytest.raises(LoadFailed, match=r"host .* was lost: its worker is gone"):
        bench.run(bench.plan(), lambda: bench.users.signal("scheduler", signal.SIGKILL))
    bench.nobody_is_connected()
    with pytest.raises(WorkError, match=r"the Dask scheduler does not answer"):
        bench.cluster.hosts(2)
    with pytest.raises(RequestError, match=f"no Dask scheduler answers at {bench.users.address}"):
        bench.cluster.hosts(2)
    assert not caplog.records, "what matters is said by contend"
