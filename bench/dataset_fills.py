"""Datasets of several tables, made by contend-load and by `LOAD DATA` of ready files in turn.

Both make the same tables with the same rows, keys, foreign keys and views on the same server, one
after the other in random order, and drop them again outside the measured time. contend-load makes
the rows as it goes and fills two tables at a time. The files hold the very rows, lie in the page
cache, and are loaded by two clients at a time too, each as one who knows the bulk path would do it:
`unique_checks=0`, keys in the CREATE TABLE, foreign keys afterwards. A script of sysbench may stand
beside: two threads that send long INSERTs, into the same tables, of rows that the script makes.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fill_costs import SERVER_OPTIONS, Cost, cost_of, table_of, tell
from lab import private_server
from peers import Sysbench, Target
from rounds import alternate, publish

from contend.load import find_program
from contend.servers import PrivateServer
from contend.settings.schemas import SCHEMAS, Schema

FILES = "LOAD DATA of ready files"
SCRIPT = "sysbench, a script's prepare"


@dataclass(frozen=True)
class Ready:
    """The statements and files that make the dataset again, the largest table first."""

    folder: Path
    tables: list[str]
    create: Mapping[str, str]
    foreign: Mapping[str, list[str]]
    views: list[str]


@dataclass(frozen=True)
class Bench:
    """One server, and both ways to fill it with a schema.

    `size` is what contend-load is told of it; `counts` has rows that must be there.
    """

    server: PrivateServer
    schema: Schema
    size: tuple[str, ...]
    counts: Mapping[str, int]
    script: tuple[str, ...] = ()

    def contend(self, engine: str, *more: str) -> None:
        command = [
            *(str(find_program()), "fill", f"--socket={self.server.socket}"),
            *(f"--schema={self.schema.name}", "--create-database", f"--engine={engine}"),
            *("--sessions=2", *self.size, *more),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def files(self, ready: Ready) -> None:
        """Two clients load the tables, the largest first."""
        database = self.schema.database
        tell(self.server, "mysql", f"CREATE DATABASE {database}")
        left = list(ready.tables)

        def work() -> None:
            while left:
                table = left.pop(0)
                tell(
                    self.server,
                    database,
                    f"{ready.create[table]};"
                    "SET unique_checks = 0, foreign_key_checks = 0;"
                    f"LOAD DATA INFILE '{ready.folder / table}' INTO TABLE {table}",
                )

        clients = [threading.Thread(target=work) for _ in range(2)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.finish(ready)

    def prepare(self, ready: Ready) -> None:
        """A script of sysbench makes the rows and inserts them."""
        database = self.schema.database
        tell(self.server, "mysql", f"CREATE DATABASE {database}")
        tell(self.server, database, ";".join(ready.create.values()))
        where = Sysbench.where(Target(socket=self.server.socket, database=database))
        command = ["sysbench", *self.script, *where, "--threads=2", "prepare"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.finish(ready)

    def finish(self, ready: Ready) -> None:
        """What comes when all rows are there."""
        foreign = [one for table in ready.tables for one in ready.foreign[table]]
        last = ["SET foreign_key_checks = 0", *foreign, *ready.views]
        tell(self.server, self.schema.database, ";".join(last))

    def ready(self, engine: str) -> Ready:
        """The dataset of contend-load as files and statements; nothing of it stays."""
        folder = self.server.socket.parent / f"files-{engine}"
        folder.mkdir()
        folder.chmod(0o777)
        self.contend(engine)
        create, foreign = {}, {}
        with self.server.connect(self.schema.database) as connection, connection.cursor() as cursor:
            for table in self.schema.tables:
                cursor.execute(f"SHOW CREATE TABLE {table}")
                text = str((cursor.fetchone() or ("", ""))[1])
                constraints = re.findall(r",\n\s*(CONSTRAINT [^\n]*?)(?=,?\n)", text)
                create[table] = re.sub(r",\n\s*CONSTRAINT [^\n]*?(?=,?\n)", "", text)
                foreign[table] = [f"ALTER TABLE {table} ADD {one}" for one in constraints]
                cursor.execute(f"SELECT * FROM {table} INTO OUTFILE '{folder / table}'")
            views = []
            for view in self.schema.views:
                cursor.execute(f"SHOW CREATE VIEW {view}")
                views.append(str((cursor.fetchone() or ("", ""))[1]))
        self.drop()
        tables = sorted(create, key=lambda table: -(folder / table).stat().st_size)
        return Ready(folder, tables, create, foreign, views)

    def ways(self, engine: str) -> dict[str, Callable[[], None]]:
        """Every way to make the dataset, by the name that the result gives it."""
        ready, pipe = self.ready(engine), f"--pipe-dir={self.server.socket.parent}"
        ways: dict[str, Callable[[], None]] = {
            "contend (pipe)": lambda: self.contend(engine, pipe),
            "contend (connection)": lambda: self.contend(engine),
            FILES: lambda: self.files(ready),
        }
        if self.script:
            ways[SCRIPT] = lambda: self.prepare(ready)
        return ways

    def run(self, way: Callable[[], None]) -> Cost:
        cost = cost_of(way, self.server)
        self.drop()
        return cost

    def drop(self) -> None:
        """All of it goes, outside the measured time; what was there is counted before."""
        with self.server.connect(self.schema.database) as connection, connection.cursor() as cursor:
            for table, rows in self.counts.items():
                cursor.execute(f"SELECT COUNT(*) FROM {table}")
                found = cursor.fetchone()
                assert found == (rows,), f"{found} rows of {table} instead of {rows}"
            cursor.execute(f"DROP DATABASE {self.schema.database}")


FACTS = (
    "files: the same rows in the page cache, two clients, unique_checks=0, foreign keys afterwards",
    "medians of the rounds; ratios are means over the rounds' pairs with 95 % intervals",
)


def publish_fills(
    schema: str,
    size: Sequence[str],
    counts: Mapping[str, int],
    *,
    aims: Mapping[str, str],
    rounds: int,
    name: str,
    title: str,
    script: Sequence[str] = (),
) -> None:
    """All rounds of a schema, engine after engine with what is aimed at, as one result."""
    parts: list[str] = []
    with private_server(SERVER_OPTIONS) as server:
        version = server.variables()["version"]
        bench = Bench(server, SCHEMAS[schema], tuple(size), counts, tuple(script))
        for engine, aim in aims.items():
            costs = alternate(bench.ways(engine), bench.run, rounds=rounds, seed=303)
            parts += [f"## {engine}", "", aim, "", table_of(costs, {"files": FILES}), ""]
    publish(name, title, [f"server {version}", *FACTS], "\n".join(parts))
