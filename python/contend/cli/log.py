"""`contend log import | show | list | drop`: logs of a real server as recordings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contend.cli.console import console
from contend.cli.parser import columns, confirmed, counted_from_0, say, say_json
from contend.cli.progress import display_on
from contend.data.recordings import (
    Recording,
    drop_recording,
    find_recording,
    import_recording,
    list_recordings,
)
from contend.errors import RequestError
from contend.experiment.settings.schemas import IMPORT_NAME
from contend.files import default_cache, find_program
from contend.lab.events import StepProgress
from contend.load.ask import recorded_statements, show_recording
from contend.units import format_count, format_duration, format_size

TEMPLATES_SHOWN = 20

FORMATS = ("slow", "general", "table", "audit", "proxysql", "maxscale", "tiproxy")

REASONS = {
    "administrative": "commands that are not statements",
    "ambiguous": "their lines and their quotes end at different places",
    "before_the_log": "of connections older than the log, whose database is not known",
    "in_routine": "ran inside a routine whose call is recorded",
    "password": "may hold a password; their text was not kept",
    "no_values": "prepared, logged without values",
    "sql_prepared": "PREPARE, EXECUTE and DEALLOCATE of SQL",
    "truncated": "cut off by the server or by the end of the log",
}
"""Why statements are not in the recording, by contend-load's names."""

WARNINGS = {
    "table_converts_bytes": "MariaDB's log tables hold ? or \\xNN in place of bytes that are not "
    "UTF-8; its log files hold the bytes",
    "rewritten_by_pt_query_digest": "pt-query-digest wrote this log: microseconds, the session's "
    "timestamp, insert_id and rows affected are lost",
}


def add_log(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A recording holds the statements of a log that can be sent again, in the order of each "
        "connection. It is kept in your cache folder, and may hold data of your application."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    add_import(actions.add_parser("import", help="read logs into a recording"))
    add_show(actions.add_parser("show", help="show the statements of a recording by their form"))
    listing = actions.add_parser("list", help="list the recordings")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    dropping = actions.add_parser("drop", help="remove a recording")
    dropping.add_argument("name", metavar="NAME", help="name of the recording")
    dropping.add_argument("--yes", action="store_true", help="do not prompt")
    dropping.set_defaults(run=_drop)


def add_import(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files",
        metavar="FILE",
        nargs="+",
        help="files of one log, in order: slow log, general log, audit log, or that of a proxy; "
        "plain, .gz or .zst; - for standard input",
    )
    add("--name", required=True, metavar="NAME", help="name of the recording")
    add("--format", choices=FORMATS, help="format of the log (default: by its beginning)")
    add(
        "--sql-mode",
        metavar="MODES",
        default="",
        help="sql_mode of the recorded server, if it has NO_BACKSLASH_ESCAPES or ANSI_QUOTES",
    )
    add("--replace", action="store_true", help="the name may belong to a different recording")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_import)


def add_show(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", help="name of the recording")
    add(
        "--statement",
        metavar="N",
        type=counted_from_0,
        help="print the statement of this number, with its values",
    )
    add(
        "--template",
        metavar="N",
        type=counted_from_0,
        help="print some statements of this template, with their values",
    )
    add("--all", action="store_true", help=f"all templates, not only {TEMPLATES_SHOWN}")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_show)


def _import(args: argparse.Namespace) -> int:
    if re.fullmatch(IMPORT_NAME, args.name) is None:
        raise RequestError(
            f"--name: {args.name!r} cannot be a name",
            hint="Use letters, digits, - and _, such as shop-peak.",
        )
    for file in args.files:
        # A pipe of the shell is not a regular file.
        if file != "-" and not Path(file).exists():
            raise RequestError(
                f"there is no file {file}", hint="Name a log, or - for standard input."
            )
        if Path(file).is_dir():
            raise RequestError(
                f"{file} is a directory", hint="Name the files of one log, in order."
            )
    options = [f"--{word}" for word in _modes(args.sql_mode)]
    options += [f"--format={args.format}"] if args.format else []
    total = _plain_bytes(args.files)
    with display_on(console(stderr=True)) as display:

        def on_progress(read: int, _statements: int) -> None:
            if total is not None:
                display(StepProgress("reading the log", min(read, total), total, "bytes"))

        recording, done = import_recording(
            find_program(),
            args.files,
            args.name,
            cache=default_cache(),
            options=options,
            replace=args.replace,
            on_progress=on_progress,
        )
    if args.json:
        say_json({**done, "name": recording.name, "path": str(recording.path)})
        return 0
    for line in [*_summary(recording, done), f"See `contend log show {recording.name}`."]:
        say(line)
    return 0


def _plain_bytes(files: Sequence[str]) -> int | None:
    """Size of the whole log; None if it is not known before it is read."""
    paths = [Path(one) for one in files]
    if any(not path.is_file() or path.suffix in (".gz", ".zst") for path in paths):
        return None
    return sum(path.stat().st_size for path in paths)


def _modes(text: str) -> list[str]:
    known = {"NO_BACKSLASH_ESCAPES": "no-backslash-escapes", "ANSI_QUOTES": "ansi-quotes"}
    # Other modes do not change where a statement ends.
    words = [word.strip().upper() for word in text.split(",")]
    return [known[word] for word in words if word in known]


def _summary(recording: Recording, done: dict[str, Any]) -> list[str]:
    statements, reads = done["statements"], done["reads"]
    lines = [f"{recording.name}: {format_count(statements)} statements"]
    if statements:
        begin, end = done["begin_us"], done["end_us"]
        at = datetime.fromtimestamp(begin / 1e6, UTC).isoformat(sep=" ", timespec="seconds")
        lines[0] += (
            f" in {format_duration((end - begin) / 1e6)} from {at.removesuffix('+00:00')} UTC, on "
            f"{format_count(done['sessions'])} connections; {reads / statements:.0%} read only"
        )
    exact, whole = done["stamps"]["exact"], done["stamps"]["interpolated"]
    if whole:
        lines.append(
            f"times of {format_count(whole)} statements are interpolated, because the log has "
            f"whole seconds; {format_count(exact)} are exact"
        )
    lines += [
        f"left out: {format_count(count)} ({REASONS.get(reason, reason.replace('_', ' '))})"
        for reason, count in sorted(done["left_out"].items(), key=lambda one: -one[1])
        if count
    ]
    lines += [f"warning: {WARNINGS.get(one, one.replace('_', ' '))}" for one in done["warnings"]]
    if done["skipped_bytes"]:
        lines.append(f"{format_size(done['skipped_bytes'])} of the log belong to no entry")
    return lines


def _show(args: argparse.Namespace) -> int:
    recording = find_recording(default_cache(), args.name)
    program = find_program()
    if args.statement is not None:
        return _show_statements(args, program, recording, f"--number={args.statement}")
    if args.template is not None:
        chosen = (f"--template={args.template}", "--sample=5")
        return _show_statements(args, program, recording, *chosen)
    shown = show_recording(program, recording.path)
    if args.json:
        say_json(shown)
        return 0
    for line in _summary(recording, shown):
        say(line)
    templates = shown["templates"] if args.all else shown["templates"][:TEMPLATES_SHOWN]
    total_us = sum(one["total_us"] for one in shown["templates"])
    rows: list[tuple[str, ...]] = [
        ("TEMPLATE", "CALLS", "TIME", "MEAN, ms", "P99, ms", "ROWS SENT", "EXAMINED", "")
    ]
    rows += [_row(one, total_us) for one in templates]
    say("")
    for line in columns(rows, right=range(7)):
        say(line)
    if len(templates) < len(shown["templates"]):
        say(f"and {len(shown['templates']) - len(templates)} more: see --all")
    return 0


def _row(one: dict[str, Any], total_us: float) -> tuple[str, ...]:
    def number(value: float | None, scale: float = 1.0) -> str:
        if value is None:
            return ""
        return f"{value / scale:,.0f}" if value >= 100 * scale else f"{value / scale:.3g}"

    return (
        str(one["template"]),
        format_count(one["calls"]),
        f"{one['total_us'] / total_us:.1%}" if total_us else "",
        number(one["mean_us"], 1000),
        number(one["p99_us"], 1000),
        number(one["rows_sent_mean"]),
        number(one["rows_examined_mean"]),
        one["text"] if len(one["text"]) <= _TEXT_MAX else f"{one['text'][: _TEXT_MAX - 3]}...",
    )


_TEXT_MAX = 100


def _show_statements(
    args: argparse.Namespace, program: Any, recording: Recording, *chosen: str
) -> int:
    found = recorded_statements(program, recording.path, *chosen)
    if args.json:
        say_json({"statements": found})
        return 0
    for one in found:
        took = "" if one["took_us"] is None else f", {format_duration(one['took_us'] / 1e6)}"
        database = one["database"] or "no database"
        say(f"{one['number']}: template {one['template']}, {database}{took}")
        # Bytes of the log, one character each.
        say(f"  {one['text'].encode('latin-1').decode(errors='replace')}")
    return 0


def _list(args: argparse.Namespace) -> int:
    found = list_recordings(default_cache())
    if args.json:
        say_json(
            {
                "recordings": [
                    {
                        "name": one.name,
                        "recording": one.digest,
                        "files": list(one.files),
                        "statements": one.statements,
                        "bytes": one.path.stat().st_size,
                        "path": str(one.path),
                    }
                    for one in found
                ]
            }
        )
        return 0
    if not found:
        say("no recordings. `contend log import FILE --name NAME` reads a log.")
        return 0
    rows = [("NAME", "STATEMENTS", "SIZE", "LOG")]
    rows += [
        (
            one.name,
            format_count(one.statements),
            format_size(one.path.stat().st_size),
            ", ".join(one.files),
        )
        for one in found
    ]
    for line in columns(rows, right={1, 2}):
        say(line)
    return 0


def _drop(args: argparse.Namespace) -> int:
    recording = find_recording(default_cache(), args.name)
    question = f"Remove the recording {recording.name} of {recording.statements} statements?"
    if not confirmed(question, yes=args.yes):
        raise RequestError("nothing was removed", hint="Add --yes to remove it without a prompt.")
    freed = drop_recording(default_cache(), recording.name)
    say(f"Removed {recording.name}, freed {format_size(freed)}.")
    return 0
