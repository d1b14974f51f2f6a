"""Common parts of commands that end in a gate: its options, its files, its exit code."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from contend.errors import RequestError, WorkError
from contend.files import write_output

if TYPE_CHECKING:
    from contend.report.model import GateText

EXIT_CODES = {"passed": 0, "slower": 3, "uncertain": 4}

_UNCERTAIN = {"4": "uncertain", "pass": "passed", "fail": "slower"}


def add_gate(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("gate")
    group.add_argument(
        "--fail-if-slower",
        metavar="PERCENT",
        help="exit with 3 if a cell is certainly slower, by an estimated PERCENT (such as 3%%) or "
        "more; 0 if every interval rules that out; else 4. Limits of several metrics: "
        "'throughput 3%%, p99 10%%'",
    )
    group.add_argument(
        "--if-not-certain",
        choices=tuple(_UNCERTAIN),
        default="4",
        help="exit code if the gate is not certain: 4, pass (0) or fail (3)",
    )
    group.add_argument(
        "--junit",
        metavar="FILE",
        type=Path,
        help="write the gate as JUnit XML, one test case per metric and cell",
    )
    group.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the gate as a Markdown comment"
    )


def check_gate(args: argparse.Namespace, *, has_gate: bool) -> None:
    """Refuse now what would fail after the measurement; raises RequestError."""
    settings = {
        "--junit": args.junit,
        "--markdown": args.markdown,
        "--if-not-certain": None if args.if_not_certain == "4" else args.if_not_certain,
    }
    for option, value in settings.items():
        if value is not None and not has_gate:
            raise RequestError(f"{option} needs a gate", hint="Add --fail-if-slower 3%.")
    for option, path in (("--junit", args.junit), ("--markdown", args.markdown)):
        if path is None:
            continue
        if path.is_dir():
            raise RequestError(f"{option}: {path} is a folder", hint="Name a file.")
        target = path.resolve()
        # A file is written next to the old one, and replaces it.
        folders = [target.parent] if target.is_file() or not target.exists() else []
        old = [target] if target.exists() else []
        if not all(os.access(one, os.W_OK) for one in [*folders, *old]):
            raise RequestError(
                f"{option}: {path} cannot be written",
                hint="Name a file in an existing folder that you may write to.",
            )


def by_policy(args: argparse.Namespace, gate: GateText | None) -> GateText | None:
    """The gate with what the user makes of it if it is not certain."""
    return None if gate is None else replace(gate, policy=args.if_not_certain)


def end_gate(
    args: argparse.Namespace,
    gate: GateText | None,
    notes: tuple[str, ...] = (),
    *,
    measured: bool = True,
) -> int:
    """Write the gate's files; return the exit code, by the gate's policy. It is 0 without a gate,
    and 1 if nothing was measured, independent of the gate's result."""
    from contend.report.gate import junit_of, markdown_of

    if gate is None:
        return 0 if measured else WorkError.exit_code
    if args.junit is not None:
        failing = replace(gate, policy="fail")
        write_output(args.junit, junit_of(gate if measured else failing))
    if args.markdown is not None:
        write_output(args.markdown, markdown_of(gate, notes))
    if not measured:
        return WorkError.exit_code
    outcome: str = gate.outcome
    if outcome == "uncertain":
        outcome = _UNCERTAIN[gate.policy]
    return EXIT_CODES[outcome]
