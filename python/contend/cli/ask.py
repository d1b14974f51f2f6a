"""Asking the user, if there is one."""

from __future__ import annotations

import sys


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether to do what the question says: `--yes` agrees, and nobody at a terminal does not."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
