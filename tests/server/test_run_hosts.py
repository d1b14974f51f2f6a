"""A load that several workers of a Dask cluster share, on a real server."""

from __future__ import annotations

import pytest
from run_lab import Lab

pytest.importorskip("distributed")
pytestmark = pytest.mark.timeout(900)  # a busy machine may take its time

HOSTS = ("--set", "load.hosts=2", "--set", "load.connections=4", "--set", "compare.by=runs")


def _records(lab: Lab) -> list[dict[str, object]]:
    records = lab.records()
    assert records and all(record.status == "ok" for record in records)
    return [record.done for record in records]  # type: ignore[misc]


def test_two_workers_load_a_private_server(lab: Lab) -> None:
    done = lab.run(*HOSTS)
    assert done.returncode == 0, done.stderr
    for measured in _records(lab):
        hosts = measured["hosts"]
        assert [host["connections"] for host in hosts] == [2, 2]  # type: ignore[attr-defined]
        assert sum(host["queries"] for host in hosts) == measured["queries"]  # type: ignore[attr-defined]
        assert measured["server"] is not None, "the first host sees the server's process"


def test_hosts_that_cannot_be_had_are_refused_before_anything_is_measured(lab: Lab) -> None:
    for sets, words in (
        (("load.hosts=3", "load.connections=4"), "share 4 connections"),
        (("load.hosts=2", "load.connections=2", "compare.by=slices"), "slices"),
    ):
        asked = [part for value in sets for part in ("--set", value)]
        refused = lab.run(*asked)
        assert (refused.returncode, words in refused.stderr) == (2, True), refused.stderr
    refused = lab.run(*HOSTS, "--scheduler", "tcp://127.0.0.1:9")
    assert refused.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in refused.stderr
