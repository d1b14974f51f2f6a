"""The command that makes a new data folder, and what is fed to it.

MySQL makes one itself (`--initialize-insecure`). MariaDB leaves it to a shell script that expects
an installed tree; so we feed the server's own SQL files to `mariadbd --bootstrap`, as that script
does.
"""

from __future__ import annotations

from pathlib import Path

from contend.servers.binary import ServerBinary
from contend.servers.errors import UnusableServer

_MARIADB_SQL = (
    ("mariadb_system_tables.sql", "mysql_system_tables.sql"),
    ("mariadb_performance_tables.sql", "mysql_performance_tables.sql"),
    ("mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"),
    ("maria_add_gis_sp_bootstrap.sql",),
    ("mariadb_sys_schema.sql", "mysql_sys_schema.sql"),
)
"""In this order; each by its newer and its older name."""


def initialise_arguments(binary: ServerBinary) -> list[str]:
    """What to add to the server's command line so that it makes a data folder and ends."""
    if binary.kind == "mysql":
        return ["--initialize-insecure"]
    # The settings of the script: a small server that checks nothing it does not need.
    return ["--bootstrap", "--enforce-storage-engine=", "--max-allowed-packet=8M"]


def initialise_sql(binary: ServerBinary) -> bytes:
    """What the server reads from its standard input while it makes a data folder."""
    if binary.kind == "mysql":
        return b""
    parts = [b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n"]
    # The account root has no password and may enter from this machine only: who may enter the
    # 0700 folder of the socket is decided by the file system.
    parts.append(b"SET @auth_root_socket = NULL;\n")
    parts += [_sql_file(binary.share_dir, names).read_bytes() for names in _MARIADB_SQL]
    return b"\n".join(parts)


def _sql_file(share: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (share / name).exists():
            return share / name
    raise UnusableServer(
        f"{share} has no {names[0]}, which a new data folder is made from.",
        hint="Install the whole server package, or get one: `contend server get mariadb`.",
    )
