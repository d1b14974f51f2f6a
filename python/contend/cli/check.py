"""`contend check SCHEMA DSN|RUN`: whether the tables of a schema hold its conditions."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from pathlib import Path

from contend.cli.output import say, say_json
from contend.datasets.conditions import SCHEMAS, Checked, check, lines_of, schema_of
from contend.errors import RequestError
from contend.lab.conditions import looks_in
from contend.servers.client import LONG_S
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.settings.server import is_dsn


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Ask each condition that the tables of a schema hold whatever was done to them, with the "
        "number of rows that break it and some of them. Nothing is changed on the server. Of a "
        "run folder: show what was seen during the run. Exit code 1 if a condition is broken."
    )
    parser.add_argument("schema", metavar="SCHEMA", help=f"one of {', '.join(SCHEMAS)}")
    parser.add_argument(
        "where",
        metavar="DSN|RUN",
        help="the server, such as mysql://user@host/database, or a run folder",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="nothing was done to the tables since they were loaded: also ask what holds only then",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> int:
    schema_of(args.schema)
    if not is_dsn(args.where):
        return _show_run(args)
    checked = _ask_server(args.where, args.schema, fresh=args.fresh)
    if args.json:
        say_json({"schema": args.schema, "conditions": checked})
    else:
        _tell(checked)
    return _code(checked)


def _ask_server(dsn: str, schema: str, *, fresh: bool) -> list[Checked]:
    ask = getpass.getpass if sys.stdin.isatty() else None
    server = ExistingServer(Dsn.parse(dsn), ask=ask)
    database = server.dsn.database
    if database is None:
        raise RequestError(
            f"{server.dsn} names no database",
            hint="Put it behind the host: mysql://user@host/database.",
        )
    with server.connect(read_timeout=LONG_S) as connection:
        return check(connection, database, schema, fresh=fresh)


def _show_run(args: argparse.Namespace) -> int:
    folder = Path(args.where)
    if not folder.is_dir():
        raise RequestError(
            f"{args.where} is not a DSN, and there is no such run folder",
            hint="Write mysql://user@host/database, or mysql://user@/database?socket=/path.",
        )
    if args.fresh:
        raise RequestError("--fresh is for a server: a run knows which data were fresh.")
    looks = [look for look in looks_in(folder) if look["schema"] == args.schema]
    if not looks:
        raise RequestError(
            f"{folder} has no tables of {args.schema} that were looked at",
            hint='`check = "each_run"` in an experiment, or `--set check=each_run`, looks after '
            "each run.",
        )
    if args.json:
        say_json({"schema": args.schema, "looks": looks})
    else:
        for look in looks:
            told = ", ".join(f"{path} = {value}" for path, value in look["settings"].items())
            say(f"{look['at']} {_WHEN[look['when']]}{f' ({told})' if told else ''}")
            _tell(look["conditions"])
    return max(_code(look["conditions"]) for look in looks)


_WHEN = {
    "loaded": "after loading",
    "run": "after a run",
    "end": "before the copy of the data was given up",
}


def _tell(checked: Sequence[Checked]) -> None:
    for line in lines_of(checked):
        say(line)
    asked = sum(condition["broken"] is not None for condition in checked)
    broken = sum(bool(condition["broken"]) for condition in checked)
    told = f"{broken} broken" if broken else "all hold"
    say(f"{asked} of {len(checked)} conditions checked: {told}")


def _code(checked: Sequence[Checked]) -> int:
    return 1 if any(condition["broken"] for condition in checked) else 0
