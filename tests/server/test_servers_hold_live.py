"""The name and the lock of real servers of every kind."""

from __future__ import annotations

import shutil

import pytest
from sql import Factory, query

from contend.servers import Dsn, ServerBinary
from contend.servers.existing import ExistingServer
from contend.servers.hold import LOCK, ServerHold, ServerInUse, unique_name

HELD = f"SELECT IS_USED_LOCK('{LOCK}')"


def test_it_is_one_server_by_every_name_and_locked_by_one(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary, tcp=True)
    # Of no privilege.
    query(server, "CREATE USER bench@127.0.0.1", "CREATE USER bench@localhost")
    names = [
        f"mysql://bench@/?socket={server.socket}",
        f"mysql://bench@127.0.0.1:{server.port}/",
        f"mysql://bench@localhost:{server.port}/",
    ]
    by_socket, *others = (ExistingServer(Dsn.parse(name)) for name in names)
    assert len({one.unique_name() for one in (by_socket, *others)}) == 1
    hold = ServerHold(by_socket.connect, str(by_socket.dsn))
    hold.take()
    ((number,),) = query(server, HELD)
    for other in others:
        with pytest.raises(ServerInUse, match=rf"connection {number}\b"):
            ServerHold(other.connect, str(other.dsn)).take()
    query(server, f"KILL {number}")
    hold.require()
    ((again,),) = query(server, HELD)
    assert again not in (None, number)
    hold.release()
    assert query(server, HELD) == [(None,)]


def test_after_a_restart_it_is_the_same_and_a_copy_is_another(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary)
    hold = ServerHold(server.connect, "theirs")
    name = hold.take()
    options = dict(server.options)
    server.stop()
    copy = private_server(any_binary, start=False)
    shutil.rmtree(copy.data_folder)
    shutil.copytree(server.data_folder, copy.data_folder)
    server.start(options)
    hold.require()
    assert query(server, HELD) != [(None,)]
    hold.release()
    copy.start(options)
    with copy.connect() as connection:
        assert unique_name(connection) not in ("", name)
