"""`contend warm --status`, `--save` and `--from-dump`: what the buffer pool holds, as a list of its
pages."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.cli import warm_load
from contend.cli.output import remark
from contend.cli.warm_load import plan_in_words
from contend.errors import RequestError, WorkError
from contend.servers.client import LONG_S
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.undo import Journal, default_folder
from contend.warm.survey import survey
from contend.warm.warm_up import Listener, undone, warm_up

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from contend.warm.server_list import NoList, ServerHost
    from contend.warm.transfer import Names, Translated


def add_arguments(parser: argparse.ArgumentParser, does: Any) -> None:
    """The arguments; `does` is the group of what excludes one another."""
    does.add_argument(
        "--status", action="store_true", help="tell how warm each table is, and load nothing"
    )
    does.add_argument(
        "--save",
        metavar="FILE",
        type=Path,
        help="write the list of the pages in the buffer pool, and their tables to FILE.names; on "
        "the server's own host",
    )
    does.add_argument(
        "--from-dump",
        metavar="FILE",
        type=Path,
        help="load what the list FILE of another server has: one that --save wrote, or its "
        "ib_buffer_pool; elsewhere than on the server's own host as much of the same indexes is "
        "scanned",
    )
    parser.add_argument(
        "--names",
        metavar="DSN",
        help="with --from-dump and without FILE.names: the server that the list is of, or one "
        "that is a physical copy of it",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="with --status: read INNODB_BUFFER_PAGE, which keeps the server busy for a while",
    )
    parser.add_argument("--json", action="store_true", help="with --status: print JSON")


def is_asked(args: argparse.Namespace) -> bool:
    """Whether the command line asks for something of this file."""
    if (args.exact or args.json) and not args.status:
        option = "--exact" if args.exact else "--json"
        raise RequestError(f"{option} goes with --status.")
    if args.names and not args.from_dump:
        raise RequestError("--names goes with --from-dump.")
    return bool(args.status or args.save or args.from_dump)


def run(args: argparse.Namespace, server: ExistingServer) -> int:
    """Do it, and put back what was changed for it."""
    with Journal.open(args.journal or default_folder(), str(server.dsn)) as journal:
        listen = Listener(remark, lambda _progress: None)
        warm_load.put_back_what_is_left(server, journal, yes=args.yes)
        with (
            undone(server, journal, listen),
            server.connect(server.dsn.database) as connection,
        ):
            if args.status:
                return _status(args, server, connection, journal)
            if args.save:
                return _save(args.save, server, connection, journal)
            return _load(args, server, connection, journal)


def _host(server: ExistingServer, connection: Connection[Any]) -> ServerHost | NoList:
    """The server's files, or why they are not to be had."""
    from contend.warm.server_list import NoList, host_of

    try:
        return host_of(connection, server.dsn.socket)
    except NoList as error:
        return error


def _status(
    args: argparse.Namespace,
    server: ExistingServer,
    connection: Connection[Any],
    journal: Journal,
) -> int:
    from contend.cli.warm_status import as_json, as_text
    from contend.warm.status import read_status

    if args.exact:
        sys.stderr.write(
            "INNODB_BUFFER_PAGE is read: the server walks through its whole buffer pool for it, "
            "and other queries may wait.\n"
        )
    database = server.dsn.database
    with ExitStack() as more:
        exact = more.enter_context(server.connect(read_timeout=LONG_S)) if args.exact else None
        status = read_status(
            connection,
            survey(connection, database),
            journal,
            _host(server, connection),
            exact=exact,
            database=database,
        )
    sys.stdout.write(as_json(status) if args.json else as_text(status))
    return 0


def _save(
    path: Path,
    server: ExistingServer,
    connection: Connection[Any],
    journal: Journal,
) -> int:
    from contend.warm import page_list
    from contend.warm.pool import taken
    from contend.warm.server_list import NoList
    from contend.warm.tablespaces import read_catalogue
    from contend.warm.transfer import names_of, names_path, write_names

    host = _host(server, connection)
    if isinstance(host, NoList):
        raise host
    catalogue = read_catalogue(connection, server.identity().kind)
    pages = taken(connection, journal, host)
    try:
        page_list.write(path, pages)
        write_names(path, names_of(pages, catalogue, host))
    except OSError as error:
        raise WorkError(f"{path} cannot be written: {error.strerror}.") from error
    sys.stdout.write(
        f"{len(pages):,} pages in {path}, their tables in {names_path(path)}. "
        "Copy both to the other host.\n"
    )
    return 0


def _load(
    args: argparse.Namespace,
    server: ExistingServer,
    connection: Connection[Any],
    journal: Journal,
) -> int:
    from contend.warm import page_list
    from contend.warm.by_list import ByList
    from contend.warm.plan import plan_of_shares
    from contend.warm.tablespaces import read_catalogue
    from contend.warm.transfer import translate

    pages = page_list.read(args.from_dump)
    names = _names(args)
    host = warm_load.host_or_why(args, server)
    if isinstance(host, str):
        remark(
            f"The list itself is not loaded: {host.rstrip('.')}. Its indexes are scanned instead."
        )
    seen = survey(connection, server.dsn.database)
    here = read_catalogue(connection, seen.kind)
    wanted = translate(pages, names, here, None if isinstance(host, str) else host)
    for line in _in_words(wanted):
        remark(line)
    if not (len(wanted.pages) or wanted.shares):
        raise RequestError(
            f"none of the {len(pages):,} pages of {args.from_dump} is of a table that "
            f"{server.dsn} has."
        )
    # What is scanned if the server does not load the list.
    plan, by_list = plan_of_shares(seen, translate(pages, names, here, None).shares), None
    if isinstance(host, str):
        sys.stdout.write(plan_in_words(plan))
    else:
        pool = seen.cache("innodb")
        page = pool.page if pool is not None else 0
        listed = {args.from_dump.name: wanted.pages} if len(wanted.pages) else {}
        unlisted = [share for share in wanted.shares if not share.is_listed]
        by_list = ByList(host, listed, page, plan_of_shares(seen, unlisted).items)
    how = warm_load.how_of(args)
    return warm_load.show(
        server,
        journal,
        lambda load, listen: warm_up(
            server, plan, seen.kind, journal, load, how, listen, by_list=by_list
        ),
    )


def _names(args: argparse.Namespace) -> Names:
    from contend.warm.tablespaces import read_catalogue
    from contend.warm.transfer import Names, names_path, read_names

    if args.names:
        other = ExistingServer(
            Dsn.parse(args.names), ask=getpass.getpass if sys.stdin.isatty() else None
        )
        with other.connect() as connection:
            return Names(read_catalogue(connection, other.identity().kind), {})
    names = read_names(args.from_dump)
    if names is None:
        raise RequestError(
            f"{args.from_dump} has ids of tablespaces alone, and {names_path(args.from_dump)} "
            "with their tables is not there.",
            hint="Copy it as well, or name the server that the list is of: --names DSN. A server "
            "that was made from a physical copy of it has the same ids: name that itself.",
        )
    return names


def _in_words(wanted: Translated) -> Iterator[str]:
    """What the translation came to."""
    if wanted.same:
        yield f"the very pages of {', '.join(wanted.same)}"
    for share in wanted.shares:
        why = "is another one" if share.is_listed else "does not say whose its pages are: scanned"
        yield f"{share.share:.0%} of {share.table}.{share.index}, whose file here {why}"
    for table in wanted.missing:
        yield f"not here: {table}"
    if wanted.unnamed:
        yield f"{wanted.unnamed:,} pages of the list are of no table that is known"
