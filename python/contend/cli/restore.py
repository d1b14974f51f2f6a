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


def add_restore(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Revert what `contend run` or `contend warm` changed on your own server and on this host, "
        "if it was killed or the server was gone: variables, what `setup` did, the server's list "
        "of pages, host settings. Nothing is measured or loaded."
    )
    parser.add_argument(
        "target",
        metavar="DSN|DIR|host",
        nargs="?",
        help="only this server, the servers of this run folder, or this host (default: all "
        "journals)",
    )
    does = parser.add_mutually_exclusive_group()
    does.add_argument(
        "--yes",
        action="store_true",
        help="without prompting, also revert values that someone else changed since",
    )
    does.add_argument(
        "--dry-run", action="store_true", help="print what would be reverted; change nothing"
    )
    does.add_argument(
        "--forget",
        action="store_true",
        help="leave the servers unchanged and delete their journals",
    )
    parser.add_argument(
        "--journal",
        metavar="FOLDER",
        type=Path,
        help="folder of the journals (default: ~/.local/state/contend/undo)",
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
    dsn = (
        Dsn.parse(args.target).complete()
        if args.target is not None and is_dsn(args.target)
        else None
    )
    is_empty = True
    for path, server, by in _journals(folder, args.target, dsn, errors):
        if is_host(server) and server != this_host():
            remark(f"changes are recorded for {server}, this is {this_host()}: restore them there")
            continue
        try:
            with Journal.at(path, server if by is None else str(by.dsn)) as journal:
                if journal.undo:
                    is_empty = False
                    if by is None and not is_host(server):
                        by = _TriedOnce(Dsn.parse(server))
                    _restore_one(journal, by, args)
        except ServerInUse as error:
            if args.target is not None:
                raise
            remark(error.message)
        except ContendError as error:
            errors.append(error)
    if args.target in (None, HOST) and not (args.dry_run or args.forget):
        for group in remove_left_over():
            is_empty = False
            say(f"removed: {group}, a control group that an earlier command left")
    if errors:
        raise _together(errors)
    if is_empty:
        where = this_host() if args.target == HOST else dsn
        say(f"nothing to revert{f' on {where}' if where is not None else ''}.")
    return 0


def _restore_one(journal: Journal, server: ExistingServer | None, args: argparse.Namespace) -> None:
    """`server` of None is the host."""
    if args.dry_run or args.forget:
        does = "would be reverted" if args.dry_run else "forgotten"
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
        f"{', '.join(map(in_words, journal.undo))}: recorded for a different server that was at "
        f"{place} before. Revert this on the server that is there now?",
        yes=yes,
    ):
        return
    raise NotAgreed(
        f"changes are recorded for a server that was at {place}; a different one is there now.",
        hint="Name the server by its new address. If it is the same server with a new name or data "
        "folder, use --yes to revert them there; --forget deletes the journal.",
        detail="\n".join(map(in_words, journal.undo)),
    )


def restore_server(journal: Journal, server: JournalServer, *, yes: bool) -> None:
    """Revert the changes in its journal and report them; raises ContendError if some remain."""
    put_back(
        journal,
        server,
        lambda question: confirmed(question, yes=yes),
        tell=lambda text: say(f"reverted on {journal.server}: {text}"),
    )


def _prompt() -> Ask | None:
    """Asks for a password if there is a terminal."""
    return getpass.getpass if sys.stdin.isatty() else None


def server_of(dsn: Dsn) -> ExistingServer:
    return ExistingServer(dsn, ask=_prompt())


class _TriedOnce(ExistingServer):
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


KnownJournal = tuple[Path, str, ExistingServer | None]
"""A journal: its path, its server, and that server if the user named it now."""


def _journals(
    folder: Path, named: str | None, dsn: Dsn | None, errors: list[ContendError]
) -> Iterator[KnownJournal]:
    """The requested journals, each once."""
    known: dict[Path, str] = {}
    for path in journals_in(folder):
        try:
            known[path] = server_in(path)
        except ContendError as error:
            if named is None:
                errors.append(error)
    if named is None:
        yield from ((path, server, None) for path, server in known.items())
        return
    if named == HOST:
        yield path_of(folder, this_host()), this_host(), None
        return
    seen: set[Path] = set()
    for one in [dsn] if dsn is not None else _servers_of_run(named):
        server = _TriedOnce(one)
        for path in _paths(folder, server, known):
            if path not in seen:
                seen.add(path)
                yield path, known.get(path, str(one)), server


def _servers_of_run(named: str) -> list[Dsn]:
    # A restore of one server need not wait for this import.
    from contend.lab.session import stored_servers
    from contend.store import find_run

    sources = [str(server.get("source", "")) for server in stored_servers(find_run(named)).values()]
    return [Dsn.parse(source).complete() for source in sources if is_dsn(source)]


def _paths(folder: Path, server: ExistingServer, known: Mapping[Path, str]) -> list[Path]:
    """The journal of the server that answers there, and the journals of any server that was there.
    The server may have a different name since then, or be away."""
    there = [path for path, name in known.items() if place_of(name) == server.dsn.place]
    try:
        own = path_of(folder, str(server.dsn), server.unique_name())
    except ConnectionRefused:
        if not there and not all(map(is_host, known.values())):
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
    return kind("some changes were not reverted.", detail="\n".join(lines))


def revert_earlier(
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
    report_others(journal, say)
    if journal.undo:
        drop_what_is_back(journal, server)
    if not journal.undo:
        return True
    left = remaining_changes(journal)
    if not first(f"{left[0].upper()}{left[1:]}. Revert them first?"):
        return False
    put_back(
        journal,
        server,
        changed,
        tell=lambda text: say(f"reverted after an earlier command: {text}"),
    )
    return True


def report_others(journal: Journal, say: Callable[[str], object]) -> None:
    """Report journals of a different server that was at the same place; they are left unchanged."""
    for other in journal.others_here():
        say(f"changes are recorded for a different server that was here; see `{other}`")


def remaining_changes(journal: Journal) -> str:
    """The changes to revert, as text."""
    left = ", ".join(map(in_words, journal.undo))
    return f"an earlier command left changes on {journal.server}: {left}"
