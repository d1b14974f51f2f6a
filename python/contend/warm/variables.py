"""Variables of the server that a warm-up changes for its duration, if it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pymysql

from contend.warm.journal import Journal

if TYPE_CHECKING:
    from pymysql.connections import Connection

OLD_BLOCKS_TIME = "innodb_old_blocks_time"


def set_old_blocks_time(connection: Connection[Any], journal: Journal) -> str | None:
    """Let pages that are read once count as used: what is scanned then stays in the buffer pool.

    Returns:
        Why it was not set; None if it is.
    """
    why_not = set_variable(connection, journal, OLD_BLOCKS_TIME, 0)
    return why_not and (
        f"{why_not}, so pages stay in the old part of the buffer pool and are the first to leave it"
    )


def set_variable(
    connection: Connection[Any], journal: Journal, name: str, value: int
) -> str | None:
    """Set a global variable that is a whole number. The value before is in the journal.

    Returns:
        Why it was not set; None if it is.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT @@GLOBAL.{name}")
            before = int((cursor.fetchone() or [0])[0])
            if before == value:
                return None
            journal.note_undo("variable", name=name, value=before)
            cursor.execute(f"SET GLOBAL {name} = {value}")
    except pymysql.err.MySQLError as error:
        if journal.undo and journal.undo[-1].get("name") == name:
            # The server refused, so there is nothing to put back.
            journal.undo.pop()
            journal.write()
        return f"{name} cannot be set to {value} (error {error.args[0]}: {error.args[-1]})"
    return None
