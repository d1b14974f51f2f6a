"""Runs the statements of a dump, one by one, on a server that was started for it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pymysql
from pymysql.connections import Connection

from contend.data.dump import DumpFailed, DumpRefused
from contend.data.dump.rules import Verdict, beginning, judge
from contend.data.dump.split import (
    COMPLETED,
    DUMPED,
    MESSAGE,
    SOURCE,
    DumpFile,
    Quotes,
    Splitter,
    Statement,
    cut_off,
    named_file,
)
from contend.experiment.settings.server import PRODUCTS
from contend.servers import PrivateServer
from contend.servers.client import LONG_S, SYSTEM_DATABASES, fetch, qualified, quoted
from contend.servers.errors import ConnectionLost
from contend.servers.kinds import KINDS, kind_in

_OF_DATABASE = re.compile(
    rb"^-- (?:Host: .*[ \t])?Database: +`?([^`\r\n]+?)`?[ \t\r]*$", re.MULTILINE
)
"""The first lines of a dump of one database by mysqldump, mariadb-dump and phpMyAdmin."""
_OF_SERVER = re.compile(rb"^-- Server version[ \t]+(\S+)", re.MULTILINE)
_SOURCES_MAX = 8
"""Limit of files that name one another; more is a circle."""

_ER_SYNTAX = 1064
_OTHER = frozenset({1044, 1142, 1143, 1370})
"""Error codes for statements that may be about another database."""

_NO_RIGHT = _OTHER | frozenset(
    {
        *(1045, 1095, 1141, 1227, 1396, 1410, 1419),
        # An option of the server or of this client forbids it.
        *(1148, 1290, 3948, 4166),
    }
)
"""Error codes for statements that the account, or every account of this server, may not run."""

_BEYOND = "outside the database"
_MESSAGES = "messages of programs"
_MESSAGE_WITHIN = re.compile(r"near '\S*(?:mysqldump|mariadb-dump)(?:\.exe)?: ")
"""A server's text for a statement that it includes in such a message."""

_QUOTES = (
    "SELECT FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@SESSION.sql_mode),"
    " FIND_IN_SET('ANSI_QUOTES', @@SESSION.sql_mode),"
    " @@SESSION.character_set_client IN ('big5', 'cp932', 'gbk', 'gb18030', 'sjis')"
)
"""In these character sets a byte of a character may equal a quote or a backslash."""

_REPORT_S = 0.2


@dataclass(frozen=True, slots=True)
class Rules:
    """How a dump is read.

    Args:
        database: the database to load; None if the dump has one at most.
        engine: the engine of all tables; None for those of the dump.
        skip_refused: leave out statements that the account may not run.
    """

    database: str | None = None
    engine: str | None = None
    skip_refused: bool = False


@dataclass(slots=True)
class DumpResult:
    """The result of reading a dump.

    Args:
        files: name and SHA-256 of every file that was read, in their order.
        left_out: number of statements that were not run, by subject.
    """

    database: str = ""
    files: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    statements: int = 0


def load_into(
    server: PrivateServer,
    path: Path,
    rules: Rules,
    name: str,
    on_bytes: Callable[[int], None] = lambda _bytes: None,
) -> DumpResult:
    """Load a dump and the files that it names, by an account of its own.

    Args:
        server: confined.
        name: the database, if neither the rules nor the dump name one.
        on_bytes: called now and then with the number of bytes read from the files.

    Raises:
        DumpRefused: it is damaged, cut off, or would reach beyond its database.
        DumpFailed: the server refuses a statement.
    """
    account = Account(server)
    with server.connect(user=ACCOUNT, read_timeout=LONG_S, write_timeout=LONG_S) as connection:
        if rules.engine is not None:
            connection.query(f"SET SESSION default_storage_engine = {rules.engine}")
        loader = _Loader(connection, account, server.binary.kind, rules, name, on_bytes)
        loaded = loader.load(path)
    account.keep_rights(loaded.database)
    return loaded


class _Loader:
    """Loads one dump over one connection of the account; see `load_into`."""

    def __init__(
        self,
        connection: Connection[Any],
        account: Account,
        kind: str,
        rules: Rules,
        name: str,
        on_bytes: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._account = account
        self._kind = kind
        self._rules = rules
        self._name = name
        self._on_bytes = on_bytes
        self._home: str | None = None
        self._made: set[str] = set()
        self._elsewhere: str | None = None
        self._seen: list[str] = []
        self._bytes = 0
        self._reported_s = 0.0
        self._origin = b""
        self._quotes = Quotes()
        self._loaded = DumpResult()

    def load(self, path: Path) -> DumpResult:
        self._file(path, path.name, ())
        if self._home is None:
            self._refuse_empty(path)
        # For a dump that commits by itself, or locks its tables to the end.
        for text in (b"COMMIT", b"UNLOCK TABLES"):
            self._query(f"{path}, at its end", text, text.decode())
        self._loaded.database = self._home
        return self._loaded

    # --- files ---

    def _file(self, path: Path, name: str, within: tuple[Path, ...]) -> None:
        if len(within) >= _SOURCES_MAX:
            raise DumpRefused(f"{within[-1]} names {name}, which leads back to it")
        with DumpFile(path, self._count) as file:
            statements = Splitter(file.read, str(path))
            statements.quotes = self._quotes
            for statement in statements:
                self._origin = self._origin or statements.head
                if statement.command == SOURCE:
                    other = named_file(path, statement)
                    named = statement.text.decode("utf-8", "replace")
                    self._file(other, named, (*within, path))
                elif statement.command == MESSAGE:
                    self._message(path, statement)
                else:
                    self._one(path, statement)
                statements.quotes = self._quotes
            if DUMPED.search(statements.head) and COMPLETED not in statements.tail:
                raise cut_off(path)
            self._loaded.files.append((name, file.sha256))

    def _count(self, count: int) -> None:
        self._bytes += count
        now = time.monotonic()
        if now - self._reported_s >= _REPORT_S or count == 0:
            self._reported_s = now
            self._on_bytes(self._bytes)

    def _message(self, path: Path, statement: Statement) -> None:
        """Leave out exactly one line that a program wrote, or raise DumpRefused."""
        if not self._rules.skip_refused:
            raise DumpRefused(
                f'{path}, line {statement.line}: "{beginning(statement.text)}" is a message of a '
                "program, not a statement",
                hint="Delete that line, or leave it out with `--skip-refused`.",
            )
        self._loaded.left_out[_MESSAGES] += 1

    # --- statements ---

    def _one(self, path: Path, statement: Statement) -> None:
        """Carry out the action of a statement."""
        verdict = judge(statement.text, self._rules.engine, backslash=self._quotes.backslash)
        where = f"{path}, line {statement.line}"
        match verdict.action:
            case "use":
                self._use(where, verdict)
                return
            case "create" | "drop" | "alter":
                self._database(where, statement, verdict)
                return
        if self._elsewhere is not None and not verdict.sets:
            self._loaded.left_out[f"for database {self._elsewhere}"] += 1
            return
        if verdict.action == "leave":
            self._loaded.left_out[verdict.about] += 1
        elif verdict.action == "run":
            if self._home is None and not verdict.sets:
                self._settle(where, self._default_database())
            self._run(where, verdict.text, verdict.shown)
            if verdict.requotes:
                self._read_quotes(where, verdict.shown)

    def _use(self, where: str, verdict: Verdict) -> None:
        name = verdict.name
        if name not in self._seen:
            self._seen.append(name)
        if self._is_home(where, name, verdict):
            self._elsewhere = None
            self._settle(where, name)
        else:
            self._elsewhere = name

    def _database(self, where: str, statement: Statement, verdict: Verdict) -> None:
        """CREATE, DROP or ALTER DATABASE."""
        name = verdict.name
        if verdict.action == "alter" and (not name or name == self._home):
            if self._elsewhere is None:
                self._settle(where, self._home or self._default_database())
                self._run(where, statement.text, verdict.shown)
            return
        if not self._is_home(where, name, verdict):
            return
        self._own(where, name)
        self._run(where, statement.text, verdict.shown)
        if verdict.action == "create":
            self._made.add(name)
        else:
            self._made.discard(name)

    def _is_home(self, where: str, name: str, verdict: Verdict) -> bool:
        """Whether this is the database to load. Raises DumpRefused if it is a second one and the
        caller named none."""
        wanted = self._rules.database or self._home
        if wanted is None:
            if name.lower() in SYSTEM_DATABASES:
                self._refuse_other(where, name, verdict)
                return False
            wanted = name
        if name == wanted:
            self._home = name
            return True
        if self._rules.database is None:
            self._refuse_other(where, name, verdict)
        return False

    def _refuse_other(self, where: str, name: str, verdict: Verdict) -> None:
        """Raise DumpRefused unless refused statements are left out."""
        if self._rules.skip_refused:
            self._loaded.left_out[_BEYOND] += 1
            return
        databases = [
            database
            for database in (self._home, name)
            if database and database.lower() not in SYSTEM_DATABASES
        ]
        choices = " or ".join(f"`--database {database}`" for database in databases)
        raise DumpRefused(
            f"{where}: {verdict.shown} is refused: it is not about the imported database"
            + (f", {self._home}" if self._home else ""),
            hint=f"{choices or '`--database NAME`'} imports the tables of that database only.",
        )

    def _default_database(self) -> str:
        """The database of a dump with no statement that names one. Triggers, routines or column
        defaults may name it, so it gets the name in the dump's head."""
        named = _OF_DATABASE.search(self._origin)
        own = named[1].decode("utf-8", "replace") if named else ""
        if own.lower() in SYSTEM_DATABASES:
            own = ""
        return self._rules.database or own or self._name

    def _settle(self, where: str, name: str) -> None:
        """Make the database, if the dump does not, and use it."""
        self._home = name
        if name not in self._made:
            self._own(where, name)
            create = f"CREATE DATABASE IF NOT EXISTS {quoted(name)}"
            self._query(where, create.encode(), create)
            self._made.add(name)
        use = f"USE {quoted(name)}"
        self._query(where, use.encode(), use)

    def _own(self, where: str, name: str) -> None:
        try:
            self._account.own(name)
        except pymysql.err.MySQLError as error:
            raise self._failed(where, f"the database name {name}", error) from error

    def _run(self, where: str, text: bytes, shown: str) -> None:
        """Run a statement of the dump, or leave it out if requested."""
        try:
            self._query(where, text, shown)
            self._loaded.statements += 1
        except DumpRefused:
            if not self._rules.skip_refused:
                raise
            self._loaded.left_out[_BEYOND] += 1

    def _query(self, where: str, text: bytes, shown: str) -> None:
        try:
            # Send the bytes unchanged, in the character set that the dump declares.
            self._connection.query(text)
        except (ConnectionLost, pymysql.err.MySQLError) as error:
            raise self._failed(where, shown, error) from error

    def _read_quotes(self, where: str, shown: str) -> None:
        """How quotes are read from here on, as reported by the server."""
        try:
            ((literal, names, unsafe),) = fetch(self._connection, _QUOTES)
        except (ConnectionLost, pymysql.err.MySQLError) as error:
            raise self._failed(where, shown, error) from error
        if int(unsafe):
            raise DumpRefused(
                f"{where}: {shown} sets a character set whose bytes may look like quotes",
                hint="Make the dump with --default-character-set=utf8mb4.",
            )
        self._quotes = Quotes(backslash=not int(literal), names=bool(int(names)))

    # --- errors ---

    def _failed(
        self, where: str, shown: str, error: ConnectionLost | pymysql.err.MySQLError
    ) -> DumpFailed | DumpRefused:
        code = getattr(error, "code", error.args[0] if error.args else 0)
        message = str(error.args[-1]) if error.args else str(error)
        if code in _NO_RIGHT:
            other = "; `--database NAME` names the dump's own database" if code in _OTHER else ""
            return DumpRefused(
                f"{where}: {shown} is refused: the account of an import may not act outside its "
                f"database, {self._home or self._default_database()}: {message[:300]} (error "
                f"{code})",
                hint=f"`--skip-refused` leaves such statements out{other}.",
            )
        kind, version = self._made_by()
        hint = None
        if kind and kind != self._kind:
            hint = (
                f"The dump was made by {PRODUCTS[kind]} {version}, and this server is "
                f"{PRODUCTS[self._kind]}: `--server {KINDS[kind].wanted}` loads it unchanged."
            )
        elif _MESSAGE_WITHIN.search(message):
            hint = "Delete the message of the dump program from the statement."
        elif code == _ER_SYNTAX or "collation" in message.lower():
            hint = (
                "If a different or newer server made the dump, load it there: "
                "`--server NAME` (`contend server list`)."
            )
        return DumpFailed(
            f"{where}: the {PRODUCTS[self._kind]} server refuses {shown}: {message[:300]} "
            f"(error {code})",
            hint=hint,
        )

    def _made_by(self) -> tuple[str, str]:
        """Kind and version of the server in the dump's head; empty if it has none."""
        server = _OF_SERVER.search(self._origin)
        if server is None:
            return "", ""
        version = server[1].decode("ascii", "replace")
        return kind_in(version), version

    def _refuse_empty(self, path: Path) -> NoReturn:
        wanted = self._rules.database
        if wanted is not None and self._seen:
            raise DumpRefused(
                f"{path} has no database {wanted}", hint=f"It has {', '.join(self._seen)}."
            )
        raise DumpRefused(f"{path} has no statement that makes a table")


ACCOUNT = "contend_import"

_WHO = f"'{ACCOUNT}'@'localhost'"

_ALTERED = ("PROCEDURE", "FUNCTION")
"""Objects of these kinds run with their definer's rights, which the server can change."""


class Account:
    """Create the account without rights, after dropping an old one.

    Args:
        server: queried as root; no text of a dump is sent this way.
    """

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        self._query(f"DROP USER IF EXISTS {_WHO}")
        self._query(f"CREATE USER {_WHO}")

    def own(self, database: str) -> None:
        """Grant all rights on a database, which need not exist.

        Raises:
            DumpRefused: it is a system database of the server.
        """
        if database.lower() in SYSTEM_DATABASES:
            raise DumpRefused(
                f"{database} is a system database of the server; a dump cannot be loaded into it",
                hint="`--database NAME` imports a different one of the dump; `--name NAME` "
                "names the database if the dump does not.",
            )
        # A grant treats the name as a pattern.
        pattern = re.sub(r"[\\_%]", r"\\\g<0>", database)
        self._query(f"GRANT ALL PRIVILEGES ON {quoted(pattern)}.* TO {_WHO}")

    def keep_rights(self, database: str) -> None:
        """Make all routines run with the account's rights, for every caller.

        Raises:
            DumpRefused: one cannot be changed.
        """
        for kind, name in self._of_callers(database):
            if kind in _ALTERED:
                self._query(f"ALTER {kind} {qualified(database, name)} SQL SECURITY DEFINER")
        for kind, name in self._of_callers(database):
            raise DumpRefused(
                f"the {kind.lower()} {name} would run with the rights of its caller",
                hint="Remove SQL SECURITY INVOKER from its definition.",
            )

    def _of_callers(self, database: str) -> list[tuple[str, str]]:
        with self._server.connect() as root:
            found = fetch(
                root,
                "SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES"
                " WHERE ROUTINE_SCHEMA = %s AND SECURITY_TYPE = 'INVOKER'",
                (database,),
            )
        return [(str(kind), str(name)) for kind, name in found]

    def _query(self, text: str) -> None:
        # Connect again: a load may take longer than a server keeps an idle connection.
        with self._server.connect() as root:
            root.query(text)
