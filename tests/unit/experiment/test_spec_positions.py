"""The lines of keys, on text that the standard parser accepts."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.experiment.document import Path, key_lines

TEXT = '''\
# a comment with = and [brackets]
top = 1
"quoted.key" = """
several
lines = 5 ""
"""
a.b.c = 'x = "y"'   # trailing

[table]
list = [ # comment ]
  1,
  [2, 3],

  { inner = 4, "x.y" = [5] },
]
after = {}

[[many]]
name = "first"
[[many]]
name = "second"
[many.sub]
deep = 1979-05-27T07:32:00Z
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("quoted.key",), 3),
        (("a",), 7),
        (("a", "b", "c"), 7),
        (("table",), 9),
        (("table", "list"), 10),
        (("table", "list", 0), 11),
        (("table", "list", 1), 12),
        (("table", "list", 1, 1), 12),
        (("table", "list", 2), 14),
        (("table", "list", 2, "inner"), 14),
        (("table", "list", 2, "x.y", 0), 14),
        (("table", "after"), 16),
        (("many", 0), 18),
        (("many", 0, "name"), 19),
        (("many", 1), 20),
        (("many", 1, "name"), 21),
        (("many", 1, "sub", "deep"), 23),
    ],
)
def test_lines(path: Path, line: int) -> None:
    assert key_lines(TEXT)[path] == line


def paths(value: object, at: Path = ()) -> list[Path]:
    """Every key and index of a parsed document."""
    parts: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    found: list[Path] = []
    for key, part in parts:
        found += [(*at, key), *paths(part, (*at, key))]
    return found


def test_every_key_has_a_line() -> None:
    assert set(paths(tomllib.loads(TEXT))) <= set(key_lines(TEXT))


KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5).map(
        lambda s: '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'
    ),
    st.from_regex(r"'[a-z .#=\[\]{}\"]{0,6}'", fullmatch=True),
)
STRINGS = st.sampled_from(
    [
        '""',
        "''",
        '"a # b"',
        '"\\" ] }"',
        "'\\'",
        '"""\n a = 1\n"""',
        '""""q""""',
        '"""x\\"""y"""',
        "'''\n[t]\n''''",
    ]
)
SCALARS = st.one_of(
    STRINGS, st.sampled_from(["1", "-1_000", "1e5", "inf", "true", "1979-05-27 07:32:00", "0x1f"])
)
BLANKS = st.sampled_from([" ", "\n", " # ] } = \n", "\t", ""])


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(st.tuples(BLANKS, values, BLANKS), max_size=3)
    return items.map(lambda xs: "[" + ",".join("".join(x) for x in xs) + "]")


def tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    # Values that span lines are not allowed here in the TOML that the parser reads.
    flat = values.filter(lambda v: "\n" not in v)
    items = st.lists(st.tuples(KEYS, flat), max_size=3)
    return items.map(lambda xs: "{ " + ", ".join(f"{k} = {v}" for k, v in xs) + " }")


VALUES = st.recursive(SCALARS, lambda inner: st.one_of(arrays(inner), tables(inner)), max_leaves=6)
LINES = st.one_of(
    st.tuples(st.lists(KEYS, min_size=1, max_size=2), VALUES).map(
        lambda kv: f"{'.'.join(kv[0])} = {kv[1]}"
    ),
    st.lists(KEYS, min_size=1, max_size=2).map(lambda ks: f"[{' . '.join(ks)}]"),
    KEYS.map(lambda k: f"[[{k}]]"),
    st.sampled_from(["", "# comment", "   "]),
)


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_every_key_of_any_document_has_a_line_that_shows_it(text: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = key_lines(text)
    last = text.count("\n") + 1
    for path in paths(document):
        assert 1 <= lines[path] <= last
        key = path[-1]
        if isinstance(key, str) and key.isidentifier() and key.isascii():
            assert key in text.split("\n")[lines[path] - 1]
