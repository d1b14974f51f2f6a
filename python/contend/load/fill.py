"""Filling a table with contend-load: made, loaded from a seed, its keys built."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contend.load.child import Child, OnTick
from contend.load.plan import Address
from contend.load.process import judge, parse
from contend.spec.model import DataSpec

FILL_VERSION = 1

SILENCE_S = 900.0
"""A fill that says nothing for so long hangs. Building the keys of a large table takes minutes."""

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
        env: Mapping[str, str] | None = None,
        on_rows: Callable[[int], None],
        on_tick: OnTick = lambda: None,
    ) -> int:
        """Make the table and fill it; returns how many rows it has.

        Args:
            data: what to fill it with.
            address: the server and the database, which is made where it is not there.
            comment: the table's own.
            env: added to the environment; where a password goes.
            on_rows: called with the rows sent so far.
            on_tick: called several times a second; what it raises ends the fill.

        Raises:
            LoadFailed: the server refused something, or went silent.
        """
        last: dict[str, Any] | None = None
        with Child([str(self.program), "fill", "-"], env or {}) as child:
            child.send(json.dumps(fill_plan(data, address, comment)).encode())
            for line in child.lines(limit_s=LIMIT_S, silence_s=SILENCE_S, on_tick=on_tick):
                last = parse(line)
                if last["type"] == "progress":
                    on_rows(int(last["rows"]))
            code, tail = child.wait(), child.stderr_tail()
        return int(judge(last, code, tail)["rows"])


def fill_plan(data: DataSpec, address: Address, comment: str) -> dict[str, Any]:
    """The document that tells contend-load what to fill."""
    return {
        "version": FILL_VERSION,
        "server": address.as_plan(),
        "schema": data.schema,
        "engine": data.engine,
        "rows": data.rows,
        "seed": data.seed,
        "k": data.k,
        "table_options": data.table_options,
        "comment": comment,
    }
