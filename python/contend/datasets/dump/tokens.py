"""The words of one statement, as a server reads them, and which names among them are of another
database.

What stands in a comment for the servers of some versions (`/*!50003 … */`) is read as if it stood
outside of it: whichever server it is, none is let do what the dump may not.

`a.b` is a table `b` of a database `a`, or a column of a table `a`; which one shows the word before
it. What that leaves open the server finds: no other database is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    rb"""
      (?P<blank> \s+ | (?:\#|--(?=[\x00-\x20]|\Z))[^\n]* | /\*(?!M?!) (?:.*?\*/|.*)
               | /\*M?!999999.*?\*/ | /\*M?!\d* | \*/ )
    | (?P<name> `(?:[^`]|``)*` )
    | (?P<text> '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | (?P<variable> @@?(?=[\w$.]) [\w$.]+ )
    | (?P<word> [\w$\x80-\xff]+ )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)

Kind = Literal["name", "text", "variable", "word", "mark"]


@dataclass(frozen=True, slots=True)
class Token:
    """One word, name, text or mark, and where it stands in the statement, in bytes.

    `text` of a word is in capitals; that of a name or text is without its quotes.
    """

    kind: Kind
    text: str
    start: int
    end: int

    def names(self) -> str | None:
        """What it is the name of something, if it can be one."""
        return self.text if self.kind in ("name", "word") else None


def tokens(statement: bytes) -> Iterator[Token]:
    """The statement's tokens, one after the other; nothing is read beyond what is asked for."""
    for match in _TOKEN.finditer(statement):
        kind = match.lastgroup
        if kind == "blank" or kind is None:
            continue
        text = match[0].decode("utf-8", "replace")
        if kind == "word":
            text = text.upper()
        elif kind == "name":
            text = text[1:-1].replace("``", "`")
        elif kind == "text":
            text = text[1:-1]
        yield Token(kind, text, match.start(), match.end())  # type: ignore[arg-type]


def spelled(statement: bytes, token: Token) -> str:
    """A name as the dump spells it."""
    if token.kind == "name":
        return token.text
    return statement[token.start : token.end].decode("utf-8", "replace")


_BEFORE_TABLE = frozenset(
    {
        *("FROM", "JOIN", "INTO", "UPDATE", "TABLE", "TABLES", "REFERENCES", "VIEW", "TRIGGER"),
        *("PROCEDURE", "FUNCTION", "EVENT", "SEQUENCE", "LIKE", "CALL", "EXISTS", "RENAME", "TO"),
        "ON",
    }
)
"""What follows them is the name of a table, or of something else that a database has."""

_COLUMN_AFTER = frozenset({"ON", "LIKE"})
"""Behind these a column may stand as well: in a condition."""

_BEFORE_FIRST = frozenset({"INSERT", "REPLACE", "UPDATE", "DELETE", "INTO", "IGNORE", "QUICK",
                           "LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED"})  # fmt: skip
"""If nothing else is before a name it is the table that is changed."""

_ONLY_TABLES = frozenset({"LOCK", "DROP", "RENAME", "TRUNCATE", "ANALYZE", "OPTIMIZE", "CHECK",
                          "REPAIR"})  # fmt: skip
"""Statements without columns: each `a.b` in them is a table."""

_TAKE_FROM = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "MID", "OVERLAY"})
"""Functions with a FROM of their own, behind which a column stands."""

_ROWS = frozenset({"NEW", "OLD"})
"""The row of a trigger."""

READABLE = frozenset({"INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA"})
"""Every server has them and nobody can write to them."""


def other_databases(statement: bytes, tokens: Sequence[Token], home: str) -> Iterator[str]:
    """The databases beside `home` that the statement names, as far as its words show it."""
    all_tables = bool(tokens) and tokens[0].text in _ONLY_TABLES
    for place in range(len(tokens) - 2):
        owner, dot, owned = tokens[place : place + 3]
        if dot.text != "." or dot.kind != "mark" or owner.names() is None:
            continue
        if owned.names() is None or (place and tokens[place - 1].text == "."):
            continue
        if not all_tables and not _is_table(tokens, place):
            continue
        name = spelled(statement, owner)
        if name.casefold() != home.casefold() and name.upper() not in READABLE:
            yield name


def _is_table(tokens: Sequence[Token], place: int) -> bool:
    """Whether the name at this place is behind a word that tables follow."""
    if place and all(token.text in _BEFORE_FIRST for token in tokens[:place]):
        return True
    before = place - 1
    while before >= 0 and tokens[before].kind == "mark" and tokens[before].text == "(":
        before -= 1
    if before < 0 or tokens[before].kind != "word" or tokens[before].text not in _BEFORE_TABLE:
        return False
    word = tokens[before].text
    if tokens[place].text.upper() in _ROWS:
        return False
    if word == "FROM":
        return not _in_function(tokens, before)
    if word == "UPDATE":
        return tokens[before - 1].text != "KEY"  # `ON DUPLICATE KEY UPDATE t.a = …`
    if word not in _COLUMN_AFTER:
        return True
    # `… TRIGGER t BEFORE INSERT ON shop.orders`, `CREATE TABLE a LIKE shop.b`; otherwise a
    # condition: `JOIN b ON a.id = b.id`, `a LIKE b.c`.
    head = [token.text for token in tokens[:before]]
    if word == "ON":
        return ("TRIGGER" in head or "INDEX" in head) and "JOIN" not in head
    return head[:2] == ["CREATE", "TABLE"]


def _in_function(tokens: Sequence[Token], place: int) -> bool:
    """Whether the FROM at this place is that of a function: `EXTRACT(YEAR FROM a.b)`."""
    depth = 0
    for before in range(place - 1, 0, -1):
        token = tokens[before]
        if token.kind != "mark":
            continue
        depth += {")": 1, "(": -1}.get(token.text, 0)
        if depth < 0:
            return tokens[before - 1].text in _TAKE_FROM
    return False
