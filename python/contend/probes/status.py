"""SHOW GLOBAL STATUS, as far as it is whole numbers."""

from __future__ import annotations

from typing import Any

from pymysql.connections import Connection

from contend.servers.client import fetch

Counters = dict[str, int]


def whole_numbers(connection: Connection[Any]) -> Counters:
    """Every counter and gauge that is one, by its name."""
    rows = fetch(connection, "SHOW GLOBAL STATUS")
    return {name: int(value) for name, value in rows if value.removeprefix("-").isdecimal()}
