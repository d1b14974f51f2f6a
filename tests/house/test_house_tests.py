"""The tests themselves: those that share a server are not parted."""

from __future__ import annotations

from pathlib import Path

import pytest
from together import SHARED_SERVERS, unit_of
from tree import ROOT

FILES = sorted((ROOT / "tests" / "server").glob("test_*.py"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_the_tests_of_a_file_that_shares_a_server_stay_together(path: Path) -> None:
    text = path.read_text()
    assert ("shared_server" in text) == bool(SHARED_SERVERS.search(str(path)))


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
