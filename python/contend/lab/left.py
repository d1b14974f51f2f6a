"""What a contend of before noted in a run folder of what it changed on servers: brought into their
journals, where every command looks for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from contend.lab.session import stored_experiment, stored_servers
from contend.servers.dsn import Dsn
from contend.settings.server import is_dsn
from contend.undo import Journal, JournalBroken, statements
from contend.undo.variables import VARIABLE

OPTIONS_NAME = "server-options-before.json"
"""Variables as texts, by name."""

STATEMENTS_NAME = "server-statements-to-undo.json"
"""Statements that undo what `setup` did, in the order in which it did that."""


def run_folders_left(root: Path) -> list[Path]:
    """The run folders below this one that have such a file."""
    files = (root.glob(f"*/*{name}") for name in (OPTIONS_NAME, STATEMENTS_NAME))
    return sorted({file.parent for some in files for file in some})


def take_over(run_folder: Path, journals: Path) -> list[str]:
    """Bring what is noted in a run folder into the journals; the servers of the run, by DSN.

    Raises:
        ContendError: the folder or what is noted there cannot be read, or a journal is in use.
    """
    sources = [str(server.get("source", "")) for server in stored_servers(run_folder).values()]
    for number, source in enumerate(sources):
        if not is_dsn(source):
            continue
        options = run_folder / _numbered(OPTIONS_NAME, number)
        undos = run_folder / _numbered(STATEMENTS_NAME, number)
        if not (options.exists() or undos.exists()):
            continue
        database = Dsn.parse(source).database or stored_experiment(run_folder).base.data.database
        entries = [
            *({"kind": VARIABLE, "name": n, "text": t} for n, t in _read(options, dict).items()),
            *(statements.entry(str(statement), database) for statement in _read(undos, list)),
        ]
        with Journal.open(journals, source) as journal:
            _add(journal, entries)
        options.unlink(missing_ok=True)
        undos.unlink(missing_ok=True)
    return [source for source in sources if is_dsn(source)]


def _add(journal: Journal, entries: Iterable[dict[str, Any]]) -> None:
    # What was noted first is put back last.
    journal.undo = [*entries, *journal.undo]
    journal.write()


def _read(file: Path, kind: type) -> Any:
    """What is in it, or nothing if it is not there."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, kind):
            raise ValueError("it was not written by contend")
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError) as error:
        raise JournalBroken(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.",
            hint="It says what a run changed on a server. Put that back by what can be read of it, "
            "then remove the file.",
        ) from error
    return content


def _numbered(name: str, number: int) -> str:
    return f"{number}-{name}" if number else name
