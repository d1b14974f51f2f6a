"""Reading all that there is: every row and every index of a database, every file of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.host import page_cache

if TYPE_CHECKING:
    from pymysql.connections import Connection


def read_rows(connection: Connection[Any], database: str) -> None:
    """Every row of every table through the server, and every index of it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT TABLE_NAME FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE'",
            (database,),
        )
        tables = [str(row[0]) for row in cursor.fetchall()]
        for table in tables:
            name = f"{_quoted(database)}.{_quoted(table)}"
            # Reads whole rows, whatever their columns are.
            cursor.execute(f"CHECKSUM TABLE {name} EXTENDED")
            cursor.fetchall()
            cursor.execute(
                "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS"
                " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_TYPE = 'BTREE'",
                (database, table),
            )
            for index in [str(row[0]) for row in cursor.fetchall()]:
                cursor.execute(f"SELECT COUNT(*) FROM {name} FORCE INDEX ({_quoted(index)})")
                cursor.fetchall()


def read_files(folder: Path) -> bool:
    """Every file of a database into the page cache; whether all of them are there now."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return all(page_cache.warm(path) >= path.stat().st_size for path in paths)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
