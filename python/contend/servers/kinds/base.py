"""What is asked of a kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.probed import ModelCounters
from contend.servers.binary import ServerBinary
from contend.servers.options import Value
from contend.servers.variables import Differing


@dataclass(frozen=True, slots=True)
class Site:
    """Where a private server has its files and where it listens.

    Args:
        pid_file: where it writes its process's number, if it does that itself.
        log: what it says goes there; beside it is what else is kept of the run.
        key_sockets: HandlerSocket's, for reading and for writing; None if it has none.
        port: of 127.0.0.1; None if it listens on its Unix socket alone.
    """

    data: Path
    temporary: Path
    socket: Path
    pid_file: Path
    log: Path
    key_sockets: tuple[Path, Path] | None
    port: int | None


@dataclass(frozen=True, slots=True)
class Initialisation:
    """How a program makes a data folder: what is added to its command line, and what it reads
    from its standard input."""

    arguments: tuple[str, ...]
    sql: bytes


class Kind:
    """What is other about servers of one kind: facts, and what `PrivateServer` does to one.

    Args:
        programs: that are installed on a machine or got go by these names, the usual one first.
        package: of Debian, that has the program; `extras` by their names, and `suites` for good by
            the series that they have.
        suite: of Debian, that has it, for an error; empty if all have.
        plugin_options: what has a server load the plugin of an extra.
        share_folders: below `share`, with its error messages.
        plugin_folders: below `usr/lib` of an unpacked package.
        fixed_options: of a program that lies where it was not built for.
        computes_rows: its rows are a function of their seed: there is nothing to load and to copy,
            and of its files only the index is worth warming.
        confinement: what it is told, before its own options, so that statements reach no file
            outside of its data folder and none runs by itself.
        index_caches: its variables that size caches of indexes, beside those of all.
        patience: the statement after which a session reads a table however long that takes, and
            passes over one that somebody has locked.
        connection_threads: the statement that answers the number of each connection with the
            kernel's number of its thread.
        metrics_on: what tells the metrics of InnoDB that are counted; empty if it has none.
        innodb_tables: what the names of InnoDB's own tables begin with.
        tablespace_files: the statement that answers the file of each tablespace.
        has_key_caches, has_query_cache: it tells of these in tables of its own.
        counts_cached_pages: it tells how many pages of each index are in memory.
        frees_pages: it keeps `innodb_lru_scan_depth` pages of each pool free.
    """

    name = ""
    programs: tuple[str, ...] = ()
    package = ""
    extras: Mapping[str, str] = {}
    suites: Mapping[str, str] = {}
    suite = ""
    plugin_options: Mapping[str, tuple[str, ...]] = {}
    share_folders: tuple[str, ...] = ()
    plugin_folders: tuple[str, ...] = ()
    fixed_options: tuple[str, ...] = ()
    computes_rows = False
    confinement: tuple[str, ...] = ()
    index_caches: tuple[str, ...] = ()
    patience = ""
    connection_threads: str | None = None
    metrics_on = ""
    innodb_tables = ""
    tablespace_files = ""
    has_key_caches = False
    has_query_cache = False
    counts_cached_pages = False
    frees_pages = False

    @property
    def wanted(self) -> str:
        """What `contend server get` takes to have one, such as `mysql@sid`."""
        return f"{self.name}@{self.suite}" if self.suite else self.name

    def base_arguments(self, data: Path, temporary: Path) -> list[str]:
        """What the program is told whenever it is run."""
        del data, temporary
        return []

    def initialisation(self, binary: ServerBinary) -> Initialisation | None:
        """How it makes its data folder; None if it needs nothing there."""
        del binary
        return None

    def start_arguments(self, site: Site) -> list[str]:
        """What it is told so that it serves there and nowhere else."""
        raise NotImplementedError

    def option_arguments(self, options: Mapping[str, Value], binary: ServerBinary) -> list[str]:
        """The server's options as arguments.

        Raises:
            OptionRejected: one has no such name, or is not for others to set.
        """
        raise NotImplementedError

    def known_options(self, binary: ServerBinary) -> frozenset[str]:
        """Every option that it takes; empty if it does not tell."""
        raise NotImplementedError

    def without_effect(self, options: Mapping[str, Value]) -> list[str]:
        """Those of the options that it takes and does nothing with."""
        del options
        return []

    def differing(
        self, connection: Connection[Any], binary: ServerBinary | None = None
    ) -> Differing:
        """Its variables whose value is not the default.

        Args:
            binary: None if it is not ours; it may be asked for its defaults.
        """
        raise NotImplementedError

    def counted(self, pid: int, log: Path) -> ModelCounters | None:
        """What it has counted since it started that no statement shows; None for nothing.

        Raises:
            ServerFailed: it did not say.
        """
        del pid, log
        return None
