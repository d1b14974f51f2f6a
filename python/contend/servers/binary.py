"""A server program that can be run: how to call it and what it is."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from contend.servers.elf import host_machine, read_elf
from contend.servers.errors import UnusableServer

KINDS = ("mariadb", "mysql")
"""The server kinds contend knows."""

PROGRAMS = {"mariadb": ("mariadbd", "mysqld"), "mysql": ("mysqld",)}
"""The names each kind's server program goes by, the usual one first."""

_VERSION = re.compile(r"\bVer\s+(?P<number>\d+\.\d+\.\d+)(?P<rest>\S*)")
_VERSION_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """One server program.

    Args:
        kind: `mariadb` or `mysql`.
        version: the server's own, such as `10.11.19`.
        suite: the Debian suite it was got from; None for a server that was found on the machine.
        argv: what to run. It holds the loader and its library path where they are needed, the
            program, `--no-defaults`, and the fixed options; append your own.
        program: the server program itself (not the loader).
        basedir: the root the server looks under.
        share_dir: error messages, character sets and the SQL of the system tables.
        plugin_dir: loadable plugins; None where there are none.
        source: `debian` or `path`.
        extras: packages that were asked for beside the server, such as `rocksdb`.
        verified: whether the download was verified by signature; None where nothing was downloaded.
    """

    kind: str
    version: str
    suite: str | None
    argv: tuple[str, ...]
    program: Path
    basedir: Path
    share_dir: Path
    plugin_dir: Path | None
    source: str
    extras: tuple[str, ...] = ()
    verified: bool | None = None

    @property
    def name(self) -> str:
        """The name `contend server list` shows, such as `mariadb-bookworm-10.11.19`."""
        return server_name(self.kind, self.extras, self.suite or self.source, self.version)

    @property
    def version_number(self) -> tuple[int, ...]:
        """For comparing: `(10, 11, 19)`."""
        return tuple(int(part) for part in self.version.split("."))


def server_name(kind: str, extras: tuple[str, ...], suite: str, version: str) -> str:
    return f"{'+'.join((kind, *extras))}-{suite}-{version}"


def check_runs_here(program: Path) -> None:
    """Refuse a program that this machine cannot run, with the reason in words."""
    if not program.exists():
        raise UnusableServer(f"there is no server program at {program}.")
    if program.is_dir():
        raise UnusableServer(
            f"{program} is a folder, not a server program.",
            hint="Name the program itself or the folder it is installed under.",
        )
    if not os.access(program, os.X_OK):
        raise UnusableServer(
            f"{program} is not executable.", hint=f"Try `chmod +x {program}`, or name another."
        )
    elf = read_elf(program)
    if elf is not None and elf.machine != host_machine():
        raise UnusableServer(
            f"{program} was built for {elf.machine}, but this machine is {host_machine()}."
        )


def ask_version(argv: tuple[str, ...]) -> tuple[str, str]:
    """Run the program with `--version`: its kind and its version.

    `mariadbd  Ver 10.11.19-MariaDB-… for …` or `mysqld  Ver 9.7.4-2 for Linux …`.
    """
    try:
        answer = subprocess.run(
            [*argv, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise UnusableServer(
            f"`{argv[0]} --version` did not end within {_VERSION_TIMEOUT_S} s."
        ) from None
    except OSError as error:
        raise UnusableServer(f"{argv[0]} cannot be run: {error.strerror}.") from error
    found = parse_version(answer.stdout)
    if answer.returncode != 0 or found is None:
        said = (answer.stderr or answer.stdout).strip()
        raise UnusableServer(
            f"{argv[0]} does not answer `--version` as a MariaDB or MySQL server does.",
            detail="\n".join(said.splitlines()[-5:]) or None,
        )
    return found


def parse_version(text: str) -> tuple[str, str] | None:
    found = _VERSION.search(text)
    if found is None:
        return None
    kind = "mariadb" if "mariadb" in text.lower() else "mysql"
    return kind, found["number"]
