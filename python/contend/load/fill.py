"""Filling a table with contend-load: made, loaded from a seed, its keys built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contend.load.child import Child, OnTick
from contend.load.plan import Address
from contend.load.process import judge, parse
from contend.spec.model import DataSpec

SILENCE_S = 900.0
"""A fill that says nothing for so long hangs. It tells its progress several times a second."""

LIMIT_S = 24 * 3600.0


class FillProcess:
    """contend-load at `program`, run once a table."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def run(
        self,
        data: DataSpec,
        address: Address,
        *,
        comment: str = "",
        pipe_folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        on_rows: Callable[[int], None],
        on_tick: OnTick = lambda: None,
    ) -> int:
        """Make the table and fill it; returns how many rows it has.

        Args:
            data: what to fill it with.
            address: the server and the database, which is made where it is not there.
            comment: the table's own.
            pipe_folder: a folder that a server on this host can read; through a pipe in it rows
                reach MyISAM twice as fast as over the connection.
            env: added to the environment; where a password goes.
            on_rows: called with the rows sent so far.
            on_tick: called several times a second; what it raises ends the fill.

        Raises:
            LoadFailed: the server refused something, or went silent.
        """
        last: dict[str, Any] | None = None
        argv = [str(self.program), "fill", *fill_arguments(data, address, comment, pipe_folder)]
        with Child(argv, env or {}) as child:
            for line in child.lines(limit_s=LIMIT_S, silence_s=SILENCE_S, on_tick=on_tick):
                last = parse(line)
                if last["type"] == "fill_progress":
                    on_rows(int(last["rows"]))
            code, tail = child.wait(), child.stderr_tail()
        return int(judge(last, code, tail, done="fill_done")["rows"])


def fill_arguments(
    data: DataSpec, address: Address, comment: str, pipe_folder: Path | None
) -> list[str]:
    """The words that tell contend-load what to fill. No password is among them."""
    options: dict[str, object] = {
        "--socket": address.socket,
        "--host": None if address.socket else address.host,
        "--port": None if address.socket else address.port,
        "--user": address.user,
        "--password-env": address.password_env,
        "--database": address.database,
        "--schema": data.schema,
        "--engine": data.engine,
        "--rows": data.rows,
        "--seed": data.seed,
        "--k": data.k,
        "--table-options": " ".join([data.table_options, *_comment(comment)]).strip(),
        "--pipe-dir": pipe_folder,
        "--progress": "json",
    }
    # With `=` a value may begin with a dash.
    given = [f"{name}={value}" for name, value in options.items() if value not in (None, "")]
    return ["--create-database", *given]


def _comment(text: str) -> list[str]:
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return [f"COMMENT='{quoted}'"] if text else []
