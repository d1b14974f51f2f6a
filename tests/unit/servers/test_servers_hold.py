"""The lock on a server: one contend at a time, and none that changes a server it has lost."""

from __future__ import annotations

import pytest
from fake_connection import FakeConnection, Rows
from fake_variables import FakeVariables

from contend.errors import WorkError
from contend.servers.errors import ConnectionRefused, StatementRefused
from contend.servers.hold import AnotherServer, ServerHold, ServerInUse, unique_name


@pytest.fixture
def server() -> FakeVariables:
    return FakeVariables({"a": 1})


@pytest.fixture
def hold(server: FakeVariables) -> ServerHold:
    hold = ServerHold(server.connect, "mysql://u@db1:3306/")
    hold.take()
    return hold


def test_a_second_one_is_refused_until_the_first_is_done(
    server: FakeVariables, hold: ServerHold
) -> None:
    other = ServerHold(server.connect, "socket:/run/s")
    with pytest.raises(ServerInUse):
        other.take()
    hold.release()
    assert other.take() == f"server_uuid={server.name}"
    hold.release()  # It has none to give back any more.
    assert server.holder is not None


def test_one_whose_connection_is_lost_is_taken_again(
    server: FakeVariables, hold: ServerHold
) -> None:
    first = server.holder
    assert first is not None
    hold.require()
    assert server.holder == first
    server.lost.add(first)
    server.holder = None
    hold.require()
    assert server.holder not in (None, first)


def test_one_that_somebody_else_has_meanwhile_is_not(
    server: FakeVariables, hold: ServerHold
) -> None:
    assert server.holder is not None
    server.lost.add(server.holder)
    server.holder = 99
    for _ in range(2):
        with pytest.raises(ServerInUse, match="connection 99"):
            hold.require()
    server.holder = None
    hold.require()


def test_another_server_at_the_same_place_is_not_the_one_that_was_locked(
    server: FakeVariables, hold: ServerHold
) -> None:
    assert server.holder is not None
    server.lost.add(server.holder)
    server.holder, server.name = None, "another"
    with pytest.raises(AnotherServer):
        hold.require()
    assert server.holder is None


def test_a_server_that_is_away_has_words(server: FakeVariables, hold: ServerHold) -> None:
    server.gone = True
    with pytest.raises(ConnectionRefused):
        hold.require()
    hold.release()


def test_a_server_without_such_locks_is_not_locked(server: FakeVariables) -> None:
    """The files of this host still keep two of its processes apart."""
    server.has_locks = False
    one, other = (ServerHold(server.connect, "mysql://u@db1:3306/") for _ in range(2))
    assert one.take() == other.take() != ""
    one.require()
    one.release()


@pytest.mark.parametrize("rows", [[], [(None,)]])
def test_a_lock_that_is_not_given_has_words(rows: Rows) -> None:
    answers = {"GET_LOCK": rows, "server_uuid": []}
    with pytest.raises(WorkError, match="did not grant the lock"):
        ServerHold(lambda **_more: FakeConnection(answers), "s").take()


def test_a_refusal_of_the_lock_is_told_as_it_is() -> None:
    class Refuses(FakeConnection):
        def answer(self, statement: str) -> Rows:
            if "GET_LOCK" in statement:
                raise StatementRefused("s", 1820, "You must SET PASSWORD", statement)
            return super().answer(statement)

    with pytest.raises(StatementRefused) as raised:
        ServerHold(lambda **_more: Refuses(), "s").take()
    assert raised.value.hint is not None and "expired" in raised.value.hint


@pytest.mark.parametrize("word", ["server_uid", "hostname", "datadir"])
def test_what_a_name_is_made_of(word: str) -> None:
    """One id alone is not enough: a copied data folder has it too."""
    told = {"server_uid": "u", "hostname": "h", "datadir": "/d"}
    names = {
        unique_name(FakeConnection({"SHOW GLOBAL": list(one.items())}))  # type: ignore[arg-type]
        for one in (told, told | {word: "x"})
    }
    assert len(names) == 2
