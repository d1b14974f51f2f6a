"""How fast a dump is imported: the splitter alone, and the whole beside the server's own client.

    python bench/dump_import.py --rows 1000000 --rounds 3

Loads the table `sbtest`, has `mariadb-dump` write it, and imports that, alternating: through
contend's splitter over one connection, and through the client `mariadb`. Prints MB/s of each round
and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from contend.datasets.dump.load import Rules, load_into
from contend.datasets.dump.rules import judge
from contend.datasets.dump.split import Splitter
from contend.datasets.loading import loading_options
from contend.get import find_server
from contend.load import Address, FillProcess, find_program
from contend.servers import PrivateServer
from contend.spec import DataSpec

DATABASE = "sbtest"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", help="as `contend run --server` takes it")
    args = parser.parse_args()
    for program in ("mariadb-dump", "mariadb"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not on PATH")
    binary = find_server(None if args.server else "mariadb", wanted=args.server)
    data = DataSpec(rows=args.rows)
    options = {**loading_options(binary.kind, data), "max_allowed_packet": "1G"}
    with tempfile.TemporaryDirectory() as folder:
        server = PrivateServer(binary, Path(folder) / "server")
        server.initialise()
        server.start(options)
        with server:
            dump = dumped(server, data, Path(folder))
            report(server, dump, args.rounds)


def dumped(server: PrivateServer, data: DataSpec, folder: Path) -> Path:
    """A dump of contend's own table."""
    address = Address(socket=str(server.socket), user="root", database=DATABASE)
    FillProcess(find_program()).run(data, address, on_progress=lambda _phase, _rows: None)
    dump = folder / "sbtest.sql"
    with dump.open("wb") as file:
        command = ["mariadb-dump", "--no-defaults", f"--socket={server.socket}", "-uroot", DATABASE]
        subprocess.run(command, stdout=file, check=True)
    return dump


def report(server: PrivateServer, dump: Path, rounds: int) -> None:
    size = dump.stat().st_size / 1e6
    print(f"{size:.0f} MB, {server.binary.name}")
    print(f"splitter and rules alone: {size / seconds(lambda: split(dump)):.0f} MB/s")
    ours, theirs = [], []
    for number in range(1, rounds + 1):
        ours.append(size / seconds(lambda n=number: imported(server, dump, f"ours_{n}")))
        theirs.append(size / seconds(lambda n=number: by_client(server, dump, f"theirs_{n}")))
        print(f"round {number}: contend {ours[-1]:.1f} MB/s, mariadb {theirs[-1]:.1f} MB/s")
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"contend over mariadb: {ratio:.2f} (medians of {rounds})")


def seconds(work: object) -> float:
    started = time.monotonic()
    assert callable(work)
    work()
    return time.monotonic() - started


def split(dump: Path) -> None:
    with dump.open("rb") as file:
        for statement in Splitter(file.read, str(dump)):
            judge(statement.text)


def imported(server: PrivateServer, dump: Path, name: str) -> None:
    load_into(server, dump, Rules(), name)


def by_client(server: PrivateServer, dump: Path, name: str) -> None:
    with server.connect() as connection:
        connection.query(f"CREATE DATABASE {name}")
    command = ["mariadb", "--no-defaults", f"--socket={server.socket}", "-uroot", name]
    with dump.open("rb") as file:
        subprocess.run(command, stdin=file, check=True)


if __name__ == "__main__":
    main()
