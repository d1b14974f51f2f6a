"""Several requests under way on a connection, to each kind of server: each is answered once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from load_live import DATABASE, ROWS, Stage, script, staged
from run_lab import Lab, with_figures
from sql import query
from test_handler_socket import done_of, plan_of

from contend.servers import PrivateServer, ServerBinary, debian

POINT_SELECT = {"kind": "point_select", "rows": ROWS}
EVENTS = 600


@pytest.fixture(scope="module")
def stage(
    any_binary: ServerBinary,
    shared_server: Callable[..., PrivateServer],
    load_program: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("tls")
    yield from staged(shared_server, any_binary, load_program, folder)


def adds_up(done: dict[str, Any]) -> bool:
    ended = done["events"] + done["failed"] + done["unfinished"]
    return bool(done["begun"] == ended and done["latency_us"]["count"] == done["events"])


@pytest.mark.parametrize("engine", ["epoll", "io_uring"])
@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_every_request_has_its_answer_at_every_depth(
    stage: Stage, protocol: str, engine: str
) -> None:
    asked: dict[str, Any] = {"protocol": protocol, "engine": engine}
    points = {"kind": "random_points", "rows": ROWS, "points": 50}
    # More bytes of answers and requests than a read, and than a socket holds.
    many = {"kind": "random_points", "rows": ROWS, "points": 1500}
    for workload, events in ((POINT_SELECT, EVENTS), (points, EVENTS), (many, 90)):
        rows = set()
        for depth in (1, 8, 64):
            done = stage.events(stage.socket, workload, events, depth=depth, **asked)
            assert adds_up(done) and done["errors"] == [] and done["queries"] == events
            assert (done["depth"], done["setup_connect_us"]["count"]) == (
                depth,
                done["connections"],
            )
            rows.add(done["rows"])
        # The events of a seed, whoever sends them, find the same.
        assert len(rows) == 1


def test_every_way_in_carries_several_requests(stage: Stage) -> None:
    tls = {"mode": "verify-ca", "ca": str(stage.files.ca)}
    ways = [stage.tcp(tls={"mode": "disabled"}), stage.tcp(tls=tls)]
    ways.append(stage.socket | {"cache_metadata": True})
    points = {"kind": "random_points", "rows": ROWS, "points": 200}
    for server in ways:
        for protocol in ("prepared", "text"):
            done = stage.events(server, points, 300, protocol=protocol, depth=16)
            assert adds_up(done) and done["errors"] == [], server
            assert done["rows"] == stage.events(server, points, 300, protocol=protocol)["rows"]


def test_what_is_written_is_written_once(stage: Stage) -> None:
    stage.fill_anew()
    total = f"SELECT SUM(k) FROM {DATABASE}.sbtest"
    before = int(stage.sql(total)[0][0])
    update = {"kind": "update_index", "rows": ROWS, "distribution": {"kind": "zipfian"}}
    for protocol in ("prepared", "text"):
        done = stage.events(stage.socket, update, 2 * EVENTS, protocol=protocol, depth=16)
        assert adds_up(done) and done["failed"] == 0
    assert int(stage.sql(total)[0][0]) == before + 4 * EVENTS


def test_statements_of_ones_own_and_errors_among_them(stage: Stage) -> None:
    """Each error is that of its own statement, and the others go on."""
    text = script("SELECT EXP(IF({n:uniform(1, 10)} > 8, 999, 1)), k FROM sbtest WHERE id = 1;")
    errors = {"ignore_all": True}
    for protocol in ("prepared", "text"):
        done = stage.events(stage.socket, text, EVENTS, protocol=protocol, depth=16, errors=errors)
        counted = done["errors"][0]
        assert counted["code"] == 1690 and adds_up(done)
        assert counted["count"] + done["rows"] == EVENTS
        assert EVENTS * 0.1 < counted["count"] < EVENTS * 0.3


def test_connections_are_opened_again_between_events(stage: Stage) -> None:
    done = stage.events(stage.socket, POINT_SELECT, EVENTS, depth=16, reconnect_every=40)
    assert adds_up(done) and done["errors"] == [] and done["retries"] == 0
    assert done["connect_us"]["count"] > 0


@pytest.mark.parametrize("engine", ["epoll", "io_uring"])
def test_rows_by_key_at_depth(
    shared_server: Callable[..., PrivateServer], load_program: Path, engine: str
) -> None:
    server = shared_server(debian.get("mariadb", extras=("handlersocket",)))
    command = [load_program, "fill", f"--socket={server.socket}", "--user=root"]
    command += ["--database=bench", "--create-database", "--rows=5000"]
    if not query(server, "SHOW DATABASES LIKE 'bench'"):
        subprocess.run(command, check=True, capture_output=True)
    for depth in (1, 8, 64):
        for kind in ("point_select", "random_points"):
            plan = plan_of(server, kind, engine=engine, depth=depth)
            plan["load"]["events"] = EVENTS
            done = done_of(load_program, plan)
            assert adds_up(done) and (done["events"], done["errors"]) == (EVENTS, [])
            assert done["rows"] >= EVENTS
        changed = plan_of(server, "update_non_index", engine=engine, depth=depth)
        changed["seed"] = depth + len(engine)
        before = dict(query(server, "SELECT id, c FROM bench.sbtest"))
        done = done_of(load_program, changed)
        assert adds_up(done) and done["errors"] == []
        after = dict(query(server, "SELECT id, c FROM bench.sbtest"))
        others = sum(before[number] != after[number] for number in before)
        assert done["events"] * 0.9 < others <= done["events"]


def test_depths_are_compared_in_slices(lab: Lab) -> None:
    lab.file.write_text(
        """
[server]
options = { innodb_log_file_size = "8M" }
[data]
rows = 5_000
[workload]
kind = "point_select"
[load]
connections = 2
slice = "20ms"
settle = "5ms"
[factors]
"load.depth" = [1, 8]
[compare]
by = "slices"
repeats = 2
baseline = { "load.depth" = 1 }
"""
    )
    done = lab.contend("run", lab.file, "--out", lab.out)
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert len(records) == 4
    for record in with_figures(records):
        assert record.done is not None
        depth = record.cell["load.depth"]
        assert record.plan["load"].get("depth", 1) == record.done["depth"] == depth
        assert record.done["connections"] == 2


def test_what_cannot_be_under_way_together_is_refused_by_its_line(lab: Lab) -> None:
    lab.edit("[load]\n", "[load]\ndepth = 4\n")
    lab.edit('kind = "random_points"', 'kind = "read_only"')
    done = lab.contend(*lab.arguments())
    assert done.returncode == 2
    assert "load.depth" in done.stderr and "several statements" in done.stderr
