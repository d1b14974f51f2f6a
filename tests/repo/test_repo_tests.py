"""The tests themselves: those that share a server are not parted, and none leans on a sentence."""

from __future__ import annotations

import ast

import pytest
from together import unit_of
from tree import ROOT, tracked_files


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


def sentences(code: str) -> list[str]:
    """Texts of more than 40 characters with a space that are compared by `in` or `==`."""
    return [
        text.value
        for compared in ast.walk(ast.parse(code))
        if isinstance(compared, ast.Compare)
        and any(isinstance(by, ast.In | ast.NotIn | ast.Eq) for by in compared.ops)
        for side in (compared.left, *compared.comparators)
        for text in ast.walk(side)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
        if len(text.value) > 40 and " " in text.value and not text.value.startswith("SELECT ")
    ]


def test_no_test_outside_the_golden_files_leans_on_a_sentence() -> None:
    """It asserts the claim, the number, the place or the exit code instead."""
    found = {
        str(path): whole
        for path in tracked_files()
        if path.suffix == ".py" and path.parts[0] == "tests" and path.parts[1] != "golden"
        if (whole := sentences((ROOT / path).read_text()))
    }
    assert not found


def test_a_sentence_is_a_long_text_that_is_compared() -> None:
    sentence = "a sentence of more than forty characters, whole"
    assert sentences(f"assert '{sentence}' in out") == [sentence]
    assert sentences(f"said('{sentence}'); assert 'a few words' in out") == []
