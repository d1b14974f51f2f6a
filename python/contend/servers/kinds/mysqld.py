"""MariaDB and MySQL: a data folder that the program makes itself, options of one form.

MySQL makes a data folder itself (`--initialize-insecure`). MariaDB leaves it to a shell script
that expects an installed tree; so we feed the server's own SQL files to `mariadbd --bootstrap`, as
that script does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.servers.binary import ServerBinary
from contend.servers.errors import UnusableServer
from contend.servers.kinds.base import Initialisation, Site
from contend.servers.options import Value, as_arguments
from contend.servers.variables import (
    Differing,
    differing,
    program_defaults,
    program_options,
    valued_options,
)


class _Mysqld:
    """What the two have in common."""

    def base_arguments(self, data: Path, temporary: Path) -> list[str]:
        arguments = [f"--datadir={data}", f"--tmpdir={temporary}"]
        if os.geteuid() == 0:
            # Named, because a server refuses to be root by accident. Another user would lose the
            # signal at our death, which the kernel clears if a process changes its user.
            arguments.append("--user=root")
        return arguments

    def start_arguments(self, site: Site) -> list[str]:
        network = ["--skip-networking"]
        if site.port is not None:
            network = ["--bind-address=127.0.0.1", f"--port={site.port}"]
        return [
            f"--socket={site.socket}",
            f"--pid-file={site.pid_file}",
            "--skip-name-resolve",
            *network,
        ]

    def option_arguments(self, options: Mapping[str, Value], binary: ServerBinary) -> list[str]:
        has_flags = any(value is True for value in options.values())
        return as_arguments(options, valued_options(binary) if has_flags else frozenset())

    def known_options(self, binary: ServerBinary) -> frozenset[str]:
        return program_options(binary)

    computes_rows = False

    def without_effect(self, options: Mapping[str, Value]) -> list[str]:
        del options
        return []

    def counted(self, pid: int, log: Path) -> None:
        del pid, log


_NO_LINKS = "--skip-symbolic-links"
"""DATA DIRECTORY and INDEX DIRECTORY of a table then lead nowhere."""

_NO_EVENTS = "--event-scheduler=OFF"
"""An event of a stranger's writes at a time of its own, also while others are measured; MySQL runs
them unless it is told not to."""

_SYSTEM_TABLES = (
    ("mariadb_system_tables.sql", "mysql_system_tables.sql"),
    ("mariadb_performance_tables.sql", "mysql_performance_tables.sql"),
    ("mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"),
    ("maria_add_gis_sp_bootstrap.sql",),
    ("mariadb_sys_schema.sql", "mysql_sys_schema.sql"),
)
"""In this order; each by its newer and its older name."""


class MariaDb(_Mysqld):
    name = "mariadb"
    # No file is below /dev/null. Its own default lets statements have any.
    confinement = ("--secure-file-priv=/dev/null", _NO_LINKS, _NO_EVENTS)

    def initialisation(self, binary: ServerBinary) -> Initialisation:
        parts = [b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n"]
        # The account root has no password and may enter from this machine only: who may enter the
        # 0700 folder of the socket is decided by the file system.
        parts.append(b"SET @auth_root_socket = NULL;\n")
        parts += [_sql_file(binary.share_dir, names).read_bytes() for names in _SYSTEM_TABLES]
        # The settings of the script: a small server that checks nothing it does not need.
        arguments = ("--bootstrap", "--enforce-storage-engine=", "--max-allowed-packet=8M")
        return Initialisation(arguments, b"\n".join(parts))

    def start_arguments(self, site: Site) -> list[str]:
        arguments = super().start_arguments(site)
        if site.key_sockets is not None:
            reads, writes = site.key_sockets
            arguments += ["--handlersocket-address=/", f"--handlersocket-port={reads}"]
            arguments.append(f"--handlersocket-port-wr={writes}")
            # The folder keeps others out. Left alone the plugin makes up secrets.
            arguments += ["--handlersocket-plain-secret=", "--handlersocket-plain-secret-wr="]
        return arguments

    def differing(self, connection: Connection[Any], binary: ServerBinary) -> Differing:
        del binary
        return differing(connection, self.name)


class MySql(_Mysqld):
    name = "mysql"
    confinement = ("--secure-file-priv=NULL", _NO_LINKS, _NO_EVENTS)

    def initialisation(self, binary: ServerBinary) -> Initialisation:
        del binary
        return Initialisation(("--initialize-insecure",), b"")

    def start_arguments(self, site: Site) -> list[str]:
        # Only permission to load from a client; MariaDB has it by default.
        return [*super().start_arguments(site), "--mysqlx=OFF", "--local-infile=ON"]

    def differing(self, connection: Connection[Any], binary: ServerBinary) -> Differing:
        return differing(connection, self.name, program_defaults(binary))


def _sql_file(share: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (share / name).exists():
            return share / name
    raise UnusableServer(
        f"{share} has no {names[0]}, which a new data folder is made from.",
        hint="Install the whole server package, or get one: `contend server get mariadb`.",
    )
