"""`contend data import FILE`: a dump becomes a dataset."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from rich.console import Console

from contend.cli.progress import display_on
from contend.datasets import Imported, Rules, import_dump
from contend.datasets.dump.rules import KINDS
from contend.errors import RequestError, did_you_mean
from contend.folders import default_cache
from contend.get import find_server
from contend.lab.events import Relay
from contend.settings.schemas import IMPORT_NAME
from contend.units import format_count, format_duration, format_size

ENGINES = ("InnoDB", "MyISAM", "Aria", "RocksDB")
_ENDINGS = re.compile(r"(\.(sql|dump|gz|bz2|xz))+$", re.IGNORECASE)
_TABLES_SHOWN = 20


def add_import(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Loads a dump of mysqldump or mariadb-dump, or any file of statements, into a private "
        'server and keeps it: an experiment then says [data] schema = "import:NAME". Statements '
        "that would reach beyond the dump's own database are refused."
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="the dump: plain, or packed with gzip, bzip2 or xz"
    )
    parser.add_argument("--name", help="what it is known by (default: the file's name)")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        help="the storage engine of all its tables (default: what the dump says of each)",
    )
    parser.add_argument(
        "--database", metavar="NAME", help="which one to take, if the dump has several"
    )
    parser.add_argument(
        "--server",
        metavar="NAME|PATH",
        help="the server that loads it, as `contend run --server` takes it; a run on another "
        "server loads the file again by itself",
    )
    kinds = "; ".join(f"{kind}: {means}" for kind, means in KINDS.items())
    parser.add_argument(
        "--allow",
        metavar="KIND",
        action="append",
        default=[],
        help=f"run statements of this kind, which are refused otherwise. {kinds}",
    )
    parser.add_argument(
        "--skip",
        metavar="KIND",
        action="append",
        default=[],
        help="leave statements of this kind out, which are refused otherwise",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="import it although the name stands for another dump already",
    )


def run_import(args: argparse.Namespace) -> int:
    name = args.name if args.name is not None else _name_of(args.file)
    if re.fullmatch(IMPORT_NAME, name) is None:
        raise RequestError(
            f'"{name}" cannot be the name of an import',
            hint="Give --name letters, digits, '_' and '-'.",
        )
    allow, skip = _kinds("--allow", args.allow), _kinds("--skip", args.skip)
    both = sorted(allow & skip)
    if both:
        raise RequestError(f"{both[0]} is given to --allow and to --skip: which of them?")
    rules = Rules(database=args.database, engine=args.engine, allow=allow, skip=skip)
    binary = find_server("mariadb" if args.server is None else None, wanted=args.server)
    with display_on(Console(stderr=True)) as display:
        imported = import_dump(
            args.file,
            rules,
            name,
            binary,
            cache=default_cache(),
            tell=Relay(display),
            replace=args.replace,
        )
    _show(imported, binary.name)
    return 0


def _name_of(file: Path) -> str:
    """`shop` of `/backup/shop.sql.gz`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", _ENDINGS.sub("", file.name)).strip("-_")[:64]


def _kinds(option: str, given: list[str]) -> frozenset[str]:
    for kind in given:
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS) or f"Known are {', '.join(KINDS)}."
            raise RequestError(f'{option}: there is no kind "{kind}"', hint=hint)
    return frozenset(given)


def _show(imported: Imported, server: str) -> None:
    dataset, contents = imported.dataset, imported.contents
    if contents is None:
        _say(f"import:{imported.what.name} is kept already for {server}: {dataset.key}.")
    else:
        _say(
            f"import:{imported.what.name}: {format_count(dataset.rows)} rows in "
            f"{len(dataset.tables)} tables of {contents.database}, loaded by {server} in "
            f"{format_duration(dataset.manifest.load_s)} ({format_size(imported.what.bytes)} of "
            "dump)."
        )
        for table in dataset.tables[:_TABLES_SHOWN]:
            _say(f"  {table.name}: {format_count(table.rows)} rows, {table.engine}")
        if len(dataset.tables) > _TABLES_SHOWN:
            _say(f"  and {len(dataset.tables) - _TABLES_SHOWN} more")
        for what, count in contents.left_out.items():
            _say(f"Left out: {count} statement{'' if count == 1 else 's'} ({what}).")
    _say(f'Use it in an experiment: [data] schema = "import:{imported.what.name}".')


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
