"""The steps before a run begins: check the tables, lock their files in memory, fill or empty the
caches, send statements to the server."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import ContendError, RequestError, WorkError
from contend.experiment.settings.model import Launch, Need, Setting, Target, Values
from contend.experiment.settings.options import OPTIONS
from contend.experiment.settings.values import Choice, Flag, Key, Refused, Texts

COLD = "cold"

COLD_STARTS = {
    COLD: "nothing",
    "repeated": "what the same queries left, asked once before",
    "queries": "what a count of rows for each column with a key left, as simple tools warm",
    "queries-repeated": "both, one after the other",
    "scan": "what a scan of every index left, as `contend warm` does it from elsewhere",
    "list": "a list of all pages of the tables, written by contend and loaded by the server, as "
    "`contend warm` does it on the server's own host",
    "list-25": "the list of pages that the server writes after the same queries with its default "
    "innodb_buffer_pool_dump_pct = 25, loaded by it: those used last, a quarter of the pool's size",
    "list-100": "its list of all pages",
    "primary": "what a server held that was asked for other rows by the same kind of queries",
}
"""Levels for which the server is restarted without its files in the page cache; the value describes
the content of its buffer pool."""

LISTS = ("list-25", "list-100", "primary")

_NO_DUMP = {"innodb_buffer_pool_dump_at_shutdown": 0, "innodb_buffer_pool_load_at_startup": 0}
"""Otherwise a server reloads at its start the pages of its buffer pool when it stopped."""


@dataclass(frozen=True)
class Warm(Setting):
    """Applied before each run: a run warms the data that it reads."""

    def between(self, before: Values, after: Values) -> Need:
        del before
        return Need.RESTART if after[self.path] in COLD_STARTS else Need.NOTHING

    def check(self, cell: Values) -> None:
        how = cell[self.path]
        if how not in COLD_STARTS:
            return
        for name in _NO_DUMP:
            value = cell[OPTIONS.path].get(name, 0)
            if str(value).lower() not in ("0", "off", "false"):
                raise Refused(
                    f'"{how}" does not go with server.options.{name} = {value}: the server would '
                    "read its caches back when it starts",
                    hint="Leave that option out.",
                )
        if cell["load.warmup"] > 0:
            raise Refused(
                f'"{how}" needs load.warmup = 0: a warm-up would fill the caches before the '
                "measured window",
                hint='Write warmup = "0s" under [load].',
            )
        if how in LISTS and cell["server.change"] == "in_place":
            raise Refused(
                f'"{how}" starts the server twice, and server.change = "in_place" changes options '
                "of one that runs",
                hint='Write change = "restart" under [server].',
            )
        if how != COLD and str(cell["data.engine"]).lower() != "innodb":
            raise Refused(
                f'"{how}" warms the buffer pool of InnoDB, and data.engine is '
                f"{cell['data.engine']}",
                hint='Write engine = "InnoDB" under [data].',
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] in COLD_STARTS and not own:
            raise RequestError(
                f'server.warm = "{cell[self.path]}" restarts the server, and contend restarts no '
                "server that is not its own",
                hint="Leave --server out to use a private server, or take another server.warm.",
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] in COLD_STARTS:
            return f'{self.path} = "{cell[self.path]}" takes a restart before each measurement'
        return None

    def launch(self, cell: Values, launch: Launch) -> None:
        if cell[self.path] in COLD_STARTS:
            launch.options.update(_NO_DUMP)
            launch.from_disk = True

    def apply(self, target: Target, cell: Values) -> None:
        how = cell[self.path]
        if how != "as-found":
            target.warm(how)


WARM = Warm(
    "server",
    Key(
        "warm",
        Choice(("as-found", *COLD_STARTS, "index", "full")),
        "index",
        "what is in the caches when a run begins: as-found (what earlier runs left), index (the "
        "caches of the storage engines are filled with the tables as far as they fit, as `contend "
        "warm` does it), full (every row and index of the database is read, and every file of it); "
        "or, after a restart with nothing of its files in the page cache, "
        + ", ".join(f"{name} ({means})" for name, means in COLD_STARTS.items()),
    ),
    need=Need.RESTART,
    each_run=True,
)


@dataclass(frozen=True)
class BeforeRun(Setting):
    """Applied before each run, after filling the caches; nothing is undone."""

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
    """Applied before warming the caches, which it disturbs."""

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
    """Applied before filling the caches, which then does not read the files again."""

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
