"""Doctor at real servers of every kind: what it sees, and what it finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_lab import Finished
from sql import Factory

from contend.cli.doctor import seen_server
from contend.cli.main import main
from contend.host import Tree
from contend.host.doctor import CHECKS, HostDocument, examine, short_form
from contend.host.doctor.document import with_server
from contend.host.doctor.model import Subject
from contend.servers import Dsn, ExistingServer, PrivateServer, ServerBinary
from contend.store import RunFolder


def looked(server: PrivateServer) -> HostDocument:
    existing = ExistingServer(Dsn.parse(f"socket:{server.socket}"))
    subject = Subject(Tree(Path("/")), Path("/"))
    return examine(with_server(subject, seen_server(existing)))


def test_every_check_of_a_server_sees_a_real_one(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary)
    document = looked(server)
    said = {one["id"]: one for one in document["checks"] if one["id"].startswith("server-")}
    assert len(said) == sum(check.is_of_server for check in CHECKS)
    assert not [one["evidence"] for one in said.values() if one["outcome"] == "unseen"]
    assert said["server-where"]["state"] == {"is_here": True}
    assert str(server.pid) in said["server-where"]["evidence"]
    assert Path(str(document["host"]["folder"])) == Path(server.variables()["datadir"])


def test_faults_of_a_real_server_are_found(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    options = {
        "general_log": "ON",
        "innodb_flush_log_at_trx_commit": 2,
        "performance_schema": "ON",
    }
    if any_binary.kind == "mariadb":
        options |= {"query_cache_type": 1, "query_cache_size": "16M"}
    document = looked(private_server(any_binary, options))
    found = {one["id"]: one["severity"] for one in document["checks"] if one["outcome"] == "found"}
    assert found["server-slow-log"] == "severe"
    assert found["server-flush"] == "warning"
    assert found["server-performance-schema"] == "note"
    assert ("server-query-cache" in found) == (any_binary.kind == "mariadb")


def test_a_severe_fault_can_be_ignored_with_a_reason(
    mariadb_binary: ServerBinary,
    private_server: Factory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = private_server(mariadb_binary, {"general_log": "ON"})
    named = ["doctor", "--short", "--server", f"socket:{server.socket}"]
    assert main([*named, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    severe = {one["id"] for one in document["checks"] if one["severity"] == "severe"}
    assert "server-slow-log" in severe
    assert main([*named, "--ignore", "server-slow-log=a test"]) in (0, 1)
    assert "[severe; a test]" in capsys.readouterr().out


def test_a_run_keeps_what_doctor_found_before_it(tiny_run: Finished) -> None:
    with RunFolder.open(tiny_run.lab.out) as folder:
        kept = folder.meta().facts.get("doctor", [])
    # What may be otherwise a minute later.
    passing = {"cpu-pressure", "free-space", "swap-in-use"}
    lasting = {one["id"] for one in short_form(tiny_run.lab.out)} - passing
    assert lasting <= {one["id"] for one in kept}
    assert all(one["evidence"] and one["mend"] for one in kept)


def test_a_server_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--short", "--server", f"socket:{tmp_path}/none"]) == 1
    assert f"socket={tmp_path}/none" in capsys.readouterr().err


def test_over_tcp_its_process_is_found_by_its_own_socket(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary, tcp=True)
    existing = ExistingServer(Dsn.parse(f"mysql://root@127.0.0.1:{server.port}/"))
    seen = seen_server(existing)
    assert seen.is_here
    assert seen.pid == server.pid
