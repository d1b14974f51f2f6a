"""Each setting on real servers: what it brings about, what it leaves, what is refused at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_lab import SMALL_LOG, Lab, wait_for

from contend.metrics import metric_of
from contend.servers import PrivateServer, ServerBinary
from contend.store import RunRecord

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

OPTIONS = (
    f'options = {{ innodb_buffer_pool_size = "32M", {SMALL_LOG}innodb_flush_method = "O_DIRECT" }}'
)
SMALL = """
[server]
{options}
[data]
rows = 5_000
[load]
connections = 2
warmup = "0s"
measure = "100ms"
[factors]
{factors}
[compare]
repeats = 2
""".replace("{options}", OPTIONS.replace("{", "{{").replace("}", "}}"))


def run(lab: Lab, factors: str, *more: str | Path, head: str = "") -> list[RunRecord]:
    lab.file.write_text(head + SMALL.format(factors=factors))
    done = lab.run(*more)
    assert done.returncode == 0, done.stderr
    assert lab.servers_alive() == []
    return lab.records()


def refused(lab: Lab, factors: str, *more: str | Path, head: str = "") -> str:
    """What is said of an experiment that costs nothing: no table was loaded for it."""
    lab.file.write_text(head + SMALL.format(factors=factors))
    done = lab.run(*more)
    assert done.returncode in (1, 2), done.stderr
    assert "loading" not in done.stderr
    assert not lab.out.exists()
    assert lab.servers_alive() == []
    return done.stderr


def test_a_treatment_is_laid_over_a_cell_and_put_back(lab: Lab) -> None:
    head = """
[treatments.set]
"server.globals.lock_wait_timeout" = 77
[treatments.started]
"server.options.lock_wait_timeout" = 78
"""
    records = run(lab, 'treatment = ["none", "set", "started"]', head=head)
    assert len(records) == 6
    found = {
        (record.cell["treatment"], (differs.get("lock_wait_timeout") or {}).get("value"))
        for record in records
        for differs in [record.probes["variables_that_differ"]]
    }
    assert found == {("none", None), ("set", "77"), ("started", "78")}


def test_a_variable_that_cannot_be_set_is_refused_at_once(lab: Lab) -> None:
    head = '[treatments.set]\n"server.globals.innodb_page_size" = 4096\n'
    said = refused(lab, 'treatment = ["none", "set"]', head=head)
    assert "innodb_page_size" in said


def test_several_servers_are_levels(lab: Lab, mariadb_binary: ServerBinary) -> None:
    other = "mysql@sid"
    factors = f'"server.use" = ["{mariadb_binary.name}", "{other}"]'
    lab.file.write_text(SMALL.format(factors=factors).replace(SMALL_LOG, ""))
    done = lab.draw().contend("run", lab.file, "--out", lab.out)
    assert done.returncode == 0, done.stderr
    kinds = {r.cell["server.use"]: r.probes["server"]["kind"] for r in lab.records()}
    assert kinds == {mariadb_binary.name: "mariadb", other: "mysql"}
    named = lab.contend("run", lab.file, "--server", lab.server)
    assert named.returncode == 2
    assert "server.use" in named.stderr


def test_cold_is_from_the_disk_and_full_is_not(lab: Lab) -> None:
    records = run(lab, '"server.warm" = ["cold", "index", "full"]')
    reads: dict[str, list[int]] = {}
    for record in records:
        status: dict[str, Any] = record.probes["status"]
        reads.setdefault(str(record.cell["server.warm"]), []).append(
            status["Innodb_buffer_pool_reads"]
        )
        warmed = record.probes["warmed"]
        assert (warmed is None) == (record.cell["server.warm"] == "cold")
    assert all(count > 0 for count in reads["cold"])
    assert all(count == 0 for how in ("index", "full") for count in reads[how])


def test_each_way_to_warm_after_a_cold_start_says_what_it_left(lab: Lab) -> None:
    """By a list of a quarter of the pages less is there than by what leaves all of them."""
    # The server's own list is a quarter of its pool's size: 192 of the some 300 pages of the table.
    sizes = {
        "server.options.innodb_buffer_pool_size": "12M",
        "server.options.innodb_lru_scan_depth": 100,
        "data.rows": 20_000,
        "load.events": 3_000,
        "load.measure": "60s",
    }
    words = [word for path, value in sizes.items() for word in ("--set", f"{path}={value}")]
    levels = '["queries-repeated", "scan", "list", "list-25", "primary"]'
    records = run(lab, f'"server.warm" = {levels}', *words)
    shares: dict[str, list[float]] = {}
    for record in records:
        warming: dict[str, Any] = record.probes["warming"]
        assert warming["how"] == record.cell["server.warm"]
        assert warming["seconds"] > 0
        assert {part["index"] for part in warming["parts"]} == {"PRIMARY", "k"}
        shares.setdefault(warming["how"], []).append(warming["resident_share"])
    assert min(shares["queries-repeated"]) > 0.9
    assert min(shares["scan"]) > 0.9
    assert min(shares["list"]) > 0.9
    assert max(shares["list-25"]) < 0.9
    assert min(shares["primary"]) > max(shares["list-25"])


def test_statements_are_there_for_their_cells_alone(lab: Lab) -> None:
    head = """
setup = [
    { name = "extra", do = "CREATE TABLE extra (id INT)", undo = "DROP TABLE extra" },
    { do = "CREATE INDEX k_c ON sbtest (k, c)", undo = "DROP INDEX k_c ON sbtest" },
]
"""
    records = run(lab, '"setup.extra" = [false, true]', head=head)
    for record in records:
        done = [one["do"].split()[1] for one in record.probes["settings"]["setup"]]
        assert done == (["TABLE", "INDEX"] if record.cell["setup.extra"] else ["INDEX"])


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ('{ do = "CREATE INDEX x ON sbtest (nowhere)" }', "CREATE INDEX x ON sbtest (nowhere)"),
        (
            '{ do = "CREATE INDEX x ON sbtest (c)", undo = "DROP INDEX y ON sbtest" }',
            "DROP INDEX y ON sbtest",
        ),
    ],
    ids=["do", "undo"],
)
def test_statements_that_are_wrong_load_nothing(lab: Lab, step: str, words: str) -> None:
    said = refused(lab, '"data.rows" = [900_000, 901_000]', head=f"setup = [{step}]\n")
    assert words in said
    assert "on an empty copy of the tables" in said


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ('"server.options.innodb_flush_metod" = [1, 2]', "innodb_flush_metod"),
        ('"server.options.innodb_flush_log_at_trx_commit" = [1, "x"]', "trx_commit"),
        ('"server.wrap" = ["", "no-such-wrapper -x"]', "no-such-wrapper, which is not a program"),
        ('"server.env.LD_PRELOAD" = ["", "/nowhere/x.so"]', "/nowhere/x.so, which is not a file"),
    ],
    ids=["option", "value", "wrapper", "preload"],
)
def test_what_a_server_rejects_loads_nothing(lab: Lab, factors: str, words: str) -> None:
    assert words in refused(lab, factors, "--set", "data.rows=900000")


def test_an_option_of_the_layout_gets_files_of_its_own(lab: Lab) -> None:
    records = run(lab, '"server.options.innodb_page_size" = [8192, 16384]')
    assert len({record.probes["dataset"]["key"] for record in records}) == 2


STUBBORN = """#!/bin/sh
trap '' TERM INT HUP
"$@"
code=$?
%s
exit $code
"""


def script(lab: Lab, name: str, end: str) -> Path:
    path = lab.folder / name
    path.write_text(STUBBORN % end)
    path.chmod(0o755)
    return path


def test_a_wrapper_that_swallows_signals_is_one_all_the_same(lab: Lab) -> None:
    wrapper = script(lab, "stubborn", "")
    records = run(lab, f'"server.wrap" = ["", "{wrapper}"]\n"server.env.MARK" = ["there"]')
    assert {record.probes["settings"].get("server.wrap", [""])[0] for record in records} == {
        *("", str(wrapper)),
    }
    # What is measured is the server and not its wrapper.
    assert all((record.done or {})["server"]["cpu_us"] > 0 for record in records)


def test_nothing_outlives_a_lab_that_is_killed_however_the_server_was_started(lab: Lab) -> None:
    wrapper = script(lab, "stubborn", "")
    lab.file.write_text(
        SMALL.format(factors=f'"server.wrap" = ["{wrapper}"]').replace('"200ms"', '"5s"')
    )
    process = lab.start(*lab.arguments())
    lab.wait_for_runs(1, process)
    assert lab.servers_alive()
    process.kill()
    process.communicate()
    wait_for(lambda: not lab.servers_alive(), limit_s=30.0)


def test_a_wrapper_that_stays_is_refused(lab: Lab) -> None:
    wrapper = script(lab, "stays", "sleep 1000")
    said = refused(
        lab, f'"server.wrap" = ["{wrapper}"]\n"server.options.max_connections" = [50, 60]'
    )
    assert "did not end within 20 s after the server" in said


def test_an_open_loop_keeps_its_rate(lab: Lab) -> None:
    factors = '"load.arrival.kind" = ["open"]\n"load.arrival.rate" = [100, 200]'
    for record in run(lab.draw(), factors, "--set", "compare.metric=lag_us_p99"):
        assert (record.done or {})["arrival"] == "open-loop"
        stages = record.plan["load"]["arrival"]["stages"]
        assert stages == [{"rate": float(record.cell["load.arrival.rate"])}]
        parts = ("lag_us_max", "service_us_max", "response_us_max")
        lag, service, response = (metric_of(name).value(record) for name in parts)
        assert lag is not None and service is not None and response is not None
        assert max(lag, service) <= response * 1.002, "to the digits that the histograms keep"


def test_whole_work_is_compared_by_its_time(lab: Lab) -> None:
    factors = '"load.events" = [50, 100]\n"load.measure" = ["2m"]'
    for record in run(lab.draw(), factors, "--set", "compare.metric=seconds"):
        done = record.done or {}
        assert (done["ended"], done["events"]) == ("events", record.cell["load.events"])
        assert metric_of("seconds").value(record) == done["measured_s"] > 0
        assert "ended-early" not in {warning["code"] for warning in record.warnings}
    assert "Time for the whole work: " in lab.contend("show", lab.out).stdout


def test_what_a_server_of_theirs_cannot_have_is_said_at_once(
    lab: Lab, private_server: object, mariadb_binary: ServerBinary
) -> None:
    assert callable(private_server)
    theirs: PrivateServer = private_server(mariadb_binary)
    dsn = f"mysql://root@/mine?socket={theirs.socket}"
    said = refused(lab, '"server.warm" = ["cold", "index"]', "--server", dsn, "--yes")
    assert "needs a private server" in said
    said = refused(
        lab, '"load.connections" = [1, 2]', "--server", dsn, "--yes",
        head='setup = [{ do = "ANALYZE TABLE sbtest" }]\n',
    )  # fmt: skip
    assert "without an undo" in said


def test_statements_on_a_server_of_theirs_are_undone(
    lab: Lab, private_server: object, mariadb_binary: ServerBinary
) -> None:
    assert callable(private_server)
    theirs: PrivateServer = private_server(mariadb_binary)
    dsn = f"mysql://root@/mine?socket={theirs.socket}"
    with theirs.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE mine")
        lab.file.write_text(
            'setup = [{ do = "CREATE TABLE extra (id INT)", undo = "DROP TABLE extra" }]\n'
            + SMALL.format(factors='"load.connections" = [1, 2]').replace(OPTIONS, "")
        )
        done = lab.run("--server", dsn, "--yes")
        assert done.returncode == 0, done.stderr
        assert all(json.dumps(r.probes["settings"]) for r in lab.records())
        cursor.execute("SHOW TABLES IN mine LIKE 'extra'")
        assert cursor.fetchall() == ()


ASKED = """
[workload]
kind = "sql"
text = "SELECT id FROM sbtest WHERE id = 1 AND @@session.lock_wait_timeout = 77;"
"""
TIMEOUT = "server.session.lock_wait_timeout"


def test_variables_of_a_session_are_those_of_the_loads_connections(lab: Lab) -> None:
    """Two levels of one server at the same time, of which one finds the row."""
    more = f'[compare]\nbaseline = {{ "{TIMEOUT}" = 77 }}\nby = "slices"\nrepeats = 2\n'
    lab.file.write_text(
        ASKED
        + SMALL.format(factors=f'"{TIMEOUT}" = [77, 88]').replace("[compare]\nrepeats = 2\n", more)
    )
    done = lab.run()
    assert done.returncode == 0, done.stderr
    found = {r.cell[TIMEOUT]: r.done["rows"] / r.done["queries"] for r in lab.records()}
    assert found == {77: 1.0, 88: 0.0}
    assert all("lock_wait_timeout" not in r.probes["variables_that_differ"] for r in lab.records())


def test_a_variable_that_no_session_has_is_refused_at_once(lab: Lab) -> None:
    said = refused(lab, '"server.session.innodb_page_size" = [4096, 8192]')
    assert "innodb_page_size" in said
    script = '[workload]\nkind = "lua"\nscript = "oltp_read_only"\n'
    said = refused(lab, f'"{TIMEOUT}" = [77, 88]', head=script)
    assert "does not work with a script" in said
