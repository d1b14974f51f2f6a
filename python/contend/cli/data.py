"""`contend data list | drop | import`: the datasets kept for later runs. `contend check SCHEMA
DSN|RUN`: whether the tables of a schema fulfil its conditions."""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contend.cli.console import console
from contend.cli.parser import columns, confirmed, say, say_json
from contend.cli.progress import display_on
from contend.cli.restore import server_of
from contend.data import Dataset, Imported, Rules, drop, drop_on, import_dump, list_datasets
from contend.data.conditions import SCHEMAS, Checked, check, lines_of, require_conditions
from contend.errors import RequestError
from contend.experiment import DataSpec
from contend.experiment.settings.schemas import IMPORT_NAME
from contend.experiment.settings.server import MARIADB, is_dsn
from contend.experiment.settings.workload import ENGINES
from contend.files import default_cache
from contend.lab.conditions import looks_in
from contend.lab.events import Relay
from contend.servers.client import LONG_S
from contend.servers.dsn import Dsn
from contend.servers.find import find_server
from contend.units import format_count, format_duration, format_size


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A dataset is loaded once and kept as the data folder of a cleanly stopped server. Later "
        "runs start from a copy."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)

    listing = actions.add_parser("list", help="list the kept datasets")
    listing.add_argument("--json", action="store_true", help="print JSON")

    dropping = actions.add_parser(
        "drop", help="remove a kept dataset, or contend's tables on a server"
    )
    target = dropping.add_mutually_exclusive_group(required=True)
    target.add_argument("key", metavar="KEY", nargs="?", help="key from `contend data list`")
    target.add_argument("--all", action="store_true", help="all kept datasets")
    target.add_argument(
        "--server",
        metavar="DSN",
        help="contend's tables in this database, such as mysql://user@host/database; they are "
        "listed first",
    )
    dropping.add_argument("--yes", action="store_true", help="do not prompt")
    add_import(actions.add_parser("import", help="load your own dump and keep it for experiments"))
    parser.set_defaults(run=_data)


def _data(args: argparse.Namespace) -> int:
    if args.action == "import":
        return run_import(args)
    if args.action == "list":
        return _list(as_json=args.json)
    if args.server is not None:
        return _drop_on(args.server, yes=args.yes)
    return _drop_all(yes=args.yes) if args.all else _drop(args.key)


def _list(*, as_json: bool) -> int:
    kept = list_datasets(default_cache())
    if as_json:
        say_json({"datasets": [_entry(dataset) for dataset in kept]})
        return 0
    if not kept:
        say("no datasets. `contend run` loads the data it needs and keeps them.")
        return 0
    rows: list[tuple[str, ...]] = [
        ("KEY", "SERVER", "ENGINE", "ROWS", "SIZE", "LOADED IN", "CREATED")
    ]
    rows += [_row(dataset) for dataset in kept]
    for line in columns(rows):
        say(line)
    return 0


def _row(dataset: Dataset) -> tuple[str, ...]:
    inputs = dataset.inputs
    return (
        dataset.key,
        f"{inputs['server_kind']} {inputs['server_version']}",
        dataset.engines or str(inputs["engine"]),
        format_count(dataset.rows),
        format_size(dataset.bytes),
        format_duration(dataset.load_s),
        dataset.created_at[:10],
    )


def _entry(dataset: Dataset) -> dict[str, Any]:
    return {
        "key": dataset.key,
        "inputs": dict(dataset.inputs),
        "rows": dataset.rows,
        "bytes": dataset.bytes,
        "load_s": dataset.load_s,
        "created_at": dataset.created_at,
        "path": str(dataset.folder),
    }


def _drop(key: str) -> int:
    size = drop(default_cache(), key)
    say(f"Removed {key}, freed {format_size(size)}.")
    return 0


def _drop_all(*, yes: bool) -> int:
    kept = list_datasets(default_cache())
    size = format_size(sum(dataset.bytes for dataset in kept))
    if kept and not confirmed(f"Remove {len(kept)} datasets ({size})?", yes=yes):
        raise RequestError("nothing was removed.", hint="Use --yes to skip the prompt.")
    for dataset in kept:
        drop(default_cache(), dataset.key)
    say(f"Removed {len(kept)} datasets, freed {size}.")
    return 0


def _drop_on(dsn: str, *, yes: bool) -> int:
    server = server_of(Dsn.parse(dsn))
    dropped = drop_on(server, DataSpec(), functools.partial(confirmed, yes=yes))
    if not dropped:
        say("no tables of contend in that database.")
    for name in dropped:
        say(f"Dropped {name}.")
    return 0


_ENDINGS = re.compile(r"(\.(sql|dump|gz|bz2|xz))+$", re.IGNORECASE)
_TABLES_SHOWN = 20


def add_import(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Load a dump from mysqldump or mariadb-dump, or any file of statements, into a private "
        'server and keep it for experiments with [data] schema = "import:NAME". Statements that '
        "reach beyond the dump's own database are refused."
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="the dump: plain, gzip, bzip2 or xz"
    )
    parser.add_argument("--name", help="name of the import (default: the file's name)")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        help="storage engine of all its tables (default: as in the dump)",
    )
    parser.add_argument(
        "--database", metavar="NAME", help="database to import, if the dump has several"
    )
    parser.add_argument(
        "--server",
        metavar="NAME|PATH",
        help="server that loads it (like `contend run --server`); a run on a different server "
        "loads the file again automatically",
    )
    parser.add_argument(
        "--skip-refused",
        action="store_true",
        help="skip statements that reach beyond the dump's own database, and lines that are "
        "program messages",
    )
    parser.add_argument(
        "--replace", action="store_true", help="replace an imported dump of the same name"
    )


def run_import(args: argparse.Namespace) -> int:
    name = args.name if args.name is not None else _name_of(args.file)
    if re.fullmatch(IMPORT_NAME, name) is None:
        raise RequestError(
            f'"{name}" cannot be the name of an import',
            hint="Use letters, digits, '_' and '-' in --name.",
        )
    rules = Rules(database=args.database, engine=args.engine, skip_refused=args.skip_refused)
    binary = find_server(MARIADB if args.server is None else None, wanted=args.server)
    with display_on(console(stderr=True)) as display:
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
    """`shop` for `/backup/shop.sql.gz`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", _ENDINGS.sub("", file.name)).strip("-_")[:64]


def _show(imported: Imported, server: str) -> None:
    dataset, contents = imported.dataset, imported.contents
    if contents is None:
        say(f"import:{imported.what.name} is already kept for {server}: {dataset.key}.")
    else:
        say(
            f"import:{imported.what.name}: {format_count(dataset.rows)} rows in "
            f"{len(dataset.tables)} tables of {contents.database}, loaded by {server} in "
            f"{format_duration(dataset.load_s)} ({format_size(imported.what.bytes)} of "
            "dump)."
        )
        for table in dataset.tables[:_TABLES_SHOWN]:
            old = f" and {format_count(table.historic)} historic rows" if table.historic else ""
            say(f"  {table.name}: {format_count(table.rows)} rows{old}, {table.engine}")
        if len(dataset.tables) > _TABLES_SHOWN:
            say(f"  and {len(dataset.tables) - _TABLES_SHOWN} more")
        if contents.events:
            say(
                f"Events: {contents.events}. They do not run, here or in experiments with these "
                'data, unless [server] options have event_scheduler = "ON".'
            )
        for kind, count in contents.left_out.items():
            say(f"Skipped ({kind}): {count}.")
    say(f'Use it in an experiment: [data] schema = "import:{imported.what.name}".')


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check each condition that must always hold for a schema's tables. Prints how many rows "
        "break it, and some of them; changes nothing on the server. For a run folder, show the "
        "results recorded during the run. Exit code 1 if a condition is broken."
    )
    parser.add_argument("schema", metavar="SCHEMA", help=f"one of {', '.join(SCHEMAS)}")
    parser.add_argument(
        "where",
        metavar="DSN|RUN",
        help="server, such as mysql://user@host/database, or a run folder",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="also check what holds only for freshly loaded, unchanged tables",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> int:
    require_conditions(args.schema)
    if not is_dsn(args.where):
        return _show_run(args)
    checked = _ask_server(args.where, args.schema, fresh=args.fresh)
    if args.json:
        say_json({"schema": args.schema, "conditions": checked})
    else:
        _print(checked)
    return _code(checked)


def _ask_server(dsn: str, schema: str, *, fresh: bool) -> list[Checked]:
    server = server_of(Dsn.parse(dsn))
    database = server.dsn.database
    if database is None:
        raise RequestError(
            f"{server.dsn} names no database",
            hint="Add it after the host: mysql://user@host/database.",
        )
    with server.connect(read_timeout=LONG_S) as connection:
        return check(connection, database, schema, fresh=fresh)


def _show_run(args: argparse.Namespace) -> int:
    folder = Path(args.where)
    if not folder.is_dir():
        raise RequestError(
            f"{args.where} is neither a DSN nor a run folder",
            hint="Write mysql://user@host/database, or mysql://user@/database?socket=/path.",
        )
    if args.fresh:
        raise RequestError("--fresh needs a server: a run has recorded which data were fresh.")
    looks = [look for look in looks_in(folder) if look["schema"] == args.schema]
    if not looks:
        raise RequestError(
            f"{folder} has no results of checks of {args.schema}",
            hint="Measure with `contend run --check-each` to check after each run.",
        )
    if args.json:
        say_json({"schema": args.schema, "looks": looks})
    else:
        for look in looks:
            settings = ", ".join(f"{path} = {value}" for path, value in look["settings"].items())
            say(f"{look['at']} {_WHEN[look['when']]}{f' ({settings})' if settings else ''}")
            _print(look["conditions"])
    return max(_code(look["conditions"]) for look in looks)


_WHEN = {
    "loaded": "after loading",
    "run": "after a run",
    "end": "before the copy of the data was discarded",
}


def _print(checked: Sequence[Checked]) -> None:
    for line in lines_of(checked):
        say(line)
    done = sum(condition["broken"] is not None for condition in checked)
    broken = sum(bool(condition["broken"]) for condition in checked)
    outcome = f"{broken} broken" if broken else "all hold"
    say(f"{done} of {len(checked)} conditions checked: {outcome}")


def _code(checked: Sequence[Checked]) -> int:
    return 1 if any(condition["broken"] for condition in checked) else 0
