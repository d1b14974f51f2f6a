"""What becomes of a statement of a dump; for that its words, as a server reads them.

What a statement may do is no matter of words: the server decides it by the rights of the account
that loads the dump. The words say what the client has to do itself: which database is meant, what
is about accounts and replication, which a private server has no use for, whose definer is unknown
here, and which engine a table gets.

What stands in a comment for the servers of some versions (`/*!50003 … */`) is read as if it stood
outside of it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal


@functools.cache
def _token(*, backslash: bool) -> re.Pattern[bytes]:
    plain, escaped = (rb"\\", rb"\\.|") if backslash else (b"", b"")
    return re.compile(
        rb"""
          (?P<blank> \s+ | (?:\#|--(?=[\x00-\x20]|\Z))[^\n]* | /\*(?!M?!) (?:.*?\*/|.*)
                   | /\*M?!999999.*?\*/ | /\*M?!\d* | \*/ )
        | (?P<name> `(?:[^`]|``)*` )
        | (?P<text> '(?:[^'%b]|%b'')*' | "(?:[^"%b]|%b"")*" )
        | (?P<variable> @@?(?=[\w$.]) [\w$.]+ )
        | (?P<word> [\w$\x80-\xff]+ )
        | (?P<mark> . )
        """
        % (plain, escaped, plain, escaped),
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


def tokens(statement: bytes, *, backslash: bool = True) -> Iterator[Token]:
    """The statement's tokens, one after the other; nothing is read beyond what is asked for.

    Args:
        backslash: it escapes the next character in quotes.
    """
    for match in _token(backslash=backslash).finditer(statement):
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


def _spelled(statement: bytes, token: Token) -> str:
    """A name as the dump spells it; in some sql_modes it stands in double quotes."""
    if token.kind in ("name", "text"):
        return token.text
    return statement[token.start : token.end].decode("utf-8", "replace")


USERS = "users and their rights"
REPLICATION = "replication"

_HEAD = 32
"""Tokens that say what a statement is about: what follows may be megabytes of rows."""

_SHOWN = 60
"""Characters of a statement that a message has."""

_OBJECTS = frozenset({"TABLE", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "INDEX",
                      "SEQUENCE", "PACKAGE", "SERVER", "TABLESPACE"})  # fmt: skip
_ACCOUNTS = frozenset({"USER", "ROLE"})
_DATABASE = frozenset({"DATABASE", "SCHEMA"})
_FLUSHED_FOR_NOTHING = frozenset({"LOGS", "TABLES", "TABLE", "STATUS"})
_OF_REPLICATION = frozenset({"SQL_LOG_BIN", "GTID_PURGED", "GTID_SLAVE_POS"})
_REPLICAS = frozenset({"SLAVE", "REPLICA", "ALL", "MASTER"})
_MAY_SET = frozenset({"EXECUTE", "CALL", "BEGIN"})
_SCOPES = frozenset({"SESSION", "LOCAL", "GLOBAL"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a statement.

    Args:
        action: `run` it as `text`; `use` the database `name`; `create`, `drop` or `alter` it;
            `pass` it over, since it does nothing here; `leave` it out, and say `about` what it is.
        words: the statement in a few words, for messages.
        sets: it sets variables of the session and does nothing else.
        requotes: it may change how quotes are read.
    """

    action: Literal["run", "use", "create", "drop", "alter", "pass", "leave"]
    words: str
    text: bytes = b""
    name: str = ""
    about: str = ""
    sets: bool = False
    requotes: bool = False


def judge(statement: bytes, engine: str | None = None, *, backslash: bool = True) -> Verdict:
    """What becomes of a statement.

    Args:
        statement: without its delimiter.
        engine: that tables are to have; None for that of the dump.
        backslash: it escapes the next character in quotes.
    """
    read = tokens(statement, backslash=backslash)
    head = list(islice(read, _HEAD))
    words = in_words(statement)
    first, *others = [token.text for token in head] or [""]
    match first:
        case "":
            return Verdict("pass", words)
        case "USE" if others:
            return Verdict("use", words, name=_spelled(statement, head[1]))
        case "SET":
            return _set(statement, [*head, *read], words, engine)
        case "FLUSH" if _FLUSHED_FOR_NOTHING.intersection(others[:3]):
            return Verdict("pass", words)
        case "GRANT" | "REVOKE":
            return Verdict("leave", words, about=USERS)
        case "FLUSH" if others[:1] == ["PRIVILEGES"]:
            return Verdict("leave", words, about=USERS)
        case "RENAME" if others[:1] == ["USER"]:
            return Verdict("leave", words, about=USERS)
        case "CHANGE" | "RESET" | "START" | "STOP" if _REPLICAS.intersection(others[:1]):
            return Verdict("leave", words, about=REPLICATION)
        case "CREATE" | "ALTER" | "DROP":
            return _defines(statement, head, read, words, engine)
    return Verdict("run", words, statement, requotes=first in _MAY_SET)


def _set(statement: bytes, tokens: Sequence[Token], words: str, engine: str | None) -> Verdict:
    texts = [token.text for token in tokens]
    if texts[1:2] in (["PASSWORD"], ["ROLE"]) or texts[1:3] == ["DEFAULT", "ROLE"]:
        return Verdict("leave", words, about=USERS)
    names = set(_targets(tokens))
    if names and names <= _OF_REPLICATION:
        return Verdict("leave", words, about=REPLICATION)
    if engine is not None and names & {"DEFAULT_STORAGE_ENGINE", "STORAGE_ENGINE"}:
        return Verdict("pass", words)
    return Verdict("run", words, statement, sets=True, requotes=True)


def _targets(tokens: Sequence[Token]) -> Iterator[str]:
    """What is set, in capitals, without its scope."""
    depth = 0
    for place, token in enumerate(tokens):
        if token.kind == "mark":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        begins = place == 0 or (token.kind == "mark" and token.text == ",")
        if not begins or depth != 0:
            continue
        named = [one.text.upper() for one in tokens[place + 1 : place + 3]]
        if named[:1] and named[0] in _SCOPES:
            named = named[1:]
        if named:
            yield named[0].removeprefix("@@").rpartition(".")[2]


def _defines(
    statement: bytes,
    head: Sequence[Token],
    rest: Iterator[Token],
    words: str,
    engine: str | None,
) -> Verdict:
    """CREATE, ALTER or DROP of something."""
    definer = _definer(head)
    after = [token for token in head if token not in definer]
    place = next(
        (
            place
            for place, token in enumerate(after)
            if token.kind == "word" and token.text in (_OBJECTS | _DATABASE | _ACCOUNTS)
        ),
        None,
    )
    if place is None:
        return Verdict("run", words, statement)
    what = after[place].text
    if what in _ACCOUNTS:
        return Verdict("leave", words, about=USERS)
    if what in _DATABASE:
        # ALTER DATABASE without a name is about the present one.
        action = {"CREATE": "create", "DROP": "drop"}.get(after[0].text, "alter")
        name = _name(statement, after[place + 1 :])
        return Verdict(action, words, statement, name)  # type: ignore[arg-type]
    if engine is not None and what == "TABLE":
        text = _with_engine(statement, chain(head, rest), engine)
        return Verdict("run", words, text)
    return Verdict("run", words, _without(statement, definer))


def _name(statement: bytes, tokens: Sequence[Token]) -> str:
    left = [token for token in tokens if token.text not in ("IF", "NOT", "EXISTS")]
    return _spelled(statement, left[0]) if left and left[0].kind in ("word", "name", "text") else ""


def _definer(tokens: Sequence[Token]) -> Sequence[Token]:
    """The clause that names a user whom the private server does not know; empty if there is none.

    It stands before what is defined, in a statement that begins so; its name may be any word.
    """
    place = next((n for n, token in enumerate(tokens) if token.text == "DEFINER"), None)
    if place is None or place + 2 >= len(tokens) or tokens[place + 1].text != "=":
        return ()
    if any(token.kind == "word" and token.text in _OBJECTS for token in tokens[:place]):
        return ()
    last = place + 2
    for following in range(last + 1, len(tokens)):
        token = tokens[following]
        joined = token.text == "@" or token.text.startswith("@") or tokens[last].text == "@"
        if not joined and token.text not in ("(", ")"):
            break
        last = following
    return tokens[place : last + 1]


def _without(statement: bytes, tokens: Sequence[Token]) -> bytes:
    """Blanks in place of the tokens."""
    blanked = bytearray(statement)
    for token in tokens:
        blanked[token.start : token.end] = b" " * (token.end - token.start)
    return bytes(blanked)


def _with_engine(statement: bytes, tokens: Iterator[Token], engine: str) -> bytes:
    """The statement with this engine in place of each that it names."""
    found = list(tokens)
    parts, at, depth = [], 0, 0
    for place, token in enumerate(found):
        if token.kind == "mark":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.kind != "word" or token.text != "ENGINE":
            continue
        following = found[place + 1 : place + 3]
        equals = bool(following) and following[0].text == "="
        # Without a sign it may be a column of that name.
        if not equals and depth > 0:
            continue
        named = following[1:2] if equals else following[:1]
        if named and named[0].kind in ("word", "name", "text"):
            parts += [statement[at : named[0].start], engine.encode()]
            at = named[0].end
    return b"".join([*parts, statement[at:]])


def in_words(statement: bytes) -> str:
    """The beginning of a statement, for messages."""
    text = " ".join(statement[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
