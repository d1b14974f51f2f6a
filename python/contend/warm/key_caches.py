"""Caches that a statement fills: MyISAM's key caches, and the indexes in Aria's page cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pymysql

from contend.errors import RequestError
from contend.servers.statements import qualified, quoted
from contend.warm.model import Cache, Item

if TYPE_CHECKING:
    from pymysql.connections import Connection


def load_index(connection: Connection[Any], item: Item) -> str | None:
    """Load all indexes of a table; why not all of it could be, or None. A table that is to be in a
    named key cache is given to it first, and stays there."""
    name = qualified(item.table.database, item.table.name)
    if item.key_cache is not None:
        refused = _refusal(connection, f"CACHE INDEX {name} IN {quoted(item.key_cache)}")
        if refused is not None:
            return refused
    refused = _refusal(connection, f"LOAD INDEX INTO CACHE {name}")
    if refused is None:
        return None
    # Leaves of different block sizes cannot be loaded together; the pages above them can.
    without = _refusal(connection, f"LOAD INDEX INTO CACHE {name} IGNORE LEAVES")
    return refused if without is not None else f"without its leaves: {refused}"


def reloading(engine: str, tables: Sequence[str]) -> tuple[str, ...] | None:
    """Statements that bring these tables back into an emptied cache within moments, from files that
    are in the page cache; None if the engine has none."""
    if engine.lower() != "myisam":
        return None
    return tuple(f"LOAD INDEX INTO CACHE {quoted(table)}" for table in tables)


def _refusal(connection: Connection[Any], statement: str) -> str | None:
    """Such statements say what went wrong in the rows of their result."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            rows = [[str(word) for word in row] for row in cursor.fetchall()]
    except pymysql.err.MySQLError as error:
        return f"{error.args[-1]} ({error.args[0]})"
    wrong = [row[-1] for row in rows if row[-2].lower() == "error" or row[-1] != "OK"]
    return wrong[0] if wrong else None


def named_key_cache(connection: Connection[Any], name: str) -> Cache:
    """A key cache that somebody has made.

    Raises:
        RequestError: there is none of that name.
    """
    size = 0
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT @@GLOBAL.{quoted(name)}.key_buffer_size")
            size = int((cursor.fetchone() or (0,))[0] or 0)
    except pymysql.err.MySQLError:
        pass
    if not size:
        raise RequestError(
            f"the server has no key cache {name}.",
            hint=f"Make it first: SET GLOBAL {name}.key_buffer_size = 134217728.",
        )
    return Cache(f"myisam {name}", f"MyISAM's key cache {name}", size, None, 1024)
