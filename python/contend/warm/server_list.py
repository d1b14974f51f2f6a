"""The server's own list of pages: have it written and loaded, then restore the original.

The list is `ib_buffer_pool`, with `space,page` on each line, both as decimal numbers: the id of the
tablespace and the number of the page in it. The most recently used pages come first.

`innodb_buffer_pool_dump_now` and `_load_now` know only `ib_buffer_pool` in the data folder, and
MariaDB cannot change that name while it runs (error 1238). The server also reads this file at its
next start. So contend first moves it aside, under a name that identifies contend, and moves it back
at the end. The journal records the folder; the name in it shows what to undo.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pymysql
from numpy.typing import NDArray
from pymysql.connections import Connection

from contend.errors import WorkError, shielded
from contend.servers.client import fetch, socket_peer
from contend.servers.errors import ConnectionLost, OptionRejected
from contend.servers.undo import Journal
from contend.servers.undo.back import ASIDE, FILE_NAME, NONE_BEFORE, PAGE_LIST, move_back
from contend.servers.undo.variables import change
from contend.servers.variables import read_global

Pages = NDArray[np.uint32]
"""Pages in the order of their list, shape (n, 2): the id of the tablespace, the page's number."""

_POLL_S = 0.02
_POLLS = 3000
"""Polls without a change, a minute in total, before waiting ends. Polls are counted instead of
time, because a suspended host is not the server's fault."""

_LOADED = re.compile(r"Loaded (\d+)/(\d+) pages")
_AT_WORK = ("Loading buffer pool", "Loaded ")
"""Prefixes of the status while the server loads. MySQL that never loaded reports "Loading of buffer
pool not started"."""
_COMPLETED_AT = re.compile(r"completed at \d+ +\d+:\d+:(\d+)")

_RUN_AS = "Run contend on the server's host as root, or as the user that the server runs as."

OnProgress = Callable[[int, int], None]
"""Called with the number of pages requested so far, and the total."""


class NoList(WorkError):
    """The server's list cannot be written or read from here."""


@dataclass(frozen=True, slots=True)
class ServerHost:
    """The server's host, on which contend runs: `data_folder` is the server's."""

    data_folder: Path

    def file(self, name: str) -> Path:
        """The path of a file named by the server, absolute or relative."""
        return self.data_folder / name


def host_of(connection: Connection[Any], socket: Path | None) -> ServerHost:
    """The server's files, if it runs on this host.

    Args:
        socket: Unix socket of the server; None if it is reached in a different way.

    Raises:
        NoList: the server is not known to run here, or its files are not accessible.
    """
    if socket is None:
        raise NoList(
            "the server is reached over TCP, so it is unknown whether it runs on this host",
            hint="On the server's own host, use its socket: socket:/path.",
        )
    ((datadir,),) = fetch(connection, "SELECT @@datadir")
    pid, folder = socket_peer(socket), Path(str(datadir))
    if pid is None:
        raise NoList(f"{socket} leads to a server on a different host")
    try:
        same = folder.samefile(f"/proc/{pid}/cwd")
        next(folder.iterdir(), None)
    except OSError as error:
        raise NoList(
            f"this user cannot read the server's data folder {folder}: {error.strerror}",
            hint=_RUN_AS,
        ) from error
    if not same:
        raise NoList(f"the server's data folder is not the {folder} of this host")
    return ServerHost(folder)


def loading_host(connection: Connection[Any], socket: Path | None) -> ServerHost:
    """The server's files, if it can load a list; this check changes nothing.

    Raises:
        NoList: it cannot, or this user may not request it.
    """
    host = host_of(connection, socket)
    if not os.access(host.data_folder, os.R_OK | os.W_OK | os.X_OK):
        raise NoList(
            f"this user may not write to the server's data folder {host.data_folder}", hint=_RUN_AS
        )
    ((is_read_only,),) = fetch(connection, "SELECT @@GLOBAL.innodb_read_only")
    if int(is_read_only):
        raise NoList("the server runs with innodb_read_only, so it loads no list")
    # OFF does nothing, and needs the same privilege as the other settings.
    _set(connection, "innodb_buffer_pool_load_abort", "OFF")
    return host


@contextlib.contextmanager
def aside(host: ServerHost, journal: Journal) -> Iterator[Path]:
    """The path of the server's own list, without a file; its own list is restored afterwards."""
    own = host.data_folder / FILE_NAME
    journal.require_held()
    move_back(host.data_folder)
    entry = journal.note(PAGE_LIST, path=str(host.data_folder))
    try:
        if own.exists():
            own.rename(host.data_folder / ASIDE)
        else:
            (host.data_folder / NONE_BEFORE).touch(exist_ok=False)
    except OSError as error:
        journal.drop(entry)
        raise NoList(f"cannot move {own} aside: {error.strerror}", hint=_RUN_AS) from error
    try:
        yield own
    finally:
        with shielded():
            move_back(host.data_folder)
            journal.drop(entry)


class _IdleWait:
    """A wait that ends when nothing changes any more."""

    def __init__(self, awaited: str) -> None:
        self._awaited = awaited
        self._last: object = None
        self._polls = 0

    def wait(self, status: str, grown: int = 0) -> None:
        """Wait until the next poll; `grown` is a second value that changes while the server works.

        Raises:
            NoList: both have been the same for too long.
        """
        if (status, grown) != self._last:
            self._last, self._polls = (status, grown), 0
        self._polls += 1
        if self._polls > _POLLS:
            raise NoList(
                f"the server did not {self._awaited}: no progress for a minute; its status:"
                f" {status or 'empty'}"
            )
        time.sleep(_POLL_S)


def take(
    connection: Connection[Any], host: ServerHost, journal: Journal, *, percent: int = 100
) -> Pages:
    """Have the server write the list of its cached pages, most recently used first.

    Args:
        percent: in the server's sense: a maximum share of the pool's size, or on MySQL of the pages
            in it. The journal has the previous value.

    Raises:
        NoList: the server does not write it, or this user may not request it.
    """
    why_not = set_variable(connection, journal, "innodb_buffer_pool_dump_pct", percent)
    if why_not is not None:
        raise NoList(why_not)
    with aside(host, journal) as path:
        _set(connection, "innodb_buffer_pool_dump_now")
        patience = _IdleWait("write its list of pages")
        # The server writes under a different name first, so this file is complete once it exists.
        unfinished = path.with_name(f"{FILE_NAME}.incomplete")
        try:
            while not path.exists():
                status = _status(connection, "Innodb_buffer_pool_dump_status")
                if status.lower().startswith(("cannot", "error")):
                    raise NoList(f"the server cannot write its list of pages: {status}")
                patience.wait(status, _size(unfinished))
        except KeyboardInterrupt:
            # The dump cannot be stopped, and would overwrite the restored list.
            while not path.exists():
                patience.wait("", _size(unfinished))
            raise
        return _parsed(path.read_bytes())


def _parsed(data: bytes) -> Pages:
    numbers = data.replace(b"\n", b",").strip(b", ").split(b",")
    try:
        return np.array([one for one in numbers if one], dtype=np.uint32).reshape(-1, 2)
    except (ValueError, OverflowError) as error:
        raise NoList(f"the server's list of pages is not `space,page`: {error}") from None


def write(path: Path, pages: Pages) -> None:
    """Write a list that the server can read, atomically."""
    temporary = path.with_name(f"{path.name}.writing")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.writelines(f"{space},{page}\n" for space, page in pages.tolist())
            if os.geteuid() == 0:
                owner = path.parent.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def of_tablespace(space: int, numbers: NDArray[np.uint32]) -> Pages:
    """Pages of one tablespace, in list form."""
    return np.column_stack([np.full(len(numbers), space, dtype=np.uint32), numbers])


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def load(
    connection: Connection[Any],
    host: ServerHost,
    journal: Journal,
    pages: Pages,
    on_progress: OnProgress = lambda _done, _all: None,
) -> None:
    """Have the server read pages into its buffer pool, and wait until it has.

    The server sorts the list, reads as many pages at once as it can, and takes only the first ones
    that fit.

    Raises:
        NoList: it does not load it.
    """
    before = _when_idle(connection)
    with aside(host, journal) as path:
        write(path, pages)
        _let_second_pass(before)
        try:
            _set(connection, "innodb_buffer_pool_load_now")
            patience = _IdleWait("load a list of pages")
            while True:
                status = _status(connection, "Innodb_buffer_pool_load_status")
                if status != before:
                    if "completed" in status:
                        break
                    if (match := _LOADED.search(status)) is not None:
                        on_progress(int(match[1]), int(match[2]))
                    elif not status.startswith(_AT_WORK):
                        raise NoList(f"the server does not load a list of pages: {status}")
                patience.wait(status)
        except (KeyboardInterrupt, NoList):
            # It would continue with a list that no longer exists, or with its own.
            with contextlib.suppress(NoList, ConnectionLost):
                _set(connection, "innodb_buffer_pool_load_abort")
            raise
    on_progress(len(pages), len(pages))


def _when_idle(connection: Connection[Any]) -> str:
    """The server's status of its last load. A load in progress, such as that of its own list
    after a start, is awaited: the server would forget one of two.

    Raises:
        NoList: it does not finish.
    """
    patience = _IdleWait("finish a load that contend did not start")
    while True:
        status = _status(connection, "Innodb_buffer_pool_load_status")
        if not status.startswith(_AT_WORK):
            return status
        patience.wait(status)


def _let_second_pass(before: str) -> None:
    """The status of a completed load contains its second, so the next one must end in a different
    second. Otherwise, it would look as if nothing had happened."""
    match = _COMPLETED_AT.search(before)
    while match is not None and int(match[1]) == int(time.time()) % 60:
        time.sleep(_POLL_S)


def _set(connection: Connection[Any], trigger: str, value: str = "ON") -> None:
    try:
        fetch(connection, f"SET GLOBAL {trigger} = {value}")
    except pymysql.err.MySQLError as error:
        raise NoList(
            f"the server refuses SET GLOBAL {trigger}: {error.args[-1]}",
            hint="Grant this user the privilege SUPER or SYSTEM_VARIABLES_ADMIN.",
        ) from error


def _status(connection: Connection[Any], name: str) -> str:
    rows = fetch(connection, "SHOW GLOBAL STATUS LIKE %s", (name,))
    return str(rows[0][1]) if rows else ""


def set_variable(
    connection: Connection[Any], journal: Journal, name: str, value: int
) -> str | None:
    """Set a global variable that is a whole number. The journal has the previous value.

    Returns:
        The reason if it was not set.
    """
    try:
        if read_global(connection, name) != value:
            change(connection, journal, name, value)
    except OptionRejected as error:
        code, *_, message = getattr(error.__cause__, "args", None) or (0, error.message)
        return f"{name} cannot be set to {value} (error {code}: {message})"
    return None
