"""Filling the tables of a schema with contend-load: made, loaded from a seed, keys built."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.load.plan import Address
from contend.load.process import Child, judge, parse
from contend.spec.model import DataSpec

SILENCE_S = 900.0
"""A fill that says nothing for so long hangs. It reports its progress several times a second."""

LIMIT_S = 24 * 3600.0

OnProgress = Callable[[str, int, int], None]
"""Called with the phase (`load`, `keys`, `done`), the rows sent so far, and all rows."""


@dataclass(frozen=True, slots=True)
class FillResult:
    """What was filled.

    Args:
        rows: of all tables.
        warnings: what was slower or other than it should be, in words.
    """

    rows: int
    warnings: tuple[str, ...]


class FillProcess:
    """contend-load at `program`, run once a dataset."""

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
        on_progress: OnProgress,
    ) -> FillResult:
        """Make the tables and fill them. No table of their names may be there.

        Args:
            data: what to fill it with.
            address: the server and the database, which is made if it does not exist.
            comment: the table's own.
            pipe_folder: a folder that a server on this host can read; through a pipe in it rows
                reach MyISAM twice as fast as over the connection.
            env: added to the environment; where a password goes.
            on_progress: told how far it is.

        Raises:
            LoadFailed: the server refused something, or went silent.
        """
        argv = [str(self.program), "fill", *fill_arguments(data, address, comment, pipe_folder)]
        result: dict[str, Any] | None = None
        with Child(argv, env or {}) as child:
            for line in child.lines(limit_s=LIMIT_S, silence_s=SILENCE_S):
                result = parse(line)
                if result["type"] == "fill_progress":
                    rows, total = int(result["rows"]), int(result["rows_total"])
                    on_progress(str(result["phase"]), rows, total)
            code, tail = child.wait(), child.stderr_tail()
        filled = judge(result, code, tail, done="fill_done")
        return FillResult(int(filled["rows"]), tuple(filled["warnings"]))


def fill_arguments(
    data: DataSpec, address: Address, comment: str, pipe_folder: Path | None
) -> list[str]:
    """The arguments that tell contend-load what to fill. No password is among them."""

    def has(key: str) -> bool:
        return key in data.known.keys

    options: dict[str, object] = {
        "--socket": address.socket,
        "--host": None if address.socket else address.host,
        "--port": None if address.socket else address.port,
        "--user": address.user,
        "--password-env": address.password_env,
        "--database": address.database,
        "--schema": data.schema,
        "--engine": data.engine,
        "--rows": data.rows if has("rows") else None,
        "--tables": data.tables if has("tables") else None,
        "--seed": data.seed,
        "--k": data.k if has("k") else None,
        "--table-options": " ".join([data.table_options, *_comment(comment)]).strip(),
        "--pipe-dir": pipe_folder,
        "--progress": "json",
    }
    # With `=` a value may begin with a dash.
    given = [f"{name}={value}" for name, value in options.items() if value not in (None, "")]
    own = [f"--with={name}={json.dumps(value)}" for name, value in data.own.items()]
    return ["--create-database", *given, *own]


def _comment(text: str) -> list[str]:
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return [f"COMMENT='{quoted}'"] if text else []
