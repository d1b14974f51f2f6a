"""Names as statements take them, and those that are the server's own."""

from __future__ import annotations

SYSTEM_DATABASES = frozenset({"mysql", "sys", "information_schema", "performance_schema"})


def qualified(database: str, table: str) -> str:
    """The name of a table as a statement takes it."""
    return f"{quoted(database)}.{quoted(table)}"


def quoted(name: str) -> str:
    """A name as a statement takes it."""
    return "`" + name.replace("`", "``") + "`"
