"""What commands print: lines and JSON on standard output, remarks beside it, and tables as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Sequence
from typing import Any


def say(line: str) -> None:
    """A line of what was asked for."""
    sys.stdout.write(f"{line}\n")


def say_json(document: Any) -> None:
    """A document, for programs."""
    say(json.dumps(document, indent=2))


def remark(line: str) -> None:
    """A line for people that is no part of what was asked for."""
    sys.stderr.write(f"{line}\n")


def columns(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """A line for each row, with the cells under one another; flush right in columns `right`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
