"""How warm the server's caches are when a run begins."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import RequestError
from contend.settings.model import Launch, Need, Setting, Target, Values
from contend.settings.options import OPTIONS
from contend.settings.values import Choice, Key, Refused

COLD = "cold"

_NO_DUMP = {
    "innodb_buffer_pool_dump_at_shutdown": 0,
    "innodb_buffer_pool_load_at_startup": 0,
}
"""Without these a server reads back at its start what was in its buffer pool when it stopped."""


@dataclass(frozen=True)
class Warm(Setting):
    """Applied before each run: a run warms what it reads."""

    def between(self, before: Values, after: Values) -> Need:
        del before
        return Need.RESTART if after[self.path] == COLD else Need.NOTHING

    def check(self, cell: Values) -> None:
        if cell[self.path] != COLD:
            return
        for name in _NO_DUMP:
            value = cell[OPTIONS.path].get(name, 0)
            if str(value).lower() not in ("0", "off", "false"):
                raise Refused(
                    f'"{COLD}" does not go with server.options.{name} = {value}: the server would '
                    "read its caches back when it starts",
                    hint="Leave that option out.",
                )
        if cell["load.warmup"] > 0:
            raise Refused(
                f'"{COLD}" needs load.warmup = 0: a warm-up would fill the caches before the '
                "measured window",
                hint='Write warmup = "0s" under [load].',
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] == COLD and not own:
            raise RequestError(
                f'server.warm = "{COLD}" restarts the server, and contend restarts no server that '
                "is not its own",
                hint="Leave --server out to use a private server, or take another server.warm.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        if cell[self.path] == COLD:
            launch.options.update(_NO_DUMP)
            launch.from_disk = True

    def apply(self, target: Target, cell: Values) -> None:
        how = cell[self.path]
        if how in ("index", "full"):
            target.warm(how)


SETTING = Warm(
    "server",
    Key(
        "warm",
        Choice(("as-found", COLD, "index", "full")),
        "index",
        "what is in the caches when a run begins: as-found (what earlier runs left), cold (the "
        "server is restarted and nothing of its files is in the page cache), index (the cache of "
        "the storage engine is filled with the tables, if they fit) or full (every row and index "
        "of the database is read, and every file of it)",
    ),
    need=Need.RESTART,
    each_run=True,
)
