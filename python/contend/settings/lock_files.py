"""Whether the files of a private server's tables are kept in memory, whatever the kernel thinks."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import RequestError
from contend.settings.model import Need, Setting, Target, Values
from contend.settings.values import Flag, Key, Refused
from contend.settings.warm import COLD_STARTS
from contend.settings.warm import SETTING as WARM


@dataclass(frozen=True)
class LockFiles(Setting):
    """Locked before the caches are filled, which then reads nothing a second time."""

    def check(self, cell: Values) -> None:
        if cell[self.path] and cell[WARM.path] in COLD_STARTS:
            raise Refused(
                f'files that are locked in memory do not go with server.warm = "{cell[WARM.path]}"'
                ", which wants them out of it",
                hint=f"Leave {self.path} out.",
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] and not own:
            raise RequestError(
                f"{self.path} locks the files of a private server, and contend locks none of a "
                "server that is not its own",
                hint=f"Leave --server out to use a private server, or {self.path}.",
            )

    def apply(self, target: Target, cell: Values) -> None:
        if cell[self.path]:
            target.note(self.path, target.lock_files())
            target.on_undo(target.unlock_files)


SETTING = LockFiles(
    "server",
    Key(
        "lock_files",
        Flag(),
        False,
        "lock the files of a private server's tables in memory, for a kernel that takes files out "
        "of memory which are only read (DAMON; a report says so): those that have no cache but "
        "the kernel's, so not InnoDB's",
    ),
    need=Need.IN_PLACE,
)
