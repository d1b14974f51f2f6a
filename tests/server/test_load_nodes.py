"""One load over several real servers: of another release each, one of them refusing, one dying."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load_live import DATABASE, PASSWORD, ROWS, USER, Stage
from null_server import run_plan
from tls_files import make

from contend.servers import PrivateServer, ServerBinary

POINT_SELECT = {"kind": "point_select", "rows": ROWS}


@pytest.fixture(scope="module")
def stages(
    mariadb_binary: ServerBinary,
    mariadb_new_binary: ServerBinary,
    shared_server: Callable[..., PrivateServer],
    load_program: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Stage, Stage]:
    """Two servers with the same table; the second is reached by TCP, TLS and a password."""
    files = make(tmp_path_factory.mktemp("tls"))
    old = Stage(load_program, shared_server(mariadb_binary), files)
    server = shared_server(mariadb_new_binary, tcp=True, arguments=files.arguments)
    new = Stage(load_program, server, files)
    for stage in (old, new):
        stage.fill()
    new.sql(
        f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'",
        f"GRANT ALL ON *.* TO {USER}@'%'",
    )
    return old, new


def plan(
    stages: tuple[Stage, Stage], workload: dict[str, Any], route: dict[str, Any] | None, **load: Any
) -> dict[str, Any]:
    old, new = stages
    nodes = [
        {"name": "old", "server": old.socket, "watch": {"pid": old.server.pid}},
        {"name": "new", "server": new.tcp(tls={"mode": "required"})},
    ]
    whole = old.plan(old.socket, workload, **load)
    whole["load"]["route"] = route
    return whole | {"nodes": nodes}


def run(stages: tuple[Stage, Stage], whole: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    lines, code, words = run_plan(
        stages[0].program, whole, env={"LOAD_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin"}
    )
    assert code == 0, words
    return lines[0], lines[-1]


def sums(stage: Stage) -> list[int]:
    """Of `k`, over the rows of the first node's keys, and of the second's."""
    half = ROWS // 2
    total = f"SELECT SUM(k) FROM {DATABASE}.sbtest WHERE id "
    return [int(stage.sql(total + where)[0][0]) for where in (f"<= {half}", f"> {half}")]


def test_each_node_is_asked_for_its_own_keys(stages: tuple[Stage, Stage]) -> None:
    updates = {"kind": "update_index", "rows": ROWS}
    for stage in stages:
        stage.fill_anew()
    before = [sums(stage) for stage in stages]
    hello, done = run(stages, plan(stages, updates, {"by": "key"}, events=600, measure_s=600))
    versions = [node["server_version"] for node in hello["nodes"]]
    assert versions[0].startswith("10.") and versions[1].startswith("11."), versions
    assert hello["nodes"][1]["session"] == ["tls"]
    counts = [node["queries"] for node in done["nodes"]]
    assert sum(counts) == 600 and min(counts) > 200
    low, high = before[0], before[1]
    assert [sums(stage) for stage in stages] == [
        [low[0] + counts[0], low[1]],
        [high[0], high[1] + counts[1]],
    ]
    assert done["nodes"][0]["server"]["cpu_us"] > 0
    assert done["nodes"][1]["server"] is None


def test_a_transaction_stays_on_its_node(stages: tuple[Stage, Stage]) -> None:
    for stage in stages:
        stage.fill_anew()
    workload = {"kind": "read_write", "rows": ROWS}
    _, done = run(stages, plan(stages, workload, None, events=200, measure_s=600))
    assert (done["events"], done["failed"]) == (200, 0)
    counts = [node["queries"] for node in done["nodes"]]
    assert sum(counts) == done["queries"] and max(counts) < 1.5 * min(counts)


def test_a_node_that_refuses_the_login_is_named(stages: tuple[Stage, Stage]) -> None:
    whole = plan(stages, POINT_SELECT, None)
    whole["nodes"][1]["server"]["user"] = "nobody"
    lines, code, words = run_plan(
        stages[0].program, whole, env={"LOAD_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin"}
    )
    assert code == 1
    assert lines[-1]["message"].startswith('node "new": '), words
    assert lines[-1]["code"] == 1045


@pytest.mark.timeout(600)
def test_a_node_that_dies_stops_no_other(
    stages: tuple[Stage, Stage],
    mariadb_binary: ServerBinary,
    private_server: Callable[..., PrivateServer],
    tmp_path: Path,
) -> None:
    server = private_server(mariadb_binary)
    mortal = Stage(stages[0].program, server, make(tmp_path))
    mortal.fill()
    whole = stages[0].plan(
        stages[0].socket, POINT_SELECT, connections=8, measure_s=6, interval_s=0.2
    )
    # By chance and rarely, so that the others have something to do while one waits.
    whole["load"]["route"] = {"by": "chance", "weights": {"mortal": 0.01}}
    whole["nodes"] = [
        {"name": "alive", "server": stages[0].socket},
        {"name": "mortal", "server": mortal.socket},
    ]
    with subprocess.Popen(
        [stages[0].program, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as load:
        assert load.stdin is not None and load.stdout is not None
        load.stdin.write(json.dumps(whole))
        load.stdin.close()
        lines = (json.loads(line) for line in load.stdout)
        next(line for line in lines if line.get("queries", 0) > 0)
        mortal.server.kill()
        done = list(lines)[-1]
    assert done["type"] == "done", done
    alive, dead = done["nodes"]
    assert alive["queries"] > 0 and alive["errors"] == []
    assert {error["code"] for error in dead["errors"]} <= {2002, 2006, 2013, 1053}
    assert dead["errors"]
