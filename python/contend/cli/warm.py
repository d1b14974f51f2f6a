"""`contend warm`: load a server's caches, tell how warm they are, keep and take a list of the pages
in the buffer pool."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymysql.connections import Connection

from contend.cli import warm_load
from contend.cli.parser import remark, say
from contend.cli.restore import NOTHING, restore_server, server_of, tell_of_others
from contend.cli.warm_load import plan_in_words
from contend.errors import RequestError, WorkError
from contend.host import memory_available_bytes
from contend.servers.client import LONG_S
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.undo import Journal, default_folder
from contend.units import parse_duration_s
from contend.warm.model import Cache, WarmPlan
from contend.warm.myisam import named_key_cache
from contend.warm.plan import make_plan
from contend.warm.survey import read_counts, survey
from contend.warm.warm_up import Listener, resume, undone, warm_up

if TYPE_CHECKING:
    from contend.warm.by_list import ByList
    from contend.warm.server_list import NoList, ServerHost
    from contend.warm.transfer import Names, Translated


def add_warm(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Load tables and indexes into the caches of a running server: after a restart, after a "
        "failover, on a new replica. Reads only: no row is written."
    )
    parser.add_argument(
        "server", metavar="DSN", help="the server, such as mysql://user@host/database"
    )
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--dry-run", action="store_true", help="print the plan and load nothing")
    does.add_argument(
        "--resume", action="store_true", help="go on with a warm-up that was interrupted"
    )
    does.add_argument(
        "--restore",
        action="store_true",
        help="put back what a killed command left changed on the server, and load nothing: "
        "`contend restore DSN`",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="put back first what an earlier command left changed there, without asking",
    )
    add_arguments(parser, does)
    what = parser.add_argument_group("what is loaded, and in which order")
    what.add_argument(
        "--table",
        metavar="NAME",
        action="append",
        default=[],
        help="only this: db.table, or db.table.index; may be given several times, in order",
    )
    what.add_argument(
        "--hot",
        metavar="FILE",
        type=Path,
        help="a list of names, one a line: these first, then the others",
    )
    what.add_argument(
        "--like",
        metavar="DSN",
        help="what is read most on this server first, such as the primary of a new replica",
    )
    what.add_argument(
        "--key-cache",
        metavar="TABLE=NAME",
        action="append",
        default=[],
        help="give a MyISAM table to this key cache, in which its indexes are then loaded",
    )
    how = parser.add_argument_group("how fast")
    how.add_argument(
        "--scan",
        action="store_true",
        help="scan InnoDB's tables even on the server's own host, where without limits the server "
        "is given a list of their pages and loads it by itself, many at once",
    )
    how.add_argument(
        "--connections",
        metavar="N",
        type=_whole,
        help="connections that scan (default: 4, or 1 with a limit)",
    )
    how.add_argument(
        "--pages-per-second", metavar="N", type=_whole, help="read at most so many pages a second"
    )
    how.add_argument(
        "--max-latency",
        metavar="TIME",
        type=_time,
        help="read only as fast as a query of one row still takes no longer, such as 5ms",
    )
    how.add_argument(
        "--max-threads-running",
        metavar="N",
        type=_whole,
        help="pause while the server runs more statements than this, those of the warm-up aside",
    )
    parser.add_argument(
        "--journal",
        metavar="FOLDER",
        type=Path,
        help="where to note what must be put back and what is done "
        "(default: ~/.local/state/contend/undo)",
    )
    parser.set_defaults(run=_warm)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _time(text: str) -> float:
    try:
        seconds = parse_duration_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError("a time must be above 0")
    return seconds


def _warm(args: argparse.Namespace) -> int:
    _refuse_unused(args)
    server = server_of(Dsn.parse(args.server))
    if args.restore:
        return _restore(args, server)
    if is_asked(args):
        return run(args, server)
    if args.dry_run:
        _planned(args, server)
        return 0
    how = warm_load.how_of(args)
    with Journal.of_server(args.journal or default_folder(), server) as journal:
        warm_load.put_back_what_is_left(server, journal, yes=args.yes)
        if args.resume:
            return warm_load.show(
                server, journal, lambda load, listen: resume(server, journal, load, how, listen)
            )
        plan, kind, by_list = _planned(args, server)
        host = warm_load.files_host(args, server)
        return warm_load.show(
            server,
            journal,
            lambda load, listen: warm_up(
                server, plan, kind, journal, load, how, listen, by_list=by_list, host=host
            ),
        )


def _refuse_unused(args: argparse.Namespace) -> None:
    """What names a plan goes with making one."""
    others = ("restore", "resume", "status", "save", "from_dump")
    does = next((name for name in others if getattr(args, name)), None)
    given = next(
        (name for name in ("table", "hot", "like", "key_cache") if getattr(args, name)), None
    )
    if does is not None and given is not None:
        words = [f"--{name.replace('_', '-')}" for name in (given, does)]
        raise RequestError(f"{words[0]} does not go with {words[1]}.")


def _planned(
    args: argparse.Namespace, server: ExistingServer
) -> tuple[WarmPlan, str, ByList | None]:
    """The plan, which is printed; the kind of the server; what is loaded by a list."""
    plan, kind = _plan(args, server)
    way = warm_load.by_list_or_why(args, server, plan, kind)
    sys.stdout.write(plan_in_words(plan, way))
    sys.stdout.flush()
    return plan, kind, None if isinstance(way, str) else way


def _plan(args: argparse.Namespace, server: ExistingServer) -> tuple[WarmPlan, str]:
    """What the command line asks for, and the kind of the server."""
    database = server.dsn.database
    memory = memory_available_bytes() if server.is_here() else None
    with server.connect(server.dsn.database) as connection:
        seen = survey(connection, database, memory=memory)
        counts = None if args.like else read_counts(connection)
        key_caches = _key_caches(args.key_cache, connection)
    if args.like:
        with server_of(Dsn.parse(args.like)).connect() as other:
            counts = read_counts(other)
        if counts is None:
            raise RequestError(
                f"{args.like} does not count reads of indexes.",
                hint="Set performance_schema=ON there, or userstat=1 on MariaDB.",
            )
    plan = make_plan(
        seen,
        database=database,
        only=args.table,
        first=_hot(args.hot),
        reads=counts,
        key_caches=key_caches,
    )
    return plan, seen.kind


def _key_caches(given: Sequence[str], connection: Connection[Any]) -> dict[str, Cache]:
    caches = {}
    for word in given:
        table, equals, name = word.partition("=")
        if not (table and equals and name):
            raise RequestError(f"--key-cache {word} is not TABLE=NAME, such as shop.orders=hot.")
        caches[table] = named_key_cache(connection, name)
    return caches


def _hot(file: Path | None) -> list[str]:
    """The names of a hot list; `#` begins a comment."""
    if file is None:
        return []
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RequestError(f"the hot list {file} cannot be read: {reason}.") from error
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def _restore(args: argparse.Namespace, server: ExistingServer) -> int:
    folder = args.journal or default_folder()
    with Journal.of_server(folder, server) as journal:
        tell_of_others(journal, remark)
        if not journal.undo:
            say(f"{NOTHING} on {server.dsn}.")
        restore_server(journal, server, yes=args.yes)
    return 0


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
    with Journal.of_server(args.journal or default_folder(), server) as journal:
        listen = Listener(remark, lambda _progress: None)
        warm_load.put_back_what_is_left(server, journal, yes=args.yes)
        with undone(server, journal, listen), server.connect(server.dsn.database) as connection:
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
    args: argparse.Namespace, server: ExistingServer, connection: Connection[Any], journal: Journal
) -> int:
    from contend.cli.warm_display import as_json, as_text
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


def _save(path: Path, server: ExistingServer, connection: Connection[Any], journal: Journal) -> int:
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
    args: argparse.Namespace, server: ExistingServer, connection: Connection[Any], journal: Journal
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
        other = server_of(Dsn.parse(args.names))
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
