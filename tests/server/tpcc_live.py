"""A server with the shrunk tables of TPC-C, which every test finds as they were at first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tpcc_data
from load_live import Stage
from sql import query
from tls_files import TlsFiles

from contend.servers import PrivateServer, ServerBinary

OPTIONS: dict[str, str | int] = {
    "innodb_flush_log_at_trx_commit": 0,
    # As long as a test may take: whoever waits is to wait for the test, on a busy machine too.
    "innodb_lock_wait_timeout": 600,
}


@pytest.fixture(scope="module")
def stage_on_shared_server(
    any_binary: ServerBinary, shared_server: Callable[..., PrivateServer], load_program: Path
) -> Iterator[Stage]:
    server, none = shared_server(any_binary, OPTIONS), Path("none")
    for database in ("at_first", "tpcc"):
        query(server, *tpcc_data.statements(database))
    yield Stage(load_program, server, TlsFiles(none, none, none))
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
