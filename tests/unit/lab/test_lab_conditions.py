"""What a run folder keeps of the looks at its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql
import pytest

from contend.experiment import DataSpec
from contend.lab.conditions import FILE_NAME, Conditions, looks_in


def test_a_look_that_was_cut_off_hides_no_other(tmp_path: Path) -> None:
    assert list(looks_in(tmp_path)) == []
    (tmp_path / FILE_NAME).write_text('{"when": "loaded"}\n{"when": "ru')
    assert [look["when"] for look in looks_in(tmp_path)] == ["loaded"]
    connection: Any = Answering()
    Conditions(tmp_path, [].append).look(
        lambda: (connection, "tpcc"), DataSpec(schema="tpcc"), "end", {}
    )
    assert [look["when"] for look in looks_in(tmp_path)] == ["loaded", "end"]


class Answering:
    """A connection to tables that hold every condition."""

    description = ()
    is_condition = False

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def select_db(self, _name: str) -> None:
        pass

    def cursor(self) -> Answering:
        return self

    def execute(self, statement: str, _values: object = ()) -> None:
        self.is_condition = "breaking" in statement

    def fetchall(self) -> list[tuple[str]]:
        if self.is_condition:
            return []
        names = "warehouse district customer history orders new_order order_line item stock"
        return [(name,) for name in names.split()]

    def fetchone(self) -> tuple[int]:
        return (0,)


class Interrupted(Answering):
    """Somebody presses Ctrl-C while the first condition is asked. Nothing can be said on it after
    that."""

    def __init__(self) -> None:
        self.is_over = False

    def execute(self, statement: str, _values: object = ()) -> None:
        if self.is_over:
            raise pymysql.err.InterfaceError(0, "")
        if "breaking" in statement:
            self.is_over = True
            raise KeyboardInterrupt


def test_ctrl_c_in_a_look_ends_the_run(tmp_path: Path) -> None:
    told: list[Any] = []
    connection: Any = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        Conditions(tmp_path, told.append).look(
            lambda: (connection, "tpcc"), DataSpec(schema="tpcc"), "end", {}
        )
    assert told == []
