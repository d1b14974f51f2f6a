"""`contend warm`: load a server's caches, or report how warm they are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from contend.cli.parser import confirmed, remark
from contend.cli.restore import remaining_changes, revert_earlier, server_of
from contend.cli.warm_display import WarmDisplay, as_json, as_text, plan_text, result_text
from contend.errors import RequestError
from contend.files import find_program
from contend.host import memory_available_bytes
from contend.load.process import LoadProcess
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.servers.undo import Journal, NotAgreed, default_folder
from contend.servers.undo.variables import always
from contend.units import parse_duration_s
from contend.warm.coverage import ByList, list_of_plan, read_status
from contend.warm.plan import WarmPlan, make_plan
from contend.warm.server_list import NoList, ServerHost, host_of, loading_host
from contend.warm.survey import survey
from contend.warm.tablespaces import NoCatalogue
from contend.warm.throttle import Limits
from contend.warm.warm_up import Listener, WarmUpResult, resume, undone, warm_up


def add_warm(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Load tables and indexes into the caches of a running server: after a restart, after a "
        "failover, on a new replica. No row is written."
    )
    parser.add_argument("server", metavar="DSN", help="server, such as mysql://user@host/database")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--dry-run", action="store_true", help="print the plan; load nothing")
    does.add_argument("--resume", action="store_true", help="resume interrupted scans")
    does.add_argument(
        "--status", action="store_true", help="show how warm each table is; load nothing"
    )
    parser.add_argument("--json", action="store_true", help="with --status: print JSON")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="do not prompt before reverting what an earlier command left changed there",
    )
    parser.add_argument(
        "--table",
        metavar="NAME",
        action="append",
        default=[],
        help="only this: db.table, or db.table.index; repeat for several, in order",
    )
    how = parser.add_argument_group("how fast")
    how.add_argument(
        "--scan",
        action="store_true",
        help="scan InnoDB's tables even on the server's own host; there, without --scan and "
        "limits, the server gets a list of pages and loads many at once",
    )
    how.add_argument(
        "--connections",
        metavar="N",
        type=_whole,
        help="connections for scanning (default: 4, or 1 with a limit)",
    )
    how.add_argument(
        "--pages-per-second", metavar="N", type=_whole, help="maximum pages read per second"
    )
    how.add_argument(
        "--max-latency",
        metavar="TIME",
        type=_time,
        help="slow down if a one-row query takes longer than this, such as 5ms",
    )
    parser.add_argument(
        "--journal",
        metavar="FOLDER",
        type=Path,
        help="folder of the journals of changes and progress (default: "
        "~/.local/state/contend/undo)",
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
    does = next((name for name in ("resume", "status") if getattr(args, name)), None)
    if args.table and does is not None:
        raise RequestError(f"--table cannot be combined with --{does}.")
    if args.json and not args.status:
        raise RequestError("--json needs --status.")
    server = server_of(Dsn.parse(args.server))
    if args.dry_run:
        _planned(args, server)
        return 0
    with Journal.of_server(args.journal or default_folder(), server) as journal:
        _revert_earlier_changes(server, journal, yes=args.yes)
        if args.status:
            return _status(args, server, journal)
        return _load(args, server, journal)


def _revert_earlier_changes(server: ExistingServer, journal: Journal, *, yes: bool) -> None:
    """Revert changes that an earlier command left on the server. Without a terminal, only contend's
    own changes are reverted, and the warm-up runs despite the rest."""

    def agreed(question: str) -> bool:
        return confirmed(question, yes=yes)

    try:
        if revert_earlier(
            journal, server, agreed if sys.stdin.isatty() else always, agreed, remark
        ):
            return
        remark(f"{remaining_changes(journal)}. Revert them with `{journal.remedy}`.")
    except NotAgreed as error:
        remark(" ".join(filter(None, (error.message, error.detail, error.hint))))


def _status(args: argparse.Namespace, server: ExistingServer, journal: Journal) -> int:
    database = server.dsn.database
    with undone(server, journal, Listener(remark)), server.connect(database) as connection:
        host: ServerHost | NoList
        try:
            host = host_of(connection, server.dsn.socket)
        except NoList as error:
            host = error
        seen = survey(connection, database)
        status = read_status(connection, seen, journal, host, database)
    sys.stdout.write(as_json(status) if args.json else as_text(status))
    return 0


def _planned(
    args: argparse.Namespace, server: ExistingServer
) -> tuple[WarmPlan, str, ByList | None]:
    """The plan, which is printed; the kind of the server; the part loaded by a list."""
    database = server.dsn.database
    memory = memory_available_bytes() if server.is_here() else None
    with server.connect(database) as connection:
        seen = survey(connection, database, memory=memory)
        plan = make_plan(seen, database=database, only=args.table)
        way: ByList | str | None = None
        if any(item.cache == "innodb" for item in plan.items):
            host = _host_or_why(args, server)
            try:
                way = host if isinstance(host, str) else list_of_plan(
                    connection, plan, seen.kind, host
                )  # fmt: skip
            except NoCatalogue as error:
                way = error.message
    sys.stdout.write(plan_text(plan, way))
    sys.stdout.flush()
    return plan, seen.kind, None if isinstance(way, str) else way


def _limits(args: argparse.Namespace) -> Limits:
    return Limits(args.pages_per_second, args.max_latency, args.connections)


def _host_or_why(args: argparse.Namespace, server: ExistingServer) -> ServerHost | str:
    """The server's files, if a list is to load InnoDB's pages; or why they are scanned."""
    if args.scan:
        return "--scan was given"
    if _limits(args):
        return "limits do not slow down a server that loads a list"
    try:
        with server.connect() as connection:
            return loading_host(connection, server.dsn.socket)
    except NoList as error:
        return error.message if error.hint is None else f"{error.message}. {error.hint}"


def _files_host(args: argparse.Namespace, server: ExistingServer) -> ServerHost | None:
    """The server's files, if contend is to read those of MyISAM and Aria itself."""
    if _limits(args):
        return None
    try:
        with server.connect() as connection:
            return host_of(connection, server.dsn.socket)
    except NoList:
        return None


def _load(args: argparse.Namespace, server: ExistingServer, journal: Journal) -> int:
    """Run a warm-up, show its progress and result; return the exit code."""
    limits = _limits(args)
    load = LoadProcess(find_program())
    begin: Callable[[Listener], WarmUpResult]
    if args.resume:
        begin = lambda listen: resume(server, journal, load, limits, listen)  # noqa: E731
    else:
        plan, kind, by_list = _planned(args, server)
        host = _files_host(args, server)
        begin = lambda listen: warm_up(  # noqa: E731
            server, plan, kind, journal, load, limits, listen, by_list=by_list, host=host
        )
    with WarmDisplay() as display:
        try:
            loaded = begin(Listener(display.notice, display.progress))
        except KeyboardInterrupt:
            if journal.work is not None:
                remark(f"Progress is recorded. Resume with `contend warm {server.dsn} --resume`.")
            raise
    sys.stdout.write(result_text(loaded))
    return 1 if loaded.refused and not loaded.size else 0
