"""Chooses the server of a run: the named one, else one on PATH, else a downloaded one.

Among downloaded servers, that of the machine's own suite comes first: `contend server get`
downloads it and the machine would install it. A newer one, downloaded for a comparison, does not
change the server of the next run. Then the newest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from contend.errors import RequestError, did_you_mean
from contend.experiment.settings.server import MODEL
from contend.files import default_cache, find_program
from contend.servers.binary import ServerBinary, check_runs_here, run_program
from contend.servers.debian import is_kind, own_suite, parse_wanted, read_sources
from contend.servers.errors import GetFailed, NoServer, UnknownServer, UnusableServer
from contend.servers.got import find_by_name, list_got
from contend.servers.kinds import KINDS, PROGRAMS, ask_version

COMMAND = "model-server"
SOURCE = "contend-load"


def model_server(program: Path | None = None) -> ServerBinary:
    """The model server of this contend-load.

    Raises:
        UnusableServer: the program does not report its version.
        RequestError: there is no contend-load.
    """
    program = find_program() if program is None else program
    output = run_program([str(program), "--version"], timeout_s=30).stdout.split()
    if not output:
        raise UnusableServer(f"`{program} --version` prints nothing.")
    return ServerBinary(
        kind=MODEL,
        version=output[-1],
        suite=None,
        argv=(str(program), COMMAND),
        program=program,
        basedir=program.parent,
        share_dir=program.parent,
        plugin_dir=None,
        source=SOURCE,
    )


# Distributions keep server programs that are not on the PATH of plain users.
_MORE_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/usr/local/libexec", "/usr/libexec")
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
    """The server of a kind on PATH or in the folders of distributions; None if there is none.

    A program of that name that is of a different kind, or that does not run, is skipped.
    """
    search = os.environ.get("PATH", os.defpath) if search_path is None else search_path
    folders = [*search.split(os.pathsep), *(() if search_path is not None else _MORE_FOLDERS)]
    for name in PROGRAMS[kind]:
        program = shutil.which(name, path=os.pathsep.join(folders))
        if program is None:
            continue
        try:
            binary = server_at(Path(program))
        except UnusableServer:
            continue
        if binary.kind == kind:
            return binary
    return None


def server_at(where: Path) -> ServerBinary:
    """The server at a path: the program itself, or the folder it is installed under."""
    program = _program(where).absolute()
    check_runs_here(program)
    kind, version = ask_version((str(program), "--no-defaults"))
    basedir = _basedir(program)
    share = next(_share_folders(basedir, kind), None)
    if share is None:
        raise UnusableServer(
            f"{program} has no error messages under {basedir}, so the installation is incomplete.",
            hint="Name the folder of a complete installation.",
        )
    plugins = next((basedir / p for p in _PLUGIN_FOLDERS if (basedir / p).is_dir()), None)
    argv = [str(program), "--no-defaults", f"--basedir={basedir}", f"--lc-messages-dir={share}"]
    argv += KINDS[kind].fixed_options
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
        for name in dict.fromkeys(name for names in PROGRAMS.values() for name in names):
            if (where / folder / name).exists():
                return where / folder / name
    raise UnusableServer(
        f"there is no mariadbd or mysqld under {where}.",
        hint="Name the server program or its installation folder.",
    )


def _basedir(program: Path) -> Path:
    # A link such as /usr/sbin/mysqld -> mariadbd stays in its tree; one out of a tree leads to it.
    return program.resolve().parent.parent


def _share_folders(basedir: Path, kind: str) -> Iterator[Path]:
    for name in KINDS[kind].share_folders:
        folder = basedir / "share" / name
        if (folder / "english" / "errmsg.sys").exists():
            yield folder


OWN: dict[str, Callable[[], ServerBinary]] = {MODEL: model_server}
"""Servers that come with contend, by the kind that is their name."""


def find_server(
    kind: str | None,
    *,
    wanted: str | None = None,
    cache: Path | None = None,
    root: Path = Path("/"),
) -> ServerBinary:
    """A server that is on this machine; nothing is downloaded.

    Args:
        kind: `mariadb`, `mysql` or one of `OWN`; None for the kind of the wanted one.
        wanted: a path to a program or its folder, `mariadb@trixie` as for `contend server get`, or
            a name from `contend server list`.
        root: where the machine's own suite is read from.

    Raises:
        NoServer: there is none; its hint has the command to get one.
        RequestError: the wanted one exists, and is of a different kind.
    """
    own = next((name for name in (wanted, kind) if name in OWN), None)
    if own is not None:
        if {kind, wanted} - {None, own}:
            raise RequestError(
                f"server.kind is {kind}, but --server names {wanted}.",
                hint=f"Use `--server {own}` alone, or a different server.kind.",
            )
        return OWN[own]()
    if kind is not None and kind not in PROGRAMS:
        raise UnknownServer(f"unknown server kind {kind!r}.", hint=did_you_mean(kind, PROGRAMS))
    cache = default_cache() if cache is None else cache
    if wanted is not None:
        binary = _wanted(wanted, cache, root)
        if kind is not None and binary.kind != kind:
            raise RequestError(
                f"{wanted} is a {binary.kind} server, but the experiment needs {kind}.",
                hint=f"Set `server.kind` to {binary.kind}, or name a different server.",
            )
        return binary
    assert kind is not None, "of no kind and no name"
    found = on_path(kind)
    if found is not None:
        return found
    got = [each.binary for each in list_got(cache) if each.binary.kind == kind]
    if got:
        return _first_choice(got, root)
    raise NoServer(
        f"there is no {kind} server on this machine that contend can run.",
        hint=f"Download one with `contend server get {KINDS[kind].wanted}`; root is not needed.",
    )


def servers_at_hand(cache: Path | None = None) -> list[ServerBinary]:
    installed = [binary for kind in PROGRAMS if (binary := on_path(kind)) is not None]
    cache = default_cache() if cache is None else cache
    return [*installed, *(each.binary for each in list_got(cache))]


def _wanted(wanted: str, cache: Path, root: Path) -> ServerBinary:
    if "/" in wanted or wanted in (".", ".."):
        return server_at(Path(wanted).expanduser())
    if "@" not in wanted and not is_kind(wanted):
        return _installed(wanted) or _got(wanted, cache)
    parsed = parse_wanted(wanted)
    got = [
        each.binary
        for each in list_got(cache)
        if (each.binary.kind, each.binary.extras) == (parsed.kind, parsed.extras)
        and parsed.suite in (None, each.binary.suite)
    ]
    if not got:
        raise NoServer(
            f"{wanted} is not on this machine yet.",
            hint=f"Download it with `contend server get {wanted}`; root is not needed.",
        )
    return _first_choice(got, root)


def _got(name: str, cache: Path) -> ServerBinary:
    try:
        return find_by_name(cache, name).binary
    except UnknownServer as error:
        raise UnknownServer(
            error.message,
            hint=f"{error.hint} For a running server give a DSN, such as "
            "mysql://user@host/database.",
        ) from None


def _installed(name: str) -> ServerBinary | None:
    kind = name.partition("-path-")[0]
    binary = on_path(kind) if kind != name and kind in PROGRAMS else None
    return binary if binary is not None and binary.name == name else None


def _first_choice(got: Sequence[ServerBinary], root: Path) -> ServerBinary:
    suite = _own_suite(root)
    return max(
        got, key=lambda server: (not server.extras, server.suite == suite, server.version_number)
    )


def _own_suite(root: Path) -> str | None:
    try:
        return own_suite(read_sources(root), root)
    except GetFailed:
        return None  # The debian provider does not support this machine.
