"""`contend try` with real servers: it answers as `contend run` does, and what no server takes is
refused before data are loaded."""

from __future__ import annotations

import shutil
from xml.etree import ElementTree

import pytest
from run_lab import Lab, as_json, interrupt
from sql import Factory
from test_run_existing import Theirs

from contend.experiment import load_experiment
from contend.servers import ServerBinary
from contend.store import RunFolder

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

SMALL = ("--workload", "point_select", "--data", "1000", "--connections", "2", "--for", "2s")


def test_it_answers_on_every_kind_of_server(lab: Lab, any_binary: ServerBinary) -> None:
    asked = ("sort_buffer_size=256K,1M", *SMALL, "--server", any_binary.name)
    done = lab.contend("try", *asked, "--out", lab.out, "--json")
    assert done.returncode == 0, done.stderr
    assert "sort_buffer_size = 1M faster than 256K" in done.stderr.splitlines()[0]
    (level,) = as_json(done)["levels"]
    assert (level["baseline"], level["level"]) == ("256K", "1M")
    assert (lab.out / "report.html").exists()
    with RunFolder.open(lab.out) as folder:
        assert folder.meta().facts["way"]["by"] == "slices"
        kept = folder.meta().experiment["source"]
    file = lab.folder / "printed.toml"
    file.write_text(lab.contend("try", *asked, "--print").stdout)
    assert file.read_text() == kept
    assert load_experiment(str(file)).compare.baseline == {
        "server.options.sort_buffer_size": "256K"
    }


def test_statements_sets_and_writes(lab: Lab) -> None:
    statement = "UPDATE sbtest SET k = k + 1 WHERE id = {id:uniform(1, 1000)}"
    done = lab.contend(
        *("try", "--a", "", "--b", "innodb_flush_log_at_trx_commit = 2 log-bin"),
        *("--sql", statement),
        *("--sql", "SELECT MAX(k) FROM sbtest WHERE id < 100", "--writes", "--data", "1000"),
        *("--connections", "2,4", "--for", "4s", "--server", lab.server, "--out", lab.out),
    )
    assert done.returncode == 0, done.stderr
    assert "4 s is enough for about" in done.stderr and "of 8 repeats" in done.stderr
    records = lab.records()
    assert {record.status for record in records} == {"ok"}
    assert {str(record.cell["server.profile"]) for record in records} == {"a", "b"}
    assert {one["name"] for one in (records[0].done or {})["classes"]} == {"query1", "query2"}


def test_statements_that_are_longer_than_a_slice_have_their_rate(lab: Lab) -> None:
    """A sleep is never too short, so two connections ask 6.67 times a second at most."""
    done = lab.contend(
        *("try", "sort_buffer_size=256K,1M", "--sql", "SELECT SLEEP(0.3)", "--data", "1000"),
        *("--connections", "2", "--for", "20s", "--server", lab.server, "--out", lab.out),
    )
    assert done.returncode == 0, done.stderr
    plan = next(line for line in done.stderr.splitlines() if "statements take up to" in line)
    assert "20 s is enough for about" in plan
    for record in lab.records():
        assert record.done is not None
        assert 3.0 < record.done["qps"] <= 2 / 0.3
        assert record.plan["load"]["slices"]["slice_s"] >= 5 * 0.3


def test_a_gate_ends_with_its_exit_code(lab: Lab) -> None:
    """A level that sleeps fifty times as long fails, one that changes nothing passes; both say so
    in every form. The limit is wide enough for a busy machine."""
    how = ("--data", "1000", "--connections", "2", "--for", "16s", "--server", lab.server)
    sleeps = ("--sql", "SELECT SLEEP(@@global.long_query_time)")
    for name, level, code, word in (
        ("fails", "long_query_time=0.001,0.05", 3, "slower"),
        ("passes", "max_error_count=64,65", 0, "passed"),
    ):
        out = lab.folder / name
        files = [lab.folder / f"{name}.{kind}" for kind in ("xml", "md")]
        # A host that stands still for all of a run leaves it without a figure, and the gate open.
        for _ in range(3):
            shutil.rmtree(out, ignore_errors=True)
            done = lab.contend(
                *("try", level, *how, *(sleeps if code else ("--sql", "SELECT SLEEP(0.001)"))),
                *("--fail-if-slower", "80%", "--junit", files[0], "--markdown", files[1]),
                *("--out", out),
            )
            if "repeats failed" not in done.stdout:
                break
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout.rstrip().splitlines()[-1].startswith(f"gate {word}")
        suite = ElementTree.parse(files[0]).getroot()
        assert suite.get("failures") == ("1" if code else "0")
        assert f"gate {word}" in files[1].read_text()
        assert f"Gate {word}" in lab.contend("show", out).stdout
        assert lab.contend("run", "--resume", out).returncode == code
    # Folders of other experiments have no cell in common, and a gate between them is refused.
    folders = (lab.folder / "passes", lab.folder / "fails")
    assert lab.contend("compare", *folders, "--fail-if-slower", "3%").returncode == 2


def test_one_that_was_interrupted_is_taken_up_by_contend_run(lab: Lab) -> None:
    process = lab.start(
        *("try", "sort_buffer_size=256K,1M", *SMALL[:-2], "--for", "6s"),
        *("--server", lab.server, "--out", lab.out),
    )
    lab.wait_for_runs(4, process)
    assert f"`contend run --resume {lab.out}`" in interrupt(process)
    done = lab.contend("run", "--resume", lab.out)
    assert done.returncode == 0, done.stderr
    with RunFolder.open(lab.out) as folder:
        assert folder.meta().finished


@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        (["key_cache_segmnts=0,32"], 2, ["no option key_cache_segmnts", '"key_cache_segments"']),
        (["key_cache_segments=0,100"], 2, ["key_cache_segments: requested 100, effective 64"]),
        (["loose_nosuch=1,2"], 2, ["would ignore loose_nosuch"]),
        (["--a", "", "--b", "skip-name-resolve"], 2, ["skip_name_resolve is ON"]),
        (["--a", "", "--b", "key_buffer=1"], 2, ["Write the full name: key_buffer_size"]),
        (
            ["--a", "", "--b", "innodb_flush_method=O_DIRECT"],
            2,
            ["a and b are equal", "innodb_flush_method is O_DIRECT"],
        ),
        (
            ["--a", "", "--b", "key_buffer_size=134217728 loose_skip_slow_query_log=1"],
            2,
            ["key_buffer_size is 134217728, slow_query_log is OFF"],
        ),
        (["innodb_stats_method=NULLS_equal,0"], 2, ["innodb_stats_method = NULLS_equal and 0"]),
        (
            ["innodb_flush_method=maybe,O_DIRECT"],
            2,
            ["with innodb_flush_method = maybe (the baseline)", "rejects the option"],
        ),
        (["sort_buffer_size=lots,4M"], 2, ["(the baseline)", "refuses the value 'lots'"]),
        (["sort_buffer_size=256K,10"], 2, ["sort_buffer_size: requested 10, effective 1024"]),
        (
            ["innodb_data_home_dir=nowhere,."],
            1,
            ["= nowhere (the baseline)", "did not start", "  | "],
        ),
        (
            ["sort_buffer_size=256K,4M", "--sql", "SELECT c FROM nothere"],
            2,
            ["nothere", "doesn't exist", "SELECT c FROM nothere"],
        ),
        (["sort_buffer_size=256K,4M", "--sql", "SELECT {x}"], 2, ["{x} is not defined"]),
        (
            ["sort_buffer_size=256K,4M", "--data", "import:nobodys", "--sql", "SELECT 1"],
            2,
            ['there is no import "nobodys"'],
        ),
    ],
)
def test_what_a_server_does_not_take(
    lab: Lab, typed: list[str], code: int, words: list[str]
) -> None:
    more = () if "--sql" in typed else ("--workload", "point_select")
    more += () if "--data" in typed else ("--data", "1000")
    done = lab.contend(
        *("try", *typed, *more, "--for", "2s", "--server", lab.server, "--out", lab.out)
    )
    assert done.returncode == code, done.stderr
    assert done.stderr.count("contend: error: ") == 1
    for word in words:
        assert word in done.stderr
    assert not lab.out.exists()
    assert lab.servers_alive() == []


def test_what_a_run_only_marks_is_remembered_for_a_try(lab: Lab) -> None:
    """A start that `contend run` accepted is not tried again; what the server made of it counts."""
    lab.edit("[0, 32]", "[0, 100]")
    assert lab.run("--set", "compare.repeats=2").returncode == 0
    done = lab.contend("try", "key_cache_segments=0,100", *SMALL, "--server", lab.server)
    assert done.returncode == 2
    assert "requested 100, effective 64" in done.stderr


def test_mysql_does_not_know_what_mariadb_does(lab: Lab, mysql_binary: ServerBinary) -> None:
    done = lab.contend("try", "key_cache_segments=0,32", "--server", mysql_binary.name)
    assert done.returncode == 2
    assert f"mysql {mysql_binary.version} has no option key_cache_segments" in done.stderr


@pytest.fixture(scope="module")
def running(shared_server: Factory, mariadb_binary: ServerBinary) -> Theirs:
    return Theirs(shared_server(mariadb_binary, {}, tcp=True))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("back_log=50,100", ["requires a restart", "Remove --server"]),
        ("sort_bufer_size=1M,2M", ["has no variable sort_bufer_size", '"sort_buffer_size"']),
        ("sort_buffer_size=lots,4M", ["refuses the value 'lots' for sort_buffer_size"]),
        ("key_cache_segments=0,100", ["key_cache_segments = 100"]),
        ("general_log_file=a.log,/nowhere/b.log", ["outside the server's own folder"]),
    ],
)
def test_what_a_running_server_does_not_take(
    lab: Lab, running: Theirs, typed: str, words: list[str]
) -> None:
    """Told before anything is loaded there, and nothing on it is changed."""
    before = running.server.variables()
    running.takes_password(lab)
    done = lab.contend("try", typed, *SMALL, "--server", running.dsn, "--yes", "--out", lab.out)
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert not lab.out.exists()
    assert running.sql("SHOW DATABASES LIKE 'mine'") == [], "nothing was loaded"
    after = running.server.variables()
    assert {n: v for n, v in after.items() if before[n] != v and n not in MOVING} == {}


@pytest.mark.parametrize(
    "where", ["server.options.general_log_file", "server.globals.general_log_file"]
)
def test_a_running_server_is_not_sent_elsewhere(lab: Lab, running: Theirs, where: str) -> None:
    """Nor by a run; a place that it has already is no change."""
    running.takes_password(lab)
    how = ("--server", running.dsn, "--yes", "--set")
    done = lab.run(*how, f"{where}=/nowhere/all.log")
    assert done.returncode == 2, done.stderr
    assert "outside the server's own folder" in done.stderr
    assert not lab.out.exists()
    assert running.sql("SHOW DATABASES LIKE 'mine'") == [], "nothing was loaded"
    if "options" in where:
        done = lab.run(*how, f"server.options.tmpdir={running.value('tmpdir')}", *how[-1:],
                       "server.options.back_log=7")  # fmt: skip
        assert "changing back_log requires a restart" in done.stderr


MOVING = {"timestamp", "rand_seed1", "rand_seed2", "gtid_binlog_pos", "last_insert_id"}
"""Variables that are other ones at every look."""


def test_a_dynamic_option_of_a_running_server_is_put_back(lab: Lab, running: Theirs) -> None:
    running.takes_password(lab)
    before = running.value("sort_buffer_size")
    done = lab.contend(
        *("try", "sort_buffer_size=256K,1M", *SMALL, "--server", running.dsn, "--yes"),
        *("--out", lab.out),
    )
    assert done.returncode == 0, done.stderr
    assert running.value("sort_buffer_size") == before
    assert len(lab.records()) >= 2


@pytest.mark.parametrize("names_database", [True, False])
def test_what_no_statement_asks_is_not_loaded_into_a_running_server(
    lab: Lab, running: Theirs, names_database: bool
) -> None:
    running.takes_password(lab)
    running.sql("CREATE DATABASE IF NOT EXISTS shop")
    running.sql("CREATE OR REPLACE TABLE shop.orders (id INT PRIMARY KEY) AS SELECT 1 AS id")
    before = running.sql("SHOW DATABASES")
    dsn = running.dsn.removesuffix("mine") + ("shop" if names_database else "")
    statement = f"SELECT id FROM {'' if names_database else 'shop.'}orders"
    done = lab.contend(
        *("try", "sort_buffer_size=256K,1M", "--sql", statement, "--server", dsn, "--yes"),
        *("--connections", "2", "--for", "2s", "--out", lab.out),
    )
    assert done.returncode == 0, done.stderr
    assert "nothing is loaded into" in done.stderr
    assert running.sql("SHOW DATABASES") == before
    assert running.sql("SHOW TABLES FROM shop") == [("orders",)]
    assert {record.status for record in lab.records()} == {"ok"}
