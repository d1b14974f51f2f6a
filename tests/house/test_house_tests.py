"""The tests themselves: those that share a server are not parted."""

from __future__ import annotations

import pytest
from together import unit_of


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/unit/test_units.py::test_a", "tests/unit/test_units.py"),
        ("tests/server/test_run_stops.py::test_a[1]", "tests/server/test_run_stops.py::test_a[1]"),
        ("tests/server/test_run_stops.py::TestA::test_b", "tests/server/test_run_stops.py::TestA"),
        ("tests/server/test_fill_live.py::test_a[mysql-x]", "tests/server/test_fill_live.py mysql"),
        (
            "tests/server/test_load_live.py::a[x-mariadb_new]",
            "tests/server/test_load_live.py mariadb_new",
        ),
        ("tests/server/test_load_nodes.py::test_a", "tests/server/test_load_nodes.py "),
    ],
)
def test_a_unit_is_a_test_a_class_a_file_or_a_kind_of_server(nodeid: str, unit: str) -> None:
    assert unit_of(nodeid) == unit
