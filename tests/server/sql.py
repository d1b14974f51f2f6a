"""Statements on a private server, and their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contend.servers import PrivateServer

Factory = Callable[..., PrivateServer]
"""Of `private_server` and `shared_server`."""


def query(server: PrivateServer, *statements: str) -> list[tuple[Any, ...]]:
    """Run them on one connection; the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows
