"""The *path* provider: a server that is installed on this machine, or one named by its path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from contend.servers.binary import PROGRAMS, ServerBinary, ask_version, check_runs_here
from contend.servers.errors import UnusableServer

# Distributions keep server programs where plain users do not look for programs.
_MORE_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/usr/local/libexec", "/usr/libexec")
_SHARE_NAMES = {"mariadb": ("mariadb", "mysql", ""), "mysql": ("mysql", "")}
_PLUGIN_FOLDERS = (
    "lib/mysql/plugin",
    "lib/mariadb/plugin",
    "lib64/mysql/plugin",
    "lib64/mariadb/plugin",
    "lib/plugin",
    "lib64/plugin",
)
_PROGRAM_FOLDERS = ("sbin", "bin", "libexec", "usr/sbin", "usr/bin", "usr/libexec")


def on_path(kind: str, search_path: str | None = None) -> ServerBinary | None:
    """The server of a kind on PATH and where distributions keep it; None where there is none.

    A program of that name that is of another kind, or that does not run, is passed over.
    """
    search = os.environ.get("PATH", os.defpath) if search_path is None else search_path
    folders = [*search.split(os.pathsep), *(() if search_path is not None else _MORE_FOLDERS)]
    for name in PROGRAMS[kind]:
        found = shutil.which(name, path=os.pathsep.join(folders))
        if found is None:
            continue
        try:
            binary = named(Path(found))
        except UnusableServer:
            continue
        if binary.kind == kind:
            return binary
    return None


def named(where: Path) -> ServerBinary:
    """The server at a path: the program itself, or the folder it is installed under."""
    program = _program(where).absolute()
    check_runs_here(program)
    kind, version = ask_version((str(program), "--no-defaults"))
    basedir = _basedir(program)
    share = next(_share_folders(basedir, kind), None)
    if share is None:
        raise UnusableServer(
            f"{program} has no error messages under {basedir}, so it is no whole installation.",
            hint="Name the folder that the server is installed under.",
        )
    plugins = next((basedir / p for p in _PLUGIN_FOLDERS if (basedir / p).is_dir()), None)
    argv = [
        str(program),
        "--no-defaults",
        f"--basedir={basedir}",
        f"--lc-messages-dir={share}",
    ]
    if kind == "mysql":
        argv.append("--secure-file-priv=NULL")
    if plugins is not None:
        argv.append(f"--plugin-dir={plugins}")
    return ServerBinary(
        kind=kind,
        version=version,
        suite=None,
        argv=tuple(argv),
        program=program,
        basedir=basedir,
        share_dir=share,
        plugin_dir=plugins,
        source="path",
    )


def _program(where: Path) -> Path:
    if not where.is_dir():
        return where
    for folder in _PROGRAM_FOLDERS:
        for name in ("mariadbd", "mysqld"):
            if (where / folder / name).exists():
                return where / folder / name
    raise UnusableServer(
        f"there is no mariadbd and no mysqld under {where}.",
        hint="Name the server program itself, or the folder it is installed under.",
    )


def _basedir(program: Path) -> Path:
    # A link such as /usr/sbin/mysqld -> mariadbd stays in its tree; one out of a tree leads to it.
    return program.resolve().parent.parent


def _share_folders(basedir: Path, kind: str) -> Iterator[Path]:
    for name in _SHARE_NAMES[kind]:
        folder = basedir / "share" / name
        if (folder / "english" / "errmsg.sys").exists():
            yield folder
