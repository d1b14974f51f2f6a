"""Variables of the server that a warm-up changes for its duration, if it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contend.servers.errors import OptionRejected
from contend.servers.variables import read_global
from contend.undo import Journal
from contend.undo.variables import change

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
        if read_global(connection, name) != value:
            change(connection, journal, name, value)
    except OptionRejected as error:
        code, *_, said = getattr(error.__cause__, "args", None) or (0, error.message)
        return f"{name} cannot be set to {value} (error {code}: {said})"
    return None
