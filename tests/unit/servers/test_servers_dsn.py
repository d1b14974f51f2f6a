"""DSNs: what they mean, what they refuse, and that they never hold or show a password."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contend.servers import Dsn
from contend.servers.dsn import Password, parse_option_file, passwords, read_option_file
from contend.servers.errors import DsnError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://", Dsn()),
        ("mysql://db.example", Dsn(host="db.example")),
        ("mysql://me@db:3307/shop", Dsn("me", "db", 3307, "shop")),
        ("mariadb://me@[::1]:3306/", Dsn("me", "::1", 3306)),
        ("mysql://me@/?socket=/run/s.sock", Dsn("me", socket=Path("/run/s.sock"))),
        ("mysql://a%40b@h/", Dsn("a@b", "h")),
        ("mysql:///?option_file=~/.my.cnf", Dsn(option_file=Path("~/.my.cnf"))),
        ("socket:/run/mysqld/mysqld.sock", Dsn(socket=Path("/run/mysqld/mysqld.sock"))),
    ],
)
def test_reads(text: str, expected: Dsn) -> None:
    assert Dsn.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a DSN"),
        ("localhost", "not a DSN"),
        ("postgres://h/", "not a DSN"),
        ("mysql:h", "not a DSN"),
        ("socket:relative", "not an absolute path"),
        ("mysql://h:port/", "host or the port"),
        ("mysql://h:99999/", "host or the port"),
        ("mysql://h/a/b", "not the name of a database"),
        ("mysql://h/#x", "after #"),
        ("mysql://h/?sokcet=/x", "unknown key 'sokcet'"),
        ("mysql://h/?socket=", "empty"),
    ],
)
def test_refuses(text: str, words: str) -> None:
    with pytest.raises(DsnError, match=words):
        Dsn.parse(text)


def test_an_unknown_key_gets_the_nearest_name() -> None:
    with pytest.raises(DsnError) as refused:
        Dsn.parse("mysql://h/?sokcet=/x")
    assert refused.value.hint == 'Did you mean "socket"?'


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(DsnError, match="every user of this machine") as refused:
        Dsn.parse("mysql://me:hunter2@h/")
    said = f"{refused.value} {refused.value.hint} {refused.value.detail}"
    assert "hunter2" not in said


def test_a_password_never_shows() -> None:
    dsn = Dsn("me", "h", password=Password("hunter2"))
    assert "hunter2" not in f"{dsn} {dsn!r} {dsn.password} {dataclasses.asdict(dsn)}"
    assert dsn.password.reveal() == "hunter2"


def test_the_option_file_says_what_the_dsn_does_not(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=filed\nhost=filehost\nport=3310\npassword=hunter2\n")
    dsn = Dsn.parse(f"mysql://typed@/?option_file={file}").complete({})
    assert (dsn.user, dsn.host, dsn.port) == ("typed", "filehost", 3310)
    assert dsn.password == Password("hunter2")
    assert "hunter2" not in f"{dsn} {dsn!r}"


def test_a_typed_host_goes_before_a_filed_socket(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nsocket=/run/s\n")
    assert Dsn.parse(f"mysql://h/?option_file={file}").complete({}).socket is None
    filed = Dsn.parse(f"mysql:///?option_file={file}").complete({})
    assert (filed.socket, filed.host) == (Path("/run/s"), None)


def test_the_environment_gives_a_password() -> None:
    dsn = Dsn.parse("mysql://me@h/").complete({"CONTEND_PASSWORD": "hunter2"})
    assert dsn.password.reveal() == "hunter2"


def test_all_passwords_are_known_wherever_they_come_from(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[client]\npassword = filed\n")
    environment = {"CONTEND_PASSWORD": "given"}
    filed = Dsn.parse(f"mysql://me@h/?option_file={file}").complete(environment)
    other = Dsn.parse("mysql://me@i/").complete({})
    known = passwords(filed, other, environment=environment)
    assert {password.reveal() for password in known} == {"filed", "given"}
    assert passwords(environment={}) == frozenset()


def test_a_dsn_is_completed_with_the_usual_defaults() -> None:
    dsn = Dsn.parse("mysql://me@/").complete({})
    assert (dsn.host, dsn.port, bool(dsn.password)) == ("127.0.0.1", 3306, False)


@pytest.mark.parametrize("port", ["x", "0", "70000", "²"])
def test_a_wrong_port_in_the_option_file_is_refused(tmp_path: Path, port: str) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\nport={port}\n")
    with pytest.raises(DsnError, match="is not a port"):
        Dsn.parse(f"mysql://me@h/?option_file={file}").complete({})


def test_a_missing_option_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DsnError, match=r"no option file .*gone\.cnf"):
        Dsn.parse(f"mysql:///?option_file={tmp_path}/gone.cnf").complete({})


def test_option_files_are_read_as_the_clients_read_them() -> None:
    text = """
# comment
; comment
!includedir /etc/x
user = outside
[mysqld]
user = server
[Client]
user = me   # who
password = "a # b\\tc"
ssl-ca='/x y'
ssl-key=/k#comment
skip-ssl
[client-mariadb]
port=3311
"""
    assert parse_option_file(text) == {
        "user": "me",
        "password": "a # b\tc",
        "ssl_ca": "/x y",
        "ssl_key": "/k",
        "skip_ssl": "",
        "port": "3311",
    }


def test_the_byte_order_mark_of_an_option_file_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_text("[client]\nuser=me\n", encoding="utf-8-sig")
    assert read_option_file(path) == {"user": "me"}


names = st.text(min_size=1, max_size=12).filter(
    lambda t: t.strip("/") == t and "/" not in t and t.strip() == t and t.isprintable()
)
paths = st.text("abcdefgh/._- ", min_size=1, max_size=20).map(lambda t: Path(f"/{t}"))


@example(Dsn(socket=Path("/ ")))
@given(
    st.builds(
        Dsn,
        user=st.none() | names,
        host=st.sampled_from([None, "h", "db.example", "10.0.0.1", "::1"]),
        port=st.none() | st.integers(0, 65535),
        database=st.none() | names,
        socket=st.none() | paths,
        option_file=st.none() | paths,
    )
)
def test_what_is_shown_is_read_back(dsn: Dsn) -> None:
    assert Dsn.parse(str(dsn)) == dsn


@given(st.text() | st.text().map(lambda t: f"mysql://{t}"))
def test_any_text_is_a_dsn_or_refused(text: str) -> None:
    with contextlib.suppress(DsnError):
        Dsn.parse(text)


@given(st.text())
def test_any_text_is_an_option_file(text: str) -> None:
    parse_option_file(text)


def test_how_the_way_is_guarded_is_said_and_can_be_said_again() -> None:
    text = "mysql://me@db/?ssl_mode=VERIFY_IDENTITY&ssl_ca=/ca.pem&get_server_public_key=1"
    dsn = Dsn.parse(text)
    assert dsn.security.mode == "verify_identity" and dsn.security.get_server_public_key
    assert Dsn.parse(str(dsn)) == dsn
    assert dsn.security.in_plan()["tls"] == {"mode": "verify-identity", "ca": "/ca.pem"}


@pytest.mark.parametrize(
    "query",
    ["ssl_mode=verify", "enable_cleartext_plugin=perhaps", "ssl_mode=verify_ca", "ssl_cert=/c"],
)
def test_what_guards_nothing_is_refused(query: str) -> None:
    with pytest.raises(DsnError):
        Dsn.parse(f"mysql://me@db/?{query}").complete({})


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ("ssl-mode=REQUIRED", "required"),
        ("ssl-ca=/ca\nssl-verify-server-cert", "verify_identity"),
        ("ssl-ca=/ca", "verify_ca"),
        ("skip-ssl", "disabled"),
        ("ssl=0", "disabled"),
        ("ssl", "required"),
    ],
)
def test_an_option_file_guards_as_for_the_fields_clients(
    lines: str, mode: str, tmp_path: Path
) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\n{lines}\nget-server-public-key\n")
    security = Dsn.parse(f"mysql://me@db/?option_file={file}").complete({}).security
    assert security.mode == mode and security.get_server_public_key
