"""Which server is asked: one of a kind, or one by name."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import RequestError
from contend.settings.model import Need, Setting, Values
from contend.settings.values import Choice, Key, Text

KIND = Setting(
    "server",
    Key(
        "kind",
        Choice(("mariadb", "mysql")),
        "mariadb",
        "which server a private one is, if server.use names none",
    ),
    need=Need.DATA,
    tried=True,
)


@dataclass(frozen=True)
class Use(Setting):
    """A server by name, so that versions can be compared."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] is not None and not own:
            raise RequestError(
                f"server.use names {cell[self.path]}, and --server a server that runs already",
                hint="Leave --server out, or server.use.",
            )


USE = Use(
    "server",
    Key(
        "use",
        Text(r"[^\x00-\x1f]+", "a server's name or the path of its program, in quotes"),
        None,
        'which private server by name: "mariadb@bookworm" as `contend server get` takes it, a name '
        "as `contend server list` shows it, or the path of a program (default: one of server.kind)",
    ),
    need=Need.DATA,
    tried=True,
    decides=(KIND.path,),
)
