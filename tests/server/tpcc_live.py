"""A server with the shrunk tables of TPC-C, which every test finds as they were at first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tpcc_data
from load_live import Stage
from sql import query
from tls_files import TlsFiles

from contend.servers import PrivateServer

OPTIONS: dict[str, str | int] = {"innodb_flush_log_at_trx_commit": 0}


@contextlib.contextmanager
def tpcc_stage(server: PrivateServer, program: Path) -> Iterator[Stage]:
    none = Path("none")
    for database in ("at_first", "tpcc"):
        query(server, *tpcc_data.statements(database))
    yield Stage(program, server, TlsFiles(none, none, none))
    server.kill()


def fresh(stage: Stage) -> dict[str, Any]:
    """The tables as they were at first; how to reach them."""
    rows = (
        statement
        for table in (*tpcc_data.TABLES, "contend_tpcc")
        for statement in (
            f"DELETE FROM tpcc.{table}",
            f"INSERT INTO tpcc.{table} SELECT * FROM at_first.{table}",
        )
    )
    query(stage.server, "BEGIN", *rows, "COMMIT")
    return {"socket": str(stage.server.socket), "database": "tpcc"}


def number(stage: Stage, sql: str) -> Any:
    return query(stage.server, sql)[0][0]
