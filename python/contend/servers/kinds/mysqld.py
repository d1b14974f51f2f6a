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
from contend.servers.client import fetch
from contend.servers.errors import UnusableServer
from contend.servers.kinds.base import Initialisation, Kind, Site
from contend.servers.options import Value, as_arguments, as_number
from contend.servers.variables import (
    SECRETS,
    Differing,
    program_defaults,
    program_options,
    valued_options,
)
from contend.settings.server import MARIADB, MYSQL


class _Mysqld(Kind):
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
    name = MARIADB
    programs = ("mariadbd", "mysqld")
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
        # A library that a node of a cluster is told the path of, and no plugin.
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

    def differing(
        self, connection: Connection[Any], binary: ServerBinary | None = None
    ) -> Differing:
        del binary
        # A variable without a default (host name, version, server uuid) counts only if somebody
        # set it.
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
    package = "mysql-server-core"
    suite = "sid"
    share_folders = ("mysql", "mysql-9.7", "mysql-8.4", "")
    plugin_folders = ("mysql/plugin", "mariadb/plugin", "*/mariadb*/plugin")
    # The folder it was built to import from does not exist outside a system install.
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
        # Only permission to load from a client; MariaDB has it by default.
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
            # Some variables the server sets itself while it starts: dynamic, but by nobody.
            " WHERE i.VARIABLE_SOURCE <> 'COMPILED'"
            " AND NOT (i.VARIABLE_SOURCE = 'DYNAMIC' AND i.SET_USER IS NULL) ORDER BY 1",
        )
        # Set to what is the default anyway does not differ; the program may spell it otherwise.
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
        f"{share} has no {names[0]}, which a new data folder is made from.",
        hint="Install the whole server package, or get one: `contend server get mariadb`.",
    )
