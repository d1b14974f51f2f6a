"""A way to a server that holds a client up at a statement of its own, for a test to do something
to it at that very moment."""

from __future__ import annotations

import re
import select
import socket
import threading
from dataclasses import dataclass, field
from typing import Self

_ROWS_LET_THROUGH = 2_000


@dataclass
class Holding:
    """Passes bytes between clients and the server at `port` on this host, and stops in front of the
    first statement that `at` matches, until `go_on` is set.

    Args:
        at: of a statement, or of its beginning.
        in_rows: stop behind the first rows that follow that statement instead.
    """

    port: int
    at: str
    in_rows: bool = False
    held: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._pattern = re.compile(self.at.encode(), re.DOTALL)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.close()

    @property
    def own_port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except (TimeoutError, OSError):
                continue
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        client.setblocking(True)
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            poll = select.poll()
            poll.register(client, select.POLLIN | select.POLLRDHUP)
            poll.register(server, select.POLLIN)
            held = follows = False
            kept = b""
            while not self._ended.is_set():
                if held and self.go_on.is_set():
                    held = False
                    poll.modify(client, select.POLLIN | select.POLLRDHUP)
                    server.sendall(kept)
                for number, events in poll.poll(100):
                    if number == client.fileno() and held:
                        if events & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
                            return
                        continue
                    here, there = (
                        (client, server) if number == client.fileno() else (server, client)
                    )
                    try:
                        data = here.recv(65_536)
                        if not data:
                            return
                        if here is client and not self.held.is_set():
                            kept = data
                            if follows:
                                there.sendall(data[:_ROWS_LET_THROUGH])
                                kept, held = data[_ROWS_LET_THROUGH:], True
                            elif self._pattern.search(data):
                                follows = self.in_rows
                                held = not self.in_rows
                            if held:
                                poll.modify(client, select.POLLRDHUP)
                                self.held.set()
                                continue
                        there.sendall(data)
                    except OSError:
                        return
