"""Statements of a script with example values, for EXPLAIN."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.lab.examples import examples_of


@pytest.mark.parametrize(
    ("script", "examples"),
    [
        (
            "@read weight 9\nSELECT c FROM t WHERE id = {id:uniform(1, 1_001)};\n",
            [("read", "SELECT c FROM t WHERE id = 501")],
        ),
        (
            "-- both\nSELECT 1; # one\nSELECT {a:zipfian(3, 9)}",
            [("statement_1", "SELECT 1"), ("statement_2", "SELECT 3")],
        ),
        (
            "@two\nUPDATE t SET k = k - {n:gaussian(0, 10)};\nUPDATE u SET k = k + {n};",
            [("two.1", "UPDATE t SET k = k - 5"), ("two.2", "UPDATE u SET k = k + 5")],
        ),
        (
            "SELECT '{x:uniform(1, 2)};', `a;b`, {t:text('#@, it''s')} /* {y}; */;",
            [("statement_1", "SELECT '{x:uniform(1, 2)};', `a;b`, '5m, it''s' /* {y}; */")],
        ),
        (
            "SELECT {{{c:choice('a', 'b;', 3)}}}, {d:double(1, 2)}, {s:serial(7)};",
            [("statement_1", "SELECT {'a'}, 1.5, 7")],
        ),
        ("", []),
    ],
)
def test_placeholders_have_values(script: str, examples: list[tuple[str, str]]) -> None:
    assert examples_of(script) == examples


@given(st.text(alphabet="@{}();:'\"`ab1,- \n#/*"))
def test_no_script_is_too_odd(text: str) -> None:
    """contend-load refuses those with an error before this; a crash would hide its message."""
    with contextlib.suppress(ValueError, IndexError):
        examples_of(text)
