"""A complete warm-up of a plan. Afterwards the server has its original settings."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pymysql
from pymysql.connections import Connection

from contend.data.existing import entrance
from contend.errors import ContendError, RequestError
from contend.load.process import LoadDriver
from contend.servers.client import ANSWER_S, fetch, socket_peer
from contend.servers.dsn import Dsn
from contend.servers.errors import ConnectionLost
from contend.servers.kinds import KINDS
from contend.servers.undo import Journal, put_back
from contend.warm import server_list
from contend.warm.coverage import LOADED, ByList, too_few
from contend.warm.myisam import ENDINGS, load_index, read_through
from contend.warm.plan import FILES, KEYS, WarmPlan
from contend.warm.scan import (
    PAGES_OF_A_RANGE,
    WarmingBroke,
    WarmProgress,
    Work,
    parts_of,
    scan,
    within_s,
)
from contend.warm.server_list import NoList, ServerHost, set_variable
from contend.warm.throttle import Limits

MARK = "contend warm"

CONNECTIONS, CONNECTIONS_LIMITED = 4, 1
"""Reading connections, without and with limits."""

PAGES_LIMITED = 32
"""Pages per range if the load may be throttled: 512 KiB, so that a stop works at once."""

TOLERANCE_S = 2
"""Tolerance of a server's start time: both readings are whole seconds."""

BY_LIST = "InnoDB, by a list of pages"
"""The item named in progress reports: the server reads the pages of all indexes in file order."""


class ServerToWarm(Protocol):
    """The server to warm."""

    @property
    def dsn(self) -> Dsn: ...
    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]: ...


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks for events."""

    notice: Callable[[str], None] = lambda _text: None
    progress: Callable[[WarmProgress], None] = lambda _progress: None


@dataclass(slots=True)
class WarmUpResult:
    """The result of a warm-up.

    Args:
        size: bytes read.
        held_s: seconds that it was throttled.
        refused: item -> reason why it was not loaded, or only in part.
    """

    size: float = 0.0
    seconds: float = 0.0
    held_s: float = 0.0
    refused: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time spent in this context."""
        began_s = time.monotonic()
        yield
        self.seconds += time.monotonic() - began_s


def warm_up(
    server: ServerToWarm,
    plan: WarmPlan,
    kind: str,
    journal: Journal,
    load: LoadDriver,
    limits: Limits,
    listen: Listener,
    *,
    by_list: ByList | None = None,
    host: ServerHost | None = None,
) -> WarmUpResult:
    """Load a plan.

    Args:
        by_list: the part that the server loads by a list of pages; the rest of the plan is scanned.
            None: the whole plan is scanned.
        host: the server's files; contend then reads those of MyISAM and Aria itself, in order.
            None: read through the server.

    Raises:
        WarmingBroke: the server stopped; the journal has the progress.
    """
    with _begun(server, kind, journal, load, limits, listen) as begun:
        # The rest of an earlier warm-up must not pass for that of this one.
        journal.work = None
        journal.write()
        if host is not None:
            plan = begun.read_files(host, plan)
        begun.load_indexes(plan)
        if by_list is not None and by_list.pages:
            try:
                begun.load_list(by_list)
                plan = replace(plan, items=by_list.left)
            except NoList as error:
                listen.notice(f"{error.message}. Scanning InnoDB's tables instead")
        begun.scan(begun.work(plan))
        return begun.result


def resume(
    server: ServerToWarm, journal: Journal, load: LoadDriver, limits: Limits, listen: Listener
) -> WarmUpResult:
    """Continue interrupted scans.

    Raises:
        RequestError: there is nothing to continue, or the caches are empty again.
    """
    work = Work.noted(journal)
    again = f"Start again with `contend warm {server.dsn}`."
    if work is None:
        raise RequestError(f"no interrupted warm-up of {server.dsn} is recorded.", hint=again)
    with _begun(server, work.kind, journal, load, limits, listen) as begun:
        if was_restarted(work.life, life_of(begun.connection, server.dsn.socket)):
            journal.work = None
            journal.write()
            raise RequestError(
                f"{server.dsn} was restarted since, so its caches are empty again.", hint=again
            )
        begun.scan(work)
        return begun.result


def life_of(connection: Connection[Any], socket: Path | None) -> list[int | None]:
    """Identifies a life of the server: its start time, seconds since 1970 by its own
    clock; the number of connections so far, which only grows; its process, None if it cannot be
    seen from here. A restart within seconds shows only in the last two."""
    status = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Connections')"
    counts = {str(name): int(value) for name, value in fetch(connection, status)}
    ((now,),) = fetch(connection, "SELECT UNIX_TIMESTAMP()")
    pid = None if socket is None else socket_peer(socket)
    return [int(now) - counts["Uptime"], counts["Connections"], pid]


def was_restarted(before: list[int | None], now: list[int | None]) -> bool:
    """Whether `now` is a later life of the server than `before`."""
    (started, connections, pid), (started_now, connections_now, pid_now) = before, now
    assert started is not None and started_now is not None
    if None not in (pid, pid_now) and pid != pid_now:
        return True
    return (connections_now or 0) < (connections or 0) or abs(started_now - started) > TOLERANCE_S


@contextmanager
def _begun(
    server: ServerToWarm,
    kind: str,
    journal: Journal,
    load: LoadDriver,
    limits: Limits,
    listen: Listener,
) -> Iterator[_WarmUp]:
    """Changes made in this context are reverted afterwards.

    Raises:
        WarmingBroke: the server stopped.
    """
    with (
        undone(server, journal, listen),
        server.connect(read_timeout=ANSWER_S, init_command=KINDS[kind].patience) as connection,
    ):
        try:
            yield _WarmUp(server, connection, kind, journal, load, limits, listen)
        except (ConnectionLost, pymysql.err.MySQLError) as error:
            raise WarmingBroke(
                f"the warm-up stopped early: {str(error.args[-1]).rstrip('.')}.",
                hint=f"Progress is recorded: continue with `contend warm {server.dsn} --resume`."
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
    limits: Limits
    listen: Listener
    result: WarmUpResult = field(default_factory=WarmUpResult)

    def read_files(self, host: ServerHost, plan: WarmPlan) -> WarmPlan:
        """Read files of engines that use the page cache; return the plan without the rows that only
        the page cache holds."""
        engines = {engine.lower() for engine, _part in ENDINGS.values()}
        items = [item for item in plan.items if item.table.engine.lower() in engines]
        if not items:
            return plan
        names = ", ".join(sorted({str(item.table) for item in items}))
        self.listen.notice(f"reading the files of {names}")
        wanted = {(str(item.table), item.part) for item in items}
        with self.result.timed():
            files = read_through(self.connection, host, wanted)
        shares = {(file.table, file.part): file.share or 1.0 for file in files}
        done = []
        for item in items:
            share = shares.get((str(item.table), item.part))
            if item.cache != FILES or share is None:
                continue
            done.append(item)
            self.result.size += item.take
            if share < 1:
                why = f"only {share:.0%} of it is in the page cache after reading"
                self.result.refused[str(item)] = why
        return replace(plan, items=tuple(item for item in plan.items if item not in done))

    def load_indexes(self, plan: WarmPlan) -> None:
        """Key caches first: their files are read in order, and are small next to the rows."""
        for item in (item for item in plan.items if item.part == KEYS):
            self.listen.notice(f"{item}: LOAD INDEX INTO CACHE")
            limit_s, patience = within_s(item.size), KINDS[self.kind].patience
            with self.server.connect(read_timeout=limit_s, init_command=patience) as connection:
                why = load_index(connection, item)
            if why is not None:
                self.result.refused[str(item)] = why

    def load_list(self, by_list: ByList) -> None:
        """Have the server load pages, then check its buffer pool.

        Raises:
            NoList: it does not load them.
        """
        began_s = time.monotonic()
        pages = np.concatenate(list(by_list.pages.values()))
        size = len(pages) * by_list.page_bytes

        def on_progress(done: int, _all: int) -> None:
            read = {BY_LIST: float(done * by_list.page_bytes)}
            self.listen.progress(WarmProgress(read, {BY_LIST: size}, time.monotonic() - began_s))

        before = self._pages_of_data()
        with self.result.timed():
            server_list.load(self.connection, by_list.host, self.journal, pages, on_progress)
        self.result.size += size
        # A cold pool has grown by the requested pages. Otherwise, only its page list shows them.
        if self._pages_of_data() - before < LOADED * len(pages):
            resident = server_list.take(self.connection, by_list.host, self.journal)
            self.result.refused |= too_few(by_list.pages, resident)

    def _pages_of_data(self) -> int:
        status = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'"
        ((_, pages),) = fetch(self.connection, status)
        return int(pages)

    def work(self, plan: WarmPlan) -> Work:
        """The scans of a plan."""
        pages = PAGES_LIMITED if self.limits else PAGES_OF_A_RANGE
        mark = f"{MARK} {secrets.token_hex(4)}"
        parts, gone = parts_of(self.connection, plan, mark=mark, pages=pages)
        self.result.refused |= gone
        sizes = {str(item): item.take for item in plan.items if item.part != KEYS}
        innodb = any(item.cache == "innodb" for item in plan.items)
        life = life_of(self.connection, self.server.dsn.socket)
        return Work(parts, sizes, pages, mark, self.kind, innodb, life)

    def scan(self, work: Work) -> None:
        """Run the remaining scans."""
        if work.upto < sum(work.ranges().values()):
            work.note(self.journal)
            if work.innodb:
                self._keep_scanned_pages()
            with self.result.timed():
                size, held_s, refused = self._scanned(work)
            self.result.size += size
            self.result.held_s += held_s
            self.result.refused |= refused
        self.journal.work = None
        self.journal.write()

    def _keep_scanned_pages(self) -> None:
        """Scanned pages stay in the buffer pool if a single read counts as use."""
        why_not = set_variable(self.connection, self.journal, "innodb_old_blocks_time", 0)
        if why_not is not None:
            self.listen.notice(
                f"{why_not}, so scanned pages stay in the old part of the buffer pool and leave it "
                "first"
            )

    def _scanned(self, work: Work) -> tuple[float, float, dict[str, str]]:
        address, env = entrance(self.server.dsn, None)
        try:
            return scan(
                self.load,
                address.as_plan(),
                work,
                self.journal,
                connect=lambda: self.server.connect(read_timeout=ANSWER_S),
                env=env,
                limits=self.limits,
                connections=self.limits.connections
                or (CONNECTIONS_LIMITED if self.limits else CONNECTIONS),
                listen=self.listen.progress,
            )
        except BaseException:
            # End what the server was running when the load was stopped, unless it is gone.
            with (
                suppress(ContendError, OSError, pymysql.err.MySQLError),
                self.server.connect() as connection,
            ):
                end_marked(connection, work.mark)
            raise


def end_marked(connection: Connection[Any], mark: str) -> None:
    """End statements of a warm-up that still run. Any user may end its own."""
    for row in fetch(connection, "SHOW FULL PROCESSLIST"):
        if f"/* {mark} */" in str(row[7] or ""):
            # It may have finished by itself.
            with suppress(pymysql.err.MySQLError):
                fetch(connection, f"KILL QUERY {int(row[0])}")


@contextmanager
def undone(server: ServerToWarm, journal: Journal, listen: Listener) -> Iterator[None]:
    """Changes made in this context are reverted at its end, over a separate connection: the first
    one may be gone, or still waiting for an answer.

    Raises:
        ContendError: they could not be reverted, and no more important error occurred.
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
