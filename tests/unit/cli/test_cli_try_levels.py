"""Arguments of `contend try`: levels, their quotes, sets of options."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.cli.try_levels import (
    as_typed,
    level_of,
    option_levels,
    option_pairs,
    option_set,
    same,
    try_command,
)
from contend.errors import ContendError, RequestError
from contend.experiment import Level

TEXTS = st.text(st.characters(exclude_categories=["C"]), max_size=12)
LEVELS = st.lists(
    st.one_of(TEXTS, st.integers(-(10**19), 10**19), st.sampled_from(["a,b", "'", "''", '"', " "])),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize(
    ("text", "name", "levels"),
    [
        ("sort_buffer_size=256K,4M", "sort_buffer_size", ("256K", "4M")),
        ("Sort-Buffer-Size=1,2", "sort_buffer_size", (1, 2)),
        ("a=0,-1,1.5,007,1e3,1_000", "a", (0, -1, 1.5, "007", "1e3", "1_000")),
        ("a= 1 , 2 ", "a", (1, 2)),
        ("a=on,off", "a", ("on", "off")),
        ("sql_mode='ANSI,TRADITIONAL',''", "sql_mode", ("ANSI,TRADITIONAL", "")),
        ('a="x,y", z', "a", ("x,y", "z")),
        ("a='it''s',\"say \"\"no\"\"\"", "a", ("it's", 'say "no"')),
        ("a=it's,SET NAMES 'x'", "a", ("it's", "SET NAMES 'x'")),
        ("optimizer_switch='mrr=on,mrr_cost_based=off','mrr=off'", "optimizer_switch",
         ("mrr=on,mrr_cost_based=off", "mrr=off")),
        ("hot.key_buffer_size=1M,2M", "hot.key_buffer_size", ("1M", "2M")),
        ("a=99999999999999999999999,1", "a", ("99999999999999999999999", 1)),
    ],
)  # fmt: skip
def test_commas_separate_levels(text: str, name: str, levels: tuple[Level, ...]) -> None:
    assert option_levels(text) == (name, levels)
    assert [type(one) for one in option_levels(text)[1]] == [type(one) for one in levels]


@given(LEVELS)
def test_a_typed_form_is_read_back(levels: list[Level]) -> None:
    read = option_levels(as_typed("a", levels))[1]
    assert read == tuple(level_of(str(one)) for one in levels)


@given(LEVELS)
def test_a_command_is_split_by_a_shell(levels: list[Level]) -> None:
    assert shlex.split(try_command("a", levels)) == ["contend", "try", as_typed("a", levels)]


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a=1,2 B-c=ON,OFF", {"a": 1, "b_c": "ON"}, {"a": 2, "b_c": "OFF"}),
        ("a = 1,2  b=3,4", {"a": 1, "b": 3}, {"a": 2, "b": 4}),
        ("a='x y','' b=\"it's\",c", {"a": "x y", "b": "it's"}, {"a": "", "b": "c"}),
        ("a='mrr=on,b=off','it''s'", {"a": "mrr=on,b=off"}, {"a": "it's"}),
        ("", {}, {}),
    ],
)
def test_blanks_separate_pairs(text: str, old: dict[str, Level], new: dict[str, Level]) -> None:
    assert option_pairs(text) == (old, new)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (option_levels, option_set, option_pairs):
        try:
            read(text)
        except ContendError as error:
            assert error.exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no values"),
        ("sort_buffer_size", "has no values"),
        ("=1,2", "not the name of a server option"),
        ("1=1,2", "not the name of a server option"),
        ("a=", "an empty level"),
        ("a=1,", "an empty level"),
        ("a=1,,2", "an empty level"),
        ("a='1,2", "an unclosed '"),
        ("a='1'2,3", "'2' after a quoted level"),
    ],
)
def test_invalid_levels_are_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        option_levels(text)
    assert caught.value.hint


def test_a_set_is_split_like_in_a_shell() -> None:
    read = option_set("key_cache_segments=32  sql_mode='ANSI,TRADITIONAL' init_connect=\"SET a\"")
    assert read == {
        "key_cache_segments": 32,
        "sql_mode": "ANSI,TRADITIONAL",
        "init_connect": "SET a",
    }
    assert option_set(" ") == {}
    assert option_set("a= b=1") == {"a": "", "b": 1}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a = 2", {"a": 2}),
        ("a =2\tb= 3\n c\t=\t4", {"a": 2, "b": 3, "c": 4}),
        ("a = 'x = y'  b=\"p = q\"", {"a": "x = y", "b": "p = q"}),
        ("sql_mode = '' b=1", {"sql_mode": "", "b": 1}),
        ("sql_mode='' skip-x", {"sql_mode": "", "skip_x": True}),
        ("optimizer_switch = mrr=on", {"optimizer_switch": "mrr=on"}),
        ("a= b = 1", {"a": "", "b": 1}),
        ("--skip-name-resolve log_bin a=1", {"skip_name_resolve": True, "log_bin": True, "a": 1}),
        ("init_connect=it\\'s\\ a\\ =\\ 1", {"init_connect": "it's a = 1"}),
    ],
)
def test_a_set_may_be_lines_of_an_option_file(text: str, options: dict[str, Level]) -> None:
    read = option_set(text)
    assert read == options
    assert [type(one) for one in read.values()] == [type(one) for one in options.values()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a='1", "cannot be split"),
        ("a=1 a=2", "names a twice"),
        ("a-b=1 a_b", "names a_b twice"),
        ("[mysqld]", "is not an option"),
        ("/etc/my.cnf", "is not an option"),
        ("my.cnf", "is not an option"),
        ("a=1 2", "'2' in 'a=1 2' is not an option"),
        ("=1", "not the name of a server option"),
    ],
)
def test_an_invalid_set_is_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        option_set(text)
    assert "two values" not in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("256K", 262144, True),
        ("on", 1, True),
        ("OFF", "0", True),
        ("row", "ROW", True),
        (1, 1.0, True),
        ("/A", "/a", False),
        ("256K", "256M", False),
        ("", 0, False),
    ],
)
def test_spellings_of_one_value(one: Level, other: Level, is_same: bool) -> None:
    assert same(one, other) is is_same
