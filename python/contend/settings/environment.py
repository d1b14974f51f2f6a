"""Variables in the environment of the server: `server.env.LD_PRELOAD`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from contend.errors import RequestError
from contend.settings.model import Launch, Need, Setting, Values
from contend.settings.tables import Named
from contend.settings.values import AnyLevel, Key

_PRELOAD = "LD_PRELOAD"


@dataclass(frozen=True)
class Environment(Setting):
    """Variables beside the few that a private server gets anyway."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        table = cell[self.path]
        if table and not own:
            raise RequestError(
                f"{self.path} sets {', '.join(table)}, and contend does not start a server that "
                "is not its own",
                hint="Leave --server out to use a private server.",
            )
        # The loader of programs only warns of a library that is not there, and goes on without.
        for name in filter(None, re.split("[ :]", str(table.get(_PRELOAD, "")))):
            if "/" in name and not Path(name).is_file():
                raise RequestError(
                    f"{self.path}.{_PRELOAD} names {name}, which is no file",
                    hint="The server would start without it.",
                )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.environment.update({name: str(value) for name, value in cell[self.path].items()})


SETTING = Environment(
    "server",
    Key(
        "env",
        Named(
            "environment variable",
            "an environment variable",
            r"[A-Za-z_][A-Za-z0-9_]*",
            AnyLevel(),
            dashes=False,
        ),
        {},
        "environment variables of a private server, by name",
    ),
    need=Need.RESTART,
    tried=True,
)
