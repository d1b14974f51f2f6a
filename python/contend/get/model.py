"""The model server: contend-load itself, so that there is nothing to find and nothing to get."""

from __future__ import annotations

from pathlib import Path

from contend.program import find_program
from contend.servers.binary import ServerBinary, run_program
from contend.servers.errors import UnusableServer
from contend.settings.server import MODEL

COMMAND = "model-server"
SOURCE = "contend-load"


def model_server(program: Path | None = None) -> ServerBinary:
    """The model server of this contend-load.

    Raises:
        UnusableServer: the program does not tell its version.
        RequestError: there is no contend-load.
    """
    program = find_program() if program is None else program
    said = run_program([str(program), "--version"], timeout_s=30).stdout.split()
    if not said:
        raise UnusableServer(f"`{program} --version` says nothing.")
    return ServerBinary(
        kind=MODEL,
        version=said[-1],
        suite=None,
        argv=(str(program), COMMAND),
        program=program,
        basedir=program.parent,
        share_dir=program.parent,
        plugin_dir=None,
        source=SOURCE,
    )
