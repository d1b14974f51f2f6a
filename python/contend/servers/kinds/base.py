"""What `PrivateServer` asks of a kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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


class Kind(Protocol):
    """What is other about private servers of one kind."""

    @property
    def name(self) -> str: ...

    @property
    def computes_rows(self) -> bool:
        """Whether its rows are a function of their seed: there is nothing to load and to copy, and
        of its files only the index is worth warming."""
        ...

    @property
    def confinement(self) -> tuple[str, ...]:
        """What it is told, before its own options, so that statements reach no file outside of its
        data folder and none runs by itself."""
        ...

    def base_arguments(self, data: Path, temporary: Path) -> list[str]:
        """What the program is told whenever it is run."""
        ...

    def initialisation(self, binary: ServerBinary) -> Initialisation | None:
        """How it makes its data folder; None if it needs nothing there."""
        ...

    def start_arguments(self, site: Site) -> list[str]:
        """What it is told so that it serves there and nowhere else."""
        ...

    def option_arguments(self, options: Mapping[str, Value], binary: ServerBinary) -> list[str]:
        """The server's options as arguments.

        Raises:
            OptionRejected: one has no such name, or is not for others to set.
        """
        ...

    def known_options(self, binary: ServerBinary) -> frozenset[str]:
        """Every option that it takes; empty if it does not tell."""
        ...

    def without_effect(self, options: Mapping[str, Value]) -> list[str]:
        """Those of the options that it takes and does nothing with."""
        ...

    def differing(self, connection: Connection[Any], binary: ServerBinary) -> Differing:
        """Its variables whose value is not the default."""
        ...

    def counted(self, pid: int, log: Path) -> ModelCounters | None:
        """What it has counted since it started that no statement shows; None for nothing.

        Raises:
            ServerFailed: it did not say.
        """
        ...
