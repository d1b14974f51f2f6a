"""What a run folder keeps of the looks at its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql
import pytest

from contend.lab.conditions import FILE_NAME, Conditions, looks_in
from contend.spec import DataSpec


def test_a_look_that_was_cut_off_hides_no_other(tmp_path: Path) -> None:
    assert list(looks_in(tmp_path)) == []
    (tmp_path / FILE_NAME).write_text('{"when": "loaded"}\n{"when": "ru')
    assert [look["when"] for look in looks_in(tmp_path)] == ["loaded"]


class Interrupted:
    """A connection on which somebody presses Ctrl-C while the first condition is asked. Nothing can
    be said on it after that."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_over = False

    def __enter__(self) -> Interrupted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def select_db(self, _name: str) -> None:
        pass

    def cursor(self) -> Interrupted:
        return self

    def execute(self, statement: str, _values: object = ()) -> None:
        if self.is_over:
            raise pymysql.err.InterfaceError(0, "")
        self.said.append(statement)
        if "breaking" in statement:
            self.is_over = True
            raise KeyboardInterrupt

    def fetchall(self) -> list[tuple[str]]:
        names = "warehouse district customer history orders new_order order_line item stock"
        return [(name,) for name in names.split()]

    def fetchone(self) -> tuple[int]:
        return (0,)


def test_ctrl_c_in_a_look_ends_the_run(tmp_path: Path) -> None:
    told: list[Any] = []
    connection: Any = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        Conditions(tmp_path, told.append).look(
            lambda: (connection, "tpcc"), DataSpec(schema="tpcc"), "end", {}
        )
    assert told == []
