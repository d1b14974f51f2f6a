"""What a statement of a dump would do beyond its own database, and what it is run as; for that its
words, as a server reads them.

What a dump needs is known, so everything else is refused unless it is allowed by its kind. The
private server that a dump is loaded into is thrown away afterwards; its files and this machine's
are not.

What stands in a comment for the servers of some versions (`/*!50003 … */`) is read as if it stood
outside of it: whichever server it is, none is let do what the dump may not. `a.b` is a table `b` of
a database `a`, or a column of a table `a`; which one shows the word before it. What that leaves
open the server finds: no other database is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
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


KINDS = {
    "other-database": "about another database than the one that is imported",
    "users": "users, roles, their rights and passwords",
    "global": "what concerns the whole server: global variables, logs, replication, tablespaces",
    "files": "files of this machine: LOAD DATA, INTO OUTFILE, DATA DIRECTORY, a source elsewhere",
    "plugins": "code that is loaded into the server",
    "dynamic": "what shows only when it is run: CALL, PREPARE, EXECUTE, DO",
    "unknown": "whatever no dump has",
}
"""Kinds of statements that are refused unless they are allowed."""

_HEAD = 12
"""Tokens of an INSERT that are looked at: its rows may be megabytes."""

_SHOWN = 60
"""Characters of a statement that a message has."""

_RUN = frozenset(
    {
        *("START", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "LOCK", "UNLOCK"),
        *("UPDATE", "DELETE", "TRUNCATE", "RENAME", "ANALYZE", "OPTIMIZE", "CHECK", "REPAIR"),
        *("SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "CHECKSUM", "WITH", "VALUES", "("),
    }
)
_KIND_OF = {
    **dict.fromkeys(("GRANT", "REVOKE"), "users"),
    **dict.fromkeys(("INSTALL", "UNINSTALL"), "plugins"),
    **dict.fromkeys(("CALL", "PREPARE", "EXECUTE", "DEALLOCATE", "DO"), "dynamic"),
    **dict.fromkeys(("LOAD", "IMPORT"), "files"),
    **dict.fromkeys(
        ("RESET", "CHANGE", "STOP", "PURGE", "KILL", "SHUTDOWN", "RESTART", "CLONE", "CACHE",
         "BINLOG"),
        "global",
    ),
}  # fmt: skip
_OBJECTS = frozenset({"TABLE", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "INDEX",
                      "SEQUENCE", "PACKAGE"})  # fmt: skip
_KIND_OF_OBJECT = {
    **dict.fromkeys(("USER", "ROLE"), "users"),
    **dict.fromkeys(
        ("SERVER", "TABLESPACE", "LOGFILE", "UNDO", "INSTANCE", "RESOURCE"),
        "global",
    ),
    **dict.fromkeys(("PREPARE",), "dynamic"),
}
_FILE_WORDS = frozenset({"OUTFILE", "DUMPFILE", "LOAD_FILE"})
_DATABASE = frozenset({"DATABASE", "SCHEMA"})
_FLUSHED_FOR_NOTHING = frozenset({"LOGS", "TABLES", "TABLE", "STATUS"})
_UNSAFE_CHARSETS = frozenset({"BIG5", "CP932", "GBK", "GB18030", "SJIS"})
"""A byte of a character may be that of a quote or a backslash there."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a statement.

    Args:
        action: `run` it as `text`; `use` the database `name`; `create`, `drop` or `alter` it;
            `pass` it over, since it does nothing here; `refuse` it, because of `kind` and `why`.
        words: the statement in a few words, for messages.
        sets: it sets variables of the session.
        sets_mode: one of them may be the sql_mode.
    """

    action: Literal["run", "use", "create", "drop", "alter", "pass", "refuse"]
    words: str
    text: bytes = b""
    name: str = ""
    kind: str = ""
    why: str = ""
    sets: bool = False
    sets_mode: bool = False


def judge(statement: bytes, home: str | None, engine: str | None = None) -> Verdict:
    """What becomes of a statement.

    Args:
        statement: without its delimiter.
        home: the database that is imported, as far as it is known yet.
        engine: that tables are to have; None for that of the dump.
    """
    read = tokens(statement)
    head = list(islice(read, _HEAD))
    words = _in_words(statement)
    if not head:
        return Verdict("pass", words)
    first = head[0].text
    if first in ("INSERT", "REPLACE"):
        return _within(statement, head, home, words)
    found = [*head, *read]
    if first == "USE" and len(found) > 1:
        return Verdict("use", words, name=spelled(statement, found[1]))
    if first == "SET":
        return _set(statement, found, words, engine)
    if first == "FLUSH":
        flushed = any(token.text in _FLUSHED_FOR_NOTHING for token in found[1:4])
        return Verdict("pass", words) if flushed else _refused("global", words)
    if any(token.kind == "word" and token.text in _FILE_WORDS for token in found):
        return _refused("files", words)  # in the body of a trigger too, which an INSERT runs
    if first in ("CREATE", "ALTER", "DROP"):
        return _defines(statement, found, home, words, engine)
    if first == "RENAME" and found[1:] and found[1].text == "USER":
        return _refused("users", words)
    if first == "BEGIN" and found[1:] and found[1].text == "NOT":
        return _refused("dynamic", words)
    if first == "START" and (not found[1:] or found[1].text != "TRANSACTION"):
        return _refused("global", words)
    if first not in _RUN:
        return _refused(_KIND_OF.get(first, "unknown"), words)
    return _within(statement, found, home, words)


def _refused(kind: str, words: str, why: str = "") -> Verdict:
    return Verdict("refuse", words, kind=kind, why=why or KINDS[kind])


def _within(
    statement: bytes, tokens: Sequence[Token], home: str | None, words: str, text: bytes = b""
) -> Verdict:
    """Run it, if it names no other database."""
    other = next(other_databases(statement, tokens, home or ""), None)
    if other is not None:
        return _refused("other-database", words, f'the database "{other}" is another one')
    return Verdict("run", words, text or statement)


def _set(statement: bytes, tokens: Sequence[Token], words: str, engine: str | None) -> Verdict:
    texts = [token.text for token in tokens]
    if texts[1:2] in (["PASSWORD"], ["ROLE"]) or texts[1:3] == ["DEFAULT", "ROLE"]:
        return _refused("users", words)
    if texts[1:2] in (["STATEMENT"], ["RESOURCE"]):
        return _refused("unknown", words)
    targets = _targets(tokens)
    for target in targets:
        scope, _, name = target.removeprefix("@@").rpartition(".")
        if target.startswith("@@") and scope.upper() in ("GLOBAL", "PERSIST", "PERSIST_ONLY"):
            return _refused("global", words, f"it sets the global variable {name}")
        if target in ("GLOBAL", "PERSIST", "PERSIST_ONLY"):
            return _refused("global", words)
    unsafe = next((text for text in texts[1:] if text.upper() in _UNSAFE_CHARSETS), None)
    if unsafe is not None:
        why = f"text in {unsafe.lower()} cannot be told from quotes; dump it in utf8mb4"
        return _refused("unknown", words, why)
    names = {target.removeprefix("@@").rpartition(".")[2].upper() for target in targets}
    if engine is not None and names & {"DEFAULT_STORAGE_ENGINE", "STORAGE_ENGINE"}:
        return Verdict("pass", words)
    return Verdict("run", words, statement, sets=True, sets_mode="SQL_MODE" in names)


def _targets(tokens: Sequence[Token]) -> list[str]:
    """What is set: the first word of each assignment, and the one behind its scope."""
    targets, depth = [], 0
    for place, token in enumerate(tokens):
        if token.kind == "mark":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        begins = place == 0 or (token.kind == "mark" and token.text == ",")
        if begins and depth == 0 and place + 1 < len(tokens):
            targets.append(tokens[place + 1].text)
            if tokens[place + 1].text in ("SESSION", "LOCAL") and place + 2 < len(tokens):
                targets.append(tokens[place + 2].text)
    return targets


def _defines(
    statement: bytes,
    tokens: Sequence[Token],
    home: str | None,
    words: str,
    engine: str | None,
) -> Verdict:
    """CREATE, ALTER or DROP of something."""
    verb = tokens[0].text
    place = next(
        (
            place
            for place, token in enumerate(tokens[1:], 1)
            if token.kind == "word" and token.text in (_OBJECTS | _DATABASE | {*_KIND_OF_OBJECT})
        ),
        None,
    )
    if place is None:
        return _refused("unknown", words)
    what = tokens[place].text
    if what in _KIND_OF_OBJECT:
        return _refused(_KIND_OF_OBJECT[what], words)
    if what in _DATABASE:
        name = _name_after(statement, tokens, place)
        # ALTER DATABASE without a name is about the present one.
        action = {"CREATE": "create", "DROP": "drop"}.get(verb, "alter")
        return Verdict(action, words, statement, name)  # type: ignore[arg-type]
    if what == "FUNCTION" and any(token.text == "SONAME" for token in tokens):
        return _refused("plugins", words)
    texts = [token.text for token in tokens]
    if what == "TABLE" and "DIRECTORY" in texts and _has_directory(tokens):
        return _refused("files", words)
    text = _without_definer(statement, tokens[:place])
    if engine is not None and what == "TABLE":
        text = _with_engine(text, tokens, engine)
    return _within(statement, tokens, home, words, text)


def _name_after(statement: bytes, tokens: Sequence[Token], place: int) -> str:
    rest = [token for token in tokens[place + 1 :] if token.text not in ("IF", "NOT", "EXISTS")]
    return spelled(statement, rest[0]) if rest and rest[0].names() is not None else ""


def _has_directory(tokens: Sequence[Token]) -> bool:
    return any(
        one.kind == "word" and one.text in ("DATA", "INDEX") and two.text == "DIRECTORY"
        for one, two in pairwise(tokens)
    )


def _without_definer(statement: bytes, tokens: Sequence[Token]) -> bytes:
    """Blanks in place of the definer: a user whom the private server does not know."""
    place = next((n for n, token in enumerate(tokens) if token.text == "DEFINER"), None)
    if place is None or place + 2 >= len(tokens) or tokens[place + 1].text != "=":
        return statement
    last = place + 2
    for following in range(last + 1, len(tokens)):
        token = tokens[following]
        joined = token.text == "@" or token.text.startswith("@") or tokens[last].text == "@"
        if not joined and token.text not in ("(", ")"):
            break
        last = following
    blanked = bytearray(statement)
    for token in tokens[place : last + 1]:
        blanked[token.start : token.end] = b" " * (token.end - token.start)
    return bytes(blanked)


def _with_engine(statement: bytes, tokens: Sequence[Token], engine: str) -> bytes:
    """The statement with this engine in place of each that it names."""
    parts, at, depth = [], 0, 0
    for place, token in enumerate(tokens):
        if token.kind == "mark":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.kind != "word" or token.text != "ENGINE":
            continue
        following = tokens[place + 1 : place + 3]
        equals = bool(following) and following[0].text == "="
        # Without a sign it may be a column of that name.
        if not equals and depth > 0:
            continue
        named = following[1:2] if equals else following[:1]
        if named and named[0].kind in ("word", "name", "text"):
            parts += [statement[at : named[0].start], engine.encode()]
            at = named[0].end
    return b"".join([*parts, statement[at:]])


def _in_words(statement: bytes) -> str:
    """The beginning of a statement, for messages."""
    text = " ".join(statement[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
