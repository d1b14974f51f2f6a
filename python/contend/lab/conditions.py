"""Checks the tables against the conditions of their schema: after loading, before a copy of the
data is dropped, and after every run if requested."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import pymysql
from pymysql.connections import Connection

from contend.data.conditions import SCHEMAS, Checked, DataInconsistent, check
from contend.errors import ContendError
from contend.experiment import DataSpec
from contend.files import append_line, read_file
from contend.lab.events import Listener, Notice

FILE_NAME = "conditions.jsonl"
"""In the run folder: one line per check."""

Connect = Callable[[], tuple["Connection[Any]", str]]
"""A connection of its own to the server, and the database of the tables."""


class Look(TypedDict):
    """A line of the file.

    when: `loaded`, `run` (after a run) or `end` (of a copy of the data).
    """

    at: str
    schema: str
    when: str
    settings: Mapping[str, Any]
    conditions: list[Checked]


class Conditions:
    """Checks tables and keeps the results."""

    def __init__(self, folder: Path, listen: Listener) -> None:
        self._file = folder / FILE_NAME
        self._listen = listen
        self._broken: list[str] = []

    def look(
        self, connect: Connect, data: DataSpec, when: str, settings: Mapping[str, Any]
    ) -> None:
        """Check the conditions, if the tables' schema has any. If the server cannot be queried, a
        notice is given and the runs go on, so that no measurement is lost."""
        if data.schema not in SCHEMAS:
            return
        try:
            connection, database = connect()
            with connection:
                checked = check(connection, database, data.schema, fresh=when == "loaded")
        except (ContendError, pymysql.err.MySQLError) as error:
            reason = error.message if isinstance(error, ContendError) else str(error.args[-1])
            self._listen(Notice(f"the conditions of {data.schema} were not checked: {reason}"))
            return
        line: Look = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "schema": data.schema,
            "when": when,
            "settings": dict(settings),
            "conditions": checked,
        }
        with self._file.open("a+b", buffering=0) as file:
            append_line(file.fileno(), json.dumps(line))
        broken = [condition for condition in checked if condition["broken"]]
        self._broken += [data.schema for _ in broken]
        for condition in broken:
            self._listen(
                Notice(
                    f"{data.schema}: rows that violate condition {condition['name']} "
                    f"({condition['says']}; {when}): {condition['broken']:,}"
                )
            )

    def close(self) -> None:
        """Raise DataInconsistent if a condition was violated."""
        broken, self._broken = self._broken, []
        if broken:
            raise DataInconsistent(
                "the tables violated conditions of their schema, so the queries did not do the "
                "work that the workload defines",
                hint="All measurements are stored. For details, run "
                f"`contend check {broken[0]} {self._file.parent}`.",
            )


def looks_in(folder: Path) -> Iterator[Look]:
    """Every check that a run folder keeps, in order."""
    try:
        text = read_file(folder / FILE_NAME).decode("utf-8")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        # A line cut off by a full disk or a crash is ignored.
        with suppress(ValueError):
            yield json.loads(line)
