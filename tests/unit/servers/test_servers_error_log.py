"""What a server's log says: the option it rejected, values it changed, why it gave up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unrun_server import UNRUN

from contend.servers.error_log import (
    Diagnosis,
    Rejected,
    Truncated,
    adjusted_options,
    cause,
    describe_exit,
    rejected_option,
    start_failure,
    tail,
)
from contend.servers.errors import DiskFull, FolderInUse, OptionRejected, PortTaken, ServerFailed


def mariadb(line: str) -> str:
    return (
        "2026-01-02 10:00:00 0 [Note] InnoDB: Using io_uring\n"
        f"2026-01-02 10:00:00 0 [ERROR] {line}\n"
        "2026-01-02 10:00:00 0 [ERROR] Aborting\n"
    )


def mysql(line: str) -> str:
    stamp = "2026-01-02T10:00:00.000000Z 0"
    return (
        f"{stamp} [System] [MY-010116] [Server] mysqld (mysqld 9.7.4) starting as process 1\n"
        f"{stamp} [ERROR] [MY-000067] [Server] {line}\n"
        f"{stamp} [ERROR] [MY-010119] [Server] Aborting\n"
    )


@pytest.mark.parametrize("log", [mariadb, mysql])
@pytest.mark.parametrize(
    ("line", "option", "why"),
    [
        ("/x/mariadbd: unknown variable 'foo-bar=1'", "foo_bar", "unknown variable"),
        ("unknown option '--foo-bar'.", "foo_bar", "unknown option"),
        ("/x/mariadbd: ambiguous option '--inno=1' (x, y)", "inno", "ambiguous option"),
        ("/x: option '--datadir' requires an argument", "datadir", "requires an argument"),
        ("option '--foo=1' cannot take an argument", "foo", "cannot take an argument"),
        (
            "/x/d: Error while setting value 'NOPE' to 'sql-mode'",
            "sql_mode",
            "it refuses the value 'NOPE'",
        ),
        (
            "Unknown suffix 'X' used for variable 'max_connections' (value '10X'). Legal: K",
            "max_connections",
            "it refuses the value '10X'",
        ),
        (
            "Unknown/unsupported storage engine: Bogus",
            "default_storage_engine",
            "it refuses the value 'Bogus'",
        ),
        (
            "Character set 'klingon' is not a compiled character set and is not specified",
            "character_set_server",
            "it refuses the value 'klingon'",
        ),
        (
            "Unknown character set: 'klingon'.",
            "character_set_server",
            "it refuses the value 'klingon'",
        ),
    ],
)
def test_finds_the_rejected_option(log: object, line: str, option: str, why: str) -> None:
    assert callable(log)
    assert rejected_option(log(line)) == Rejected(option, why)


def test_a_warning_rejects_nothing() -> None:
    assert rejected_option("0 [Warning] unknown variable 'loose-foo=1'\n") is None


def test_innodb_that_fails_is_no_rejected_engine() -> None:
    assert rejected_option(mariadb("Unknown/unsupported storage engine: InnoDB")) is None


def test_finds_values_that_were_changed_to_fit() -> None:
    text = (
        "0 [Warning] option 'key-cache-segments': unsigned value 100 adjusted to 64\n"
        "0 [Warning] [MY-000081] [Server] option 'max_connections': unsigned value 9 adjusted to"
        " 10.\n"
        "0 [Warning] option 'slow-query-log': boolean value 'maybe' was not recognized. Set to OFF."
    )
    assert adjusted_options(text) == [
        Truncated("key_cache_segments", "100", "64"),
        Truncated("max_connections", "9", "10"),
        Truncated("slow_query_log", "maybe", "OFF"),
    ]
    assert str(adjusted_options(text)[0]).endswith("requested 100, effective 64")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('Can\'t create file (Errcode: 28 "No space left on device")', Diagnosis.DISK_FULL),
        (
            "Disk is full writing './x.MYD'. Waiting for someone to free space...",
            Diagnosis.DISK_FULL,
        ),
        ("Can't start server: Bind on TCP/IP port: Address already in use", Diagnosis.PORT_IN_USE),
        ("Another process with pid 7 is using unix socket file.", Diagnosis.SOCKET_IN_USE),
        ("InnoDB: Unable to lock ./ibdata1 error: 11", Diagnosis.DATA_IN_USE),
        ("mariadbd: Can't lock aria control file '/d/aria_log_control'", Diagnosis.DATA_IN_USE),
        ("mariadbd: Out of memory (Needed 3670344264 bytes)", Diagnosis.NO_MEMORY),
        ("Can't create test file '/d/x.lower-test' (Errcode: 13)", Diagnosis.NO_PERMISSION),
        ("InnoDB: Invalid page size=5120.", None),
    ],
)
def test_tells_the_cause(line: str, expected: Diagnosis | None) -> None:
    assert cause(mariadb(line)) is expected
    assert cause(mysql(line)) is expected


def test_the_end_of_a_log_is_its_errors() -> None:
    error = mariadb("InnoDB: Invalid page size=5120.").splitlines()[1]
    assert tail(error + "\n" + "0 [Note] bye\n" * 30) == error


def test_the_end_of_a_log_without_errors_is_its_last_lines() -> None:
    text = "".join(f"0 [Note] line {n}\n\n" for n in range(40))
    assert tail(text, 2) == "0 [Note] line 38\n0 [Note] line 39"


def test_the_error_has_the_class_of_its_cause() -> None:
    def failure(line: str) -> type[BaseException]:
        return type(start_failure(UNRUN, 1, mariadb(line), "start"))

    assert failure("unknown variable 'foo=1'") is OptionRejected
    assert failure("No space left on device") is DiskFull
    assert failure("Bind on TCP/IP port: Address already in use") is PortTaken
    assert failure("InnoDB: Unable to lock ./ibdata1 error: 11") is FolderInUse
    assert failure("something else") is ServerFailed


def test_a_server_that_said_nothing_still_gets_words() -> None:
    error = start_failure(UNRUN, -9, "", "start")
    assert error.message.endswith("did not start (killed by SIGKILL).")
    assert error.detail == "(its error log is empty)"


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (1, "exit code 1"), (-9, "killed by SIGKILL"), (-99, "signal 99")],
)
def test_an_exit_has_words(code: int, words: str) -> None:
    assert words in describe_exit(code)


@given(st.text())
def test_any_log_is_read_without_a_fault(text: str) -> None:
    rejected_option(text)
    adjusted_options(text)
    cause(text)
    assert len(tail(text, 5).splitlines()) <= max(5, text.count("\x0b"))
