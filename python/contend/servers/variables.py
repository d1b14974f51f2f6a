"""A server's variables: reads and changes them, with the program's information about its options;
and reads the counts of lock waits in its performance_schema.

MariaDB reports each variable's default and the origin of its value. MySQL reports only the origin;
the defaults come from the program's own output for `--no-defaults --verbose --help`, if contend has
the program.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

import pymysql
from pymysql.connections import Connection

from contend.metrics.probed import Variable
from contend.servers.binary import ServerBinary, run_program
from contend.servers.client import fetch
from contend.servers.error_log import Truncated
from contend.servers.errors import OptionRejected, ReadOnly
from contend.servers.options import (
    Value,
    as_sql,
    as_text,
    assignment,
    normal_name,
    truncation,
)

_TIMEOUT_S = 60
_EXPLAINED = re.compile(r"^ +(?:-\S, )?--([a-z][a-z0-9_-]*)", re.MULTILINE)
_VALUED = re.compile(rf"{_EXPLAINED.pattern}=", re.MULTILINE)
_GROUPS = re.compile(r"^The following groups are read: (.*)$", re.MULTILINE)
_RULE = re.compile(r"^-{5,} -{5,}$", re.MULTILINE)
# In the server's own spelling in its tables.
_SPELLINGS = {"(No default value)": "", "TRUE": "ON", "FALSE": "OFF"}


def program_defaults(binary: ServerBinary) -> dict[str, str]:
    """name -> default; empty if the program does not report them."""
    return parse_defaults(_help(binary.argv))


def program_options(binary: ServerBinary) -> frozenset[str]:
    """The name of every option of the program; empty if it does not report them."""
    return parse_options(_help(binary.argv))


def valued_options(binary: ServerBinary) -> frozenset[str]:
    """The name of every option that needs a value; empty if the program does not report them."""
    return frozenset(name.replace("-", "_") for name in _VALUED.findall(_help(binary.argv)))


def program_groups(binary: ServerBinary) -> tuple[str, ...]:
    """The groups of option files that the program reads; those of all servers if it does not report
    them. Which groups of versions there are differs between releases of MariaDB."""
    found = _GROUPS.search(_help(binary.argv))
    return ("mysqld", "server") if found is None else tuple(found[1].split())


@lru_cache(maxsize=8)
def _help(argv: tuple[str, ...]) -> str:
    try:
        return run_program([*argv, "--verbose", "--help"], timeout_s=_TIMEOUT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def parse_options(text: str) -> frozenset[str]:
    explained = (name.replace("-", "_") for name in _EXPLAINED.findall(text))
    return frozenset({*explained, *parse_defaults(text)})


def parse_defaults(text: str) -> dict[str, str]:
    """The table at the end of `--verbose --help`: a rule of dashes, then name and value."""
    parts = _RULE.split(text, maxsplit=1)
    defaults: dict[str, str] = {}
    if len(parts) < 2:
        return defaults
    for line in parts[1].strip("\n").splitlines():
        if not line.strip():
            break
        name, _, value = line.partition(" ")
        value = value.strip()
        defaults[name.replace("-", "_")] = _SPELLINGS.get(value, value)
    return defaults


Differing = dict[str, Variable]
"""name -> (value, default); the default is None if the server does not report it."""

_ER_UNKNOWN_VARIABLE = 1193
_ER_WRONG_TYPE = 1232
_ER_WRONG_VALUE = 1231
_ER_READ_ONLY = 1238
_ER_TRUNCATED = 1292
_ER_OPTION_PREVENTS = 1290
_REFUSALS = (_ER_UNKNOWN_VARIABLE, _ER_WRONG_TYPE, _ER_WRONG_VALUE, _ER_READ_ONLY)


SECRETS = ("handlersocket_plain_secret", "handlersocket_plain_secret_wr")
"""Passwords that a server shows to every reader of its variables; no record has them."""


def read_all(connection: Connection[Any]) -> dict[str, str]:
    """Every global variable, without the secrets among them."""
    values = fetch(connection, "SHOW GLOBAL VARIABLES")
    return {str(name): value for name, value in values if name not in SECRETS}


def status(connection: Connection[Any]) -> dict[str, str]:
    return dict(fetch(connection, "SHOW GLOBAL STATUS"))


def checks_rights(connection: Connection[Any]) -> bool:
    """Whether the server checks rights; with skip_grant_tables it does not."""
    try:
        fetch(connection, "SHOW GRANTS")
    except pymysql.err.MySQLError as error:
        if error.args[0] != _ER_OPTION_PREVENTS:
            raise
        return False
    return True


def threads(connection: Connection[Any]) -> list[tuple[str, int]]:
    """Name and kernel's id of each thread of a server, from its performance_schema; none if that is
    off."""
    rows = fetch(
        connection,
        "SELECT NAME, THREAD_OS_ID FROM performance_schema.threads WHERE THREAD_OS_ID IS NOT NULL",
    )
    return [(str(name), int(thread)) for name, thread in rows]


Read = int | float | str | bool | None
"""A server's value, which JSON keeps unchanged."""


def read_global(connection: Connection[Any], name: str) -> Read:
    """A variable, with the type that the server gives it: a whole number (a switch is 0 or 1), a
    number with a fraction, a text, or NULL.

    Raises:
        OptionRejected: there is none of that name.
    """
    normal = normal_name(name)
    try:
        ((value,),) = fetch(connection, f"SELECT @@GLOBAL.{normal}")
    except pymysql.err.MySQLError as error:
        raise _refused(normal, "", error) from error
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return cast(Read, value)


def giving_back(name: str, value: Read) -> str:
    """The statement that restores a value read by `read_global`; a text stays a text, even one like
    a number."""
    if value is None:
        literal = "NULL"
    elif isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        literal = f"'{escaped}'"
    else:
        literal = as_sql(value)
    return f"SET GLOBAL {normal_name(name)} = {literal}"


def put_global(connection: Connection[Any], name: str, value: Read) -> None:
    """Set a variable to a value read by `read_global`; a text stays a text, even one like a number.

    Raises:
        OptionRejected: the server refuses it.
    """
    normal = normal_name(name)
    try:
        with connection.cursor() as cursor:
            if isinstance(value, str):
                cursor.execute(f"SET GLOBAL {normal} = %s", (value,))
            else:
                literal = "NULL" if value is None else as_sql(value)
                cursor.execute(f"SET GLOBAL {normal} = {literal}")
    except pymysql.err.MySQLError as error:
        raise _refused(normal, "NULL" if value is None else value, error) from error


def set_global(connection: Connection[Any], changes: Mapping[str, Value]) -> list[Truncated]:
    """Change dynamic variables and read each back; returns those that the server did not accept as
    requested."""
    truncated = (set_one(connection, name, value)[0] for name, value in changes.items())
    return [change for change in truncated if change is not None]


def set_one(connection: Connection[Any], name: str, value: Value) -> tuple[Truncated | None, bool]:
    """Change a dynamic variable and read it back.

    Returns:
        The server's value if it differs from the requested one, and whether the server warned of
        something: that, or a second variable that it changed.
    """
    normal = normal_name(name)
    with connection.cursor() as cursor:
        try:
            cursor.execute(assignment(normal, value))
        except pymysql.err.MySQLError as error:
            raise _refused(normal, value, error) from error
        cursor.execute("SHOW WARNINGS")
        codes = [int(row[1]) for row in cursor.fetchall()]
        cursor.execute(f"SELECT @@GLOBAL.{normal}")
        got = str((cursor.fetchone() or [""])[0])
    found = truncation(normal, value, got)
    if found is None and _ER_TRUNCATED in codes:
        found = Truncated(normal, as_text(value), got)
    return found, bool(codes)


def rehearse(connection: Connection[Any], name: str, value: Value) -> bool:
    """Whether a server would accept a value unchanged, if it reports that; changes nothing.

    A statement that sets several variables sets none of them if one cannot be set, and pid_file
    never can. MariaDB checks each variable and its value in turn; MySQL first checks whether all
    can be set, so it reports nothing about the value.

    Raises:
        OptionRejected: the server refuses it.
    """
    normal = normal_name(name)
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"{assignment(normal, value)}, GLOBAL pid_file = ''")
        except pymysql.err.MySQLError as error:
            code, message = (*error.args, "", "")[:2]
            is_about_it = code != _ER_READ_ONLY or f"'{normal}'" in str(message)
            if is_about_it and code in _REFUSALS:
                raise _refused(normal, value, error) from error
        cursor.execute("SHOW WARNINGS")
        return all(int(row[1]) != _ER_TRUNCATED for row in cursor.fetchall())


def _refused(name: str, value: Value, error: pymysql.err.MySQLError) -> OptionRejected:
    code = error.args[0] if error.args else 0
    message = str(error.args[-1]) if error.args else str(error)
    if code == _ER_UNKNOWN_VARIABLE:
        return OptionRejected(f"the server has no variable {name}.", detail=message)
    if code == _ER_READ_ONLY:
        return ReadOnly(
            f"the server cannot change {name} while it runs.",
            hint='Use a restart: `change = "restart"` under [server].',
            detail=message,
        )
    if code in (_ER_WRONG_TYPE, _ER_WRONG_VALUE):
        return OptionRejected(
            f"the server refuses the value {as_text(value)!r} for {name}.", detail=message
        )
    return OptionRejected(f"the server did not set {name} (error {code}).", detail=message)


_PS_IN_US = 1_000_000


@dataclass(frozen=True, slots=True)
class LockWaits:
    """Totals since the start, by the name of the lock: number of requests, and waiting time in
    microseconds. Taking a free lock counts too."""

    queries: int
    counts: Mapping[str, int]
    waits_us: Mapping[str, float]


_ASK = (
    "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT "
    "FROM performance_schema.events_waits_summary_global_by_event_name "
    "WHERE EVENT_NAME LIKE 'wait/synch/%' AND COUNT_STAR > 0"
)


def lock_waits(connection: Connection[Any]) -> LockWaits | None:
    """None if performance_schema is off, may not be read, or counts no locks."""
    try:
        rows = fetch(connection, _ASK)
    except pymysql.err.MySQLError:
        return None
    if not rows:
        return None
    return LockWaits(
        queries=int(status(connection)["Questions"]),
        counts={str(name): int(count) for name, count, _ in rows},
        waits_us={str(name): int(time) / _PS_IN_US for name, _, time in rows},
    )
