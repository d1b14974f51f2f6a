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
    "repeated": "the pages that the same queries read, sent once before",
    "queries": "the pages that a row count for each column with a key reads, like simple tools",
    "queries-repeated": "queries, then repeated",
    "scan": "the pages that a scan of every index reads, like `contend warm` from a different host",
    "list": "all pages of the tables, from a list that contend writes, like `contend warm` on the "
    "server's own host",
    "list-25": "the pages used last, a quarter of the pool's size: the list that the server writes "
    "after the same queries with its default innodb_buffer_pool_dump_pct = 25",
    "list-100": "the server's list of all pages",
    "primary": "the pages of a server that ran the same kind of queries for different rows",
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
                    f'= "{how}" conflicts with server.options.{name} = {value}: the server would '
                    "reload its caches at its start",
                    hint="Leave that option out.",
                )
        if cell["load.warmup"] > 0:
            raise Refused(
                f'= "{how}" needs load.warmup = 0: a warm-up would fill the caches before the '
                "measured window",
                hint='Write warmup = "0s" under [load].',
            )
        if how in LISTS and cell["server.change"] == "in_place":
            raise Refused(
                f'= "{how}" starts the server twice, which server.change = "in_place" does not '
                "allow",
                hint='Write change = "restart" under [server].',
            )
        if how != COLD and str(cell["data.engine"]).lower() != "innodb":
            raise Refused(
                f'= "{how}" warms the buffer pool of InnoDB, but data.engine is '
                f"{cell['data.engine']}",
                hint='Write engine = "InnoDB" under [data].',
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] in COLD_STARTS and not own:
            raise RequestError(
                f'server.warm = "{cell[self.path]}" needs a private server: contend does not '
                "restart a server that it did not start",
                hint="Leave --server out, or use a different server.warm.",
            )

    def why_not_in_slices(self, cell: Values) -> str | None:
        if cell[self.path] in COLD_STARTS:
            return f'{self.path} = "{cell[self.path]}" needs a restart before each measurement'
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
        "content of the caches when a run begins: as-found (left by earlier runs), index (the "
        "engines' caches are filled with the tables as far as they fit, like `contend warm`), full "
        "(every row, index and file of the database is read). With all others the server is "
        "restarted without its files in the page cache, and its buffer pool has: "
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
            raise Refused("has an empty statement", hint="Remove it.")

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
        "statements sent to the server before each run, after its caches are filled (in slices: "
        "before each block, or before each turn of work that has an end). They are not undone. "
        'Example: ["RESET QUERY CACHE"]',
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
        "when contend checks the conditions of the tables' schema, if it has any: ends (after "
        "loading, and before a copy of the data is discarded), each_run (also after every run) or "
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
                f'conflicts with server.warm = "{cell[WARM.path]}", which removes the files from '
                "memory",
                hint=f"Leave {self.path} out.",
            )

    def refuse(self, cell: Values, *, own: bool) -> None:
        if cell[self.path] and not own:
            raise RequestError(
                f"{self.path} needs a private server: contend does not lock the files of a server "
                "that it did not start",
                hint=f"Leave out --server or {self.path}.",
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
        "lock the table files of a private server in memory, for kernels that evict files that are "
        "only read (DAMON; the report says so). InnoDB's files are not locked, because it caches "
        "its pages itself",
    ),
    need=Need.IN_PLACE,
)
