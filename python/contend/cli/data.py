"""`contend data list | drop | import`: the datasets that are kept for later runs."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from typing import Any

from contend.cli.data_import import add_import, run_import
from contend.cli.parser import confirmed
from contend.datasets import Dataset, drop, drop_on, list_datasets
from contend.errors import RequestError
from contend.folders import default_cache
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.spec import DataSpec
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
        "drop", help="remove a kept dataset, or contend's table on a server"
    )
    what = dropping.add_mutually_exclusive_group(required=True)
    what.add_argument("key", metavar="KEY", nargs="?", help="as `contend data list` shows it")
    what.add_argument("--all", action="store_true", help="every kept dataset")
    what.add_argument(
        "--server",
        metavar="DSN",
        help="the table that contend made on this server, such as mysql://user@host/database",
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
        return _drop_on(args.server)
    return _drop_all(yes=args.yes) if args.all else _drop(args.key)


def _list(*, as_json: bool) -> int:
    kept = list_datasets(default_cache())
    if as_json:
        _say(json.dumps({"datasets": [_entry(dataset) for dataset in kept]}, indent=2))
        return 0
    if not kept:
        _say("no datasets are kept. `contend run` loads what it needs and keeps it.")
        return 0
    rows: list[tuple[str, ...]] = [
        ("KEY", "SERVER", "ENGINE", "ROWS", "SIZE", "LOADED IN", "CREATED")
    ]
    rows += [_row(dataset) for dataset in kept]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        _say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _row(dataset: Dataset) -> tuple[str, ...]:
    inputs = dataset.manifest.inputs
    return (
        dataset.key,
        f"{inputs['server_kind']} {inputs['server_version']}",
        dataset.engines or str(inputs["engine"]),
        format_count(dataset.rows),
        format_size(dataset.bytes),
        format_duration(dataset.manifest.load_s),
        dataset.manifest.created_at[:10],
    )


def _entry(dataset: Dataset) -> dict[str, Any]:
    manifest = dataset.manifest
    return {
        "key": dataset.key,
        "inputs": dict(manifest.inputs),
        "rows": manifest.rows,
        "bytes": manifest.size,
        "load_s": manifest.load_s,
        "created_at": manifest.created_at,
        "path": str(dataset.folder),
    }


def _drop(key: str) -> int:
    size = drop(default_cache(), key)
    _say(f"Removed {key}, freed {format_size(size)}.")
    return 0


def _drop_all(*, yes: bool) -> int:
    kept = list_datasets(default_cache())
    size = format_size(sum(dataset.bytes for dataset in kept))
    if kept and not confirmed(f"Remove {len(kept)} datasets ({size})?", yes=yes):
        raise RequestError("nothing was removed.", hint="`--yes` removes them without asking.")
    for dataset in kept:
        drop(default_cache(), dataset.key)
    _say(f"Removed {len(kept)} datasets, freed {size}.")
    return 0


def _drop_on(dsn: str) -> int:
    ask = getpass.getpass if sys.stdin.isatty() else None
    server = ExistingServer(Dsn.parse(dsn), ask=ask)
    dropped = drop_on(server, DataSpec())
    _say("the table is dropped." if dropped else "there is no table of contend's on that server.")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
