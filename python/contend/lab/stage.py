"""Where a cell is played: a server with its options, its data and its warm caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from contend.errors import ContendError
from contend.load import Address
from contend.probes import Expected, Sight
from contend.spec import CellSpec, Level

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from contend.servers import Truncated


@dataclass(frozen=True, slots=True)
class Ready:
    """A stage that is ready for one cell.

    Args:
        address: where contend-load connects.
        env: what contend-load finds in its environment; holds the password where there is one.
        watch_pid: the server's process, where it runs on this host.
        sight: what the probes look at.
        expected: which caches are meant to be warm.
        probes: what the stage knows of itself, for the record.
        warnings: what the stage marks the cell with.
    """

    address: Address
    sight: Sight
    expected: Expected
    env: Mapping[str, str] = field(default_factory=dict)
    watch_pid: int | None = None
    probes: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[dict[str, Any], ...] = ()


class Stage(Protocol):
    """A server as the walk sees it."""

    def set(self, cell: CellSpec) -> Ready:
        """Make everything as the cell wants it."""
        ...

    def death(self) -> ContendError | None:
        """How the server ended, where it did although nobody asked it to."""
        ...

    def close(self) -> None:
        """Leave nothing behind that is not kept on purpose."""
        ...


class Server(Protocol):
    """What the lab needs of a private server."""

    @property
    def data_folder(self) -> Path: ...
    @property
    def socket(self) -> Path: ...
    @property
    def pid(self) -> int: ...
    @property
    def running(self) -> bool: ...
    def claim(self) -> None: ...
    def start(self, options: Mapping[str, Level]) -> list[Truncated]: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def check(self) -> None: ...
    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]: ...
    def set_global(self, changes: Mapping[str, Level]) -> list[Truncated]: ...
    def variables_that_differ(self) -> dict[str, tuple[str, str | None]]: ...
