"""Reverts the entries of a journal: tries everything, keeps failures in the journal and names them.

Besides variables a journal may have files of the host, statements that undo others, and the
server's own list of pages, which is moved aside under a name that shows its owner.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pymysql
from pymysql.connections import Connection

from contend.errors import ContendError, WorkError, shielded
from contend.servers.client import run_statement
from contend.servers.errors import ConnectionLost, ConnectionRefused
from contend.servers.hold import AnotherServer, ServerInUse
from contend.servers.undo import files, variables
from contend.servers.undo.journal import Entry, Journal, JournalBroken
from contend.servers.undo.variables import Agree, NotAgreed, always

Tell = Callable[[str], object]


class JournalServer(Protocol):
    """The server of a journal."""

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]: ...


class Host:
    """Takes the place of a server for the host's journal, whose entries need none."""

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        del database, more
        raise WorkError("there is no server to connect to")


ANSWER_S = 60.0
"""Limit for restoring a variable; some are set only after caches are written."""


class NotPutBack(WorkError):
    """The server or the host did not accept the original setting."""


def put_back(
    journal: Journal,
    server: JournalServer,
    agree: Agree = always,
    *,
    since: int = 0,
    tell: Tell = lambda _words: None,
) -> None:
    """Revert everything, the latest change first; no stop interrupts it.

    An entry is removed once it is reverted, so failures, and entries not reached before the process
    ends, stay in the journal.

    Args:
        agree: asked about settings that were changed since by others.
        since: number of the first entries that are left alone, because they are not due yet.

    Raises:
        NotPutBack: some changes could not be reverted.
        NotAgreed: they could, but the user did not agree.
        JournalBroken: all is reverted, and the journal cannot be written.
        KeyboardInterrupt: a stop came meanwhile; see `shielded`.
    """
    with shielded():
        _put_back(journal, server, agree, since, tell)


def _put_back(
    journal: Journal, server: JournalServer, agree: Agree, since: int, tell: Tell
) -> None:
    left = journal.undo[since:][::-1]
    failed: list[str] = []
    declined: list[str] = []
    unwritten: JournalBroken | None = None
    with _Line(server, journal.require_held) as line:
        # Some depend on others: a lower bound can be restored only after the upper.
        is_moving = True
        while left and is_moving:
            tried, left, failed, is_moving = left, [], [], False
            for entry in tried:
                try:
                    words = KINDS[entry["kind"]][0](line, entry, agree)
                except NotAgreed as error:
                    declined.append(f"{_name(entry)}: {error.message}")
                except _FAILURES as error:
                    failed.append(f"{in_words(entry)}: {_reason(error)}")
                    left.append(entry)
                else:
                    tell(words)
                    is_moving = True
                    try:
                        journal.drop(entry)
                        unwritten = None
                    except JournalBroken as error:
                        # The disk is full, for example; the other entries are still reverted.
                        unwritten = error
    if failed:
        raise NotPutBack(
            f"some changes on {journal.server} could not be reverted.",
            hint=f"They are recorded; to try again, run `{journal.remedy}`.",
            detail="\n".join([*failed, *declined]),
        )
    if declined:
        raise NotAgreed(
            f"some changes on {journal.server} were not reverted: confirmation required.",
            hint=f"`{journal.remedy} --yes` reverts them without a prompt; --forget keeps the "
            "current values for good.",
            detail="\n".join(declined),
        )
    if unwritten is not None:
        raise unwritten


def drop_what_is_back(journal: Journal, server: JournalServer) -> None:
    """Drop journal entries whose original value is already in force, for example after a restart.

    Raises:
        ContendError: the server does not answer.
    """
    with _Line(server, journal.require_held) as line:
        for entry in tuple(journal.undo):
            is_back = _IS_BACK.get(entry["kind"])
            if is_back is None:
                continue
            try:
                if is_back(line, entry):
                    journal.drop(entry)
            except (ConnectionLost, ConnectionRefused):
                raise
            except _FAILURES:
                continue


def in_words(entry: Entry) -> str:
    """A description of the change to revert."""
    try:
        return KINDS[entry["kind"]][1](entry)
    except KeyError:
        return _name(entry)


class _Line:
    """One connection for all entries, made for the first that needs it. A server that does not
    answer, or that another contend is changing, is not tried again."""

    def __init__(self, server: JournalServer, require_held: Callable[[], None]) -> None:
        self.server = server
        self._require_held = require_held
        self._connection: Connection[Any] | None = None
        self._refused: ContendError | None = None

    def connection(self) -> Connection[Any]:
        if self._refused is not None:
            raise self._refused
        if self._connection is None:
            try:
                self._require_held()
                self._connection = self.server.connect(
                    read_timeout=ANSWER_S, write_timeout=ANSWER_S
                )
            except (ConnectionRefused, ServerInUse, AnotherServer) as error:
                self._refused = error
                raise
        return self._connection

    def is_lost(self) -> None:
        """The next entry gets a new connection."""
        self._connection = None

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()


def _variable(line: _Line, entry: Entry, agree: Agree) -> str:
    try:
        return variables.put_back(line.connection(), entry, agree)
    except ConnectionLost:
        line.is_lost()
    # It may have been killed; a server that does not answer refuses the new one.
    try:
        return variables.put_back(line.connection(), entry, agree)
    except ConnectionLost:
        line.is_lost()
        raise


_IS_BACK: dict[str, Callable[[_Line, Entry], bool]] = {
    variables.VARIABLE: lambda line, entry: variables.is_back(line.connection(), entry),
    files.FILE: lambda _line, entry: files.is_back(entry),
}

STATEMENT = "statement"
"""Its entry has `statement`, which undoes, and the `database` to run it in, if any."""


def statement_entry(statement: str, database: str | None) -> Entry:
    return {"kind": STATEMENT, "statement": statement, "database": database}


def _statement(line: _Line, entry: Entry, _agree: Agree) -> str:
    line.connection()
    run_statement(line.server.connect, entry["database"], str(entry["statement"]))
    return str(entry["statement"])


FILE_NAME = "ib_buffer_pool"

ASIDE = f"{FILE_NAME}.before-contend"
"""The server's own list while contend's is in its place."""

NONE_BEFORE = f"{FILE_NAME}.none-before-contend"
"""Marks a list that did not exist."""

PAGE_LIST = "page_list"
"""Its entry has `path`, the server's data folder; the file names there show the changes to undo."""


def move_back(data_folder: Path) -> bool:
    """Restore the server's own list if moved aside; returns whether it was. Raises OSError."""
    own, kept = data_folder / FILE_NAME, data_folder / ASIDE
    nothing = data_folder / NONE_BEFORE
    if kept.exists():
        kept.replace(own)
        return True
    if nothing.exists():
        own.unlink(missing_ok=True)
        nothing.unlink()
        return True
    return False


def _page_list(_line: _Line, entry: Entry, _agree: Agree) -> str:
    move_back(Path(entry["path"]))
    return in_words(entry)


def _file(_line: _Line, entry: Entry, agree: Agree) -> str:
    return files.put_back(entry, agree)


KINDS: dict[str, tuple[Callable[[_Line, Entry, Agree], str], Callable[[Entry], str]]] = {
    variables.VARIABLE: (_variable, variables.in_words),
    STATEMENT: (_statement, lambda entry: f"the setup, by {entry['statement']!r}"),
    files.FILE: (_file, files.in_words),
    PAGE_LIST: (_page_list, lambda entry: f"{FILE_NAME} in {entry['path']}"),
}
"""For each kind of change: a function that reverts it and returns a description, and one that
describes the pending change."""

_FAILURES = (ContendError, OSError, pymysql.err.MySQLError, KeyError, TypeError, ValueError)
"""The last three: for an entry that contend did not write in this form."""


def _name(entry: Entry) -> str:
    return str(entry.get("name") or entry["kind"])


def _reason(error: BaseException) -> str:
    if isinstance(error, ContendError):
        return " ".join(filter(None, (error.message, error.detail)))
    if isinstance(error, KeyError):
        return f"the journal entry has no {error}"
    return str(error.args[-1] if error.args else error)
