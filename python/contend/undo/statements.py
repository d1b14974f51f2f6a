"""What a statement did is undone by another one, which the user gave with it."""

from __future__ import annotations

from typing import Any

from contend.servers.statements import Connect, run_statement
from contend.undo.journal import Entry

STATEMENT = "statement"
"""Its entry has `statement`, which undoes, and the `database` that it is run in."""


def entry(statement: str, database: str) -> Entry:
    return {"kind": STATEMENT, "statement": statement, "database": database}


def put_back(connect: Connect, entry: dict[str, Any]) -> str:
    """Run it; raises StatementFailed."""
    run_statement(connect, str(entry["database"]), str(entry["statement"]))
    return str(entry["statement"])


def in_words(entry: Entry) -> str:
    return f"what setup did, by {entry['statement']!r}"
