"""The server's own list of pages: have it written, have it loaded, and leave it as it was.

`innodb_buffer_pool_dump_now` and `_load_now` know one file alone, `ib_buffer_pool` in the data
folder, and MariaDB cannot be given another while it runs (error 1238). It is also what the server
reads at its next start. So it is moved aside first, under a name that says whose it is, and moved
back at the end. The journal says in which folder; that name there says what is to be undone.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.connections import Connection

from contend.errors import WorkError
from contend.interrupts import shielded
from contend.servers.client import fetch, socket_peer
from contend.servers.errors import ConnectionLost
from contend.undo.back import ASIDE, FILE_NAME, NONE_BEFORE, PAGE_LIST, move_back

if TYPE_CHECKING:
    from contend.undo import Journal
    from contend.warm.page_list import Pages

_POLL_S = 0.02
_LOOKS = 3000
"""After so many looks without a change, which take a minute, nobody waits any longer. Looks are
counted and no time: a host that stood still meanwhile is not the server's fault."""

_LOADED = re.compile(r"Loaded (\d+)/(\d+) pages")
_AT_WORK = ("Loading buffer pool", "Loaded ")
"""How the status begins while the server loads. MySQL that never loaded says "Loading of buffer
pool not started"."""
_COMPLETED_AT = re.compile(r"completed at \d+ +\d+:\d+:(\d+)")

_AS_WHOM = "Run contend on the server's host as root, or as the user that the server runs as."

OnProgress = Callable[[int, int], None]
"""Is told the pages that were asked for, and how many there are in all."""


class NoList(WorkError):
    """The server's list cannot be written or read from here."""


@dataclass(frozen=True, slots=True)
class ServerHost:
    """The server's host as seen by us, who are on it: `data_folder` is the server's."""

    data_folder: Path

    def file(self, name: str) -> Path:
        """A file as the server names it: a path, absolute or not."""
        return self.data_folder / name


def same_host(socket: Path | None, data_folder: str) -> ServerHost:
    """The server's files, if it runs on this host.

    Args:
        socket: of Unix, by which the server is reached; None if it is reached otherwise.

    Raises:
        NoList: it is not known that it runs here, or its files are not for us.
    """
    if socket is None:
        raise NoList(
            "the server is reached over TCP, so it is not known whether it runs on this host",
            hint="On its own host, name it by its socket: socket:/path.",
        )
    pid = socket_peer(socket)
    folder = Path(data_folder)
    if pid is None:
        raise NoList(f"{socket} leads to a server on another host")
    try:
        same = folder.samefile(f"/proc/{pid}/cwd")
        next(folder.iterdir(), None)
    except OSError as error:
        raise NoList(
            f"the server's data folder {folder} is not for this user: {error.strerror}",
            hint=_AS_WHOM,
        ) from error
    if not same:
        raise NoList(f"the server's data folder is not the {folder} that is seen from here")
    return ServerHost(folder)


def host_of(connection: Connection[Any], socket: Path | None) -> ServerHost:
    """The same, of the server that answers here.

    Raises:
        NoList: as of `same_host`.
    """
    ((folder,),) = fetch(connection, "SELECT @@datadir")
    return same_host(socket, str(folder))


def loading_host(connection: Connection[Any], socket: Path | None) -> ServerHost:
    """The server's files, if it can be had to load a list; nothing is changed to find out.

    Raises:
        NoList: it cannot, or not by this user.
    """
    host = host_of(connection, socket)
    if not os.access(host.data_folder, os.R_OK | os.W_OK | os.X_OK):
        raise NoList(
            f"this user may not write to the server's data folder {host.data_folder}", hint=_AS_WHOM
        )
    ((is_read_only,),) = fetch(connection, "SELECT @@GLOBAL.innodb_read_only")
    if int(is_read_only):
        raise NoList("the server runs with innodb_read_only, and loads no list then")
    # OFF does nothing, and wants the same privilege as all the others.
    _set(connection, "innodb_buffer_pool_load_abort", "OFF")
    return host


@contextlib.contextmanager
def aside(host: ServerHost, journal: Journal) -> Iterator[Path]:
    """The place of the server's own list, empty; its own is back there afterwards."""
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
        raise NoList(f"{own} cannot be moved aside: {error.strerror}", hint=_AS_WHOM) from error
    try:
        yield own
    finally:
        with shielded():
            move_back(host.data_folder)
            journal.drop(entry)


class _IdleWait:
    """A wait that ends when nothing happens any more."""

    def __init__(self, awaited: str) -> None:
        self._awaited = awaited
        self._seen: object = None
        self._looks = 0

    def wait(self, said: str, grown: int = 0) -> None:
        """Until the next look.

        Args:
            grown: what else changes as long as it is at work.

        Raises:
            NoList: both have been the same for too long.
        """
        if (said, grown) != self._seen:
            self._seen, self._looks = (said, grown), 0
        self._looks += 1
        if self._looks > _LOOKS:
            raise NoList(
                f"the server was to {self._awaited}, and nothing has changed for a minute; it says:"
                f" {said or 'nothing'}"
            )
        time.sleep(_POLL_S)


def take(connection: Connection[Any], host: ServerHost, journal: Journal) -> Pages:
    """Have the server write the list of the pages that it holds.

    `innodb_buffer_pool_dump_pct` says how many, and is the caller's to set and to set back.

    Raises:
        NoList: it does not write it.
    """
    from contend.warm import page_list

    with aside(host, journal) as path:
        _set(connection, "innodb_buffer_pool_dump_now")
        patience = _IdleWait("write its list of pages")
        # The server writes under another name first, so the file is whole when it is there.
        unfinished = path.with_name(f"{FILE_NAME}.incomplete")
        try:
            while not path.exists():
                said = _status(connection, "Innodb_buffer_pool_dump_status")
                if said.lower().startswith(("cannot", "error")):
                    raise NoList(f"the server cannot write its list of pages: {said}")
                patience.wait(said, _size(unfinished))
        except KeyboardInterrupt:
            # It cannot be stopped, and would put its list in the place of the one from before.
            while not path.exists():
                patience.wait("", _size(unfinished))
            raise
        return page_list.read(path)


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

    The server sorts the list, reads as many as it can at once, and takes no more than fit: the
    first of the list.

    Raises:
        NoList: it does not load it.
    """
    from contend.warm import page_list

    before = _when_idle(connection)
    with aside(host, journal) as path:
        page_list.write(path, pages, like=host.data_folder)
        _let_second_pass(before)
        try:
            _set(connection, "innodb_buffer_pool_load_now")
            patience = _IdleWait("load a list of pages")
            while True:
                said = _status(connection, "Innodb_buffer_pool_load_status")
                if said != before:
                    if "completed" in said:
                        break
                    if (match := _LOADED.search(said)) is not None:
                        on_progress(int(match[1]), int(match[2]))
                    elif not said.startswith(_AT_WORK):
                        raise NoList(f"the server does not load a list of pages: {said}")
                patience.wait(said)
        except (KeyboardInterrupt, NoList):
            # It would go on with a list that is no longer there, or with its own.
            with contextlib.suppress(NoList, ConnectionLost):
                _set(connection, "innodb_buffer_pool_load_abort")
            raise
    on_progress(len(pages), len(pages))


def _when_idle(connection: Connection[Any]) -> str:
    """What the server says of its last load. One that it is at, such as that of its own list after
    it was started, is waited for: of two the server would forget one.

    Raises:
        NoList: it does not come to its end.
    """
    patience = _IdleWait("come to the end of a load that was not begun by contend")
    while True:
        said = _status(connection, "Innodb_buffer_pool_load_status")
        if not said.startswith(_AT_WORK):
            return said
        patience.wait(said)


def _let_second_pass(before: str) -> None:
    """A load that is completed is told with its second, so that of the next one must be another:
    else it would read as if nothing had happened."""
    match = _COMPLETED_AT.search(before)
    while match is not None and int(match[1]) == int(time.time()) % 60:
        time.sleep(_POLL_S)


def _set(connection: Connection[Any], trigger: str, value: str = "ON") -> None:
    try:
        fetch(connection, f"SET GLOBAL {trigger} = {value}")
    except pymysql.err.MySQLError as error:
        raise NoList(
            f"the server refuses SET GLOBAL {trigger}: {error.args[-1]}",
            hint="It wants the privilege SUPER or SYSTEM_VARIABLES_ADMIN.",
        ) from error


def _status(connection: Connection[Any], name: str) -> str:
    rows = fetch(connection, "SHOW GLOBAL STATUS LIKE %s", (name,))
    return str(rows[0][1]) if rows else ""
