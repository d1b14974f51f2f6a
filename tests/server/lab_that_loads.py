"""A process that loads tables into a server as `contend run` does."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from contend.data import ensure_on
from contend.experiment import DataSpec
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer


class Heard:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        """Nobody looks."""


def load(where: Dsn, data: DataSpec, program: Path) -> Heard:
    """See that the server has the tables."""
    heard = Heard()
    server = ExistingServer(where)
    ensure_on(server, data, program=program, tell=heard, confirm=lambda _: True)
    return heard


def load_until_interrupted(where: Dsn, data: DataSpec, program: Path) -> None:
    """The same; a signal that can be heard is Ctrl-C to it, as to `contend`."""

    def interrupted(_signal: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    with suppress(BaseException):
        signal.signal(signal.SIGTERM, interrupted)
        signal.signal(signal.SIGINT, interrupted)
        load(where, data, program)
        os._exit(0)
    os._exit(1)
