"""`contend server get | list | remove`: the servers contend can run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from contend.cli.parser import columns, confirmed, remark, say, say_json
from contend.cli.streams import control
from contend.errors import RequestError, one_line
from contend.files import default_cache
from contend.servers import ServerBinary, debian
from contend.servers import got as got_servers
from contend.servers.errors import NoServer
from contend.servers.find import find_server, on_path
from contend.servers.kinds import PROGRAMS
from contend.units import format_size


def add_server(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Servers are downloaded from the mirror that this machine's apt uses, and unpacked in your "
        "cache folder. The system is not changed."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)

    get = actions.add_parser("get", help="download a server, unless it is in the cache")
    get.add_argument(
        "wanted",
        metavar="KIND[+EXTRA][@SUITE]",
        help="mariadb or mysql from a Debian suite (default: this machine's): mariadb, "
        "mariadb@trixie or @11.8, mysql@sid, mariadb+rocksdb",
    )
    get.add_argument(
        "--if-missing",
        action="store_true",
        help="do nothing if such a server is already installed or downloaded",
    )
    get.add_argument("--refresh", action="store_true", help="check the mirror for a newer version")
    get.add_argument(
        "--unverified",
        action="store_true",
        help="accept packages that this machine's keys cannot verify",
    )

    listing = actions.add_parser("list", help="list the available servers")
    listing.add_argument("--json", action="store_true", help="print JSON")

    remove = actions.add_parser("remove", help="remove a downloaded server")
    remove.add_argument("name", metavar="NAME", help="name from `contend server list`")
    remove.add_argument("--yes", action="store_true", help="do not prompt")
    parser.set_defaults(run=_server)


def _server(args: argparse.Namespace) -> int:
    if args.action == "get":
        return _get(args)
    if args.action == "list":
        return _list(as_json=args.json)
    return _remove(args.name, yes=args.yes)


def _get(args: argparse.Namespace) -> int:
    wanted = debian.parse_wanted(args.wanted)
    if args.if_missing:
        try:
            named = args.wanted if wanted.suite or wanted.extras else None
            here = find_server(wanted.kind, wanted=named)
        except NoServer:
            pass
        else:
            say(f"{here.name} is available: {_home(here.program)}")
            return 0
    progress = _Progress()
    try:
        binary = debian.get(
            wanted.kind,
            wanted.suite,
            on_progress=progress,
            extras=wanted.extras,
            refresh=args.refresh,
            unverified=args.unverified,
        )
    finally:
        progress.clear()
    got = got_servers.find_by_name(default_cache(), binary.name)
    say(f"{binary.name} is ready: {_home(got.folder)}")
    say(f"{format_size(got.bytes)}, {len(got.packages)} packages, signatures {_signatures(binary)}")
    return 0


def _list(*, as_json: bool) -> int:
    got = got_servers.list_got(default_cache())
    installed = [binary for kind in PROGRAMS if (binary := on_path(kind)) is not None]
    taken = _taken({binary.kind for binary in (*installed, *(each.binary for each in got))})
    if as_json:
        entries = [_entry(b, b.program, None, ()) for b in installed]
        entries += [_entry(g.binary, g.folder, g.bytes, g.packages) for g in got]
        for entry in entries:
            entry["default"] = entry["name"] in taken
        say_json({"servers": entries})
        return 0
    if not got and not installed:
        say("no servers. `contend server get mariadb` downloads one.")
        return 0
    rows = [("NAME", "VERSION", "FROM", "SIZE", "SIGNATURES")]
    rows += [(b.name, b.version, str(b.program), "", "") for b in installed]
    rows += [
        (
            g.binary.name,
            g.binary.version,
            f"Debian {g.binary.suite}",
            format_size(g.bytes),
            _signatures(g.binary),
        )
        for g in got
    ]
    for line in columns(rows):
        say(line)
    say("")
    say(f"`contend run` uses {' or '.join(taken)} by default; choose with `--server NAME`.")
    return 0


def _taken(kinds: Collection[str]) -> list[str]:
    """For each kind, the server that a run uses by default."""
    return [find_server(kind).name for kind in PROGRAMS if kind in kinds]


def _entry(
    binary: ServerBinary, where: Path, size: int | None, packages: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "name": binary.name,
        "kind": binary.kind,
        "version": binary.version,
        "source": binary.source,
        "suite": binary.suite,
        "extras": list(binary.extras),
        "path": str(where),
        "bytes": size,
        "verified": binary.verified,
        "packages": list(packages),
    }


def _remove(name: str, *, yes: bool) -> int:
    got = got_servers.find_by_name(default_cache(), name)
    size = format_size(got.bytes)
    if not confirmed(f"Remove {got.binary.name} ({size})?", yes=yes):
        raise RequestError("nothing was removed.", hint="Use --yes to skip the prompt.")
    got_servers.remove(default_cache(), got.binary.name)
    say(f"Removed {got.binary.name}, freed {size}.")
    return 0


def _signatures(binary: ServerBinary) -> str:
    return "verified" if binary.verified else "NOT verified"


def _home(path: Path) -> str:
    """The path in short notation."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


_LINE_BEGINS = "\r\x1b[K"
"""Go to the beginning of the line, and delete it."""


class _Progress:
    """One changing line on a terminal; elsewhere one line per step."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._step = ""

    def __call__(self, step: str, percent: float | None) -> None:
        if self._live:
            shown = step if percent is None else f"{step} {percent:3.0f} %"
            control(sys.stderr, _LINE_BEGINS)
            sys.stderr.write(one_line(shown))
        elif step != self._step:
            remark(step)
        self._step = step
        sys.stderr.flush()

    def clear(self) -> None:
        if self._live:
            control(sys.stderr, _LINE_BEGINS)
