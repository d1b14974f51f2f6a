"""Dumps that try to reach out of the server: whatever they say, when they are loaded and when a run
uses them, no file changes beside the server's own, and nothing of the server changes beside the
database.

The watch: a folder that the server's user may write to, the server's variables, accounts and
plugins, and a text that no table may hold.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pymysql
import pytest
from dump_tricks import OUT, PAYLOADS, PREAMBLE, SECRET, dump_of, mutants, tricks
from run_lab import Lab, wait_for

from contend.data import DumpFailed, DumpRefused, Rules
from contend.data.dump.load import ACCOUNT, load_into
from contend.servers import PrivateServer, ServerBinary
from contend.servers.client import fetch, qualified, quoted
from contend.servers.errors import OptionRejected

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

LOADS: dict[str, Any] = {"skip_log_bin": True, "event_scheduler": "OFF", "local_infile": 0}
"""As the server is started that loads a dump."""

SEED = 46
MINE = "# mine\n"

_OF_ITSELF = ("gtid", "timestamp", "rand_seed", "last_insert_id", "error_count", "warning_count")
"""Variables that change by themselves begin so."""

LOOK_EVERY = 20
"""Imports. A look at all of the server takes as long as an import."""

NUMBERS = itertools.count(1)


class Watched:
    """A server, and a folder beside it, as they were at the beginning."""

    def __init__(self, server: PrivateServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.made: set[str] = set()
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        for name, text in (("bashrc", MINE), ("secret", SECRET)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o666)
        self.files_before = self.files()
        self.state_before = self.state()

    def files(self) -> dict[str, bytes]:
        """Of the folder, and what is beside the server's own folders."""
        around = self.server.folder.root.parent
        return {
            **{str(p): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()},
            **{str(p): b"" for p in (*around.iterdir(), *self.server.folder.root.iterdir())},
        }

    def state(self) -> dict[str, Any]:
        with self.server.connect() as connection:
            return {
                "variables": {
                    name: value
                    for name, value in fetch(connection, "SHOW GLOBAL VARIABLES")
                    if not str(name).startswith(_OF_ITSELF)
                },
                **{
                    table: fetch(
                        connection,
                        f"SELECT * FROM mysql.{table} WHERE User <> %s ORDER BY User, Host",
                        (ACCOUNT,),
                    )
                    for table in ("user", "db", "tables_priv", "procs_priv")
                },
                "plugins": fetch(connection, "SHOW PLUGINS"),
                "databases": [
                    name
                    for (name,) in fetch(
                        connection, "SHOW DATABASES WHERE `Database` NOT RLIKE '^m[0-9]'"
                    )
                    if name not in self.made
                ],
                "servers": fetch(connection, "SELECT * FROM mysql.servers"),
                "functions": fetch(connection, "SELECT * FROM mysql.func"),
            }

    def require_unharmed(self, name: str) -> None:
        assert self.files() == self.files_before, name
        assert self.state() == self.state_before, name
        links = [path for path in self.server.data_folder.rglob("*") if path.is_symlink()]
        assert (links, list(self.server.data_folder.rglob("*.isl"))) == ([], []), name

    def require_no_secret(self, database: str, name: str) -> None:
        with self.server.connect(database) as connection:
            for (table,) in fetch(connection, "SHOW TABLES"):
                assert SECRET not in str(_ask(connection, f"SELECT * FROM {quoted(table)}")), name


def _ask(connection: Any, statement: str) -> list[Any]:
    """Of things of a dump, which may be refused."""
    try:
        return fetch(connection, statement)
    except pymysql.err.MySQLError:
        return []


def import_it(watched: Watched, dump: bytes, *, skip_refused: bool) -> tuple[str | None, str]:
    """Load it; the database if the import stands, and how it ended."""
    database = f"m{next(NUMBERS)}"
    path = watched.server.folder.temporary / "dump.sql"
    path.write_bytes(dump)
    try:
        loaded = load_into(watched.server, path, Rules(skip_refused=skip_refused), database)
        watched.made.add(loaded.database)
        return loaded.database, "left out" if loaded.left_out else "whole"
    except DumpRefused as refused:
        return None, "beyond" if "outside its database" in refused.message else "refused"
    except DumpFailed:
        return None, "failed"
    finally:
        path.unlink()


def use_it(watched: Watched, database: str) -> None:
    """Do, as a run does it, what has everything of the dump run."""
    with watched.server.connect(database, read_timeout=30) as connection:
        for table, kind in _ask(connection, "SHOW FULL TABLES"):
            for statement in (
                f"SELECT * FROM {quoted(table)}",
                f"INSERT INTO {quoted(table)} VALUES ()",
                f"UPDATE {quoted(table)} SET a = 5",
            ):
                if kind == "BASE TABLE" or statement.startswith("SELECT"):
                    _ask(connection, statement)
        for name, kind in _ask(
            connection,
            "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES"
            f" WHERE ROUTINE_SCHEMA = '{database}'",
        ):
            how = "CALL" if kind == "PROCEDURE" else "SELECT"
            _ask(connection, f"{how} {qualified(database, name)}()")


@pytest.fixture
def watched(shared_server: Any, any_binary: ServerBinary, tmp_path: Path) -> Watched:
    return Watched(shared_server(any_binary, LOADS, confined=True), tmp_path / "outside")


def all_of(watched: Watched, dumps: dict[str, bytes], *, skip_refused: bool) -> Counter[str]:
    """Import and use one after the other; how they ended."""
    came_to: Counter[str] = Counter()
    for number, (name, dump) in enumerate(dumps.items(), 1):
        database, ended = import_it(watched, dump, skip_refused=skip_refused)
        came_to[ended] += 1
        if database is not None:
            use_it(watched, database)
            watched.require_no_secret(database, name)
        assert watched.files() == watched.files_before, name
        if number % LOOK_EVERY == 0 or number == len(dumps):
            watched.require_unharmed(f"{name}, or one before it")
    return came_to


def test_no_trick_reaches_out_of_the_server(watched: Watched) -> None:
    """Each on its own, as it stands, whatever is refused of it left out; then it is used."""
    out = str(watched.folder)
    dumps = {name: dump_of(statements, out) for name, statements in tricks().items()}
    came_to = all_of(watched, dumps, skip_refused=True)
    # The rest are of another server's language.
    assert came_to["left out"] + came_to["whole"] > len(dumps) // 2
    assert came_to["left out"] > len(dumps) // 3


@pytest.mark.parametrize("any_binary", ["mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize("skip_refused", [False, True])
def test_no_mutant_of_a_trick_does(watched: Watched, skip_refused: bool) -> None:
    drawn = mutants(SEED + skip_refused, 100)
    dumps = {f"{n} {one.name}": one.dump(str(watched.folder)) for n, one in enumerate(drawn)}
    came_to = all_of(watched, dumps, skip_refused=skip_refused)
    assert came_to["failed"] < len(dumps) // 2


def test_the_watch_sees_what_root_does(
    private_server: Any, mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    """A test of the tests: each of these would be found."""
    watched = Watched(private_server(mariadb_binary, LOADS), tmp_path / "outside")
    found = tricks()
    for name in ("general log", "outfile", "directory, MyISAM", "plugins", "user"):
        with watched.server.connect() as connection:
            connection.query("CREATE OR REPLACE DATABASE test")
            connection.query("USE test")
            for statement in (*PREAMBLE, *found[name]):
                connection.query(statement.replace(OUT, str(watched.folder)))
        with pytest.raises(AssertionError, match=name):
            watched.require_unharmed(name)
        with watched.server.connect() as connection:
            for statement in ("SET GLOBAL general_log=0", "DROP DATABASE test"):
                connection.query(statement)
            for statement in ("DELETE FROM mysql.plugin", "DROP USER IF EXISTS other"):
                connection.query(statement)
            connection.query("SET GLOBAL general_log_file=DEFAULT")
        (watched.folder / "new").unlink(missing_ok=True)
        (watched.folder / "bashrc").write_text(MINE)


def test_events_do_no_more(private_server: Any, any_binary: ServerBinary, tmp_path: Path) -> None:
    """They run at their own time, by the server itself, in a run that asks for it."""
    server = private_server(any_binary, LOADS, confined=True)
    watched = Watched(server, tmp_path / "outside")
    every = "ON SCHEDULE EVERY 1 SECOND DO"
    lines = [f"CREATE EVENT seen {every} INSERT INTO t VALUES (9, 'seen')"]
    for n, payload in enumerate(PAYLOADS.values()):
        body = f"BEGIN {' '.join(f'{one};' for one in payload)} END"
        lines.append(f"CREATE DEFINER=root@localhost EVENT e{n} {every} {body}")
    database, _ = import_it(watched, dump_of(lines, str(watched.folder)), skip_refused=True)
    assert database is not None
    with server.connect(database) as connection:
        connection.query("SET GLOBAL event_scheduler = ON")
        wait_for(lambda: fetch(connection, "SELECT 1 FROM t WHERE a = 9") != [], 15)
        # All of them were due at the same moment, and most of them fail.
        time.sleep(0.5)
        connection.query("SET GLOBAL event_scheduler = OFF")
    watched.require_no_secret(database, "events")
    watched.require_unharmed("events")


def test_the_account_has_its_database_and_nothing_else(watched: Watched) -> None:
    database, ended = import_it(watched, dump_of((), ""), skip_refused=False)
    assert ended == "whole"
    with watched.server.connect() as connection:
        grants = [one for (one,) in fetch(connection, f"SHOW GRANTS FOR {ACCOUNT}@localhost")]
    assert [one for one in grants if "GRANT USAGE ON *.*" not in one] == [
        f"GRANT ALL PRIVILEGES ON `{database}`.* TO `{ACCOUNT}`@`localhost`"
    ]


def test_a_confined_server_does_not_run_without_rights(
    private_server: Any, any_binary: ServerBinary
) -> None:
    server = private_server(any_binary, start=False, confined=True)
    with pytest.raises(OptionRejected, match="skip_grant_tables is not allowed"):
        # Taken as the option itself, by servers that do not know another one of that name.
        server.start({"loose_skip_grant_tables": "1"})
    assert not server.running


def test_a_confined_server_runs_events_if_it_is_asked_to(
    private_server: Any, any_binary: ServerBinary
) -> None:
    server = private_server(any_binary, start=False, confined=True)
    for options, state in (({}, "OFF"), ({"event_scheduler": "ON"}, "ON")):
        server.start(options)
        assert server.variables()["event_scheduler"] == state
        server.stop()


RUN = """
[experiment]
name = "fires"
question = "Does a run do what its dump says?"

[server]
options = {{ innodb_buffer_pool_size = "32M"{options} }}

[data]
schema = "import:fires"

[workload]
kind = "sql"
text = "{text}"

[load]
warmup = "20ms"
measure = "100ms"

[factors]
"load.connections" = [1, 2]

[compare]
baseline = {{ "load.connections" = 1 }}
repeats = 2
"""


def test_the_commands_do_what_no_trick_asks_for(lab: Lab) -> None:
    """Mutants through the whole import, one file each; and a run that fires what one of them
    left."""
    outside = lab.folder / "outside"
    outside.mkdir()
    (outside / "bashrc").write_text(MINE)
    (outside / "secret").write_text(SECRET)
    drawn = mutants(SEED + 2, 8)
    for n, one in enumerate(drawn):
        dump = lab.folder / f"mutant-{n}.sql"
        dump.write_bytes(one.dump(str(outside)))
        done = lab.contend("data", "import", dump, "--server", lab.server)
        assert done.returncode in (0, 1, 2), (one.name, done.stderr)
        assert "Traceback" not in done.stderr, (one.name, done.stderr)
    log = f"SET GLOBAL general_log_file='{outside}/bashrc'; SET GLOBAL general_log=1;"
    (lab.folder / "fires.sql").write_text(
        "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT);\nINSERT INTO t VALUES (1);\n"
        "DELIMITER ;;\n"
        f"CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN {log} END;;\n"
        f"CREATE PROCEDURE p() SQL SECURITY INVOKER BEGIN {log} END;;\n"
    )
    done = lab.contend("data", "import", lab.folder / "fires.sql", "--server", lab.server)
    assert done.returncode == 0, done.stderr
    for n, text in enumerate(("INSERT INTO t VALUES (NULL);", "CALL p();")):
        lab.file.write_text(RUN.format(text=text, options=""))
        done = lab.contend("run", lab.file, "--out", lab.folder / f"{n}", "--server", lab.server)
        assert "1227" in done.stderr + done.stdout, done.stderr + done.stdout
    lab.file.write_text(RUN.format(text="SELECT a FROM t;", options=", skip_grant_tables = true"))
    done = lab.run()
    assert (done.returncode, "is not allowed" in done.stderr) == (2, True), done.stderr
    assert {path.name: path.read_text() for path in outside.iterdir()} == {
        "bashrc": MINE,
        "secret": SECRET,
    }
