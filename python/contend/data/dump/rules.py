"""The action for a statement of a dump, by its first words.

The words do not limit a statement: the server does, by the rights of the account that loads the
dump. The words decide the client's part: the database that is meant; accounts and replication,
which a private server does not need; an unknown definer; and the engine of a table.

Text in a comment for servers of some versions (`/*!50003 … */`) is read as if it were outside the
comment.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

USERS = "users and privileges"
REPLICATION = "replication"

_HEAD = 32
"""The words that name a statement's subject: megabytes of rows may follow."""

_SHOWN = 60
"""Number of characters of a statement in a message."""

_WORD = re.compile(
    rb"""
      \s+ | (?:\#|--(?=[\x00-\x20]|\Z))[^\n]* | /\*(?!M?!) (?:.*?\*/|.*)
      | /\*M?!999999.*?\*/ | /\*M?!\d* | \*/
    | (?P<quoted> `(?:[^`]|``)*` | '[^']*' | "[^"]*" )
    | (?P<word> @?@?[\w$.\x80-\xff]+ )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)

_ABOUT = (
    (USERS, re.compile(r"(GRANT|REVOKE|(CREATE|ALTER|DROP|RENAME) (OR REPLACE )?(USER|ROLE)) ")),
    (USERS, re.compile(r"(SET (DEFAULT )?(PASSWORD|ROLE)|FLUSH PRIVILEGES) ")),
    (REPLICATION, re.compile(r"(CHANGE|RESET|START|STOP) (SLAVE|REPLICA|ALL|MASTER) ")),
    (
        REPLICATION,
        re.compile(
            r"SET (@@)?((SESSION|LOCAL|GLOBAL)[ .])?(SQL_LOG_BIN|GTID_PURGED|GTID_SLAVE_POS) "
            r"(?!.* , )"  # A SET of other variables too is not left out.
        ),
    ),
)
"""Subjects of statements that a private server does not need, and how they begin."""

_DOES_NOTHING = re.compile(r"FLUSH (\w+ ){0,2}(LOGS|TABLES|TABLE|STATUS) |$")
_SETS_ENGINE = re.compile(
    r"SET (.* , )?(@@)?((SESSION|LOCAL|GLOBAL)[ .])?(DEFAULT_)?STORAGE_ENGINE (=|:) "
)
_OF_TABLE = re.compile(r"(CREATE|ALTER) (OR REPLACE |TEMPORARY |ONLINE |IGNORE )*TABLE ")
_DATABASE = re.compile(r"(CREATE|DROP|ALTER) (?:OR REPLACE )?(?:DATABASE|SCHEMA) ")
_MAY_SET = ("SET", "EXECUTE", "CALL", "BEGIN")

_NAME = rb"(?:`(?:[^`]|``)*`|'[^']*'|\"[^\"]*\"|[\w$.%-]+)"
_DEFINER = re.compile(
    rb"""(?isx) \A (?P<before> (?: \s | /\*M?!\d* | \*/ | /\*(?!M?!).*?\*/
    | \b(?:CREATE|ALTER|OR|REPLACE|AGGREGATE)\b | \bALGORITHM\s*=\s*\w+ )* )
    DEFINER \s* = \s* %b (?:\s*@\s*%b)? (?:\s*\(\s*\))?"""
    % (_NAME, _NAME)
)
"""The clause that names a user that the private server does not know."""


@functools.cache
def _engine(*, backslash: bool) -> re.Pattern[bytes]:
    """Quoted text, a comment, a bracket or an engine. Without `=` (`bare`), it may be a column of
    that name, but not after the columns."""
    plain, escaped = (rb"\\", rb"\\.|") if backslash else (b"", b"")
    return re.compile(
        rb"""(?isx) `(?:[^`]|``)*` | '(?:[^'%b]|%b'')*' | "(?:[^"%b]|%b"")*"
        | (?:\#|--(?=[\x00-\x20]|\Z))[^\n]* | /\*(?!M?!)(?:.*?\*/|.*) | (?P<bracket>[()])
        | (?<![\w$.@]) (?P<before> ENGINE\s*=\s* | (?P<bare>ENGINE\s+) ) %b"""
        % (plain, escaped, plain, escaped, _NAME)
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The action for a statement.

    Args:
        action: `run` it as `text`; `use` the database `name`; `create`, `drop` or `alter` it;
            `pass` it over, since it does nothing here; `leave` it out, with `about` as its subject.
        shown: the beginning of the statement, for messages.
        sets: it sets variables of the session and does nothing else.
        requotes: it may change how quotes are read.
    """

    action: Literal["run", "use", "create", "drop", "alter", "pass", "leave"]
    shown: str
    text: bytes = b""
    name: str = ""
    about: str = ""
    sets: bool = False
    requotes: bool = False


def judge(statement: bytes, engine: str | None = None, *, backslash: bool = True) -> Verdict:
    """The action for a statement.

    Args:
        statement: without its delimiter.
        engine: the engine for tables; None for that of the dump.
        backslash: it escapes the next character in quotes.
    """
    found = (match for match in _WORD.finditer(statement) if match.lastgroup is not None)
    spelled = [match[0].decode("utf-8", "replace") for match in islice(found, _HEAD)]
    head = "".join(f"{word} " for word in spelled).upper()
    shown, first = beginning(statement), head.partition(" ")[0]
    if _DOES_NOTHING.match(head) or (engine is not None and _SETS_ENGINE.match(head)):
        return Verdict("pass", shown)
    about = next((about for about, begins in _ABOUT if begins.match(head)), None)
    if about is not None:
        return Verdict("leave", shown, about=about)
    if first == "USE" and len(spelled) > 1:
        return Verdict("use", shown, name=_unquoted(spelled[1]))
    database = _DATABASE.match(head)
    if database is not None:
        after = spelled[database[0].count(" ") :]
        names = [word for word in after if word.upper() not in ("IF", "NOT", "EXISTS")]
        # ALTER DATABASE without a name is about the current one.
        name = _unquoted(names[0]) if names and names[0] not in ("=", ",") else ""
        return Verdict(database[1].lower(), shown, statement, name)  # type: ignore[arg-type]
    text = statement
    if engine is not None and _OF_TABLE.match(head):
        text = _with_engine(statement, engine, _engine(backslash=backslash))
    elif first in ("CREATE", "ALTER"):
        text = _DEFINER.sub(rb"\g<before>", statement)
    return Verdict("run", shown, text, sets=first == "SET", requotes=first in _MAY_SET)


def _with_engine(statement: bytes, engine: str, pattern: re.Pattern[bytes]) -> bytes:
    opened = closed = 0

    def replaced(match: re.Match[bytes]) -> bytes:
        nonlocal opened, closed
        opened += match["bracket"] == b"("
        closed += match["bracket"] == b")"
        is_after_columns = 0 < opened == closed
        if match["before"] is None or (match["bare"] and not is_after_columns):
            return match[0]
        return match["before"] + engine.encode()

    return pattern.sub(replaced, statement)


def _unquoted(name: str) -> str:
    """A name as spelled in the dump; in some sql_modes it is in double quotes."""
    if name[:1] in ("'", '"'):
        return name[1:-1]
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def beginning(statement: bytes) -> str:
    """The beginning of a statement, for messages."""
    text = " ".join(statement[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
