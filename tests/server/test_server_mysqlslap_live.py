"""mariadb-slap and its twin on one server: the same words, the same statements in the same order.

And what mariadb-slap does wrong is done right, and said.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import slap_peer as peer
from sql import Factory

from contend.servers import PrivateServer, ServerBinary

G = "--auto-generate-sql"
SMALL = f"-a {G}-write-number=4 {G}-unique-query-number=3"
# Sent by contend-load before a load.
CHECKS = ("Query SELECT @@max_connections", "Query SHOW GLOBAL STATUS")
TABLE = "--create='create table t(a int primary key)'"


@pytest.fixture(scope="module")
def server(mariadb_binary: ServerBinary, shared_server: Factory) -> Iterator[PrivateServer]:
    """It writes down what it is asked."""
    yield shared_server(mariadb_binary, {"general_log": 1, "log_output": "TABLE"})


class Slap:
    """Runs command lines in a folder, and tells what the server was asked meanwhile."""

    def __init__(self, program: Path, server: PrivateServer, folder: Path) -> None:
        self.program = program
        self.server = server
        self.folder = folder

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def run(self, program: list[str], words: str) -> tuple[peer.Done, list[str]]:
        self.ask("DROP SCHEMA IF EXISTS mysqlslap")
        self.ask("TRUNCATE mysql.general_log")
        entry = [f"--socket={self.server.socket}", "--user=root"]
        done = peer.run(program, [*entry, *shlex.split(words)], self.folder)
        rows = self.ask(
            "SELECT command_type, argument FROM mysql.general_log"
            " WHERE thread_id <> CONNECTION_ID() AND command_type <> 'Quit'"
        )
        return done, [f"{_text(kind)} {_text(said)}" for kind, said in rows]

    def line(self, words: str) -> list[str]:
        """For a test that looks after the schemas itself."""
        entry = ["--no-defaults", f"--socket={self.server.socket}", "--user=root"]
        return [str(self.program), "mysqlslap", *entry, *shlex.split(words)]

    def ours(self, words: str) -> peer.Done:
        return self.run([str(self.program), "mysqlslap"], words)[0]

    def asked(self, words: str) -> list[str]:
        """The statements, of clients and of the control connection."""
        done, log = self.run([str(self.program), "mysqlslap"], words)
        assert done.code == 0, done
        return [line.removeprefix("Query ") for line in log if line.startswith("Query ")]


def _text(value: object) -> str:
    text = value.decode() if isinstance(value, bytes) else str(value)
    # mariadb-slap sends the end of its own strings with made-up statements.
    return text.removesuffix("\0").removesuffix("\\0")


@pytest.fixture
def slap(load_program: Path, server: PrivateServer, tmp_path: Path) -> Slap:
    return Slap(load_program, server, tmp_path)


# SMALL stands for the same small generated load under both programs.
SAME = [
    f"SMALL {G}-execute-number=3",
    f"SMALL --csv -i 2 {G}-execute-number=3",
    f"SMALL -vvv {G}-execute-number=3",
    f"SMALL {G}-add-autoincrement {G}-load-type=write -e heap,myisam {G}-execute-number=3",
    f"SMALL {G}-guid-primary {G}-load-type=read {G}-execute-number=3",
    f"SMALL --init-command='set @a=1' --pre-query='select 100' --post-query='select 101'"
    f" {G}-execute-number=3 --post-system='exit 2'",
    f"{TABLE} -q 'select 1;select 2;select 3' -F';' --number-of-queries=7",
]


@pytest.mark.parametrize("words", SAME)
def test_words_and_statements_are_the_same(words: str, slap: Slap) -> None:
    def done(program: list[str], *options: str) -> tuple[peer.Done, list[str]]:
        line = words.replace("SMALL", peer.auto(4, 3, program))
        done, log = slap.run(program, " ".join([*options, line]))
        sent = [line for line in log if line.startswith("Query ") and not line.startswith(CHECKS)]
        return done.masked(), sent

    theirs, they_sent = done(peer.find_peer())
    ours, we_sent = done(peer.ours(slap.program), "--drop-existing")
    assert ours == theirs
    assert we_sent == they_sent


def test_a_statement_that_fails_is_a_failure_that_is_named(slap: Slap) -> None:
    done = slap.ours(f"{TABLE} -q 'select 1;select * from nosuch' -F';'")
    assert done.code == 1
    assert "error 1146 (42S02): " in done.err
    assert "client 1 of 1, statement 2 of its list" in done.err
    assert "the statement was: select * from nosuch" in done.err
    assert "Benchmark" not in done.out


def test_a_statement_that_fails_for_one_client_names_the_client(slap: Slap) -> None:
    done = slap.ours(f"{TABLE} -q 'insert into t values(1)' -c 2")
    assert done.code == 1
    assert "error 1062 (23000): Duplicate entry" in done.err
    assert "of 2, statement 1 of its list" in done.err


def test_the_schema_goes_though_the_run_fails(slap: Slap) -> None:
    words = f"{TABLE} -q 'insert into t values(1)' -c 2"
    assert slap.ours(words).code == 1
    assert slap.ask("SHOW SCHEMAS LIKE 'mysqlslap'") == []
    too_many = slap.ours(f"{SMALL} -c 10000")
    assert "max_connections" in too_many.err
    assert slap.ask("SHOW SCHEMAS LIKE 'mysqlslap'") == []
    assert slap.ours(f"{words} --no-drop").code == 1
    assert slap.ask("SHOW SCHEMAS LIKE 'mysqlslap'") == [("mysqlslap",)]


def test_errors_that_are_ignored_are_counted(slap: Slap) -> None:
    done = slap.ours(f"{TABLE} -q 'insert into t values(1)' -c 4 --ignore-errors=1062 --json")
    assert done.code == 0, done
    figures = json.loads(done.out)
    assert (figures["queries"], figures["queries_failed"]) == (1, 3)
    assert [(error["code"], error["count"]) for error in figures["errors"]] == [(1062, 3)]


def test_the_report_tells_more(slap: Slap) -> None:
    done = slap.ours(f"{SMALL} -c 2 --by-statement")
    lines = done.masked().out.splitlines()
    assert lines[0] == "Benchmark"
    assert [line.split()[0] for line in lines[1:3]] == ["Average", "Minimum"]
    assert all(line.endswith(": S.mmm seconds") for line in lines[1:3])
    assert "\tAverage number of queries per client: 3" in lines
    for words in ("Queries answered: 6,", "Response time", "Connecting, before", "Statement 3: 2 "):
        assert words in done.out
    assert done.err == ""


def test_as_many_rows_and_statements_are_made_as_were_asked_for(slap: Slap) -> None:
    asked = slap.asked(f"{SMALL} {G}-load-type=read")
    assert sum(sql.startswith("INSERT") for sql in asked) == 4
    assert sum(sql.startswith("SELECT") for sql in asked if "t1" in sql) == 3


def test_every_client_commits_though_it_reconnects(slap: Slap) -> None:
    words = f"{TABLE} -q 'insert into t values(1);insert into t values(2);insert into t values(3)'"
    asked = slap.asked(f"{words} -F';' --commit=2 --detach=1 --no-drop")
    rows = slap.ask("SELECT COUNT(*) FROM mysqlslap.t")
    assert rows == [(3,)]
    assert asked.count("SET AUTOCOMMIT=0") == 3


def test_an_empty_statement_does_not_end_the_list(slap: Slap) -> None:
    asked = slap.asked(f"{TABLE} -q 'select 1;;select 2;\n;' -F';'")
    assert [sql for sql in asked if sql.startswith("select")] == ["select 1", "select 2"]


def test_a_delimiter_may_be_long_and_counts_only_between_statements(slap: Slap) -> None:
    asked = slap.asked(f"""{TABLE} -q "select '//'//select 2/1 -- //\n//" -F//""")
    assert [sql for sql in asked if sql.startswith("select")] == ["select '//'", "select 2/1 -- //"]


def test_pre_query_is_committed_and_seen_by_the_clients(slap: Slap) -> None:
    words = f"{TABLE} --pre-query='insert into t values(7)' -q 'update t set a=a+1' --commit=1"
    slap.asked(f"{words} --no-drop")
    assert slap.ask("SELECT a FROM mysqlslap.t") == [(8,)]


def test_a_schema_that_others_made_is_not_dropped(slap: Slap) -> None:
    words = f"{TABLE} -q 'select 1' --create-schema=precious"
    slap.ask("CREATE SCHEMA precious")
    slap.ask("CREATE TABLE precious.things (a INT)")
    done = slap.ours(words)
    assert done.code == 2
    assert "--drop-existing" in done.err
    assert slap.ask("SHOW TABLES IN precious") == [("things",)]
    assert slap.ours(f"{words} --drop-existing").code == 0
    assert slap.ask("SHOW SCHEMAS LIKE 'precious'") == []


def contents(slap: Slap, schema: str) -> list[tuple[object, ...]]:
    """The schema and all that is in it."""
    return slap.ask(
        f"""SELECT 'schema', schema_name, default_character_set_name
            FROM information_schema.schemata WHERE schema_name = '{schema}'
        UNION ALL SELECT 'table', table_name, table_type
            FROM information_schema.tables WHERE table_schema = '{schema}'
        UNION ALL SELECT 'routine', routine_name, routine_type
            FROM information_schema.routines WHERE routine_schema = '{schema}'
        UNION ALL SELECT 'event', event_name, status
            FROM information_schema.events WHERE event_schema = '{schema}'"""
    )


@pytest.mark.parametrize(
    ("kind", "making"),
    [
        ("view", "CREATE VIEW precious.v AS SELECT 1"),
        ("procedure", "CREATE PROCEDURE precious.p() SELECT 1"),
        ("function", "CREATE FUNCTION precious.f() RETURNS INT RETURN 1"),
        ("event", "CREATE EVENT precious.e ON SCHEDULE EVERY 1 DAY DO SELECT 1"),
        ("nothing", "DO 0"),
    ],
)
@pytest.mark.parametrize("more", ["-a", "--create='create table t(a int)' -q 'select 1' -i 2"])
def test_a_schema_without_tables_is_somebodys_too(
    kind: str, making: str, more: str, slap: Slap
) -> None:
    slap.ask("DROP SCHEMA IF EXISTS precious")
    slap.ask("CREATE SCHEMA precious CHARACTER SET latin2")
    slap.ask(making)
    before = contents(slap, "precious")
    assert len(before) == (1 if kind == "nothing" else 2)
    done = slap.ours(f"{more} --create-schema=precious")
    assert (done.code, done.out) == (2, "")
    assert "it exists already" in done.err
    assert contents(slap, "precious") == before
    slap.ask("DROP SCHEMA precious")


def test_a_schema_of_the_default_name_may_be_somebodys(slap: Slap) -> None:
    slap.ask("DROP SCHEMA IF EXISTS mysqlslap")
    slap.ask("CREATE SCHEMA mysqlslap")
    slap.ask("CREATE TABLE mysqlslap.mine (a INT)")
    before = contents(slap, "mysqlslap")
    assert subprocess.run(slap.line(SMALL), check=False).returncode == 2
    assert contents(slap, "mysqlslap") == before
    assert subprocess.run(slap.line(f"{SMALL} --drop-existing"), check=False).returncode == 0
    assert contents(slap, "mysqlslap") == []


def test_what_others_make_in_the_schema_meanwhile_is_left(slap: Slap) -> None:
    slap.ask("DROP SCHEMA IF EXISTS fresh")
    words = "--create='create table t(a int)' -q 'select sleep(2)' --create-schema=fresh"
    with subprocess.Popen(slap.line(words), stderr=subprocess.PIPE, text=True) as slow:
        end = time.monotonic() + 30
        asleep = "SELECT id FROM information_schema.processlist WHERE info = 'select sleep(2)'"
        while not slap.ask(asleep):
            assert time.monotonic() < end
        slap.ask("CREATE TABLE fresh.others (a INT)")
        said = slow.communicate(timeout=60)[1]
    assert slow.returncode == 1
    assert "(table others)" in said
    assert slap.ask("SHOW TABLES IN fresh") == [("others",), ("t",)]
    slap.ask("DROP SCHEMA fresh")


def test_a_schema_may_have_any_name(slap: Slap) -> None:
    done = slap.ours(f"{TABLE} -q 'select 1' --create-schema='a`b'")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("more", ["", "--ps-mode=prepared", "-C", "--rate=2000", "--sql-mode=ANSI"])
def test_ways_to_ask(more: str, slap: Slap) -> None:
    words = f"{SMALL} {G}-add-autoincrement {G}-load-type=key -c 2 --number-of-queries=40 --json"
    done = slap.ours(f"{words} {more}")
    assert done.code == 0, done
    assert json.loads(done.out)["queries"] == 40


def test_a_duration_ends_the_load(slap: Slap) -> None:
    done = slap.ours(f"{SMALL} -c 2 --duration=300ms --json {G}-load-type=read")
    assert done.code == 0, done
    figures = json.loads(done.out)
    assert figures["queries"] > 0
    assert figures["queries_per_client"] == figures["queries"] // 2
    assert figures["seconds"] == [pytest.approx(0.3)]


def test_the_password_is_hidden_at_once(slap: Slap) -> None:
    done = slap.ours("-a --only-print -pother-word --pre-system='cat /proc/$PPID/cmdline >&2'")
    assert "--only-print" in done.err
    assert "other-word" not in done.err
