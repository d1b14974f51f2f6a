"""What is done before a run begins: the tables are looked at, their files are locked in memory,
statements are sent to the server."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import ContendError, RequestError, WorkError
from contend.settings.model import Need, Setting, Target, Values
from contend.settings.values import Choice, Flag, Key, Refused, Texts
from contend.settings.warm import COLD_STARTS
from contend.settings.warm import SETTING as WARM


@dataclass(frozen=True)
class BeforeRun(Setting):
    """Applied before each run, after the caches were filled; nothing is undone."""

    def check(self, cell: Values) -> None:
        if any(not statement.strip() for statement in cell[self.path]):
            raise Refused("has an empty statement", hint="Leave it out.")

    def apply(self, target: Target, cell: Values) -> None:
        statements = cell[self.path]
        for number, statement in enumerate(statements, start=1):
            try:
                target.execute(statement)
            except ContendError as error:
                raise WorkError(
                    f"{self.path}, statement {number} of {len(statements)}: {error.message}",
                    hint=f"Correct it, or leave it out: --set {self.path}=[].",
                ) from error


BEFORE_RUN = BeforeRun(
    "server",
    Key(
        "before_run",
        Texts(),
        [],
        "statements that are sent to the server before each run, after its caches were filled "
        "(in slices before each block, or before each turn of work that has an end), and are not "
        'undone: ["RESET QUERY CACHE"]',
    ),
    each_run=True,
    tried=True,
)


EACH_RUN = "each_run"
NEVER = "never"


@dataclass(frozen=True)
class Check(Setting):
    """Applied before the caches are warmed, which it disturbs."""

    def apply(self, target: Target, cell: Values) -> None:
        target.see_conditions(cell[self.path])


CHECK = Check(
    "",
    Key(
        "check",
        Choice(("ends", EACH_RUN, NEVER)),
        "ends",
        "when the tables are asked for the conditions of their schema, if it has some: ends (after "
        "loading, and before a copy of the data is given up), each_run (after every run too) or "
        "never",
    ),
    need=Need.IN_PLACE,
)


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


LOCK_FILES = LockFiles(
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
