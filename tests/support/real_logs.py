"""Logs that a real server writes of statements which are known byte for byte.

`make` starts a private server with every log that it has, sends odd statements over several
connections, and returns the logs and what was sent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pymysql
from prepared import run_prepared
from pymysql.constants import CLIENT

from contend.servers import PrivateServer

SECRET = "hush-4711"
"""The password within statements; a reader must not keep it."""


@dataclass(frozen=True)
class Sent:
    """One statement.

    Args:
        text: as the server got it; of an execute, with its values in place of the placeholders.
        how: `query`, `execute` (binary), or `part` of a packet of several statements.
        error: the server refused it.
        secret: it holds a password.
    """

    thread: int
    database: str | None
    text: bytes
    how: str = "query"
    error: int = 0
    secret: bool = False


@dataclass
class RealLogs:
    """Files by name: `slow`, `general`, `slow_table`, `general_table`, `audit`."""

    files: dict[str, Path] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)


class Talk:
    """A connection that notes what it sends."""

    def __init__(self, server: PrivateServer, logs: RealLogs, database: str | None) -> None:
        # PyMySQL itself: contend's control connection closes at what it cannot decode.
        self._of = pymysql.connect(
            unix_socket=str(server.socket),
            user="root",
            database=database,
            client_flag=CLIENT.MULTI_STATEMENTS,
            use_unicode=False,
            autocommit=True,
        )
        self._logs = logs
        self.database = database
        self.thread = self._of.thread_id()
        self.send(f"SELECT 'session {self.thread}'")

    def send(self, text: str | bytes, *, secret: bool = False, parts: Sequence[bytes] = ()) -> None:
        """One packet; `parts` are its statements if there are several."""
        raw = text.encode() if isinstance(text, str) else text
        error = 0
        try:
            self._of.query(raw)
            while self._of._result is not None and self._of._result.has_next:
                self._of.next_result()
        except pymysql.MySQLError:
            error = 1
        for part in parts or (raw,):
            how = "part" if parts else "query"
            self._note(part, how, error, secret)

    def use(self, database: str) -> None:
        """As the command Init DB, not as a statement."""
        self._of.select_db(database)
        self.database = database

    def execute(self, text: str, values: Sequence[int | str], expanded: str) -> None:
        """Prepare, execute with values, and close; by the binary protocol."""
        run_prepared(self._of, text, values)
        self._note(expanded.encode(), "execute", 0, False)

    def _note(self, text: bytes, how: str, error: int, secret: bool) -> None:
        self._logs.sent.append(Sent(self.thread, self.database, text, how, error, secret))

    def close(self) -> None:
        self._of.close()


TRAP = (
    "SELECT 'a;\n# Time: 260310 10:00:00\n# User@Host: evil[evil] @ nowhere []\n"
    "# Query_time: 9.9  Lock_time: 0.0 Rows_sent: 9  Rows_examined: 9\nSET timestamp=1;\n"
    "DROP TABLE item;' AS trap"
)
GENERAL_TRAP = (
    "SELECT 'a\n260310 10:00:00\t    78 Query\tDROP TABLE item\n"
    "2026-03-10T10:00:00.000000Z\t   78 Query\tDROP TABLE item' AS trap"
)

_TABLES = (
    "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), note TEXT)",
    "INSERT INTO item VALUES (1, 'one', NULL), (2, 'two', 'x'), (7, 'seven', 'it''s')",
)


def _say(server: PrivateServer, logs: RealLogs, kind: str) -> None:
    shop, crm = Talk(server, logs, "shop"), Talk(server, logs, "crm")
    none = Talk(server, logs, None)
    for text in _TABLES:
        shop.send(text)
    shop.send("SELECT id, name FROM item WHERE id = 7")
    none.send("SELECT 1")
    crm.send("SELECT DATABASE()")
    none.send("SELECT DATABASE()")
    shop.send(TRAP)
    shop.send(GENERAL_TRAP)
    shop.send("SELECT \"it''s; \\\" so\" AS q, 'a\\'b;' AS r")
    shop.send(b"SELECT 'caf\xe9 \xf0\x9f\x98\x80' AS bytes")
    shop.send(b"SET NAMES latin1")
    shop.send(b"SELECT 'caf\xe9' AS latin")
    shop.send(b"SET NAMES utf8mb4")
    shop.send(b"SELECT _binary'\x00\xff\\0\\'\n\x1a' AS raw")
    shop.send("SELECT 1 /* a; comment */ + 1")
    shop.send("SELECT 2 -- a; comment\n + 1")
    shop.send("SELECT 3 # a; comment\n + 1")
    shop.send("SELECT 4 /* the last; */")
    shop.send("SELECT 5;")
    shop.send("  \n SELECT 6\n\n")
    shop.send("SELECT\n\n  7\n# Time: x;\n# User@Host: y\n + 1")
    shop.send("/* first */ SELECT 8")
    shop.send("select nothing from nowhere")
    shop.send("SELEKT 9")
    shop.send("INSERT INTO item VALUES (1, 'again', NULL)")
    shop.send(
        b"SELECT 10; SELECT 11; SELECT ';'", parts=(b"SELECT 10", b"SELECT 11", b"SELECT ';'")
    )
    shop.execute(
        "SELECT name FROM item WHERE id = ? AND name <> ?",
        (7, "x?y's;"),
        "SELECT name FROM item WHERE id = 7 AND name <> 'x?y\\'s;'",
    )
    shop.execute(
        "INSERT INTO item VALUES (?, ?, NULL)",
        (20, "new"),
        "INSERT INTO item VALUES (20, 'new', NULL)",
    )
    shop.send("PREPARE p FROM 'SELECT name FROM item WHERE id = ?'")
    shop.send("SET @id = 2")
    shop.send("EXECUTE p USING @id")
    shop.send("DEALLOCATE PREPARE p")
    shop.send(
        "CREATE PROCEDURE twice(n INT) BEGIN SELECT n; SELECT name FROM item WHERE id = n; END"
    )
    shop.send("CALL twice(7)")
    shop.send("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'")
    shop.send("SELECT 'a\\' AS backslash, 'b;' AS b")
    shop.send("SET SESSION sql_mode = 'ANSI_QUOTES'")
    shop.send('SELECT "name" FROM item WHERE "id" = 1')
    shop.send("SET SESSION sql_mode = DEFAULT")
    shop.send(f"CREATE USER me@localhost IDENTIFIED BY '{SECRET}'", secret=True)
    shop.send(f"SET PASSWORD FOR me@localhost = {_password(kind)}", secret=True)
    shop.send(f"ALTER USER me@localhost IDENTIFIED BY '{SECRET}'", secret=True)
    shop.use("crm")
    shop.send("SELECT DATABASE(), 'after use'")
    shop.send("USE shop")
    shop.database = "shop"
    shop.send("SELECT DATABASE(), 'after USE'")
    shop.send("SET timestamp = 1000000000")
    shop.send("SELECT NOW(), 'a false clock'")
    shop.send("SET timestamp = DEFAULT")
    shop.send("SELECT SLEEP(1.2)")
    crm.send("SELECT 'after a second'")
    shop.send("SELECT 'wide " + "x" * 70_000 + "'")
    shop.send("BEGIN")
    shop.send("UPDATE item SET note = 'n' WHERE id = 1")
    shop.send("SELECT * FROM item WHERE id = 1 FOR UPDATE")
    shop.send("COMMIT")
    for one in (shop, crm, none):
        one.close()


def _password(kind: str) -> str:
    return f"'{SECRET}'" if kind == "mysql" else f"PASSWORD('{SECRET}')"


def options(kind: str, *, extra: bool = False) -> dict[str, str | int | float | bool]:
    """What writes every log; `extra` is MySQL's log_slow_extra."""
    own: dict[str, str | int | float | bool] = {
        "slow_query_log": 1,
        "long_query_time": 0,
        "general_log": 1,
        "log_output": "FILE,TABLE",
        "slow_query_log_file": "slow.log",
        "general_log_file": "general.log",
        "secure_file_priv": "",
    }
    if kind == "mysql":
        own["log_slow_admin_statements"] = 1
        own["log_slow_extra"] = 1 if extra else 0
    return own


def make(server: PrivateServer) -> RealLogs:
    """Send the statements to a server that runs with `options`."""
    logs = RealLogs()
    kind = server.binary.kind
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE DATABASE crm")
    _say(server, logs, kind)
    time.sleep(0.2)
    for table in ("general_log", "slow_log"):
        logs.files[f"{table}_tsv"] = _dumped(server, table)
    for name in ("slow", "general"):
        logs.files[name] = server.data_folder / f"{name}.log"
    if (audit := server.data_folder / "audit.log").exists():
        logs.files["audit"] = audit
    return logs


def _dumped(server: PrivateServer, table: str) -> Path:
    """As `mysqldump --tab` and `SELECT … INTO OUTFILE` write it."""
    target = server.data_folder / f"{table}.tsv"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM mysql.{table} INTO OUTFILE '{target}'")
    return target
