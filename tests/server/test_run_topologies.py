"""Levels that are several servers, from the command to the record: a front of Spider over backends,
and nodes of Galera, apart from one another, asked by each route. Each experiment is run once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from run_lab import Lab, alive, wait_for

from contend.lab.conditions import looks_in
from contend.servers import debian
from contend.store import RunRecord

pytestmark = pytest.mark.timeout(900)  # a busy machine may take its time

SPIDER = """
[server]
use = "mariadb+spider"
topology = "spider"
member_round_trip = "0us"
warm = "as-found"
options = { innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M", performance_schema = 0 }

[data]
schema = "tpcc"
warehouses = 2
shrink = 100

[workload]
kind = "tpcc"
ask = "no_read"
remote_payments_percent = 30

[load]
connections = 4
slice = "200ms"
settle = "10ms"

[load.errors]
retry_pause = "2ms"

[factors]
"load.route" = ["first", "key"]

[compare]
baseline = { "load.route" = "first" }
metric = "new_orders_per_minute"
repeats = 2
"""

GALERA = (
    SPIDER.replace("spider", "galera")
    .replace('"first"', '"chance"')
    .replace("[data]\n", "[data]\nhistory_key = true\n")
    .replace("[compare]\n", '[compare]\nby = "runs"\n')
    .replace('slice = "200ms"\nsettle = "10ms"', 'warmup = "200ms"\nmeasure = "1s"')
)


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    for extra in ("spider", "galera"):
        debian.get("mariadb", extras=(extra,))


def measured(lab: Lab) -> list[RunRecord]:
    """What was measured, and that nothing is left of it."""
    records = [record for record in lab.records() if record.status == "ok"]
    for record in records:
        assert record.done is not None
        assert record.done["failed"] == 0 and record.done["events"] > 0
        # Servers asked one another by way of the lines.
        line = record.probes["member_line"]
        assert line["round_trip_us"] == 0
        assert line["bytes_to_server"] > 0 and line["refused"] == 0
    assert lab.servers_alive() == []
    return records


def require_conditions(lab: Lab) -> None:
    looks = list(looks_in(lab.out))
    assert {look["when"] for look in looks} >= {"loaded", "end"}
    for look in looks:
        assert [one for one in look["conditions"] if one["broken"]] == [], look["when"]
        # The eleventh is of tables that nobody has written to.
        asked = {one["name"] for one in look["conditions"] if one["broken"] is not None}
        assert len(asked) >= 11


def test_a_front_and_the_owners_of_warehouses_and_a_member_that_dies(lab: Lab) -> None:
    """A backend is killed in the first repeat: that is lost, and the next one gets others."""
    lab.file.write_text(SPIDER)
    process = lab.start("run", lab.file, "--out", lab.out)
    lab.wait_for_load(process)
    of_backend = os.fsencode(Path("folder-0-backend-2") / "data")

    def found() -> set[int]:
        return set(alive(of_backend)) & set(lab.servers_alive())

    wait_for(lambda: bool(found()) or process.poll() is not None)
    (backend,) = found()
    os.kill(backend, signal.SIGKILL)
    wait_for(lambda: process.poll() is not None)
    said = process.communicate()[1]
    assert "Traceback" not in said, said
    lost = [record for record in lab.records() if record.status != "ok"]
    assert {record.status for record in lost} == {"lost"}, said
    for record in lost:
        error = record.error or {}
        assert "killed by SIGKILL" in error["message"] and "backend-2" in error["hint"]

    records = measured(lab)
    assert {record.cell["load.route"] for record in records} == {"first", "key"}
    for record in records:
        assert record.done is not None
        # What they count is of both levels, which share them in slices, and so of neither.
        assert "members" not in record.probes
        assert "not-atomic" in {warning["code"] for warning in record.warnings}
        nodes = {node["name"]: node for node in record.done.get("nodes", [])}
        if record.cell["load.route"] == "first":
            assert nodes == {}
            continue
        assert sorted(nodes) == ["backend-1", "backend-2", "front-1"]
        assert all(node["events"] > 0 and node["errors"] == [] for node in nodes.values())
        assert sum(node["events"] for node in nodes.values()) == record.done["events"]
        # What crosses is the lesser part of it.
        assert nodes["front-1"]["events"] < record.done["events"] / 2
    require_conditions(lab)


def test_nodes_that_have_all_rows(lab: Lab) -> None:
    lab.file.write_text(GALERA)
    done = lab.contend("run", lab.file, "--out", lab.out)
    assert done.returncode == 0, done.stderr
    records = measured(lab)
    assert {record.status for record in lab.records()} == {"ok"}
    for record in records:
        assert record.done is not None
        members = {member["name"]: member for member in record.probes["members"]}
        assert list(members) == ["node-1", "node-2", "node-3"]
        for name, member in members.items():
            assert (member["cpu_s"] or 0) > 0
            assert name == "node-1" or member["status"]["wsrep_received"] > 0
        nodes = record.done.get("nodes", [])
        # Two warehouses have two owners.
        expected = {"chance": 3, "key": 2}
        assert len(nodes) == expected[str(record.cell["load.route"])]
        if record.cell["load.route"] == "chance":
            assert all(node["events"] > 0 for node in nodes)
    require_conditions(lab)


def test_a_server_without_the_plugin_is_refused_before_anything_starts(lab: Lab) -> None:
    lab.file.write_text(SPIDER.replace('"mariadb+spider"', '"mariadb"'))
    done = lab.contend("run", lab.file, "--out", lab.out)
    assert done.returncode == 2
    assert 'server.use = "mariadb+spider"' in done.stderr
