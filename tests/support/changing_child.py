"""A process that changes a server and the host as a run does, and stands still at a moment until
the test lets it go on: `python changing_child.py FOLDER DSN MOMENT LIMIT_S`.

It says where it stands by a file of that name in FOLDER, and goes on when there is one called `go`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contend import errors
from contend.cli import main as front_door
from contend.experiment.settings.model import HostRequest
from contend.lab.borrowed import BorrowedTestbed
from contend.lab.shared_host import SharedHost
from contend.servers.client import run_statement
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.servers.undo import Journal, statement_entry, variables

LEVELS: tuple[dict[str, int], ...] = (
    {"sort_buffer_size": 262144, "innodb_io_capacity": 4000, "max_connections": 99},
    {"sort_buffer_size": 524288, "innodb_io_capacity": 5000, "max_connections": 98},
)
"""The second drags another with it."""

MADE = "mine.made_by_setup"

MOMENTS = ("before", "noted", "changed", "switching", "putting", "half")


class Stand:
    """Where the process stands still."""

    def __init__(self, folder: Path, moment: str) -> None:
        self.folder, self.moment = folder, moment

    def at(self, moment: str) -> None:
        if moment == self.moment:
            (self.folder / moment).touch()
            while not (self.folder / "go").exists():
                time.sleep(0.002)

    def before(self, action: Callable[..., Any], **moments: int) -> Callable[..., Any]:
        """The action; before the call of that number it may stand still."""
        calls = 0

        def stand(*words: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            for moment, number in moments.items():
                if number == calls:
                    self.at(moment)
            return action(*words, **more)

        return stand


def work(folder: Path, dsn: str, stand: Stand) -> None:
    journals = folder / "undo"
    server = ExistingServer(Dsn.parse(dsn))
    host = SharedHost(print, folder, touch=True, elsewhere=False, root=folder, journals=journals)
    nothing: Any = None
    with host, Journal.of_server(journals, server) as journal:
        testbed = BorrowedTestbed(server, nothing, nothing, nothing, journal, print)
        with testbed:
            stand.at("before")
            if stand.moment == "waiting":
                stand.folder.joinpath("waiting").touch()
                testbed.set_options({"read_only": 1})
            testbed.set_options(LEVELS[0])
            host._change(HostRequest("host.swappiness", "vm/swappiness", "10"))
            journal.replace([], [statement_entry(f"DROP TABLE {MADE}", None)])
            run_statement(server.connect, None, f"CREATE TABLE {MADE} (a INT)")
            stand.at("changed")
            testbed.set_options(LEVELS[1])


def run(argv: list[str]) -> int:
    folder, dsn, moment = Path(argv[0]), argv[1], argv[2]
    errors.LIMIT_S = float(argv[3])
    stand = Stand(folder, moment)
    # The second variable of the first level, and of the second one.
    variables.set_one = stand.before(variables.set_one, noted=2, switching=5)
    variables.put_global = stand.before(variables.put_global, putting=1, half=3)
    front_door._dispatch = lambda _arguments: work(folder, dsn, stand) or 0
    return front_door.main()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
