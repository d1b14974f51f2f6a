"""A setting: one property that can vary.

A setting is declared once, with its key in the file, its possible levels, and the cost of changing
it. The same declaration defines how it is applied, as operations on a server (`Target`). So a
reader of experiments sees the declaration, and the lab, which has the servers, knows no setting by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property
from typing import Any, Protocol, Self

from contend.experiment.settings.tables import Tagged
from contend.experiment.settings.values import Key, Level, ValueKind
from contend.host.placement.beside import Spin
from contend.host.placement.model import Placement

Values = Mapping[str, Any]
"""A cell: the value of every setting, by its path."""


class Need(IntEnum):
    """The lab's work for a change of a setting, from cheap to costly."""

    NOTHING = 0
    """The load changes."""
    IN_PLACE = 1
    """A running server is changed."""
    RESTART = 2
    """The server restarts with a different configuration."""
    DATA = 3
    """A different dataset or server replaces the current one."""


class Differs(Enum):
    """What differs between the levels of a setting, which decides what each level needs for itself
    when compared in slices."""

    SERVER = "the configuration of a server"
    SERVERS = "the server itself"
    ROUTE = "the connection to the server"
    QUERIES = "the queries and their protocol"
    LOAD = "the load as a whole"
    HOST = "the host, which all levels share"


@dataclass(frozen=True, slots=True)
class HostRequest:
    """Required content of kernel files while a cell is measured.

    Args:
        path: of the setting that requires it.
        files: relative to the root, as a pattern; `{disk}` stands for the disk of the data,
            `{group}` for the control group of this process.
        value: written into each file.
        others: patterns of files that the kernel changes with them.
        optional: a file may be missing or reject the value: then `others` count.
    """

    path: str
    files: str
    value: str
    others: tuple[str, ...] = ()
    optional: bool = False


@dataclass
class Launch:
    """How a private server is started, and the state of the host for it and the client.

    Args:
        by_kind: options of servers of one kind, or of `any`; `options` overrides them.
        environment: variables in addition to the few that every private server gets.
        wrap: a program with its arguments that starts the server, which it gets as further
            arguments.
        redo_log_folder: the folder of its redo log; empty for its data folder.
        from_disk: the page cache contains no file of the server when it starts.
        arguments: of its command line, in addition to its options.
        placement, client: of the server's process, and of contend-load's.
        threads: placement of the server's threads, by role.
        host: values for kernel files.
        drop_page_cache: empty the page cache.
        neighbour: takes CPU time during the run.
        member_round_trip_s: between the servers of a topology; None without a delay line.
    """

    options: dict[str, Level] = field(default_factory=dict)
    by_kind: dict[str, Mapping[str, Level]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    wrap: tuple[str, ...] = ()
    redo_log_folder: str = ""
    from_disk: bool = False
    arguments: list[str] = field(default_factory=list)
    placement: Placement = field(default_factory=Placement)
    client: Placement = field(default_factory=Placement)
    threads: dict[str, Placement] = field(default_factory=dict)
    host: list[HostRequest] = field(default_factory=list)
    drop_page_cache: bool = False
    neighbour: Spin | None = None
    member_round_trip_s: float | None = None

    def options_of(self, kind: str) -> dict[str, Level]:
        """The options with which a server of this kind is started."""
        return {**self.by_kind.get("any", {}), **self.by_kind.get(kind, {}), **self.options}


class Target(Protocol):
    """Operations on a running server."""

    @property
    def own(self) -> bool:
        """contend started it, and may restart it and delete its data."""

    def set_options(self, options: Mapping[str, Level]) -> None:
        """Apply these options to the running server."""

    def set_globals(self, values: Mapping[str, Level]) -> None:
        """Set variables of the running server; undoing restores their previous values."""

    def set_session(self, values: Mapping[str, Level]) -> None:
        """Have each connection of the load set these variables for itself."""

    def execute(self, statement: str) -> float:
        """Run a statement in the database of the tables; return its seconds."""

    def change(self, statement: str, undo: str | None) -> float:
        """Run a statement. The statement that undoes it is recorded first, so that it can run even
        if the lab dies; None if only a new copy of the data undoes it."""

    def table_sizes(self, *, analyse: bool) -> Mapping[str, int]:
        """Bytes of each table, by its name; empty if the server does not tell. With `analyse` a
        private server renews its statistics first."""

    def on_undo(self, undo: Callable[[], None] | str | None) -> None:
        """How to undo a change made in a different way, or about to be made; like in `change`."""

    def stand_apart(self, round_trip_s: float | None) -> None:
        """Have clients connect through a delay line with this round trip; None for no delay
        line."""

    def see_conditions(self, when: str) -> None:
        """Query the tables for the conditions of their schema: `ends`, `each_run`, `never`."""

    def expect_writes(self) -> None:
        """The next run may change the tables."""

    def warm(self, how: str) -> None:
        """Fill the caches, if they are not full yet: `index` or `full`."""

    def lock_files(self) -> str:
        """Lock the files of the tables in memory; return their size as text."""

    def place_threads(self, asked: Mapping[str, Placement]) -> Mapping[str, Mapping[str, str]]:
        """Place threads of a private server by role; return their resulting placement."""

    def unlock_files(self) -> None:
        """Unlock the files."""

    def note(self, path: str, value: object) -> None:
        """Record this for a setting instead of its value."""


EVERY_CACHE = "*"


@dataclass(frozen=True)
class Setting:
    """One property that can vary, as declared in a file.

    Args:
        section: the table of the file that contains its key, `place.server` if it is nested; empty
            for a key at the top of the file.
        key: its name, kind of value, default and meaning.
        need: the cost of changing it.
        lasts: what ends its effect: a restart, or only a new copy of the data.
        each_run: it is applied before each run, even if its level stays the same.
        tried: it is tried on an empty server before data are loaded.
        decides: paths that have no effect if this setting has a value.
        differs: what differs between its levels.
    """

    section: str
    key: Key
    need: Need = Need.NOTHING
    lasts: Need = Need.RESTART
    each_run: bool = False
    tried: bool = False
    decides: tuple[str, ...] = ()
    differs: Differs = Differs.SERVER

    @classmethod
    def of(
        cls, section: str, name: str, kind: ValueKind, default: object, means: str, **more: Any
    ) -> Self:
        """A setting whose key is made here."""
        return cls(section, Key(name, kind, default, means), **more)

    @cached_property
    def path(self) -> str:
        return f"{self.section}.{self.key.name}" if self.section else self.key.name

    @property
    def steps(self) -> tuple[str, ...]:
        """The keys to it from the top of a file."""
        return tuple(filter(None, (*self.section.split("."), self.key.name)))

    @property
    def usual(self) -> object:
        """Its value in a file that does not give it; a kind gets its parameters in a cell."""
        kind = self.key.kind
        return {"kind": kind.default_kind} if isinstance(kind, Tagged) else self.key.default

    def between(self, before: Values, after: Values) -> Need:
        """The cost of changing this setting from one cell to another. If its value is the same in
        both, that is the cost of staying at the other."""
        return Need.NOTHING if before[self.path] == after[self.path] else self.need

    def check(self, cell: Values) -> None:
        """Raise Refused if this cell is impossible on any server and host."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        """Raise RequestError if this cell is not possible here; `own` as in `Target`."""

    def why_not_in_slices(self, cell: Values) -> str | None:
        """Why this setting prevents cutting a run of this cell into slices."""
        del cell
        return None

    def launch(self, cell: Values, launch: Launch) -> None:
        """Add to the start options of a private server."""

    def apply(self, target: Target, cell: Values) -> None:
        """Apply it to a running server."""

    def disturbs(self, before: Values, after: Values) -> frozenset[str]:
        """Options that are changed without a restart and may empty their caches; `EVERY_CACHE` for
        all."""
        del before, after
        return frozenset()
