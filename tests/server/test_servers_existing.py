"""A server that is not ours, reached by a DSN: who may enter, what it says, what is not touched."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from sql import Factory

from contend.servers import Dsn, ExistingServer, PrivateServer, ServerBinary
from contend.servers import existing as existing_module
from contend.servers.client import fetch, run_statement
from contend.servers.errors import ConnectionRefused, StatementRefused, TableNotOurs, WrongLogin
from contend.servers.existing import Process
from contend.servers.marks import Mark, finished, table_mark, tables_of
from contend.servers.variables import set_global

PASSWORD = "correct hörse €"


@pytest.fixture(scope="module")
def theirs(any_binary: ServerBinary, shared_server: Factory) -> PrivateServer:
    """A server on loopback with a user `u` who has a password, and a table somebody made."""
    server = shared_server(any_binary, tcp=True)
    with server.connect() as connection, connection.cursor() as cursor:
        for host in ("localhost", "127.0.0.1"):
            cursor.execute(f"CREATE USER u@'{host}' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL ON *.* TO u@'{host}'")
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.sbtest (a INT)")
        cursor.execute("CREATE VIEW shop.seen AS SELECT a FROM shop.sbtest")
    return server


@pytest.fixture(autouse=True)
def no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONTEND_PASSWORD", raising=False)


def existing(theirs: PrivateServer, **more: object) -> ExistingServer:
    # A server of MySQL sends its key; nobody vouches for it, and it is ours.
    key = "?get_server_public_key=1" if theirs.binary.kind == "mysql" else ""
    dsn = Dsn.parse(f"mysql://u@127.0.0.1:{theirs.port}/{key}")
    return ExistingServer(dsn, **more)  # type: ignore[arg-type]


def test_enters_with_a_password_from_the_environment(
    theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_PASSWORD", PASSWORD)
    server = existing(theirs)
    assert server.identity().kind == theirs.binary.kind
    assert server.identity().version == theirs.binary.version
    assert server.variables()["port"] == str(theirs.port)
    assert PASSWORD not in repr(server)
    assert PASSWORD not in repr(vars(server))


def test_enters_by_an_option_file_and_a_socket(theirs: PrivateServer, tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f'[client]\nuser=u\npassword="{PASSWORD}"\nsocket={theirs.socket}\n')
    server = ExistingServer(Dsn.parse(f"mysql:///?option_file={file}"))
    with server.connect("shop"):
        pass
    assert server.process().pid == theirs.pid


def test_its_process_is_known_on_this_host_only(
    theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_PASSWORD", PASSWORD)
    server = existing(theirs)
    assert server.dsn.socket is None
    assert server.process() == Process(theirs.pid)
    with monkeypatch.context() as without_socket:
        without_socket.setattr(existing_module, "socket_peer", lambda _: None)
        assert server.process() == Process(theirs.pid), "its file has the number too"
        without_socket.setattr(existing_module, "_number_in", lambda _: None)
        assert "neither" in server.process().why_not
    with monkeypatch.context() as tunnel:
        tunnel.setattr(existing_module, "socket_peer", lambda _: 1)
        tunnel.setattr(existing_module, "process_age_s", lambda _: 1e6)
        assert server.process() == Process(None, server.process().why_not)
        assert "process 1" in server.process().why_not
    monkeypatch.setattr(existing_module, "gethostname", lambda: "elsewhere")
    assert socket.gethostname() in server.process().why_not
    far = ExistingServer(Dsn.parse("mysql://u@db.example.com/"))
    assert far.process().pid is None and "db.example.com" in far.process().why_not


def test_asks_once_where_somebody_is_there(theirs: PrivateServer) -> None:
    asked: list[str] = []

    def ask(words: str) -> str:
        asked.append(words)
        return PASSWORD

    server = existing(theirs, ask=ask)
    assert server.variables()
    assert server.identity()
    [words] = asked
    assert "u at mysql://u@127.0.0.1" in words


def test_a_wrong_password_has_words(theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongLogin, match=r"user u without a password \(error"):
        existing(theirs).connect()
    monkeypatch.setenv("CONTEND_PASSWORD", "battery staple")
    with pytest.raises(WrongLogin, match=r"with this password \(error 1045\)") as refused:
        existing(theirs).connect()
    assert "battery staple" not in f"{refused.value} {refused.value.detail} {refused.value.hint}"
    with pytest.raises(WrongLogin):
        existing(theirs, ask=lambda _words: "never asked").connect()


def test_an_unknown_database_has_words(
    theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_PASSWORD", PASSWORD)
    with pytest.raises(ConnectionRefused, match=r"has no database gone \(error 1049\)"):
        existing(theirs).connect("gone")


def test_a_server_that_does_not_answer_has_words(tmp_path: Path) -> None:
    with socket.socket() as deaf:
        # Held without a listener, so that nobody else begins to answer there.
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        with pytest.raises(ConnectionRefused, match=rf":{port}/ does not answer") as gone:
            ExistingServer(Dsn.parse(f"mysql://u@127.0.0.1:{port}/")).connect()
    assert "user u, error 2003" in gone.value.message
    with pytest.raises(ConnectionRefused, match=rf"socket={tmp_path}/s does not answer"):
        ExistingServer(Dsn.parse(f"socket:{tmp_path}/s")).connect()


def test_a_table_of_somebody_is_refused_and_not_touched(
    theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_PASSWORD", PASSWORD)
    with existing(theirs).connect() as connection:
        for name in ("sbtest", "seen"):
            with pytest.raises(TableNotOurs, match=rf"shop\.{name} that contend did not create"):
                table_mark(connection, "shop", name)
        assert table_mark(connection, "shop", "nothing") is None
        assert table_mark(connection, "nowhere", "sbtest") is None
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE shop.ours (a INT) COMMENT %s", (finished("shop", "ours", "k1"),)
            )
        assert table_mark(connection, "shop", "ours") == Mark("k1")


@pytest.mark.parametrize("any_binary", ["mariadb", "mariadb_new"], indirect=True)
def test_a_table_with_system_versioning_is_somebody_s(
    theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes into all tables of a database asks for that one too. Only MariaDB has it."""
    monkeypatch.setenv("CONTEND_PASSWORD", PASSWORD)
    with existing(theirs).connect() as connection:
        connection.query("CREATE DATABASE versioned")
        connection.query("CREATE TABLE versioned.price (a INT) WITH SYSTEM VERSIONING")
        assert tables_of(connection, "versioned") == {"price": None}


def test_variables_that_differ_are_told_with_what_is_known(
    theirs: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_PASSWORD", PASSWORD)
    server = existing(theirs)
    with server.connect() as connection:
        set_global(connection, {"max_connections": 77})
    differing = server.variables_that_differ()["max_connections"]
    assert differing["value"] == "77"
    assert differing["default"] == ("151" if theirs.binary.kind == "mariadb" else None)


def test_nothing_of_theirs_is_ended(theirs: PrivateServer) -> None:
    assert not hasattr(ExistingServer, "stop")
    assert not hasattr(ExistingServer, "kill")
    os.kill(theirs.pid, 0)


TINY = {
    "mariadb": {"max_statement_time": 0.0001, "sql_select_limit": 1},
    "mysql": {"max_execution_time": 1, "sql_select_limit": 1},
}
LONG = """SELECT * FROM (SELECT SLEEP(0.01)) slept,
    (SELECT * FROM information_schema.COLUMNS ORDER BY COLUMN_NAME LIMIT 40) some
    ORDER BY COLUMN_NAME"""
"""A LIMIT of its own would go before the server's."""


def test_limits_of_the_server_are_not_those_of_a_control_connection(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    """Whoever logs in: a level that is compared may be too small for statements of ours."""
    server = private_server(any_binary, {"sort_buffer_size": 1, "max_join_size": 1})
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER nobody@localhost")
        for name, value in TINY[any_binary.kind].items():
            cursor.execute(f"SET GLOBAL {name} = {value}")
    for user in ("root", "nobody"):
        with server.connect(user=user) as connection:
            assert len(fetch(connection, LONG)) == 40
    with server.connect(has_own_limits=False) as theirs, pytest.raises(StatementRefused):
        fetch(theirs, LONG)


def test_a_statement_of_the_users_has_the_limits_of_the_server(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE d")
        cursor.execute("CREATE TABLE d.t (a BIGINT)")
        cursor.execute("SET GLOBAL sort_buffer_size = 65536")
    run_statement(server.connect, "d", "INSERT INTO t SELECT @@sort_buffer_size")
    with server.connect() as connection:
        assert fetch(connection, "SELECT a FROM d.t") == [(65536,)]
