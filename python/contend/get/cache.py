"""The servers that were got: one folder each under the user's cache, with a manifest.

A server's folder appears by a rename, whole or not at all. `server.json` in it holds paths
relative to the folder, so a cache may be moved.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contend.errors import did_you_mean
from contend.get.unpacked import ServerTree
from contend.locks import locked
from contend.servers.binary import ServerBinary
from contend.servers.errors import FolderInUse, GetFailed, UnknownServer

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
        """What it takes on disk."""
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
    return sorted(servers, key=lambda g: (g.binary.kind, g.binary.suite or "", _number(g)))


def _number(got: CachedServer) -> tuple[int, ...]:
    return got.binary.version_number


def read(folder: Path) -> CachedServer | None:
    """The server in a folder; None if the folder is not whole or of another format."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != MANIFEST_FORMAT:
            return None
        layout = ServerTree.from_manifest(folder, manifest["layout"])
        if not layout.program.exists():
            return None
        binary = ServerBinary(
            kind=manifest["kind"],
            version=manifest["version"],
            suite=manifest["suite"],
            argv=layout.argv(manifest["kind"], tuple(manifest["extras"])),
            program=layout.program,
            basedir=layout.basedir,
            share_dir=layout.share_dir,
            plugin_dir=layout.plugin_dir,
            source="debian",
            extras=tuple(manifest["extras"]),
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
    """A folder to fill, alone: others that get or remove wait. It is gone afterwards.

    Whatever an interrupted get left behind is removed first; only the holder of the lock may
    make such folders, so nobody else can be using them.
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

    One of that name that is there already stays if it is made of the same packages, since
    something may run from it.
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
        raise GetFailed(f"{final} is not a whole server.", hint="Remove the folder and try again.")
    return got


def find_by_name(cache: Path, name: str) -> CachedServer:
    """The server that goes by exactly this name; the error names the nearest."""
    got = list_got(cache)
    for each in got:
        if each.binary.name == name:
            return each
    names = [each.binary.name for each in got]
    hint = did_you_mean(name, names) or "`contend server list` shows all there are."
    raise UnknownServer(f"there is no server {name}.", hint=hint)


def remove(cache: Path, name: str) -> CachedServer:
    """Remove a server from the cache; what was removed."""
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
                hint="Wait until it has ended, or end it.",
            )


def _locked(
    servers: Path, on_wait: Callable[[], None]
) -> contextlib.AbstractContextManager[object]:
    servers.mkdir(parents=True, exist_ok=True)
    return locked(servers / ".lock", on_wait=on_wait)
