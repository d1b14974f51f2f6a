"""Names as statements take them."""

from __future__ import annotations


def qualified(database: str, table: str) -> str:
    """The name of a table as a statement takes it."""
    return f"{quoted(database)}.{quoted(table)}"


def quoted(name: str) -> str:
    """A name as a statement takes it."""
    return "`" + name.replace("`", "``") + "`"
