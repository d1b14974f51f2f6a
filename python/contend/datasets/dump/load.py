"""The statements of a dump, one by one, into a server that was started for it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql

from contend.datasets.dump import DumpFailed, DumpRefused
from contend.datasets.dump.rules import KINDS, Verdict, judge
from contend.datasets.dump.split import SOURCE, DumpFile, Splitter, Statement
from contend.servers.client import SYSTEM_DATABASES, quoted
from contend.servers.errors import ConnectionLost

if TYPE_CHECKING:
    from pymysql.connections import Connection

_DUMPED = re.compile(rb"^-- (MySQL|MariaDB) dump ", re.MULTILINE)
_OF_SERVER = re.compile(rb"^-- Server version[ \t]+(\S+)", re.MULTILINE)
_COMPLETED = b"-- Dump completed"
_TAIL_BYTES = 4096
_SOURCES_MAX = 8
"""Files that lead to one another; more is a circle."""

_CUT_OFF = "Copy it again from where it was made, or make it again."
_ER_SYNTAX = 1064
_TELL_S = 0.2


@dataclass(frozen=True, slots=True)
class Rules:
    """How a dump is read.

    Args:
        database: which one of the dump is taken; None if it has one at most.
        engine: that all tables get; None for those of the dump.
        allow: kinds of statements that are run although they are refused otherwise.
        skip: kinds that are left out.
    """

    database: str | None = None
    engine: str | None = None
    allow: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()


@dataclass(slots=True)
class DumpResult:
    """What came of it.

    Args:
        database: where the tables are now.
        files: name and SHA-256 of every file that was read, in their order.
        left_out: statements that were not run, by their kind, or by the other database.
        statements: how many were run.
    """

    database: str = ""
    files: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    statements: int = 0


class Loader:
    """Loads one dump over one connection.

    Args:
        connection: to a server of contend's own; no database is chosen.
        kind: of the server, `mariadb` or `mysql`.
        rules: what is taken and what is refused.
        name: of the database, if neither the dump nor the rules name one.
        on_bytes: is told how many bytes of the files were read so far, now and then.
    """

    def __init__(
        self,
        connection: Connection[Any],
        kind: str,
        rules: Rules,
        name: str,
        on_bytes: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._kind = kind
        self._rules = rules
        self._name = name
        self._on_bytes = on_bytes
        self._home: str | None = None
        self._made: set[str] = set()
        self._elsewhere: str | None = None
        self._seen: list[str] = []
        self._bytes = 0
        self._told_s = 0.0
        self._origin = b""
        self._loaded = DumpResult()

    def load(self, path: Path) -> DumpResult:
        """Load the file and those that it names.

        Raises:
            DumpRefused: it is damaged, cut off, or would reach beyond its database.
            DumpFailed: the server refuses a statement.
        """
        refuse_cut_off(path)
        self._file(path, path.name, ())
        if self._home is None:
            self._refuse_empty(path)
        # Of a dump that commits by itself, or locks its tables to the end.
        self._query(b"COMMIT")
        self._query(b"UNLOCK TABLES")
        self._loaded.database = self._home or self._name
        return self._loaded

    # --- files ---

    def _file(self, path: Path, name: str, within: tuple[Path, ...]) -> None:
        if len(within) >= _SOURCES_MAX:
            raise DumpRefused(f"{within[-1]} names {name}, which leads back to itself")
        with DumpFile(path, self._count) as file:
            statements = Splitter(file.read, str(path))
            for statement in statements:
                self._origin = self._origin or statements.head
                if statement.command == SOURCE:
                    self._source(path, statement, within)
                elif self._one(path, statement):
                    statements.backslash = self._backslash_escapes()
            if _DUMPED.search(statements.head) and _COMPLETED not in statements.tail:
                raise cut_off(path)
            self._loaded.files.append((name, file.sha256))

    def _source(self, path: Path, statement: Statement, within: tuple[Path, ...]) -> None:
        named = statement.text.decode("utf-8", "replace")
        outside = Path(named).is_absolute() or ".." in Path(named).parts
        if outside and "files" not in self._rules.allow:
            raise DumpRefused(
                f"{path}, line {statement.line}: it reads {named}, which is outside of its folder",
                hint="`--allow files` lets it.",
            )
        other = path.parent / named
        if not other.is_file():
            raise DumpRefused(
                f"{path}, line {statement.line}: it reads {named}, which is not beside it",
                hint=f"Put {Path(named).name} into {other.parent}.",
            )
        self._file(other, named, (*within, path))

    def _count(self, count: int) -> None:
        self._bytes += count
        now = time.monotonic()
        if now - self._told_s >= _TELL_S or count == 0:
            self._told_s = now
            self._on_bytes(self._bytes)

    # --- statements ---

    def _one(self, path: Path, statement: Statement) -> bool:
        """Do what is due; whether it may have changed how quotes are read."""
        verdict = judge(statement.text, self._home, self._rules.engine)
        where = f"{path}, line {statement.line}"
        match verdict.action:
            case "use":
                self._use(where, verdict)
                return False
            case "create" | "drop" | "alter":
                self._database(where, statement, verdict)
                return False
        if self._elsewhere is not None and not verdict.sets:
            self._loaded.left_out[f"of database {self._elsewhere}"] += 1
            return False
        if verdict.action == "pass":
            return False
        if verdict.action == "refuse" and not self._is_allowed(where, verdict):
            return False
        if self._home is None and not verdict.sets:
            self._settle(self._rules.database or self._name)
        self._run(where, verdict.text or statement.text, verdict.words)
        return verdict.sets_mode

    def _is_allowed(self, where: str, verdict: Verdict) -> bool:
        """Whether to run what is refused otherwise; raises DumpRefused if nothing was said of it.

        What another database keeps out of reach is left out if one database was asked for.
        """
        if verdict.kind in self._rules.allow:
            return True
        if verdict.kind in self._rules.skip:
            self._loaded.left_out[verdict.kind] += 1
            return False
        means = KINDS[verdict.kind]
        about = "" if verdict.why == means else f" ({means})"
        raise DumpRefused(
            f"{where}: {verdict.words} is refused: {verdict.why}",
            hint=f"`--skip {verdict.kind}` leaves such statements out, "
            f"`--allow {verdict.kind}` runs them{about}.",
        )

    def _use(self, where: str, verdict: Verdict) -> None:
        name = verdict.name
        if name not in self._seen:
            self._seen.append(name)
        if self._is_home(where, name, verdict):
            self._elsewhere = None
            self._settle(name)
        elif self._others_allowed:
            self._elsewhere = None
            self._go(name)
        else:
            self._elsewhere = name

    def _database(self, where: str, statement: Statement, verdict: Verdict) -> None:
        """CREATE, DROP or ALTER DATABASE."""
        name = verdict.name
        if verdict.action == "alter" and (not name or name == self._home):
            if self._elsewhere is None:
                self._settle(self._home or self._rules.database or self._name)
                self._run(where, statement.text, verdict.words)
            return
        if not self._is_home(where, name, verdict) and not self._others_allowed:
            return
        self._run(where, statement.text, verdict.words)
        if verdict.action == "create":
            self._made.add(name)
        else:
            self._made.discard(name)

    @property
    def _others_allowed(self) -> bool:
        return "other-database" in self._rules.allow and self._rules.database is None

    def _is_home(self, where: str, name: str, verdict: Verdict) -> bool:
        """Whether this database is the one that is taken. Raises DumpRefused if it is a second one
        and nothing was said of which."""
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
        """Raise DumpRefused unless something was said of other databases."""
        if "other-database" in self._rules.skip | self._rules.allow:
            return
        choice = [
            database
            for database in (self._home, name)
            if database and database.lower() not in SYSTEM_DATABASES
        ]
        take = " or ".join(f"`--database {database}`" for database in choice)
        raise DumpRefused(
            f"{where}: {verdict.words} is refused: {KINDS['other-database']}"
            + (f", {self._home}" if self._home else ""),
            hint=f"{take or '`--database NAME`'} takes the tables of that one and leaves the "
            "others out.",
        )

    def _settle(self, name: str) -> None:
        """Make the database, if the dump does not, and go there."""
        self._home = name
        self._go(name)

    def _go(self, name: str) -> None:
        if name not in self._made:
            self._query(f"CREATE DATABASE IF NOT EXISTS {quoted(name)}".encode())
            self._made.add(name)
        self._query(f"USE {quoted(name)}".encode())

    def _run(self, where: str, text: bytes, words: str) -> None:
        try:
            self._query(text)
        except (ConnectionLost, pymysql.err.MySQLError) as error:
            raise self._failed(where, words, error) from error
        self._loaded.statements += 1

    def _query(self, text: bytes) -> None:
        # Bytes go as they are, in whatever character set the dump says.
        self._connection.query(text)

    def _backslash_escapes(self) -> bool:
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT @@SESSION.sql_mode")
            row = cursor.fetchone()
        return "NO_BACKSLASH_ESCAPES" not in str(row[0] if row else "")

    # --- what went wrong ---

    def _failed(
        self, where: str, words: str, error: ConnectionLost | pymysql.err.MySQLError
    ) -> DumpFailed:
        code = getattr(error, "code", error.args[0] if error.args else 0)
        said = str(error.args[-1]) if error.args else str(error)
        named = {"mariadb": "MariaDB", "mysql": "MySQL"}
        kind, version = self._made_by()
        hint = None
        if kind and kind != self._kind:
            use = "mysql@sid" if kind == "mysql" else "mariadb"
            hint = (
                f"The dump was made by {named[kind]} {version}, and this server is "
                f"{named[self._kind]}: `--server {use}` loads it as it is."
            )
        elif code == _ER_SYNTAX or "collation" in said.lower():
            hint = (
                "If the dump was made by another server, or a newer one, load it there: "
                "`--server NAME` (`contend server list`)."
            )
        return DumpFailed(
            f"{where}: the {named[self._kind]} server refuses {words}: {said[:300]} (error {code})",
            hint=hint,
        )

    def _made_by(self) -> tuple[str, str]:
        """The kind and version of the server that the dump says it is of; empty if it does not."""
        server = _OF_SERVER.search(self._origin)
        if server is None:
            return "", ""
        version = server[1].decode("ascii", "replace")
        kind = "mariadb" if "mariadb" in version.lower() else "mysql"
        return kind, version

    def _refuse_empty(self, path: Path) -> None:
        wanted = self._rules.database
        if wanted is not None and self._seen:
            raise DumpRefused(
                f"{path} has no database {wanted}", hint=f"It has {', '.join(self._seen)}."
            )
        raise DumpRefused(f"{path} holds no statement that makes a table")


def refuse_cut_off(path: Path) -> None:
    """Look at both ends of a dump that is not packed, before minutes of loading."""
    try:
        with path.open("rb") as file:
            head = file.read(_TAIL_BYTES)
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except OSError:
        return  # Who reads it says why it cannot be read.
    if _DUMPED.search(head) and _COMPLETED not in tail:
        raise cut_off(path)


def cut_off(path: Path) -> DumpRefused:
    return DumpRefused(
        f'{path} is cut off: it begins as a dump and does not end with "-- Dump completed"',
        hint=f"{_CUT_OFF} One that was made with --skip-comments says neither.",
    )
