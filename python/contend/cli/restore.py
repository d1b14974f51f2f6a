"""`contend restore`: put back what a command that was killed left changed on a server or on the
host; and the same offered before another command begins there."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from contend.cli.parser import confirmed, remark, say
from contend.errors import ContendError, RequestError, WorkError
from contend.placement.groups import remove_left_over
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.settings.server import is_dsn
from contend.undo import (
    Host,
    Journal,
    default_folder,
    drop_what_is_back,
    in_words,
    is_host,
    journals_in,
    put_back,
    server_in,
    this_host,
)
from contend.undo.back import JournalServer
from contend.undo.journal import HOST, JournalInUse, place_of
from contend.undo.variables import Agree

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
    folder: Path = args.journal if args.journal is not None else default_folder()
    errors: list[ContendError] = []
    dsn = Dsn.parse(args.what).complete() if args.what is not None and is_dsn(args.what) else None
    wanted = _wanted(args.what, dsn, folder, errors)
    is_empty = True
    for server in _servers(folder, wanted, errors):
        if is_host(server) and server != this_host():
            remark(f"something is noted of {server}, and this is {this_host()}: restore it there")
            continue
        try:
            with Journal.open(folder, server) as journal:
                if journal.undo:
                    is_empty = False
                    _one(journal, None if is_host(server) else dsn or Dsn.parse(server), args)
        except JournalInUse as error:
            if wanted is not None:
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


def _one(journal: Journal, dsn: Dsn | None, args: argparse.Namespace) -> None:
    """`dsn` of None is the host's journal."""
    if args.dry_run or args.forget:
        does = "would be put back" if args.dry_run else "forgotten"
        for entry in reversed(journal.undo):
            say(f"{does}: {in_words(entry)}, on {journal.server}")
        if args.forget:
            journal.forget()
        return
    restore_server(journal, Host() if dsn is None else server_of(dsn), yes=args.yes)


def restore_server(journal: Journal, server: JournalServer, *, yes: bool) -> None:
    """Put back what its journal has, and say so; raises ContendError if not all could be."""
    put_back(
        journal,
        server,
        lambda question: confirmed(question, yes=yes),
        tell=lambda words: say(f"put back on {journal.server}: {words}"),
    )


def server_of(dsn: Dsn) -> ExistingServer:
    """It asks for a password if somebody is there to be asked."""
    return ExistingServer(dsn, ask=getpass.getpass if sys.stdin.isatty() else None)


def _wanted(
    named: str | None, dsn: Dsn | None, folder: Path, errors: list[ContendError]
) -> Collection[str] | None:
    """Of which journals; None for all, after what older runs noted is in them."""
    if named == HOST:
        return [this_host()]
    if dsn is not None:
        return [str(dsn)]
    # Which a restore of one server need not wait for.
    from contend.lab.session import run_folders_left, take_over
    from contend.store import find_run
    from contend.store.folder import RUNS_ROOT

    if named is not None:
        return take_over(find_run(named), folder)
    for run in run_folders_left(RUNS_ROOT):
        try:
            take_over(run, folder)
        except ContendError as error:
            errors.append(error)
    return None


def _servers(
    folder: Path, wanted: Collection[str] | None, errors: list[ContendError]
) -> Iterator[str]:
    """The servers that have a journal, one DSN for each place; of those that are wanted all."""
    seen: set[str] = set()
    servers = list(wanted or ())
    for path in journals_in(folder):
        try:
            servers.append(server_in(path))
        except ContendError as error:
            if wanted is None:
                errors.append(error)
    places = None if wanted is None else set(map(place_of, wanted))
    for server in servers:
        # A journal of before has its name from the whole DSN, so each spelling is opened.
        if server not in seen and (places is None or place_of(server) in places):
            seen.add(server)
            yield server


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
    """Put back what an earlier command left; whether nothing is left.

    Args:
        first: is asked before anything is put back.
        changed: is asked about what somebody else changed since.
        say: is told what was put back.

    Raises:
        ContendError: not all of it could be put back.
    """
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


def what_is_left(journal: Journal) -> str:
    """What it must put back, in words."""
    left = ", ".join(map(in_words, journal.undo))
    return f"an earlier command left changes on {journal.server}: {left}"
