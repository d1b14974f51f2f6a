"""MariaDB and MySQL: the server program makes its data folder; both use one form of options.

MySQL makes a data folder itself (`--initialize-insecure`). MariaDB leaves it to a shell script that
expects an installed tree. So contend feeds the server's own SQL files to `mariadbd --bootstrap`,
like that script.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.experiment.settings.server import MARIADB, MYSQL
from contend.servers.binary import ServerBinary
from contend.servers.client import fetch
from contend.servers.errors import UnusableServer
from contend.servers.kinds.base import Initialisation, Kind, Site
from contend.servers.kinds.removed import OF_MARIADB, OF_MYSQL
from contend.servers.options import Value, as_arguments, as_number
from contend.servers.variables import (
    SECRETS,
    Differing,
    program_defaults,
    program_options,
    valued_options,
)


class _Mysqld(Kind):
    """The common part of the two."""

    def base_arguments(self, data: Path, temporary: Path) -> list[str]:
        arguments = [f"--datadir={data}", f"--tmpdir={temporary}"]
        if os.geteuid() == 0:
            # Explicit, because a server refuses to run as root by accident. A different user would
            # lose the signal at contend's death: the kernel clears it on a change of user.
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


_NO_LINKS = "--skip-symbolic-links"
"""Disables DATA DIRECTORY and INDEX DIRECTORY of tables."""

_NO_EVENTS = "--event-scheduler=OFF"
"""A stranger's event writes at any time, even during the measurement of others; MySQL runs events
by default."""

_SYSTEM_TABLES = (
    ("mariadb_system_tables.sql", "mysql_system_tables.sql"),
    ("mariadb_performance_tables.sql", "mysql_performance_tables.sql"),
    ("mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"),
    ("maria_add_gis_sp_bootstrap.sql",),
    ("mariadb_sys_schema.sql", "mysql_sys_schema.sql"),
)
"""In this order; each by its newer and its older name."""


class MariaDb(_Mysqld):
    name = MARIADB
    programs = ("mariadbd", "mysqld")
    removed = OF_MARIADB
    package = "mariadb-server-core"
    extras: Mapping[str, str] = {
        "rocksdb": "mariadb-plugin-rocksdb",
        "handlersocket": "mariadb-server",
        "spider": "mariadb-plugin-spider",
        "galera": "galera-4",
    }
    suites: Mapping[str, str] = {"10.5": "bullseye", "10.11": "bookworm", "11.8": "trixie"}
    plugin_options: Mapping[str, tuple[str, ...]] = {
        "rocksdb": ("--plugin-load-add=ha_rocksdb",),
        # Its authors never called it more than beta.
        "handlersocket": ("--plugin-maturity=beta", "--plugin-load-add=handlersocket"),
        "spider": ("--plugin-load-add=ha_spider",),
        # A library, not a plugin: a node of a cluster gets its path.
        "galera": (),
    }
    share_folders = ("mariadb", "mysql", "")
    plugin_folders = ("*/mariadb*/plugin", "mariadb/plugin", "mysql/plugin")
    index_caches = ("aria_pagecache_buffer_size", "aria_sort_buffer_size")
    patience = "SET SESSION max_statement_time = 0, lock_wait_timeout = 300"
    connection_threads = "SELECT ID, TID FROM information_schema.PROCESSLIST"
    metrics_on = "ENABLED = 1"
    innodb_tables = "INNODB_SYS_"
    tablespace_files = "SELECT SPACE, FILENAME FROM information_schema.INNODB_SYS_TABLESPACES"
    has_key_caches = True
    has_query_cache = True
    # No file is below /dev/null. MariaDB's default allows statements to read any file.
    confinement = ("--secure-file-priv=/dev/null", _NO_LINKS, _NO_EVENTS)

    def initialisation(self, binary: ServerBinary) -> Initialisation:
        parts = [b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n"]
        # The account root has no password and is limited to this machine: the file system controls
        # access to the 0700 folder of the socket.
        parts.append(b"SET @auth_root_socket = NULL;\n")
        parts += [_sql_file(binary.share_dir, names).read_bytes() for names in _SYSTEM_TABLES]
        # The settings of the script: a small server without needless checks.
        arguments = ("--bootstrap", "--enforce-storage-engine=", "--max-allowed-packet=8M")
        return Initialisation(arguments, b"\n".join(parts))

    def start_arguments(self, site: Site) -> list[str]:
        arguments = super().start_arguments(site)
        if site.key_sockets is not None:
            reads, writes = site.key_sockets
            arguments += ["--handlersocket-address=/", f"--handlersocket-port={reads}"]
            arguments.append(f"--handlersocket-port-wr={writes}")
            # The folder keeps others out. Without a value the plugin makes up secrets.
            arguments += ["--handlersocket-plain-secret=", "--handlersocket-plain-secret-wr="]
        return arguments

    def differing(
        self, connection: Connection[Any], binary: ServerBinary | None = None
    ) -> Differing:
        del binary
        # A variable without a default (host name, version, server uuid) counts only if it was set
        # explicitly.
        rows = fetch(
            connection,
            "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, DEFAULT_VALUE"
            " FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL"
            " AND GLOBAL_VALUE_ORIGIN <> 'COMPILE-TIME'"
            " AND NOT (GLOBAL_VALUE <=> DEFAULT_VALUE) ORDER BY 1",
        )
        return {
            name: {"value": value, "default": default}
            for name, value, default in rows
            if name not in SECRETS
        }


class MySql(_Mysqld):
    name = MYSQL
    programs = ("mysqld",)
    removed = OF_MYSQL
    package = "mysql-server-core"
    suite = "sid"
    share_folders = ("mysql", "mysql-9.7", "mysql-8.4", "")
    plugin_folders = ("mysql/plugin", "mariadb/plugin", "*/mariadb*/plugin")
    # The folder it was built to import from exists only in a system install.
    fixed_options = ("--secure-file-priv=NULL",)
    patience = "SET SESSION max_execution_time = 0, lock_wait_timeout = 300"
    connection_threads = (
        "SELECT PROCESSLIST_ID, THREAD_OS_ID FROM performance_schema.threads "
        "WHERE PROCESSLIST_ID IS NOT NULL AND THREAD_OS_ID IS NOT NULL"
    )
    metrics_on = "STATUS = 'enabled'"
    innodb_tables = "INNODB_"
    tablespace_files = "SELECT SPACE, PATH FROM information_schema.INNODB_DATAFILES"
    counts_cached_pages = True
    frees_pages = True
    confinement = ("--secure-file-priv=NULL", _NO_LINKS, _NO_EVENTS)

    def initialisation(self, binary: ServerBinary) -> Initialisation:
        del binary
        return Initialisation(("--initialize-insecure",), b"")

    def start_arguments(self, site: Site) -> list[str]:
        # This only permits loading from a client; MariaDB does by default.
        return [*super().start_arguments(site), "--mysqlx=OFF", "--local-infile=ON"]

    def differing(
        self, connection: Connection[Any], binary: ServerBinary | None = None
    ) -> Differing:
        defaults = {} if binary is None else program_defaults(binary)
        rows = fetch(
            connection,
            "SELECT LOWER(i.VARIABLE_NAME), v.VARIABLE_VALUE"
            " FROM performance_schema.variables_info i"
            " JOIN performance_schema.global_variables v USING (VARIABLE_NAME)"
            # The server sets some variables itself while it starts: DYNAMIC, without a user.
            " WHERE i.VARIABLE_SOURCE <> 'COMPILED'"
            " AND NOT (i.VARIABLE_SOURCE = 'DYNAMIC' AND i.SET_USER IS NULL) ORDER BY 1",
        )
        # A variable set to its default does not differ; the program may spell it differently.
        return {
            name: {"value": value, "default": defaults.get(name)}
            for name, value in rows
            if name not in defaults or not _same(value, defaults[name])
        }


def _same(value: str, default: str) -> bool:
    left, right = as_number(value), as_number(default)
    return value == default if left is None or right is None else left == right


def _sql_file(share: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (share / name).exists():
            return share / name
    raise UnusableServer(
        f"{share} has no {names[0]}, which a new data folder needs.",
        hint="Install the complete server package, or run `contend server get mariadb`.",
    )
