"""Which tablespaces, tables and indexes an InnoDB server has, as its information schema says.

MariaDB calls the views INNODB_SYS_TABLES and so on, MySQL INNODB_TABLES and so on. All of them want
the privilege PROCESS. None reads a table or a page of the buffer pool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.errors import WorkError
from contend.servers.client import SYSTEM_DATABASES, fetch
from contend.servers.kinds import KINDS

_ACCESS_DENIED = (1044, 1045, 1227)
CLUSTERED_WITHOUT_KEY = "GEN_CLUST_INDEX"
"""The index that holds the rows of a table without a primary key."""

_HEX = re.compile("@([0-9a-f]{4})")
_PARTITION = re.compile(r"#[pP]#")


class NoCatalogue(WorkError):
    """The server does not say which tablespaces it has."""


@dataclass(frozen=True, slots=True)
class TablespaceIndex:
    """An index of a table, or of one of its partitions.

    Args:
        id: the server's number of it, which its pages bear.
        name: as `SHOW CREATE TABLE` has it; `PRIMARY` or `CLUSTERED_WITHOUT_KEY`
            holds the rows.
        table: `database.table` in plain letters.
        root: the number of its root page.
    """

    id: int
    name: str
    table: str
    partition: str | None
    space: int
    root: int


@dataclass(frozen=True)
class Catalogue:
    """What a server has.

    Args:
        indexes: of all tables, those of the server itself too.
        files: space id → its file, as the server names it: relative to its data folder or not.
        without_indexes: space id → table, of those whose indexes the server does not tell: MySQL
            lists none of partitions.
    """

    indexes: tuple[TablespaceIndex, ...]
    files: Mapping[int, str]
    without_indexes: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def by_space(self) -> Mapping[int, tuple[TablespaceIndex, ...]]:
        """The indexes of each tablespace."""
        by_space: dict[int, list[TablespaceIndex]] = {}
        for index in self.indexes:
            by_space.setdefault(index.space, []).append(index)
        return {space: tuple(indexes) for space, indexes in by_space.items()}

    @cached_property
    def tables(self) -> Mapping[str, tuple[TablespaceIndex, ...]]:
        """The indexes of each table, in the server's order."""
        by_table: dict[str, list[TablespaceIndex]] = {}
        for index in self.indexes:
            by_table.setdefault(index.table, []).append(index)
        return {table: tuple(indexes) for table, indexes in by_table.items()}

    def shared(self, space: int) -> bool:
        """Whether several tables lie in the tablespace, so that a space id says no table."""
        return len({(index.table, index.partition) for index in self.by_space.get(space, ())}) > 1


def is_system(table: str) -> bool:
    """Whether a `database.table` is the server's own."""
    return table.partition(".")[0] in SYSTEM_DATABASES


def read_catalogue(connection: Connection[Any], kind: str) -> Catalogue:
    """Ask a server for its tablespaces.

    Args:
        connection: of a user with the privilege PROCESS.
        kind: `mariadb` or `mysql`.

    Raises:
        NoCatalogue: it does not say.
    """
    prefix = KINDS[kind].innodb_tables
    rows = _ask(
        connection,
        "SELECT t.NAME, i.INDEX_ID, i.NAME, t.SPACE, i.PAGE_NO"
        f" FROM information_schema.{prefix}TABLES t"
        f" LEFT JOIN information_schema.{prefix}INDEXES i ON t.TABLE_ID = i.TABLE_ID"
        " ORDER BY t.NAME, i.INDEX_ID",
    )
    plain = plain_names(connection, {str(row[0]) for row in rows})
    indexes = tuple(
        TablespaceIndex(int(number), str(name), *plain[str(table)], int(space), int(root))
        for table, number, name, space, root in rows
        if number is not None and _has_tree(root) and str(table) in plain
    )
    without = {
        int(space): plain[str(table)][0]
        for table, number, _name, space, _root in rows
        if number is None and str(table) in plain
    }
    files = _ask(connection, KINDS[kind].tablespace_files)
    named = {int(row[3]): f"./{row[0]}.ibd" for row in rows if int(row[3]) != 0}
    paths = {int(space): _text(path) for space, path in files if path}
    return Catalogue(indexes, named | paths, without)


def _has_tree(root: int | None) -> bool:
    """A full-text index has no tree of its own, but tables of the server's. Of its root page
    MariaDB says NULL, other servers say 0 or the greatest number there is."""
    return root is not None and 0 < int(root) < 2**32 - 1


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def plain_names(
    connection: Connection[Any], names: Iterable[str]
) -> dict[str, tuple[str, str | None]]:
    """InnoDB's names of tables (`db/t@002dx#P#p0`) → `db.t-x` and the partition.

    Names without a database (the server's own dictionary) are left out.
    """
    found = {}
    for name in names:
        database, slash, table = name.partition("/")
        if slash:
            parts = _PARTITION.split(table, maxsplit=1)
            words = [_decoded(connection, part) for part in (database, *parts)]
            partition = words[2] if len(words) > 2 else None
            found[name] = f"{words[0]}.{words[1]}", partition
    return found


def _decoded(connection: Connection[Any], text: str) -> str:
    """A name of a file as the name of a table: `@` and four hexadecimal digits are a letter. Some
    accented letters have other codes, which MariaDB alone can be asked for; of MySQL such a name
    stays as it is in the file."""
    plain = _HEX.sub(lambda match: chr(int(match[1], 16)), text)
    if "@" not in _HEX.sub("", text):
        return plain
    try:
        with connection.cursor() as cursor:
            # The name comes from the server, and holds no quote: those are encoded too.
            cursor.execute("SELECT CONVERT(_filename'" + text.replace("'", "") + "' USING utf8mb4)")
            row = cursor.fetchone()
    except pymysql.err.MySQLError:
        return text
    return str(row[0]) if row else text


def _ask(connection: Connection[Any], statement: str) -> list[tuple[Any, ...]]:
    try:
        return fetch(connection, statement)
    except pymysql.err.MySQLError as error:
        said = str(error.args[-1])
        if error.args[0] in _ACCESS_DENIED:
            raise NoCatalogue(
                "this user may not see InnoDB's tablespaces: it lacks the privilege PROCESS",
                hint="GRANT PROCESS ON *.* to the user, or log in as one that has it.",
            ) from error
        raise NoCatalogue(f"the server does not say which tablespaces it has: {said}") from error
