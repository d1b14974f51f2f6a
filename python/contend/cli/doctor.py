"""`contend doctor`: problems of this host or a server, their cost, and how to fix them."""

from __future__ import annotations

import argparse
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from contend.cli.parser import remark, say, say_json
from contend.errors import RequestError

if TYPE_CHECKING:
    from contend.host.doctor.model import SeenServer, Subject
    from contend.servers.existing import ExistingServer


def add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check this host, and optionally a server, for problems that spoil or explain "
        "measurements. Nothing is changed. Exit code 1 if a problem is severe."
    )
    parser.add_argument(
        "--server",
        metavar="DSN",
        help="also check this server (mysql://user@host/, socket:/path)",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        help="data folder (default: contend's cache, or the server's data folder); one small file "
        "is written there and removed",
    )
    parser.add_argument(
        "--short", action="store_true", help="measure nothing, as before a run; under a second"
    )
    parser.add_argument(
        "--ignore",
        metavar="ID=REASON",
        action="append",
        default=[],
        help="ignore this check's result and show it separately with the reason; may be repeated",
    )
    does = parser.add_mutually_exclusive_group()
    does.add_argument(
        "--explain",
        metavar="ID",
        help="explain a check, or all: what it examines, why, and how to fix a problem",
    )
    does.add_argument(
        "--compare",
        metavar=("A.json", "B.json"),
        type=Path,
        nargs=2,
        help="show the differences between two hosts or servers, from their saved --json output",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    if args.explain is not None:
        return _explain(args.explain)
    if args.compare is not None:
        return _compare(*args.compare, as_json=args.json)
    return _examine(args)


def _explain(name: str) -> int:
    from contend.host.doctor import CHECKS, lines_of_explanation
    from contend.host.doctor.document import check_named

    for number, check in enumerate(CHECKS if name == "all" else [check_named(name)]):
        if number:
            say("")
        for line in lines_of_explanation(check):
            say(line)
    return 0


def _compare(one: Path, other: Path, *, as_json: bool) -> int:
    from contend.host.doctor import compare, lines_of_comparison, read_document

    first, second = read_document(one), read_document(other)
    found = compare(first, second)
    if as_json:
        # JSON has no infinite ratio.
        say_json([{**each._asdict(), "ratio": _finite(each.ratio)} for each in found])
        return 0
    for line in lines_of_comparison(first, second, found):
        say(line)
    return 0


def _finite(ratio: float | None) -> float | None:
    return ratio if ratio is not None and 0 < ratio < float("inf") else None


def _examine(args: argparse.Namespace) -> int:
    from contend.host.doctor import examine, lines_of
    from contend.host.doctor.document import ignored_of

    begun_s = time.monotonic()
    ignored = ignored_of(args.ignore)
    document = examine(_subject(args), ignored)
    if args.json:
        say_json(document)
    else:
        for line in lines_of(document):
            say(line)
        remark(f"contend: doctor took {time.monotonic() - begun_s:.1f} s")
    severe = (
        check["severity"] == "severe" and check["ignored"] is None for check in document["checks"]
    )
    return 1 if any(severe) else 0


def _subject(args: argparse.Namespace) -> Subject:
    from contend.cli.restore import server_of
    from contend.files import default_cache, find_program
    from contend.host import Tree
    from contend.host.doctor import measures
    from contend.host.doctor.document import with_server
    from contend.host.doctor.model import Subject
    from contend.load import cpu_state, memory_nodes
    from contend.servers.dsn import Dsn

    if args.folder is not None and not args.folder.is_dir():
        raise RequestError(f"{args.folder} is not a folder.", hint="Name one on the data's disk.")
    folder: Path = (args.folder or default_cache()).absolute()
    subject = Subject(Tree(Path("/")), folder)
    if args.server is not None:
        server = server_of(Dsn.parse(args.server))
        subject = with_server(subject, seen_server(server), keep_folder=args.folder is not None)
    if args.short:
        return subject
    # Never write into a server's own folder; use `folder` if it is on the same disk, else nothing.
    there = folder if measures.same_disk(folder, subject.folder) else None
    program = find_program()
    measured = measures.measure(
        there, lambda memory: cpu_state(program, memory=memory), lambda: memory_nodes(program)
    )
    return replace(subject, measured=measured)


def seen_server(server: ExistingServer) -> SeenServer:
    """The server's properties, as seen over a connection; nothing is changed there.

    Raises:
        ContendError: it cannot be queried.
    """
    from contend.host.doctor.model import SeenServer
    from contend.servers.variables import read_all

    identity = server.identity()
    with server.connect() as connection:
        variables = read_all(connection)
    # A container's port may belong to this host although the container is a different host.
    is_here = server.is_here() and variables.get("hostname") == socket.gethostname()
    return SeenServer(
        name=str(server.dsn),
        kind=identity.kind,
        version=variables.get("version", identity.version),
        variables=variables,
        pid=server.process().pid,
        is_here=is_here,
    )
