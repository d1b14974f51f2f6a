"""Statements of a dump: where one ends, however it is quoted, commented and cut into reads."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.data.dump import DumpRefused
from contend.data.dump import split as split_room
from contend.data.dump.split import MESSAGE, SOURCE, Quotes, Splitter, Statement

AS_USUAL = Quotes()


def splitter(text: bytes, step: int = 1 << 20, quotes: Quotes = AS_USUAL) -> Splitter:
    """Over a file of which no read gives more than `step` bytes."""
    file = io.BytesIO(text)
    made = Splitter(lambda size: file.read(min(size, step)), "shop.sql")
    made.quotes = quotes
    return made


def split(text: bytes, step: int = 1 << 20) -> list[Statement]:
    return list(splitter(text, step))


def texts(text: bytes, step: int = 1 << 20) -> list[bytes]:
    return [one.text for one in split(text, step)]


DUMP = b"""\
-- MySQL dump 10.13  Distrib 8.0.36
/*!999999\\- enable the sandbox mode */\x20
/*M!999999\\- enable the sandbox mode */\x20
-- it's a comment; with an apostrophe
/*!40101 SET NAMES utf8mb4 */;
/* plain; */ CREATE TABLE `a;``b` (x INT DEFAULT '1;\\';' COMMENT "a--;b"); # c; '
source load_orders.dump ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50003 TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN
  SET @x = 1;
  SET @y = 5--1;
END */;;
delimiter $$
SELECT '$$', `$$` /* $$ */ $ 1 $$
DELIMITER ;
INSERT INTO t VALUES ('a''b;','\\\\'),(1-2/3);;
\\. other.sql
COMMIT;

-- Dump completed on 2026-11-22
"""


@pytest.fixture(params=[True, False], ids=["possessive", "atomic"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pattern of either kind of Python."""
    monkeypatch.setattr(split_room, "_IS_POSSESSIVE", request.param)
    patterns = (split_room._lead, split_room._body)
    for pattern in patterns:
        pattern.cache_clear()
    yield
    for pattern in patterns:
        pattern.cache_clear()


@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="this Python has only one form")
@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_both_forms_of_the_pattern_split_alike(step: int) -> None:
    expected = [b"SELECT 'a;''b', \"c;\", `d;`", b"/*! SELECT */ 1 /* ; */", b"SELECT '\\';-'"]
    assert texts(b"-- x;\n" + b";\n".join(expected) + b";", step) == expected


def test_a_dump_is_split_as_a_client_splits_it() -> None:
    found = split(DUMP)
    assert [(one.line, one.command) for one in found] == [
        *((5, None), (6, None), (7, SOURCE), (9, None), (14, None)),
        *((16, None), (17, SOURCE), (18, None)),
    ]
    assert found[1].text.endswith(b'COMMENT "a--;b")')
    assert found[2].text == b"load_orders.dump"
    assert found[3].text.endswith(b"END */")
    assert found[4].text == b"SELECT '$$', `$$` /* $$ */ $ 1"
    assert found[5].text == b"INSERT INTO t VALUES ('a''b;','\\\\'),(1-2/3)"


@pytest.mark.parametrize(
    "line",
    [
        b"mysqldump: [Warning] Using a password on the command line interface can be insecure.",
        b"/usr/bin/mysqldump: Deprecated program name. It will be removed in a future release",
        b"C:\\bin\\mysqldump.exe: Couldn't execute 'SHOW",
        b"Warning: A partial dump from a server that has GTIDs; see the manual",
        b"sh: 1: x: not found",
        b"source: a program's",
    ],
)
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_message_is_one_line_and_takes_nothing_with_it(line: bytes, step: int) -> None:
    text = line + b"\r\nSELECT 1;\n" + line + b"\n-- a\nSELECT\n2;\n-- Dump completed\n" + line
    made = splitter(text, step)
    assert [(one.text, one.line, one.command) for one in made] == [
        (line, 1, MESSAGE),
        (b"SELECT 1", 2, None),
        (line, 3, MESSAGE),
        (b"SELECT\n2", 5, None),
        (line, 8, MESSAGE),
    ]
    assert b"-- Dump completed" in made.tail


@pytest.mark.parametrize(
    "statement",
    [
        b"all: BEGIN NOT ATOMIC SELECT 1",
        b"l:  loop LEAVE l",
        b"l: /* x */ FOR i IN 1..2 DO SELECT i",
        b"l: \nWHILE 1 DO SELECT 1",
        b"INSERT INTO t VALUES (\nmysqldump: x",
        b"SELECT '\nmysqldump: x\n'",
        b"SET @a:= 1",
    ],
)
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_statement_is_not_taken_for_a_message(statement: bytes, step: int) -> None:
    assert split(statement + b";\n", step) == [Statement(statement, 1)]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 17, 64])
def test_the_reads_decide_nothing(step: int) -> None:
    assert split(DUMP, step) == split(DUMP)


def test_both_ends_are_kept_for_who_looks_whether_it_is_whole() -> None:
    made = splitter(DUMP, 10)
    assert len(list(made)) == 8
    assert made.head.startswith(b"-- MySQL")
    assert b"-- Dump completed" in made.tail


def test_a_backslash_escapes_only_if_the_server_says_so() -> None:
    text = b"SELECT 'a\\'; SELECT 'b';"
    literal = splitter(text, quotes=Quotes(backslash=False))
    assert [one.text for one in literal] == [b"SELECT 'a\\'", b"SELECT 'b'"]


def test_a_backslash_escapes_in_no_name() -> None:
    text = b"SELECT \"a\\\"; SELECT 'b\\'; c';"
    names = splitter(text, quotes=Quotes(names=True))
    assert [one.text for one in names] == [b'SELECT "a\\"', b"SELECT 'b\\'; c'"]
    with pytest.raises(DumpRefused, match="within a quote"):
        list(splitter(b"SELECT 'a\\';"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"INSERT INTO t VALUES\n ('a;", "within a quote that begins in line 2"),
        (b'\n\nSELECT "a;', "within a quote that begins in line 3"),
        (b"SELECT `a;", "within a quoted name that begins in line 1"),
        (b"SELECT 1 /* a;", "within a comment that begins in line 1"),
        (b"\n/* a;", "within a comment that begins in line 2"),
        (b"/*!50003 CREATE;", "within a comment that begins in line 1"),
        (b"SELECT 1;\nINSERT INTO t VALUES (1)", "within a statement that begins in line 2"),
        (b"DELIMITER //\nSELECT 1; SELECT 2;\n", "within a statement that begins in line 2"),
    ],
)
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_file_that_is_cut_off_says_where(text: bytes, words: str, step: int) -> None:
    with pytest.raises(DumpRefused, match=words) as refused:
        split(text, step)
    assert "cut off" in str(refused.value.hint)


def test_a_delimiter_must_be_there() -> None:
    with pytest.raises(DumpRefused, match=r"shop\.sql, line 2: DELIMITER"):
        split(b"SELECT 1;\nDELIMITER \nSELECT 2;\n")


def quoted(quote: bytes) -> st.SearchStrategy[bytes]:
    inside = st.sampled_from([b"a", b";", b"//", b"--", b"#", b"/*", b"*/", b"\n", b"\xc3\xa9"])
    escaped = [b"\\" + quote, b"\\\\", quote + quote] if quote != b"`" else [b"``"]
    parts = st.lists(st.one_of(inside, st.sampled_from(escaped)), max_size=6)
    return parts.map(lambda several: quote + b"".join(several) + quote)


PLAIN = st.sampled_from(
    [b"a", b"1 ", b"\n", b"(", b", ", b" -1", b" --1", b" 2/3", b" *b", b"@x", b"\xc3\xa9", b"!a"]
)
COMMENT = st.sampled_from(
    [b"-- it's; //\n", b"# `;\n", b"/* ';\n// */", b"--\t\n", b"/**/", b"/*!50003 x ';' */"]
)
PIECE = st.one_of(PLAIN, quoted(b"'"), quoted(b'"'), quoted(b"`"), COMMENT.map(lambda c: b" " + c))
STATEMENT = st.lists(PIECE, min_size=1, max_size=8).map(
    lambda several: b"SELECT " + b"".join(several)
)
DELIMITER = st.sampled_from([b";", b";;", b"//", b"$$", b"END"])
BETWEEN = st.sampled_from([b"\n", b" ", b"\n-- it's\n", b"\n/* ; ' */\n", b"\n# x\n"])


@settings(max_examples=80, deadline=None)
@given(
    blocks=st.lists(
        st.tuples(DELIMITER, st.lists(st.tuples(STATEMENT, BETWEEN), max_size=4)), max_size=4
    ),
    step=st.integers(1, 40),
)
def test_what_is_put_together_is_taken_apart_again(
    blocks: list[tuple[bytes, list[tuple[bytes, bytes]]]], step: int
) -> None:
    dump, expected = b"", []
    for delimiter, statements in blocks:
        dump += b"\nDELIMITER " + delimiter + b"\n"
        for statement, between in statements:
            dump += statement + b"\n" + delimiter + between
            expected.append(statement.rstrip())
    assert texts(dump, step) == expected


@settings(max_examples=120, deadline=None)
@given(
    text=st.lists(st.sampled_from([*b"'\"`;#/-*\\\n !M9a$", *b"';\n"]), max_size=60).map(bytes),
    step=st.integers(1, 9),
)
def test_any_bytes_are_split_alike_or_refused_alike(text: bytes, step: int) -> None:
    assert _outcome(lambda: texts(text, step)) == _outcome(lambda: slowly(text))


def _outcome(split_it: Callable[[], list[bytes]]) -> list[bytes] | None:
    try:
        return split_it()
    except DumpRefused:
        return None


def slowly(text: bytes) -> list[bytes]:
    """The same by looking at one byte after another; no commands of the client."""
    found, at, start = [], 0, None
    while at < len(text):
        end = _passed(text, at)
        if start is None and (text[at : at + 1].isspace() or _is_no_statement(text, at)):
            at = end
        elif text[at : at + 1] == b";":
            if start is not None:
                found.append(text[start:at].rstrip())
            start, at = None, at + 1
        else:
            start = at if start is None else start
            at = end
    if start is not None:
        raise DumpRefused("not ended")
    return found


def _is_no_statement(text: bytes, at: int) -> bool:
    """A comment that no server is meant to read begins here."""
    rest = text[at:]
    kept = rest.startswith((b"/*!", b"/*M!")) and not rest.startswith((b"/*!999999", b"/*M!999999"))
    return _comment_end(text, at) is not None and not kept


def _comment_end(text: bytes, at: int) -> int | None:
    rest = text[at:]
    if rest.startswith(b"#") or (rest.startswith(b"--") and (len(rest) == 2 or rest[2] <= 32)):
        newline = text.find(b"\n", at)
        return len(text) if newline < 0 else newline + 1
    if rest.startswith(b"/*"):
        close = text.find(b"*/", at + 2)
        if close < 0:
            raise DumpRefused("an open comment")
        return close + 2
    return None


def _passed(text: bytes, at: int) -> int:
    """Behind the comment, the quoted text or the byte at this place."""
    comment = _comment_end(text, at)
    if comment is not None:
        return comment
    quote = text[at : at + 1]
    if quote not in (b"'", b'"', b"`"):
        return at + 1
    at += 1
    while at < len(text):
        if text[at : at + 1] == quote:
            return at + 1
        at += 2 if text[at : at + 1] == b"\\" and quote != b"`" else 1
    raise DumpRefused("an open quote")
