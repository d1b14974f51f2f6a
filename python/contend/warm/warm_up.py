"""A warm-up from its plan to its end; the server is left as it was found."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import pymysql
from pymysql.connections import Connection

from contend.errors import ContendError, RequestError
from contend.servers.client import ANSWER_S
from contend.servers.dsn import Dsn
from contend.servers.errors import ConnectionLost
from contend.servers.kinds import KINDS
from contend.undo import Journal, put_back
from contend.warm.model import FILES, KEYS, WarmPlan, within_s
from contend.warm.myisam import ENDINGS, load_index, read_through
from contend.warm.parts import PAGES_OF_A_RANGE, parts_of
from contend.warm.server_list import NoList
from contend.warm.throttle import Limits
from contend.warm.work import (
    Life,
    WarmingBroke,
    WarmProgress,
    WarmUpResult,
    Work,
    life_of,
    set_old_blocks_time,
    was_restarted,
)

if TYPE_CHECKING:
    from contend.load.process import LoadDriver
    from contend.warm.by_list import ByList
    from contend.warm.server_list import ServerHost

# contend-load, datasets and numpy are imported by what needs them: a warm-up by a list needs no
# scans, scans need no list, and each is a tenth of a second that the user would wait for.

MARK = "contend warm"

CONNECTIONS, CONNECTIONS_LIMITED = 4, 1
"""Connections that read, and if limits are given."""

PAGES_LIMITED = 32
"""Of a range, if the load may be held back: 512 KiB, so that a stop works at once."""


class ServerToWarm(Protocol):
    """The server to warm."""

    @property
    def dsn(self) -> Dsn: ...
    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]: ...


@dataclass(frozen=True, slots=True)
class Listener:
    """Is told what happens."""

    notice: Callable[[str], None]
    progress: Callable[[WarmProgress], None]


@dataclass(frozen=True, slots=True)
class How:
    """How fast a warm-up reads.

    Args:
        connections: that read; None: as many as suit the limits.
    """

    limits: Limits = field(default_factory=Limits)
    connections: int | None = None

    @property
    def readers(self) -> int:
        return self.connections or (CONNECTIONS_LIMITED if self.limits else CONNECTIONS)


def warm_up(
    server: ServerToWarm,
    plan: WarmPlan,
    kind: str,
    journal: Journal,
    load: LoadDriver,
    how: How,
    listen: Listener,
    *,
    by_list: ByList | None = None,
    host: ServerHost | None = None,
) -> WarmUpResult:
    """Load a plan.

    Args:
        by_list: what the server loads by a list of pages; the rest of the plan is scanned. None:
            all of it is.
        host: the server's files, of which those of MyISAM and Aria are then read by us, in order;
            None: through the server.

    Raises:
        WarmingBroke: the server went away; what is done is in the journal.
    """
    with _begun(server, kind, journal, load, how, listen) as begun:
        begun.say_what_is_there(plan)
        loaded = WarmUpResult()
        if host is not None:
            plan, loaded = begun.read_files(host, plan)
        loaded += WarmUpResult(refused=begun.load_indexes(plan))
        if by_list is not None:
            work, gone = begun.work(replace(plan, items=by_list.left))
            work.listed = by_list.runs
            work.asked["page_bytes"] = by_list.page_bytes
            try:
                return loaded + WarmUpResult(refused=gone) + begun.go_on(work)
            except NoList as error:
                listen.notice(f"{error.message}. InnoDB's tables are scanned instead")
        work, gone = begun.work(plan)
        return loaded + WarmUpResult(refused=gone) + begun.go_on(work)


def resume(
    server: ServerToWarm, journal: Journal, load: LoadDriver, how: How, listen: Listener
) -> WarmUpResult:
    """Go on with what was interrupted.

    Raises:
        RequestError: there is nothing to go on with, or the caches are empty again.
    """
    work = Work.noted(journal)
    again = f"Begin anew with `contend warm {server.dsn}`."
    if work is None:
        raise RequestError(f"no warm-up of {server.dsn} was interrupted.", hint=again)
    with _begun(server, work.asked["kind"], journal, load, how, listen) as begun:
        if was_restarted(Life(**work.asked["life"]), life_of(begun.connection, server.dsn.socket)):
            journal.work = None
            journal.write()
            raise RequestError(
                f"{server.dsn} was restarted since, so its caches are empty again.", hint=again
            )
        return begun.go_on(work)


@contextmanager
def _begun(
    server: ServerToWarm,
    kind: str,
    journal: Journal,
    load: LoadDriver,
    how: How,
    listen: Listener,
) -> Iterator[_WarmUp]:
    """What was changed meanwhile is put back afterwards.

    Raises:
        WarmingBroke: the server went away.
    """
    with (
        undone(server, journal, listen),
        server.connect(read_timeout=ANSWER_S, init_command=KINDS[kind].patience) as connection,
    ):
        try:
            yield _WarmUp(server, connection, kind, journal, load, how, listen)
        except (ConnectionLost, pymysql.err.MySQLError) as error:
            raise WarmingBroke(
                f"the warm-up broke off: {str(error.args[-1]).rstrip('.')}.",
                hint=f"What is done is noted: go on with `contend warm {server.dsn} --resume`."
                if journal.work is not None
                else None,
                detail=getattr(error, "detail", None),
            ) from error


@dataclass(frozen=True, slots=True)
class _WarmUp:
    """The steps of a warm-up, over one connection."""

    server: ServerToWarm
    connection: Connection[Any]
    kind: str
    journal: Journal
    load: LoadDriver
    how: How
    listen: Listener

    def work(self, plan: WarmPlan) -> tuple[Work, dict[str, str]]:
        """The scans of a plan, and what the server refuses of it."""
        mark = f"{MARK} {secrets.token_hex(4)}"
        pages = PAGES_LIMITED if self.how.limits else PAGES_OF_A_RANGE
        parts, gone = parts_of(self.connection, plan, mark=mark, pages=pages)
        asked = {
            "sizes": {str(item): item.take for item in plan.items if item.part != KEYS},
            "mark": mark,
            "pages": pages,
            "kind": self.kind,
            "innodb": any(item.cache == "innodb" for item in plan.items),
            "life": asdict(life_of(self.connection, self.server.dsn.socket)),
        }
        return Work.of(parts, asked), gone

    def go_on(self, work: Work) -> WarmUpResult:
        """The work that is left."""
        work.note(self.journal)
        loaded = WarmUpResult()
        if work.listed:
            loaded += self._load_list(work)
            work.listed = {}
            work.note(self.journal)
        if work.upto < work.total:
            if work.asked["innodb"]:
                why_not = set_old_blocks_time(self.connection, self.journal)
                if why_not is not None:
                    self.listen.notice(why_not)
            loaded += self._scan(work)
        self.journal.work = None
        self.journal.write()
        return loaded

    def _load_list(self, work: Work) -> WarmUpResult:
        from contend.warm.by_list import load_list
        from contend.warm.page_list import of_runs
        from contend.warm.server_list import host_of

        host = host_of(self.connection, self.server.dsn.socket)
        pages = {name: of_runs(runs) for name, runs in work.listed.items()}
        page_bytes, listen = work.asked["page_bytes"], self.listen.progress
        return load_list(self.connection, host, self.journal, pages, page_bytes, listen)

    def say_what_is_there(self, plan: WarmPlan) -> None:
        for cache in plan.caches:
            wanted = sum(item.take for item in plan.of(cache))
            if wanted and cache.used is not None and cache.used >= wanted:
                self.listen.notice(
                    f"{cache.name} has as much in it already as is to be loaded. Pages that are "
                    "there are not read from the disk again"
                )

    def read_files(self, host: ServerHost, plan: WarmPlan) -> tuple[WarmPlan, WarmUpResult]:
        """Read the files of engines that read through the page cache; the plan without the rows
        that are cached nowhere else."""
        engines = {engine.lower() for engine, _part in ENDINGS.values()}
        items = [item for item in plan.items if item.table.engine.lower() in engines]
        if not items:
            return plan, WarmUpResult()
        began_s = time.monotonic()
        names = ", ".join(sorted({str(item.table) for item in items}))
        self.listen.notice(f"the files of {names} are read")
        wanted = {(str(item.table), item.part) for item in items}
        read = {(p.table, p.part): p for p in read_through(self.connection, host, wanted)}
        done = [i for i in items if i.cache == FILES and (str(i.table), i.part) in read]
        shares = {str(item): read[str(item.table), item.part].share or 1.0 for item in done}
        refused = {
            name: f"{share:.0%} of it is in the page cache after it was read"
            for name, share in shares.items()
            if share < 1
        }
        left = tuple(item for item in plan.items if item not in done)
        size = sum(item.take for item in done)
        loaded = WarmUpResult(size, time.monotonic() - began_s, refused=refused)
        return replace(plan, items=left), loaded

    def load_indexes(self, plan: WarmPlan) -> dict[str, str]:
        """Key caches first: their files are read in order, and are small beside the rows."""
        refused = {}
        for item in (item for item in plan.items if item.part == KEYS):
            self.listen.notice(f"{item}: LOAD INDEX INTO CACHE")
            limit_s, patience = within_s(item.size), KINDS[self.kind].patience
            with self.server.connect(read_timeout=limit_s, init_command=patience) as connection:
                why = load_index(connection, item)
            if why is not None:
                refused[str(item)] = why
        return refused

    def _scan(self, work: Work) -> WarmUpResult:
        from contend.datasets.existing import entrance
        from contend.warm.loader import end_marked, load_parts

        address, env = entrance(self.server.dsn, None)
        try:
            return load_parts(
                self.load,
                address.as_plan(),
                work,
                self.journal,
                connect=lambda: self.server.connect(read_timeout=ANSWER_S),
                env=env,
                limits=self.how.limits,
                connections=self.how.readers,
                listen=self.listen.progress,
            )
        except BaseException:
            # Those that the server was at when the load was stopped. If it is gone, so are they.
            with (
                suppress(ContendError, OSError, pymysql.err.MySQLError),
                self.server.connect() as connection,
            ):
                end_marked(connection, work.asked["mark"])
            raise


@contextmanager
def undone(server: ServerToWarm, journal: Journal, listen: Listener) -> Iterator[None]:
    """What is changed in here is put back at its end, over a connection of its own: the other may
    be gone, or still wait for an answer.

    Raises:
        ContendError: it could not be, and nothing else went wrong, which would be the news.
    """
    before = len(journal.undo)
    try:
        yield
    except BaseException:
        try:
            put_back(journal, server, since=before)
        except ContendError as error:
            listen.notice(" ".join(filter(None, (error.message, error.hint))))
        raise
    put_back(journal, server, since=before)
