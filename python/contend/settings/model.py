"""A setting: one thing that can vary.

A setting is declared once, with its key in the file, what its levels may be, and what a change of
it costs. It says in the same place how it is applied, in terms of what can be done to a server
(`Target`), so that whoever reads experiments sees the declaration, and the lab, which has the
servers, knows no setting by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property
from typing import Any, Protocol, Self

from contend.placement.beside import Spin
from contend.placement.model import Placement
from contend.settings.tables import Tagged
from contend.settings.values import Key, Level, ValueKind

Values = Mapping[str, Any]
"""A cell: the value of every setting, by its path."""


class Need(IntEnum):
    """What a change of a setting asks of the lab, from cheap to dear."""

    NOTHING = 0
    """The load changes."""
    IN_PLACE = 1
    """Something is done to the server while it runs."""
    RESTART = 2
    """The server starts again, started otherwise."""
    DATA = 3
    """Another dataset, or another server, takes the place of the present one."""


class Differs(Enum):
    """What is other at each level of a setting, so what levels must have for themselves if they are
    compared in slices."""

    SERVER = "what is done to a server"
    SERVERS = "which server it is"
    ROUTE = "how the server is reached"
    QUERIES = "what is asked, and how"
    LOAD = "the load as a whole"
    HOST = "the host, which all levels share"


@dataclass(frozen=True, slots=True)
class HostWish:
    """What files of the kernel are to say while a cell is measured.

    Args:
        path: of the setting that wishes it.
        files: relative to the root, as a pattern; `{disk}` stands for the disk of the data,
            `{group}` for the control group of this process.
        value: to be written into each.
        others: patterns of files that the kernel changes with them.
        optional: there may be no such file, or one that takes no value: then the others count.
    """

    path: str
    files: str
    value: str
    others: tuple[str, ...] = ()
    optional: bool = False


@dataclass
class Launch:
    """How a private server is started, and what it and the client find on the host.

    Args:
        by_kind: options of servers of one kind, or of `any`; `options` goes before them.
        environment: variables in addition to the few that every private server gets.
        wrap: a program with its arguments that starts the server, which it gets as further
            arguments.
        redo_log_folder: where its redo log lies; empty for its data folder.
        from_disk: no file of the server is in the page cache when it starts.
        arguments: of its command line, beside its options.
        placement, client: of the server's process, and of contend-load's.
        threads: of threads of the server, by role.
        host: what the kernel is to be told.
        drop_page_cache: nothing of any file is in memory.
        neighbour: takes CPU time beside the run.
        member_round_trip_s: between the servers of a topology; None for no delay line.
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
    host: list[HostWish] = field(default_factory=list)
    drop_page_cache: bool = False
    neighbour: Spin | None = None
    member_round_trip_s: float | None = None

    def options_of(self, kind: str) -> dict[str, Level]:
        """What a server of that kind is started with."""
        return {**self.by_kind.get("any", {}), **self.by_kind.get(kind, {}), **self.options}


class Target(Protocol):
    """What can be done to a server that runs."""

    @property
    def own(self) -> bool:
        """contend started it, and may restart it and throw its data away."""

    def set_options(self, options: Mapping[str, Level]) -> None:
        """Have the running server work with these options."""

    def set_globals(self, values: Mapping[str, Level]) -> None:
        """Set variables of the running server, and put them back to what they were on undoing."""

    def set_session(self, values: Mapping[str, Level]) -> None:
        """Have each connection of the load set these variables for itself."""

    def execute(self, statement: str) -> float:
        """Run a statement in the database of the tables; seconds that it took."""

    def change(self, statement: str, undo: str | None) -> float:
        """Run a statement that another one undoes, which is noted before, so that it can be undone
        later if the lab dies; None if only a new copy of the data undoes it."""

    def on_undo(self, undo: Callable[[], None] | str | None) -> None:
        """How what was done otherwise, or is about to be, is undone; as of `change`."""

    def stand_apart(self, round_trip_s: float | None) -> None:
        """Have whoever asks do so over a network of this round trip, by way of a delay line; None
        for none."""

    def see_conditions(self, when: str) -> None:
        """Have the tables asked for the conditions of their schema: `ends`, `each_run`, `never`."""

    def expect_writes(self) -> None:
        """The run to come may change the tables."""

    def warm(self, how: str) -> None:
        """Fill the caches, which may be full already: `index` or `full`."""

    def lock_files(self) -> str:
        """Keep the files of the tables in memory; says how much that is."""

    def place_threads(self, asked: Mapping[str, Placement]) -> Mapping[str, Mapping[str, str]]:
        """Place threads of a private server by role; how they are placed then."""

    def unlock_files(self) -> None:
        """Leave them to the kernel again."""

    def note(self, path: str, value: object) -> None:
        """What the record of the run says of a setting, in place of its value."""


EVERY_CACHE = "*"


@dataclass(frozen=True)
class Setting:
    """One thing that can vary, as a file says it.

    Args:
        section: the table of the file that its key is in, `place.server` if it is one in another;
            empty for a key at the top of the file.
        key: its name there, what it may be, its default, what it means.
        need: what a change of it takes.
        lasts: what ends its effect: a restart, or only another copy of the data.
        each_run: it is applied before each run, also if its level stays the same.
        tried: it is tried on an empty server before data are loaded.
        decides: paths that say nothing if this setting has a value.
        differs: what is other at each of its levels.
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
        """One whose key is made here."""
        return cls(section, Key(name, kind, default, means), **more)

    @cached_property
    def path(self) -> str:
        return f"{self.section}.{self.key.name}" if self.section else self.key.name

    @property
    def steps(self) -> tuple[str, ...]:
        """The keys that lead to it from the top of a file."""
        return tuple(filter(None, (*self.section.split("."), self.key.name)))

    @property
    def usual(self) -> object:
        """Its value in a file that says nothing of it; a kind has its parameters in a cell."""
        kind = self.key.kind
        return {"kind": kind.default_kind} if isinstance(kind, Tagged) else self.key.default

    def between(self, before: Values, after: Values) -> Need:
        """What it takes to get from one cell to another, as far as this setting goes. If its own
        value is the same in both, that is nothing more than to stay at the other."""
        return Need.NOTHING if before[self.path] == after[self.path] else self.need

    def check(self, cell: Values) -> None:
        """Raise Refused if no server and no host could have this cell."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        """Raise RequestError if this cell cannot be had here; `own` is as of `Target`."""

    def why_not_in_slices(self, cell: Values) -> str | None:
        """Why a run of this cell cannot be cut into slices, as far as this setting goes."""
        del cell
        return None

    def launch(self, cell: Values, launch: Launch) -> None:
        """Say how a private server is to be started."""

    def apply(self, target: Target, cell: Values) -> None:
        """Bring it about on a server that runs."""

    def disturbs(self, before: Values, after: Values) -> frozenset[str]:
        """Options that are changed without a restart, whose caches may be empty after it;
        `EVERY_CACHE` for all."""
        del before, after
        return frozenset()
