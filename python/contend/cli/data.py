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
        "A dataset is loaded once and kept as the data folder of a cleanly stopped "
        "server, so that later runs start from a copy."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)

    listing = actions.add_parser("list", help="the datasets that are kept")
    listing.add_argument("--json", action="store_true", help="print JSON")

    dropping = actions.add_parser(
        "drop", help="remove a kept dataset, or contend's tables on a server"
    )
    what = dropping.add_mutually_exclusive_group(required=True)
    what.add_argument("key", metavar="KEY", nargs="?", help="as `contend data list` shows it")
    what.add_argument("--all", action="store_true", help="every kept dataset")
    what.add_argument(
        "--server",
        metavar="DSN",
        help="the tables that contend made in this database, such as mysql://user@host/database; "
        "they are listed first",
    )
    dropping.add_argument("--yes", action="store_true", help="do not ask")
    add_import(
        actions.add_parser("import", help="load a dump of your own, and keep it for experiments")
    )
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
        say("no datasets are kept. `contend run` loads what it needs and keeps it.")
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
        raise RequestError("nothing was removed.", hint="`--yes` removes them without asking.")
    for dataset in kept:
        drop(default_cache(), dataset.key)
    say(f"Removed {len(kept)} datasets, freed {size}.")
    return 0


def _drop_on(dsn: str, *, yes: bool) -> int:
    server = server_of(Dsn.parse(dsn))
    dropped = drop_on(server, DataSpec(), functools.partial(confirmed, yes=yes))
    if not dropped:
        say("there is no table of contend's on that server.")
    for name in dropped:
        say(f"{name} is dropped.")
    return 0


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
    parser.add_argument(
        "--skip-refused",
        action="store_true",
        help="leave out statements that would reach beyond the dump's own database, and lines that "
        "are messages of a program",
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
        say(f"import:{imported.what.name} is kept already for {server}: {dataset.key}.")
    else:
        say(
            f"import:{imported.what.name}: {format_count(dataset.rows)} rows in "
            f"{len(dataset.tables)} tables of {contents.database}, loaded by {server} in "
            f"{format_duration(dataset.load_s)} ({format_size(imported.what.bytes)} of "
            "dump)."
        )
        for table in dataset.tables[:_TABLES_SHOWN]:
            of_old = f" and {format_count(table.historic)} historic ones" if table.historic else ""
            say(f"  {table.name}: {format_count(table.rows)} rows{of_old}, {table.engine}")
        if len(dataset.tables) > _TABLES_SHOWN:
            say(f"  and {len(dataset.tables) - _TABLES_SHOWN} more")
        if contents.events:
            say(
                f"Events: {contents.events}. They do not run, neither here nor in experiments with "
                'these data, unless [server] options say event_scheduler = "ON".'
            )
        for what, count in contents.left_out.items():
            say(f"Left out ({what}): {count}.")
    say(f'Use it in an experiment: [data] schema = "import:{imported.what.name}".')


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
    require_conditions(args.schema)
    if not is_dsn(args.where):
        return _show_run(args)
    checked = _ask_server(args.where, args.schema, fresh=args.fresh)
    if args.json:
        say_json({"schema": args.schema, "conditions": checked})
    else:
        _tell(checked)
    return _code(checked)


def _ask_server(dsn: str, schema: str, *, fresh: bool) -> list[Checked]:
    server = server_of(Dsn.parse(dsn))
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
