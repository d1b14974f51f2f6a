"""`contend export`: a run folder as CSV, JSON or Parquet, or as a clean copy of itself."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from contend.cli.metric import add_metric, metrics_of
from contend.errors import RequestError
from contend.report import export
from contend.store import RunFolder, find_run, rescue

_FORMATS = ("csv", "json", "parquet", "folder")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a table of a run folder as CSV or Parquet, the whole of it as JSON, or "
        "a clean copy as a folder: all runs that can be read, even of a damaged one."
    )
    parser.add_argument(
        "folder", metavar="RUN", help="a run folder, or the name of one under ./contend-runs"
    )
    parser.add_argument("--format", choices=_FORMATS, required=True, help="what to write")
    parser.add_argument(
        "--table",
        choices=tuple(export.TABLES),
        default="runs",
        help="which table, for csv and parquet (default: runs)",
    )
    add_metric(parser)
    parser.add_argument(
        "--out", metavar="PATH", type=Path, help="where to (default for csv and json: here)"
    )


def run(args: argparse.Namespace) -> int:
    path = find_run(args.folder)
    if args.out is None and args.format in ("parquet", "folder"):
        raise RequestError(
            f"--format {args.format} needs --out", hint="It cannot be written to a terminal."
        )
    if args.format == "folder":
        saved = rescue(path, args.out)
        sys.stdout.write(f"{saved.folder}: {saved.runs} runs of {saved.planned} planned\n")
        return 0
    metrics = metrics_of(args)
    with RunFolder.open(path) as folder:
        _write(folder, args.format, args.table, args.out, metrics)
    return 0


def _write(
    folder: RunFolder, form: str, table: str, out: Path | None, metrics: tuple[str, ...]
) -> None:
    if form == "parquet":
        assert out is not None
        export.write_parquet(export.rows_of(folder, table, metrics), out)
        return
    text = io.StringIO()
    if form == "json":
        export.write_json(folder, text)
    else:
        export.write_csv(export.rows_of(folder, table, metrics), text)
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        out.write_text(text.getvalue(), encoding="utf-8")
