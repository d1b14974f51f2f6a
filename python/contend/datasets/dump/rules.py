"""What a statement of a dump would do beyond its own database, and what it is run as.

What a dump needs is known, so everything else is refused unless it is allowed by its kind. The
private server that a dump is loaded into is thrown away afterwards; its files and this machine's
are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Literal

from contend.datasets.dump.tokens import Token, other_databases, spelled, tokens

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
