"""The recipes of the mysqlslap study on a real server, each in its small variant made smaller."""

from __future__ import annotations

import json

import pytest
from run_lab import Lab, as_json

from contend.servers import ServerBinary
from contend.store import RunFolder

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


def run(lab: Lab, recipe: str, *sets: str) -> dict[str, object]:
    """Run a recipe with these overrides and return its report."""
    small = "server.options.innodb_log_file_size=8M"
    options = [part for one in (*sets, small) for part in ("--set", one)]
    done = lab.contend("run", recipe, "--quick", "--out", "out", "--server", lab.server, *options)
    assert done.returncode == 0, done.stderr
    return as_json(lab.contend("show", "out", "--json"))


def test_the_auto_generated_load(lab: Lab) -> None:
    found = run(lab, "slap-auto-generated", "load.connections=[8, 16]", "compare.at_most=4s")
    assert [one["metric"] for one in found["shapes"]] == ["seconds", "qps"]  # type: ignore[union-attr]
    insert, select = found["statements"]  # type: ignore[misc]
    assert (insert["name"], select["name"]) == ("insert", "select")
    with RunFolder.open(lab.folder / "out") as folder:
        records = folder.records()
    for record in records:
        assert record.status == "ok" and record.done is not None
        clients = record.cell["load.connections"]
        queries = {one["name"]: one["queries"] for one in record.done["classes"]}
        assert queries == {"insert": 6 * clients, "select": 5 * clients}
        # Each run begins with the same 99 rows.
        rows = next(one["rows"] for one in record.done["classes"] if one["name"] == "select")
        assert 99 <= rows / queries["select"] <= 99 + 6 * clients
    full = lab.contend("show", "out", "--full")
    assert "new over old, published" in full.stdout
    told = "Why the time grows with the clients" in full.stdout
    assert told != ("so no cause is reported" in full.stdout)
    assert "The cost of the clients" in full.stdout


FIVE = ["first_ten", "by_last_name", "count_aamodt", "names_by_count", "salaries_of_jo"]


def test_the_five_statements_at_more_and_more_clients(lab: Lab) -> None:
    sets = ("data.rows=3000", "load.connections=[1, 4]", "compare.repeats=2", "compare.at_most=5s")
    found = run(lab, "slap-concurrency", *sets)
    assert [one["name"] for one in found["statements"]] == FIVE  # type: ignore[union-attr]
    with RunFolder.open(lab.folder / "out") as folder:
        records = folder.records()
        assert str(folder.meta().finished).startswith("time is up: ")
    for record in records:
        assert record.status == "ok" and record.done is not None
        assert record.done["ended"] == "events"
        queries = {one["name"]: one["queries"] for one in record.done["classes"]}
        assert queries == dict.fromkeys(FIVE, record.cell["load.connections"])
        assert record.probes["status"]["Qcache_inserts"] > 0  # It was emptied before.
    assert [one["metric"] for one in found["shapes"]] == ["seconds", "qps"]  # type: ignore[union-attr]


def test_the_engines(lab: Lab) -> None:
    sets = ("data.rows=3000", "load.connections=2", "compare.repeats=2", "compare.at_most=8s")
    found = run(lab, "engines", *sets)
    levels = {one["level"] for one in found["comparisons"]}  # type: ignore[union-attr]
    assert levels == {"InnoDB", "Aria"}
    for statement in found["statements"]:  # type: ignore[union-attr]
        assert {one["factors"]["data.engine"] for one in statement["cells"]} == {
            *levels,
            "MyISAM",
        }
    shown = lab.contend("show", "out", "--full").stdout
    with RunFolder.open(lab.folder / "out") as folder:
        records = folder.records()
    for record in records:
        assert record.done is not None and record.done["ended"] == "events"
        rounds = record.plan["load"]["slices"]["rounds"]
        assert len(record.intervals) == rounds
        # Each turn is the whole list, three times by each of two clients.
        assert [one["queries"] for one in record.intervals] == [3 * 5 * 2] * rounds
        queries = {one["name"]: one["queries"] for one in record.done["classes"]}
        assert queries == dict.fromkeys(FIVE, 3 * 2 * rounds)
        assert record.probes["status"]["Com_select"] >= 3 * 5 * 2 * rounds
    assert "not in slices" not in shown
    assert "rows read by scans" in shown and "buffer pool requests" in shown


def test_the_query_cache(lab: Lab) -> None:
    found = run(
        lab,
        "query-cache",
        "data.rows=20_000",
        "workload.shares.repeated=90",
        "workload.shares.write=[0, 5]",
        "load.connections=4",
        "compare.repeats=2",
        "compare.at_most=5s",
    )
    assert {one["level"] for one in found["comparisons"]} == {"ON"}  # type: ignore[union-attr]
    with RunFolder.open(lab.folder / "out") as folder:
        records = [record for record in folder.records() if record.done]
    for record in records:
        status = record.probes["status"]
        # A type that the server does not take as it is given would be marked.
        assert "option-truncated" not in {one["code"] for one in record.warnings}
        is_on = record.cell["server.options.query_cache_type"] == "ON"
        writes = record.cell["workload.shares.write"] > 0
        assert (status["Qcache_hits"] > 0) is is_on
        assert ("query_cache_waits" in record.probes) <= is_on
        if is_on and not writes:
            assert status["Qcache_hits"] / status["Com_select"] > 0.5
    asked = json.dumps(found)
    assert "Qcache" not in asked  # What a reader sees has words.
    shown = lab.contend("show", "out", "--full").stdout
    assert "Work of the cache" in shown
    # Whether so short a run is certain of anything, nobody knows; its cause is told if it is.
    assert ("one lock for all" in shown) != ("so no cause is reported" in shown)


def test_a_server_without_a_query_cache_is_refused(lab: Lab, mysql_binary: ServerBinary) -> None:
    options = ("--set", "server.kind=mysql", "--server", mysql_binary.name)
    done = lab.contend("run", "query-cache", "--quick", *options)
    assert done.returncode == 2
    assert "no query cache" in done.stderr


def test_a_statement_before_runs_that_fails_is_told_before_loading(lab: Lab) -> None:
    done = lab.run("--set", 'server.before_run=["RESET QUERY CASH"]')
    assert done.returncode == 2
    assert "server.before_run, statement 1 of 1" in done.stderr
    assert "No data was loaded" in done.stderr
