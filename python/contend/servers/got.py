"""The downloaded servers: one folder each under the user's cache, with a manifest and a tree of
unpacked packages.

A server's folder appears by a rename, complete or not at all. `server.json` in it holds paths
relative to the folder, so a cache may be moved.

No file in such a tree is in the place it was built for: the tree's own dynamic loader starts the
program with the tree's own libraries and the paths of its files. Links to an absolute path would
leave the tree, so they are never followed.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contend.errors import did_you_mean
from contend.files import locked
from contend.servers.binary import ServerBinary, check_runs_here, read_elf
from contend.servers.errors import FolderInUse, GetFailed, UnknownServer
from contend.servers.kinds import KINDS, PROGRAMS

_PROGRAM_FOLDERS = ("usr/sbin", "usr/bin", "usr/libexec")
_LIBRARY_FOLDERS = ("usr/lib", "lib")
_MESSAGES = "english/errmsg.sys"


@dataclass(frozen=True, slots=True)
class ServerTree:
    """Where a tree keeps the parts that a server needs."""

    loader: Path
    library_dirs: tuple[Path, ...]
    program: Path
    basedir: Path
    share_dir: Path
    plugin_dir: Path | None

    def argv(self, kind: str, extras: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The command to run: loader, program, `--no-defaults` and the options with paths."""
        command = [
            str(self.loader),
            "--library-path",
            ":".join(map(str, self.library_dirs)),
            str(self.program),
            "--no-defaults",
            f"--basedir={self.basedir}",
            f"--lc-messages-dir={self.share_dir}",
            f"--character-sets-dir={self.share_dir / 'charsets'}",
        ]
        if self.plugin_dir is not None:
            command.append(f"--plugin-dir={self.plugin_dir}")
        command += KINDS[kind].fixed_options
        for extra in extras:
            command += KINDS[kind].plugin_options[extra]
        return tuple(command)

    def binary(
        self, kind: str, version: str, suite: str, extras: tuple[str, ...], *, verified: bool
    ) -> ServerBinary:
        return ServerBinary(
            kind=kind,
            version=version,
            suite=suite,
            argv=self.argv(kind, extras),
            program=self.program,
            basedir=self.basedir,
            share_dir=self.share_dir,
            plugin_dir=self.plugin_dir,
            source="debian",
            extras=extras,
            verified=verified,
        )

    def to_manifest(self, folder: Path) -> dict[str, object]:
        paths = asdict(self)
        dirs = [str(path.relative_to(folder)) for path in paths.pop("library_dirs")]
        inside = {name: path and str(path.relative_to(folder)) for name, path in paths.items()}
        return {**inside, "library_dirs": dirs}

    @classmethod
    def from_manifest(cls, folder: Path, saved: dict[str, Any]) -> ServerTree:
        dirs = saved.pop("library_dirs")
        if not isinstance(dirs, list):
            raise TypeError("library_dirs is not a list")
        paths: dict[str, Any] = {name: path and folder / path for name, path in saved.items()}
        return cls(**{**paths, "library_dirs": tuple(folder / each for each in dirs)})


def find_layout(root: Path, kind: str) -> ServerTree:
    """Look through an unpacked tree. Raises GetFailed if a part is missing."""
    program = _first(root / folder / name for name in PROGRAMS[kind] for folder in _PROGRAM_FOLDERS)
    if program is None:
        raise GetFailed(f"the packages contain no {kind} server program.")
    check_runs_here(program)
    elf = read_elf(program)
    interpreter = None if elf is None else elf.interpreter
    if interpreter is None:
        raise GetFailed(f"{program.name} of the packages is not a dynamically linked program.")
    folders = _library_dirs(root)
    loader = _first(folder / Path(interpreter).name for folder in folders)
    if loader is None:
        raise GetFailed(f"the packages contain no dynamic loader {Path(interpreter).name}.")
    share = _first(
        root / "usr/share" / name
        for name in KINDS[kind].share_folders
        if (root / "usr/share" / name / _MESSAGES).exists()
    )
    if share is None:
        raise GetFailed("the packages contain no error messages of the server.")
    return ServerTree(loader, folders, program, root / "usr", share, _plugin_dir(root, kind))


def prune(root: Path, program: Path) -> None:
    """Remove files that a server does not need: other programs, manuals, scripting languages."""
    for folder in ("usr/bin", "usr/share/man", "usr/share/locale", "usr/share/perl", "usr/games"):
        for path in (root / folder).glob("*"):
            if path == program:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _library_dirs(root: Path) -> tuple[Path, ...]:
    multiarch = [
        folder
        for base in _LIBRARY_FOLDERS
        if not (root / base).is_symlink()
        for folder in sorted((root / base).glob("*-linux-gnu*"))
        if folder.is_dir() and any(folder.glob("lib*.so*"))
    ]
    private = sorted(root.glob("usr/lib/mysql*/private"))
    return (*multiarch, *private)


def _plugin_dir(root: Path, kind: str) -> Path | None:
    wanted = KINDS[kind].plugin_folders
    return _first(folder for name in wanted for folder in sorted(root.glob(f"usr/lib/{name}")))


def _first(paths: Iterable[Path]) -> Path | None:
    return next((p for p in paths if p.exists() and not _leaves_tree(p)), None)


def _leaves_tree(path: Path) -> bool:
    return path.is_symlink() and path.readlink().is_absolute()


MANIFEST = "server.json"
MANIFEST_FORMAT = 1
_PARTIAL = ".getting-"


@dataclass(frozen=True, slots=True)
class CachedServer:
    """One server in the cache."""

    binary: ServerBinary
    folder: Path
    packages: tuple[str, ...]

    @property
    def bytes(self) -> int:
        return sum(p.lstat().st_size for p in self.folder.rglob("*") if not p.is_dir())


def servers_folder(cache: Path) -> Path:
    return cache / "servers"


def list_got(cache: Path) -> list[CachedServer]:
    """All servers in the cache by name; the newest version of a suite last."""
    servers = [
        got
        for manifest in servers_folder(cache).glob(f"*/{MANIFEST}")
        if not manifest.parent.name.startswith(_PARTIAL) and (got := read(manifest.parent))
    ]
    return sorted(
        servers, key=lambda g: (g.binary.kind, g.binary.suite or "", g.binary.version_number)
    )


def read(folder: Path) -> CachedServer | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != MANIFEST_FORMAT:
            return None
        layout = ServerTree.from_manifest(folder, manifest["layout"])
        if not layout.program.exists():
            return None
        binary = layout.binary(
            manifest["kind"],
            manifest["version"],
            manifest["suite"],
            tuple(manifest["extras"]),
            verified=manifest["verified"],
        )
        return CachedServer(binary, folder, tuple(manifest["packages"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_manifest(
    folder: Path, binary: ServerBinary, layout: ServerTree, packages: list[str]
) -> None:
    manifest = {
        "format": MANIFEST_FORMAT,
        "kind": binary.kind,
        "version": binary.version,
        "suite": binary.suite,
        "extras": list(binary.extras),
        "verified": binary.verified,
        "packages": packages,
        "layout": layout.to_manifest(folder),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


@contextlib.contextmanager
def new_folder(cache: Path, on_wait: Callable[[], None]) -> Iterator[Path]:
    """A folder to fill, exclusively: others that get or remove wait. It is gone afterwards.

    Remains of an interrupted get are removed first. Only the holder of the lock may make such
    folders, so none of them is in use.
    """
    servers = servers_folder(cache)
    with _locked(servers, on_wait):
        for stale in servers.glob(f"{_PARTIAL}*"):
            shutil.rmtree(stale, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=servers))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def keep(cache: Path, filled: Path, name: str) -> CachedServer:
    """Make a filled folder the server `name`. Call it within `new_folder`.

    An existing one of that name stays if it is made of the same packages, since a process may be
    running from it.
    """
    final = servers_folder(cache) / name
    here, new = read(final), read(filled)
    if here is not None and new is not None and here.packages == new.packages:
        return here
    if final.exists():
        require_idle(final)
        final.rename(filled.parent / "replaced")
    filled.rename(final)
    got = read(final)
    if got is None:
        raise GetFailed(f"the server in {final} is incomplete.", hint="Remove the folder.")
    return got


def find_by_name(cache: Path, name: str) -> CachedServer:
    """The server of exactly this name; the error names the nearest."""
    got = list_got(cache)
    for each in got:
        if each.binary.name == name:
            return each
    names = [each.binary.name for each in got]
    hint = did_you_mean(name, names) or "`contend server list` lists all servers."
    raise UnknownServer(f"there is no server {name}.", hint=hint)


def remove(cache: Path, name: str) -> CachedServer:
    """Remove a server from the cache; returns the removed one."""
    with _locked(servers_folder(cache), lambda: None):
        got = find_by_name(cache, name)
        require_idle(got.folder)
        doomed = got.folder.with_name(f"{_PARTIAL}removed-{name}")
        got.folder.rename(doomed)
        shutil.rmtree(doomed)
        return got


def require_idle(folder: Path) -> None:
    """Refuse if a process runs from the folder. Other users' processes cannot be seen."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            program = (process / "exe").readlink()
        except OSError:
            continue
        if program.is_relative_to(folder.resolve()):
            raise FolderInUse(
                f"process {process.name} runs the server in {folder}.",
                hint="Wait until it ends, or end it.",
            )


def _locked(
    servers: Path, on_wait: Callable[[], None]
) -> contextlib.AbstractContextManager[object]:
    servers.mkdir(parents=True, exist_ok=True)
    return locked(servers / ".lock", on_wait=on_wait)
