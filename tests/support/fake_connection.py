"""A control connection that answers without a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

Rows = list[tuple[Any, ...]]


class FakeConnection:
    """Keeps what it is asked in `statements`. The answer is that of the first words of `answers`
    that the statement holds; what answers otherwise, or refuses, overrides `answer`."""

    def __init__(self, answers: Mapping[str, Rows] | None = None) -> None:
        self.statements: list[str] = []
        self.closed = False
        self.answers = dict(answers or {})
        self.parameters: object = None

    def answer(self, statement: str) -> Rows:
        return next((rows for words, rows in self.answers.items() if words in statement), [])

    def commit(self) -> None:
        pass

    def cursor(self) -> FakeCursor:
        return FakeCursor(self)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeCursor:
    def __init__(self, connection: FakeConnection) -> None:
        self._connection = connection
        self._rows: Rows = []
        self.description: tuple[tuple[str], ...] = ()

    def __enter__(self) -> FakeCursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str, parameters: object = None) -> None:
        self._connection.statements.append(statement)
        self._connection.parameters = parameters
        self._rows = self._connection.answer(statement)

    def fetchall(self) -> Rows:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None
