"""A server that has variables and nothing else, with a type each, as real ones have."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import pymysql
from fake_connection import FakeConnection, Rows

from contend.servers.errors import ConnectionLost, ConnectionRefused
from contend.servers.variables import Read

READ_ONLY = frozenset({"open_files_limit", "thread_stack"})
_SET = re.compile(r"SET GLOBAL (\S+) = (.*)", re.DOTALL)


class FakeVariables:
    """Each connection sees and changes `there`.

    Args:
        there: what the server has.
        answers: to other statements, as of `FakeConnection`.

    Tests fill in what it does of its own: it `refuses` statements that hold some words, `cuts` a
    value (`NAME=VALUE`), `drags` other variables with one, and refuses one `while_there` is
    a certain value of another. It has a `name` of its own. One connection at a time, its `holder`,
    has the lock that is taken before a change, if it `has_locks`; `lost` ones are broken.
    """

    _numbers = itertools.count(1)

    def __init__(self, there: Mapping[str, Read], answers: Mapping[str, Rows] | None = None):
        self.there = dict(there)
        self.answers = answers
        self.gone = False
        self.refuses: set[str] = set()
        self.cuts: dict[str, Read] = {}
        self.drags: dict[str, dict[str, Read]] = {}
        self.while_there: dict[str, tuple[str, Read]] = {}
        self.warned = False
        self.said: list[str] = []
        self.name = f"server-{next(self._numbers)}"
        self.has_locks = True
        self.holder: int | None = None
        self.lost: set[int] = set()

    def connect(self, _database: str | None = None, **_more: Any) -> Any:
        if self.gone:
            raise ConnectionRefused("the server does not answer")
        return _Connection(self)

    @property
    def changes(self) -> list[str]:
        """The statements that changed something."""
        return [one for one in self.said if not one.startswith(("SELECT", "SHOW", "LOAD INDEX"))]


class _Connection(FakeConnection):
    def __init__(self, server: FakeVariables) -> None:
        super().__init__(server.answers)
        self._server = server
        self.number = next(server._numbers)

    def thread_id(self) -> int:
        return self.number

    def close(self) -> None:
        super().close()
        if self._server.holder == self.number:
            self._server.holder = None

    def answer(self, statement: str) -> Rows:
        there = self._server.there
        if self._server.gone or self.number in self._server.lost:
            raise ConnectionLost("the server closed the connection.", statement)
        if (rows := self._of_lock(statement)) is not None:
            return rows
        self._server.said.append(statement)
        if any(words in statement for words in self._server.refuses):
            raise pymysql.err.OperationalError(1227, "no such right")
        if statement.startswith("SELECT @@GLOBAL."):
            return [(self._of(statement.removeprefix("SELECT @@GLOBAL.")),)]
        if statement == "SHOW GLOBAL VARIABLES":
            return [(name, _shown(value)) for name, value in there.items()]
        if statement == "SHOW WARNINGS":
            return [("Warning", 1210, "something else was changed too")] * self._server.warned
        if found := _SET.fullmatch(statement):
            self._set(found[1], found[2])
            return []
        return super().answer(statement)

    def _of_lock(self, statement: str) -> Rows | None:
        """The answer to what is asked before a change, if it is that."""
        server = self._server
        if "'server_uuid'" in statement:
            return [("server_uuid", server.name)]
        if "LOCK(" in statement and not server.has_locks:
            raise pymysql.err.NotSupportedError(1235, "GET_LOCK in cluster")
        if "GET_LOCK" in statement:
            server.holder = server.holder or self.number
            return [(int(server.holder == self.number),)]
        if "IS_USED_LOCK" in statement and "CONNECTION_ID" in statement:
            return [(int(server.holder == self.number),)]
        if "IS_USED_LOCK" in statement:
            return [(server.holder,)]
        if "RELEASE_LOCK" in statement:
            server.holder = None
            return [(1,)]
        if "PROCESSLIST" in statement:
            return [("bench", "db7:51234")]
        known = {"SELECT CONNECTION_ID()": [(self.number,)], "SET SESSION wait_timeout": []}
        return next((rows for words, rows in known.items() if statement.startswith(words)), None)

    def _of(self, name: str) -> Read:
        if name not in self._server.there:
            raise pymysql.err.OperationalError(1193, f"Unknown system variable '{name}'")
        return self._server.there[name]

    def _set(self, name: str, literal: str) -> None:
        before = self._of(name)
        if name in READ_ONLY:
            raise pymysql.err.OperationalError(1238, f"Variable '{name}' is read only")
        value: Read
        if literal == "%s":
            assert isinstance(self.parameters, tuple)
            (value,) = self.parameters
        elif literal.startswith("'"):
            value = literal[1:-1].replace("''", "'").replace("\\\\", "\\")
        elif literal in ("ON", "OFF"):
            value = int(literal == "ON")
        elif literal == "NULL":
            value = None
        else:
            value = float(literal) if isinstance(before, float) else int(literal)
        if isinstance(before, int | float) and isinstance(value, str):
            raise pymysql.err.OperationalError(1232, f"Incorrect argument type to '{name}'")
        if isinstance(before, str) and not isinstance(value, str | None):
            raise pymysql.err.OperationalError(1232, f"Incorrect argument type to '{name}'")
        asked = f"{name}={value}"
        other, held = self._server.while_there.get(asked, ("", None))
        if held is not None and self._server.there[other] == held:
            raise pymysql.err.OperationalError(1231, "below its bound")
        dragged = self._server.drags.get(asked, {})
        self._server.warned = bool(dragged)
        self._server.there |= dragged
        self._server.there[name] = self._server.cuts.get(asked, value)


def _shown(value: Read) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)
