"""A program that the server is started with, such as numactl or strace."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from contend.errors import RequestError
from contend.settings.model import Launch, Need, Setting, Values
from contend.settings.values import Command, Key


@dataclass(frozen=True)
class Wrap(Setting):
    """The server's command line stands behind that of the wrapper."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        command = cell[self.path]
        if not command:
            return
        if not own:
            raise RequestError(
                f"{self.path} = {' '.join(command)!r} starts the server, and contend does not "
                "start a server that is not its own",
                hint="Leave --server out to use a private server.",
            )
        if shutil.which(command[0]) is None:
            raise RequestError(
                f"{self.path} names {command[0]}, which is no program on this machine",
                hint="Install it, or give its whole path.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        program, *arguments = cell[self.path] or [""]
        if program:
            launch.wrap = (shutil.which(program) or program, *arguments)


SETTING = Wrap(
    "server",
    Key(
        "wrap",
        Command(),
        [],
        "a program with its arguments that starts a private server, which stands behind them: "
        '["numactl", "--interleave=all"]; as text it is split as a shell splits it',
    ),
    need=Need.RESTART,
    tried=True,
)
