"""`contend restore`: reverts changes that a killed command left on a server or on the host. Also
offers this before a new command begins there."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from contend.cli.parser import confirmed, remark, say
from contend.errors import ContendError, RequestError, WorkError
from contend.experiment.settings.server import is_dsn
from contend.host.placement.groups import remove_left_over
from contend.servers.dsn import Dsn
from contend.servers.errors import ConnectionRefused
from contend.servers.existing import Ask, ExistingServer
from contend.servers.hold import ServerInUse
from contend.servers.undo import (
    Host,
    Journal,
    NotAgreed,
    default_folder,
    drop_what_is_back,
    in_words,
    is_host,
    journals_in,
    path_of,
    put_back,
    server_in,
    this_host,
)
from contend.servers.undo.back import JournalServer
from contend.servers.undo.journal import HOST, place_of, remedies_left
from contend.servers.undo.variables import Agree

NOTHING = "nothing is to be put back"


def add_restore(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Put back what `contend run` or `contend warm` changed on a server that is not contend's "
        "own and could not put back, because it was killed or the server was gone: variables, what "
        "`setup` did, the server's list of pages; and what it changed on this host. Nothing is "
        "measured and nothing loaded."
    )
    parser.add_argument(
        "what",
        metavar="DSN|DIR|host",
        nargs="?",
        help="only this server, the servers of the run in this folder, or this host (default: "
        "everything of which something is noted)",
    )
    does = parser.add_mutually_exclusive_group()
    does.add_argument(
        "--yes",
        action="store_true",
        help="put back without asking what somebody else changed since",
    )
    does.add_argument(
        "--dry-run", action="store_true", help="tell what is to be put back, and change nothing"
    )
    does.add_argument(
        "--forget",
        action="store_true",
        help="leave the servers as they are, and forget what they were",
    )
    parser.add_argument(
        "--journal",
        metavar="FOLDER",
        type=Path,
        help="where it is noted (default: ~/.local/state/contend/undo)",
    )
    parser.set_defaults(run=_restore)


def _restore(args: argparse.Namespace) -> int:
    try:
        return _restored(args)
    except ContendError:
        remedies_left()  # The error itself contains the remedy.
        raise


def _restored(args: argparse.Namespace) -> int:
    folder: Path = args.journal if args.journal is not None else default_folder()
    errors: list[ContendError] = []
    dsn = Dsn.parse(args.what).complete() if args.what is not None and is_dsn(args.what) else None
    is_empty = True
    for path, server, by in _journals(folder, args.what, dsn, errors):
        if is_host(server) and server != this_host():
            remark(f"something is noted of {server}, and this is {this_host()}: restore it there")
            continue
        try:
            with Journal.at(path, server if by is None else str(by.dsn)) as journal:
                if journal.undo:
                    is_empty = False
                    if by is None and not is_host(server):
                        by = _AskedOnce(Dsn.parse(server))
                    _one(journal, by, args)
        except ServerInUse as error:
            if args.what is not None:
                raise
            remark(error.message)
        except ContendError as error:
            errors.append(error)
    if args.what in (None, HOST) and not (args.dry_run or args.forget):
        for group in remove_left_over():
            is_empty = False
            say(f"removed: {group}, a control group that a command of contend left")
    if errors:
        raise _together(errors)
    if is_empty:
        where = this_host() if args.what == HOST else dsn
        say(f"{NOTHING}{f' on {where}' if where is not None else ''}.")
    return 0


def _one(journal: Journal, server: ExistingServer | None, args: argparse.Namespace) -> None:
    """`server` of None is the host."""
    if args.dry_run or args.forget:
        does = "would be put back" if args.dry_run else "forgotten"
        for entry in reversed(journal.undo):
            say(f"{does}: {in_words(entry)}, on {journal.server}")
        if args.forget:
            journal.forget()
        return
    if server is None:
        restore_server(journal, Host(), yes=args.yes)
        return
    try:
        journal.take(server)
    except ConnectionRefused:
        pass  # Each entry then reports that as its reason to stay.
    else:
        _require_same(journal, server, yes=args.yes)
    restore_server(journal, server, yes=args.yes)


def _require_same(journal: Journal, server: ExistingServer, *, yes: bool) -> None:
    """Ask before reverting a change on a server that is not the changed one."""
    place = server.dsn.place
    if journal.is_of_held() or confirmed(
        f"{', '.join(map(in_words, journal.undo))}: noted of another server that was at {place} "
        "before. Put it back on the one that is there now?",
        yes=yes,
    ):
        return
    raise NotAgreed(
        f"something is noted of a server that was at {place}, and another one is there now.",
        hint="Name the server by the place where it is now. --yes puts it back on this one, if it "
        "has got another name or data folder; --forget forgets it.",
        detail="\n".join(map(in_words, journal.undo)),
    )


def restore_server(journal: Journal, server: JournalServer, *, yes: bool) -> None:
    """Revert the changes in its journal and report them; raises ContendError if some remain."""
    put_back(
        journal,
        server,
        lambda question: confirmed(question, yes=yes),
        tell=lambda words: say(f"put back on {journal.server}: {words}"),
    )


def _prompt() -> Ask | None:
    """Asks for a password if there is a terminal."""
    return getpass.getpass if sys.stdin.isatty() else None


def server_of(dsn: Dsn) -> ExistingServer:
    return ExistingServer(dsn, ask=_prompt())


class _AskedOnce(ExistingServer):
    """A server that is not tried again after it failed to answer: that takes long each time."""

    def __init__(self, dsn: Dsn) -> None:
        super().__init__(dsn, ask=_prompt())
        self._refused: ConnectionRefused | None = None

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        if self._refused is not None:
            raise self._refused
        try:
            return super().connect(database, **more)
        except ConnectionRefused as error:
            self._refused = error
            raise


Noted = tuple[Path, str, ExistingServer | None]
"""A journal: its path, its server, and that server if the user named it now."""


def _journals(
    folder: Path, named: str | None, dsn: Dsn | None, errors: list[ContendError]
) -> Iterator[Noted]:
    """The requested journals, each once."""
    noted: dict[Path, str] = {}
    for path in journals_in(folder):
        try:
            noted[path] = server_in(path)
        except ContendError as error:
            if named is None:
                errors.append(error)
    if named is None:
        yield from ((path, server, None) for path, server in noted.items())
        return
    if named == HOST:
        yield path_of(folder, this_host()), this_host(), None
        return
    seen: set[Path] = set()
    for one in [dsn] if dsn is not None else _servers_of_run(named):
        server = _AskedOnce(one)
        for path in _paths(folder, server, noted):
            if path not in seen:
                seen.add(path)
                yield path, noted.get(path, str(one)), server


def _servers_of_run(named: str) -> list[Dsn]:
    # A restore of one server need not wait for this import.
    from contend.lab.session import stored_servers
    from contend.store import find_run

    sources = [str(server.get("source", "")) for server in stored_servers(find_run(named)).values()]
    return [Dsn.parse(source).complete() for source in sources if is_dsn(source)]


def _paths(folder: Path, server: ExistingServer, noted: Mapping[Path, str]) -> list[Path]:
    """The journal of the server that answers there, and the journals of any server that was there.
    The server may have a different name since then, or be away."""
    there = [path for path, name in noted.items() if place_of(name) == server.dsn.place]
    try:
        own = path_of(folder, str(server.dsn), server.unique_name())
    except ConnectionRefused:
        if not there and not all(map(is_host, noted.values())):
            raise
        return there
    return [own, *(path for path in there if path != own)]


def _together(errors: list[ContendError]) -> ContendError:
    if len(errors) == 1:
        return errors[0]
    lines = [
        line
        for error in errors
        for line in (
            error.message,
            *(f"  {line}" for line in (error.detail or "").splitlines()),
            *([f"  {error.hint}"] if error.hint else []),
        )
    ]
    kind = (
        WorkError
        if any(error.exit_code == WorkError.exit_code for error in errors)
        else RequestError
    )
    return kind("not everything was put back.", detail="\n".join(lines))


def offer(
    journal: Journal,
    server: JournalServer,
    first: Agree,
    changed: Agree,
    say: Callable[[str], object],
) -> bool:
    """Revert the changes that an earlier command left; return whether none remain.

    Args:
        first: asks before anything is reverted.
        changed: asks about values that someone else changed since.
        say: prints each reverted change.

    Raises:
        ContendError: not all of them could be reverted.
    """
    tell_of_others(journal, say)
    if journal.undo:
        drop_what_is_back(journal, server)
    if not journal.undo:
        return True
    left = what_is_left(journal)
    if not first(f"{left[0].upper()}{left[1:]}. Put it back first?"):
        return False
    put_back(
        journal,
        server,
        changed,
        tell=lambda words: say(f"put back after an earlier command: {words}"),
    )
    return True


def tell_of_others(journal: Journal, say: Callable[[str], object]) -> None:
    """Report journals of a different server that was at the same place; they are left unchanged."""
    for other in journal.others_here():
        say(f"something is noted of another server that was here; `{other}` tells of it")


def what_is_left(journal: Journal) -> str:
    """The changes to revert, as text."""
    left = ", ".join(map(in_words, journal.undo))
    return f"an earlier command left changes on {journal.server}: {left}"
