"""Changes a variable, and restores its original value; a number stays a number. If it was changed
since by others, the user is asked first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymysql.connections import Connection

from contend.errors import RequestError, WorkError, shielded
from contend.servers import Truncated
from contend.servers.errors import OptionRejected, ReadOnly
from contend.servers.options import Value, as_number, normal_name, same_value
from contend.servers.undo.journal import Entry, Journal
from contend.servers.variables import Read, put_global, read_all, read_global, set_one

Agree = Callable[[str], bool]
"""Whether to do what the question asks."""


def always(_question: str) -> bool:
    """Agree without asking: contend restores its own changes."""
    return True


class NotAgreed(RequestError):
    """It was changed since by others, and the user did not agree to restore it."""


VARIABLE = "variable"
"""Its entry has `name`; `before`, the value as the server reported it, or `text`, as in `SHOW`;
`ours`, the value that contend set since, if known; and `with`, if the server changed it with
another variable."""

_NEVER_OURS = "gtid_"
"""Prefixes of variables that change while the server replicates."""


def change(
    connection: Connection[Any],
    journal: Journal,
    name: str,
    value: Value,
    entry: Entry | None = None,
) -> tuple[Entry, Truncated | None]:
    """Change a global variable; the journal records its original value before.

    A server may change a second variable with it, and warns then: innodb_io_capacity moves
    innodb_io_capacity_max. That one is restored too.

    Args:
        entry: of an earlier change of the same variable; one revert undoes both.

    Returns:
        The entry, and the server's value if it differs from the requested one.

    Raises:
        OptionRejected: the server refused it.
        ContendError: another contend is now changing this server.
    """
    journal.require_held()
    is_first = entry is None
    if entry is None:
        before = read_global(connection, name)
        entry = journal.note(VARIABLE, name=normal_name(name), before=before, ours=[value])
    elif value not in entry["ours"]:
        entry["ours"].append(value)
        journal.write()
    others = read_all(connection)
    # The server's side changes are recorded only afterwards: no interruption in between.
    with shielded():
        try:
            truncated, warned = set_one(connection, name, value)
        except OptionRejected:
            if is_first:
                journal.drop(entry)
            raise
        except BaseException:
            if journal.hold is not None:
                journal.hold.end(connection)
            raise
        now = read_global(connection, name)
        if not _is_among(now, entry["ours"]):
            entry["ours"].append(now)
            journal.write()
        if warned:
            _note_others(journal, entry, others, read_all(connection))
    return entry, truncated


def _note_others(
    journal: Journal, entry: Entry, before: dict[str, str], after: dict[str, str]
) -> None:
    """Record variables that the server changed with it; they are restored after it."""
    for name, now in after.items():
        was = before.get(name)
        if was in (None, now) or name == entry["name"] or name.startswith(_NEVER_OURS):
            continue
        known = [
            noted for noted in journal.undo if noted["kind"] == VARIABLE and noted["name"] == name
        ]
        for noted in known:
            noted.setdefault("ours", []).append(now)
        if not known:
            place = next(n for n, noted in enumerate(journal.undo) if noted is entry)
            other = {"kind": VARIABLE, "name": name, "text": was, "ours": [now], "with": True}
            journal.undo.insert(place, other)
        journal.write()


def put_back(connection: Connection[Any], entry: Entry, agree: Agree) -> str:
    """Restore the variable's original value; returns a description of the present one.

    Raises:
        NotAgreed: it was changed since by others, and the user did not agree.
        OptionRejected, NotTaken: the server did not accept it.
    """
    name = normal_name(str(entry["name"]))
    now = read_global(connection, name)
    before = _before(entry, now)
    if not _is_same(before, now):
        ours = entry.get("ours")
        if (
            ours is not None
            and not _is_among(now, ours)
            and not agree(_question(entry, before, now))
        ):
            raise NotAgreed(
                f"it was {shown(before)}, and something else changed it to {shown(now)}"
            )
        try:
            put_global(connection, name, before)
        except ReadOnly:
            if "with" in entry:
                # Only the server changes it, and has to change it back.
                return f"{name} = {shown(now)}"
            raise
        got = read_global(connection, name)
        if not _is_same(before, got):
            raise NotTaken(f"the server changed it to {shown(got)}")
    return f"{name} = {shown(before)}"


def is_back(connection: Connection[Any], entry: Entry) -> bool:
    """Whether the original value is already in force."""
    now = read_global(connection, str(entry["name"]))
    return _is_same(_before(entry, now), now)


def in_words(entry: Entry) -> str:
    was = shown(entry["before"]) if "before" in entry else entry["text"]
    return f"{entry['name']} (was {was})"


class NotTaken(WorkError):
    """The server changed the value to a different one."""


def shown(value: Read) -> str:
    """The usual spelling: 90.0 is 90, and nothing is NULL."""
    if value is None:
        return "NULL"
    if value == "":
        return "''"
    if isinstance(value, bool):
        return str(int(value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _before(entry: Entry, now: Read) -> Read:
    """The original value. The text of a variable that changed with another gets the type that the
    server has."""
    if "before" in entry:
        before: Read = entry["before"]
        return before
    text = str(entry["text"])
    number = as_number(text)
    if number is None or isinstance(now, str | None):
        return text
    if isinstance(now, float):
        return number
    return int(text) if text.lstrip("-").isdigit() else int(number)


def _question(entry: Entry, before: Read, now: Read) -> str:
    ours = " or ".join(map(shown, entry["ours"]))
    return (
        f"{entry['name']} was {shown(before)}, contend set it to {ours}, and something else "
        f"changed it to {shown(now)}. Set it to {shown(before)}?"
    )


def _is_same(one: Read, other: Read) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return type(one) is type(other) and one == other
    return one == other


def _is_among(now: Read, ours: list[Read]) -> bool:
    """A requested value may be spelled differently: 16M, ON."""
    return any(_is_same(now, value) or same_value(shown(now), shown(value)) for value in ours)
