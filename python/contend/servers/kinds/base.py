"""The interface of a kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.metrics.probed import ModelCounters
from contend.servers.binary import ServerBinary
from contend.servers.options import Value
from contend.servers.variables import Differing


@dataclass(frozen=True, slots=True)
class Site:
    """Where a private server has its files and where it listens.

    Args:
        pid_file: where it writes its process's number, if it does that itself.
        log: its output; other records of the run are in the same folder.
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
    """How a program makes a data folder: additions to its command line, and its standard input."""

    arguments: tuple[str, ...]
    sql: bytes


class Kind:
    """Properties of servers of one kind, and operations for `PrivateServer`.

    Args:
        programs: names of its program, whether installed or downloaded, the usual one first.
        package: Debian's, with the program; `extras` by their names, and permanent `suites` by the
            series that they have.
        suite: of Debian, that has it, for an error; empty if all have.
        plugin_options: options that load the plugin of an extra.
        share_folders: below `share`, with its error messages.
        plugin_folders: below `usr/lib` of an unpacked package.
        fixed_options: of a program outside the folder it was built for.
        computes_rows: its rows are a function of their seed: there is nothing to load and to copy,
            and only the index of its files is worth warming.
        removed: options that its older releases had.
        confinement: options before its own, so that statements reach no file outside of its data
            folder and none runs by itself.
        index_caches: its variables that size caches of indexes, besides those of all.
        patience: the statement after which a session reads a table without a time limit, and passes
            over a locked one.
        connection_threads: the statement that returns the number of each connection with the
            kernel's number of its thread.
        metrics_on: the condition for counted metrics of InnoDB; empty if it has none.
        innodb_tables: prefix of the names of InnoDB's own tables.
        tablespace_files: the statement that returns the file of each tablespace.
        has_key_caches, has_query_cache: it reports these in tables of its own.
        counts_cached_pages: it reports how many pages of each index are in memory.
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
    removed: frozenset[str] = frozenset()
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
        """The argument of `contend server get` for one, such as `mysql@sid`."""
        return f"{self.name}@{self.suite}" if self.suite else self.name

    def base_arguments(self, data: Path, temporary: Path) -> list[str]:
        """Arguments for every run of the program."""
        del data, temporary
        return []

    def initialisation(self, binary: ServerBinary) -> Initialisation | None:
        """How it makes its data folder; None if it needs nothing there."""
        del binary
        return None

    def start_arguments(self, site: Site) -> list[str]:
        """Arguments that make it serve there and nowhere else."""
        raise NotImplementedError

    def option_arguments(self, options: Mapping[str, Value], binary: ServerBinary) -> list[str]:
        """The server's options as arguments.

        Raises:
            OptionRejected: an option does not exist, or is reserved for contend.
        """
        raise NotImplementedError

    def known_options(self, binary: ServerBinary) -> frozenset[str]:
        """Every option of the program; empty if it does not report them."""
        raise NotImplementedError

    def without_effect(self, options: Mapping[str, Value]) -> list[str]:
        """The accepted options without any effect."""
        del options
        return []

    def differing(
        self, connection: Connection[Any], binary: ServerBinary | None = None
    ) -> Differing:
        """Its variables whose value is not the default.

        Args:
            binary: reports its defaults; None if the program is not contend's own.
        """
        raise NotImplementedError

    def counted(self, pid: int, log: Path) -> ModelCounters | None:
        """Its counters since it started that no statement shows; None if it has none.

        Raises:
            ServerFailed: it did not report them.
        """
        del pid, log
        return None
