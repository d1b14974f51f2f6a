"""What the live tests of the load share: a server of each kind with TLS, a filled table, plans."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from null_server import run_plan
from sql import query
from tls_files import TlsFiles, make

from contend.servers import PrivateServer, ServerBinary

DATABASE = "contend"
USER = "loader"
PASSWORD = "pass wörd"
ROWS = 2000


@dataclass(frozen=True)
class Stage:
    """A server with the table `sbtest` in it, and how loads reach it."""

    program: Path
    server: PrivateServer
    files: TlsFiles

    @property
    def is_mysql(self) -> bool:
        return self.server.binary.kind == "mysql"

    @property
    def socket(self) -> dict[str, Any]:
        return {"socket": str(self.server.socket), "database": DATABASE}

    def tcp(self, **more: Any) -> dict[str, Any]:
        """As a user with a password, by the loopback address."""
        return {
            "host": "127.0.0.1",
            "port": self.server.port,
            "user": USER,
            "password_env": "LOAD_PASSWORD",
            "database": DATABASE,
            # It is ours; nobody else answers there.
            "get_server_public_key": self.is_mysql,
            **more,
        }

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as root; the rows of the last."""
        return query(self.server, *statements)

    def fill(self, *options: str) -> None:
        subprocess.run(
            [
                *(str(self.program), "fill", f"--socket={self.server.socket}"),
                *(f"--database={DATABASE}", "--create-database", f"--rows={ROWS}"),
                *("--k=random", *options),
            ],
            check=True,
            capture_output=True,
        )

    def fill_anew(self) -> None:
        """The table as it was at first, whatever a test wrote."""
        self.sql(f"DROP TABLE IF EXISTS {DATABASE}.sbtest")
        self.fill()

    def run(
        self, server: dict[str, Any], workload: dict[str, Any], *options: str, **load: Any
    ) -> tuple[list[dict[str, Any]], int, str]:
        """Run a plan; see `run_plan`."""
        return run_plan(
            self.program,
            self.plan(server, workload, **load),
            *options,
            env=os.environ | {"LOAD_PASSWORD": PASSWORD},
        )

    def done(self, server: dict[str, Any], workload: dict[str, Any], **load: Any) -> dict[str, Any]:
        """The last line of a run that must go well, with its hello as `hello`."""
        lines, code, words = self.run(server, workload, **load)
        assert code == 0, words
        assert lines[-1]["type"] == "done"
        return lines[-1] | {"hello": lines[0]}

    def events(
        self, server: dict[str, Any], workload: dict[str, Any], events: int, **load: Any
    ) -> dict[str, Any]:
        """The last line of a run of so many events, however long they take."""
        done = self.done(server, workload, events=events, measure_s=600, **load)
        assert done["events"] == events
        return done

    def failure(
        self, server: dict[str, Any], workload: dict[str, Any], **load: Any
    ) -> dict[str, Any]:
        """The last line of a run that must not."""
        lines, code, _ = self.run(server, workload, **load)
        assert (code, lines[-1]["type"]) == (1, "error"), lines[-1]
        return lines[-1]

    @staticmethod
    def plan(server: dict[str, Any], workload: dict[str, Any], **load: Any) -> dict[str, Any]:
        return {
            "version": 1,
            "server": server,
            "workload": workload,
            "load": {"connections": 4, "measure_s": 1.0, **load},
            "seed": 11,
        }


def script(text: str) -> dict[str, Any]:
    """A workload of statements of one's own."""
    return {"kind": "sql", "text": text}


def staged(
    shared_server: Callable[..., PrivateServer], binary: ServerBinary, program: Path, folder: Path
) -> Iterator[Stage]:
    """A stage whose server has TLS files in this folder, and a user who may do everything. The
    server is shared by the tests of a file, and killed after the last."""
    files = make(folder)
    server = shared_server(binary, tcp=True, arguments=files.arguments)
    stage = Stage(program, server, files)
    stage.fill()
    stage.sql(
        f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'",
        f"GRANT ALL ON *.* TO {USER}@'%'",
    )
    yield stage
    server.kill()
