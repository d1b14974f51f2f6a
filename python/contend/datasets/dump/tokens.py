"""The words of one statement, as a server reads them.

What stands in a comment for the servers of some versions (`/*!50003 … */`) is read as if it stood
outside of it: whichever server it is, none is let do what the dump may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
