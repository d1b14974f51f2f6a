"""`contend compare`: run folders of one experiment from two hosts, versions or days."""

from __future__ import annotations

import argparse
from pathlib import Path

from contend.cli.gate import add_gate, check_gate, end_gate
from contend.cli.parser import add_metric, metrics_of, say, say_json
from contend.errors import RequestError
from contend.files import write_output


def add_compare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare runs of one experiment from different hosts, versions or days: each with the "
        "first, cell by cell. They were not interleaved, so they also differ by host and hour. To "
        "compare two servers or settings on one host, use `contend try`."
    )
    parser.add_argument(
        "sides",
        metavar="RUN",
        nargs="+",
        help="a run folder, or a folder of several: the sessions of one side. After the first "
        "also published:NAME, published figures from the experiment file",
    )
    add_metric(parser)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="also write the comparison as one HTML file"
    )
    add_gate(parser)
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    check_gate(args, has_gate=args.fail_if_slower is not None)
    limit = _limit(args.fail_if_slower)
    if len(args.sides) < 2:
        raise RequestError("one run cannot be compared", hint="Name at least two run folders.")
    # Errors and the help must not wait for this import.
    from contend.report.gate import gate_json
    from contend.runs.published_side import PREFIX, published_side
    from contend.runs.sides import read_sides
    from contend.runs.sides_text import lines_of_sides, page_of, report_of_sides, sides_json

    runs = [name for name in args.sides if not name.startswith(PREFIX)]
    if not runs or args.sides[0] != runs[0]:
        raise RequestError(
            "published figures are compared with a run, which comes first",
            hint=f"Write `contend compare RUN {PREFIX}NAME`.",
        )
    if len(runs) == 1 and limit is not None:
        raise RequestError(
            "published figures have no intervals, so a gate is impossible",
            hint="Name at least two run folders for a gate.",
        )
    sides = read_sides(runs, metrics_of(args))
    named = [name.removeprefix(PREFIX) for name in args.sides if name.startswith(PREFIX)]
    published = [published_side(sides[0].studies[0], name) for name in named]
    report = report_of_sides(sides, published, limit=limit)
    if args.html is not None:
        write_output(args.html, page_of(report))
    if args.json:
        gate = {"gate": gate_json(report.gate)} if report.gate else {}
        say_json({**sides_json(report), **gate})
    else:
        for line in lines_of_sides(report):
            say(line)
    return end_gate(args, report.gate, (report.caveat,))


def _limit(text: str | None) -> float | None:
    from contend.experiment.settings.values import Refused, Width

    if text is None:
        return None
    try:
        return Width(sign="", meaning="a slowdown, such as 3%").read(text)
    except Refused as refused:
        raise RequestError(f"--fail-if-slower {refused.reason}") from None
