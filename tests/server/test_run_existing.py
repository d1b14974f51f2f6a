"""`contend run --server DSN`: a server that is not ours is used, and left as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_lab import RUNS, Finished, Lab, NewLab, finish, wait_for, with_figures
from sql import Factory, query

from contend.servers import PrivateServer, ServerBinary
from contend.store import RunFolder

PASSWORD = "s3cret-of-the-bench"
THEIR_OPTIONS = {"key_buffer_size": "20M"}
AT_FIRST = {"key_buffer_size": str(20 << 20), "key_cache_segments": "0"}

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


class Theirs:
    """Somebody's server, with an account for us."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self.sql("CREATE USER bench@'127.0.0.1' IDENTIFIED BY '" + PASSWORD + "'")
        self.sql("GRANT ALL ON *.* TO bench@'127.0.0.1'")
        self.dsn = f"mysql://bench@127.0.0.1:{server.port}/mine"

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        return query(self.server, statement)

    def value(self, variable: str) -> str:
        return str(self.sql(f"SELECT @@GLOBAL.{variable}")[0][0])

    def takes(self, lab: Lab) -> None:
        """Let a lab's experiment be one that such a server can take."""
        lab.edit(', innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M"', "")
        self.takes_password(lab)

    def takes_password(self, lab: Lab) -> None:
        lab.environment["CONTEND_PASSWORD"] = PASSWORD


@pytest.fixture(scope="module")
def standing(shared_server: Factory, mariadb_binary: ServerBinary) -> Theirs:
    """A server that outlives the tests."""
    return Theirs(shared_server(mariadb_binary, THEIR_OPTIONS, tcp=True))


@pytest.fixture
def theirs(standing: Theirs) -> Theirs:
    """It, as it was at first."""
    standing.sql("DROP DATABASE IF EXISTS mine")
    for option, value in AT_FIRST.items():
        assert standing.value(option) == value, "an earlier test did not put it back"
    return standing


@pytest.fixture
def at(lab: Lab, theirs: Theirs) -> Callable[..., Any]:
    """`contend run` of an experiment that such a server can take, against it."""
    theirs.takes(lab)

    def run(*more: str) -> Any:
        return lab.run("--server", theirs.dsn, *more)

    return run


@pytest.fixture(scope="module")
def other(shared_server: Factory, mariadb_binary: ServerBinary) -> Theirs:
    """Another server of theirs."""
    return Theirs(shared_server(mariadb_binary, {}, tcp=True))


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory, standing: Theirs, new_lab: NewLab
) -> Finished:
    """A run on it that ended well."""
    lab = new_lab(tmp_path_factory.mktemp("measured"))
    standing.takes(lab)
    lab.edit("[experiment]\n", f"[experiment] # bench wants {PASSWORD}\n")
    return finish(lab, "--server", standing.dsn, "--yes")


def test_it_is_measured_and_its_options_are_put_back(measured: Finished, standing: Theirs) -> None:
    lab = measured.lab
    records = lab.records()
    assert [r.status for r in records] == ["ok"] * RUNS
    assert records[0].probes["variables_that_differ"]["key_buffer_size"]["value"] == "16777216"
    assert records[0].probes["server"]["change"] == "in_place"
    assert {option: standing.value(option) for option in AT_FIRST} == AT_FIRST
    assert "reverted on" in measured.done.stderr
    assert lab.journals == []


def test_the_cpu_of_a_server_on_this_host_is_shown(measured: Finished, standing: Theirs) -> None:
    for record in measured.lab.records():
        assert record.plan["arms"][0]["watch"]["pid"] == standing.server.pid
        assert record.done["server"]["cpu_us"] > 0
        assert "without_process" not in record.probes["server"]
    shown = measured.lab.contend("show", measured.lab.out, "--metric", "server_cpu_us_per_query")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_it_takes_on_the_levels_in_turn_while_nothing_is_asked(measured: Finished) -> None:
    with RunFolder.open(measured.lab.out) as folder:
        way = folder.meta().facts["way"]
    assert way == {"by": "slices", "why": "", "servers": 1, "own": False}
    for record in measured.lab.records():
        entered = [" ".join(arm["enter"]) for arm in record.plan["arms"]]
        assert sorted("key_cache_segments = 32" in one for one in entered) == [False, True]
        assert all("LOAD INDEX INTO CACHE" in one for one in entered)
    shown = measured.lab.contend("show", measured.lab.out, "--full").stdout
    assert "on one server that was switched" in shown.replace("\n ", "")


def test_two_of_them_are_compared_in_slices(lab: Lab, theirs: Theirs, other: Theirs) -> None:
    theirs.takes(lab)
    lab.edit(
        '"server.options.key_cache_segments" = [0, 32]',
        f'"server.use" = ["{theirs.dsn}", "{other.dsn}"]',
    )
    lab.edit('"server.options.key_cache_segments" = 0 }', f'"server.use" = "{theirs.dsn}" }}')
    done = lab.contend("run", lab.file, "--out", lab.out, "--yes")
    assert done.returncode == 0, done.stderr
    with RunFolder.open(lab.out) as folder:
        way = folder.meta().facts["way"]
    assert way == {"by": "slices", "why": "", "servers": 2, "own": False}
    for record in with_figures(lab.records()):
        assert record.probes["server"]["source"] == record.cell["server.use"]
        assert len({arm["server"]["port"] for arm in record.plan["arms"]}) == 2
    shown = lab.contend("show", lab.out, "--full").stdout
    assert "each on the server that it names" in shown.replace("\n ", "")
    assert PASSWORD not in done.stdout + done.stderr + shown
    assert {option: theirs.value(option) for option in AT_FIRST} == AT_FIRST
    other.sql("DROP DATABASE mine")


def test_statements_on_its_tables_are_prepared_before_anything_is_loaded(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    theirs.sql("CREATE DATABASE mine")
    theirs.sql("CREATE TABLE mine.customers (id INT, town TEXT)")
    lab.edit('kind = "random_points"', "kind = \"sql\"\ntext = 'SELECT twon FROM customers;'")
    done = at("--yes")
    assert done.returncode == 2, done.stderr
    assert "'twon'" in done.stderr and '"town"' in done.stderr
    # A table of contend's own is not there yet.
    lab.edit("SELECT twon FROM customers", "SELECT 1 FROM customers, sbtest LIMIT 1")
    done = at("--yes")
    assert done.returncode == 0, done.stderr


def test_its_table_is_marked_used_again_and_dropped_on_request(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    theirs.sql("CREATE DATABASE mine")
    theirs.sql("CREATE TABLE mine.customers (id INT)")
    done = at("--yes")
    assert "contend data drop --server" in done.stderr
    ((comment,),) = theirs.sql(
        "SELECT TABLE_COMMENT FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = 'mine' AND TABLE_NAME = 'sbtest'"
    )
    assert comment.startswith("contend:sbtest-myisam-10k-")
    assert comment.endswith(" mine.sbtest")
    again = lab.contend("run", lab.file, "--out", lab.folder / "again", "--server", theirs.dsn)
    assert again.returncode == 0, again.stderr
    assert "already on the server" in again.stderr

    # Their copies of it carry its comment.
    theirs.sql("CREATE TABLE mine.my_archive LIKE mine.sbtest")
    theirs.sql("INSERT INTO mine.my_archive SELECT * FROM mine.sbtest LIMIT 5")
    theirs.sql("CREATE TABLE mine.contenders (id INT) COMMENT 'CONTEND: people who contend'")
    asked = lab.contend("data", "drop", "--server", theirs.dsn)
    assert asked.returncode == 2
    assert f"contend made these tables in mine on {theirs.dsn}: sbtest" in asked.stderr
    assert "my_archive" not in asked.stderr
    assert ("sbtest",) in theirs.sql("SHOW TABLES FROM mine")
    dropped = lab.contend("data", "drop", "--server", theirs.dsn, "--yes")
    assert dropped.returncode == 0, dropped.stderr
    assert dropped.stdout == "Dropped sbtest.\n"
    assert theirs.sql("SHOW TABLES FROM mine") == [
        *(("contenders",), ("customers",), ("my_archive",))
    ]
    assert theirs.sql("SELECT COUNT(*) FROM mine.my_archive") == [(5,)]


def test_a_table_of_theirs_is_refused_and_not_touched(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    theirs.sql("CREATE DATABASE mine")
    theirs.sql("CREATE TABLE mine.sbtest (id INT) COMMENT 'ours'")
    theirs.sql("INSERT INTO mine.sbtest VALUES (1), (2)")
    done = at("--yes")
    assert done.returncode == 2
    assert "mine.sbtest that contend did not create" in done.stderr
    assert theirs.sql("SELECT COUNT(*) FROM mine.sbtest") == [(2,)]
    assert theirs.value("key_buffer_size") == str(20 * 1024 * 1024)
    assert not lab.out.exists()
    dropped = lab.contend("data", "drop", "--server", theirs.dsn, "--yes")
    assert dropped.returncode == 2
    assert theirs.sql("SELECT COUNT(*) FROM mine.sbtest") == [(2,)]


def test_nothing_is_loaded_unless_somebody_agrees(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    done = at()
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert ("mine",) not in theirs.sql("SHOW DATABASES")


OF_A_SCRIPT = """
[experiment]
name = "own"

[data]
schema = "script"

[workload]
kind = "lua"
script = "oltp_read_write"
options = { table_size = 50 }

[load]
warmup = "10ms"
measure = "50ms"

[factors]
"server.options.sort_buffer_size" = ["256K", "512K"]

[compare]
baseline = { "server.options.sort_buffer_size" = "256K" }
repeats = 2
"""


def test_a_script_that_writes_asks_for_the_tables_that_are_theirs(lab: Lab, theirs: Theirs) -> None:
    theirs.takes_password(lab)
    lab.file.write_text(OF_A_SCRIPT)
    columns = "id INT PRIMARY KEY AUTO_INCREMENT, k INT, c CHAR(120), pad CHAR(60), KEY(k)"
    theirs.sql("CREATE DATABASE mine")
    theirs.sql(f"CREATE TABLE mine.sbtest1 ({columns})")
    rows = "SELECT seq, 'precious' FROM mine.seq_1_to_50"
    theirs.sql(f"INSERT INTO mine.sbtest1 (k, c) {rows}")
    before = theirs.sql("CHECKSUM TABLE mine.sbtest1")
    refused = lab.run("--server", theirs.dsn)
    assert refused.returncode == 2
    assert "may write to tables in mine on" in refused.stderr
    assert "that contend did not make: sbtest1" in refused.stderr
    assert theirs.sql("CHECKSUM TABLE mine.sbtest1") == before
    assert not lab.out.exists() or not lab.records()
    # What only reads asks nobody.
    lab.edit("oltp_read_write", "oltp_point_select")
    read = lab.run("--server", theirs.dsn)
    assert read.returncode == 0, read.stderr
    assert theirs.sql("CHECKSUM TABLE mine.sbtest1") == before
    lab.edit("oltp_point_select", "oltp_read_write")
    agreed = lab.contend(
        "run", lab.file, "--server", theirs.dsn, "--out", lab.folder / "b", "--yes"
    )
    assert agreed.returncode == 0, agreed.stderr
    assert "may write to sbtest1" in agreed.stderr.replace("\n", " ")


@pytest.mark.parametrize("workload", ["random_points", "update_index"])
def test_a_table_that_is_replaced_in_the_middle_is_noticed_and_left_alone(
    lab: Lab, theirs: Theirs, workload: str
) -> None:
    theirs.takes(lab)
    lab.slow("500ms").by_runs()
    lab.edit('kind = "random_points"', f'kind = "{workload}"')
    process = lab.start(*lab.arguments("--server", theirs.dsn, "--yes"))
    lab.wait_for_runs(1, process)
    theirs.sql("CREATE TABLE mine.other LIKE mine.sbtest")
    theirs.sql("ALTER TABLE mine.other COMMENT 'ours now'")
    theirs.sql("RENAME TABLE mine.sbtest TO mine.old, mine.other TO mine.sbtest")
    _out, err = process.communicate()
    assert process.returncode == 1, err
    assert "Traceback" not in err
    assert "replaced mine.sbtest" in err.replace("\n", " ")
    lost = [record for record in lab.records() if record.status == "lost"]
    assert lost and "replaced mine.sbtest" in str(lost[0].error)
    ((comment,),) = theirs.sql(
        "SELECT TABLE_COMMENT FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = 'mine' AND TABLE_NAME = 'sbtest'"
    )
    assert comment == "ours now"
    assert theirs.sql("SHOW TABLES FROM mine") == [("old",), ("sbtest",)]


def test_options_that_need_a_restart_are_refused(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    lab.edit("key_cache_segments = 0 }", "key_cache_segments = 0, thread_stack = 400000 }")
    done = at("--yes")
    assert done.returncode == 2
    assert "changing thread_stack requires a restart" in done.stderr
    assert f"--set server.options.thread_stack={theirs.value('thread_stack')}" in done.stderr
    theirs_own = f"server.options.thread_stack={theirs.value('thread_stack')}"
    assert at("--yes", "--set", theirs_own).returncode == 0


def test_another_kind_of_server_is_refused(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    done = at("--yes", "--set", "server.kind=mysql")
    assert done.returncode == 2
    assert "--set server.kind=mariadb" in done.stderr


@pytest.mark.parametrize(
    ("password", "words"), [("wrong", "with this password"), ("", "without a password")]
)
def test_a_wrong_password_is_told_and_never_shown(
    lab: Lab, at: Callable[..., Any], password: str, words: str
) -> None:
    lab.environment["CONTEND_PASSWORD"] = password
    done = at("--yes")
    assert done.returncode == 1
    assert words in done.stderr
    assert "wrong" not in done.stderr.replace("is wrong", "")


def test_a_server_that_is_not_there(lab: Lab) -> None:
    done = lab.run("--server", "mysql://bench@127.0.0.1:1/mine", "--yes")
    assert done.returncode == 1
    assert "does not answer" in done.stderr


def test_the_password_is_in_no_file_and_no_process_list(measured: Finished) -> None:
    kept = (measured.lab.out / "experiment.toml").read_text()
    assert "[experiment] # bench wants ***\n" in kept
    for path in measured.lab.out.rglob("*"):
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes(), path


def test_what_a_killed_run_changed_is_put_back_by_the_next(
    lab: Lab, theirs: Theirs, at: Callable[..., Any]
) -> None:
    lab.slow("700ms")
    process = lab.start(*lab.arguments("--server", theirs.dsn, "--yes"))
    lab.wait_for_runs(2, process)
    process.kill()
    process.communicate()
    assert theirs.value("key_buffer_size") == str(16 * 1024 * 1024)
    wait_for(no_load_is_orphaned)
    resumed = lab.contend("run", "--resume", lab.out)
    assert resumed.returncode == 0, resumed.stderr
    assert len(lab.records()) == RUNS
    assert theirs.value("key_buffer_size") == str(20 * 1024 * 1024)


def test_a_server_that_goes_away_ends_the_run_after_a_few(
    lab: Lab, private_server: Factory, mariadb_binary: ServerBinary
) -> None:
    mortal = Theirs(private_server(mariadb_binary, THEIR_OPTIONS, tcp=True))
    mortal.takes(lab)
    lab.slow("700ms")
    process = lab.start(*lab.arguments("--server", mortal.dsn, "--yes"))
    lab.wait_for_runs(1, process)
    mortal.server.kill()
    _out, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "contend: error: " in err
    assert {r.status for r in lab.records()} == {"ok", "lost"}
    assert len(lab.journals) == 1


def no_load_is_orphaned() -> bool:
    """Whether no load generator outlived its lab."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
                parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if b"contend-load\0run" in command and parent == "1":
                return False
    return True
