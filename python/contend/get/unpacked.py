"""Finding a server in a tree of unpacked packages, and how to run it from there.

Nothing in such a tree is where it was built to be: the program is started by the tree's own
dynamic loader with the tree's own libraries, and told where its files are. Links that point to an
absolute path would leave the tree, so they are never followed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contend.servers.binary import PROGRAMS, check_runs_here, read_elf
from contend.servers.errors import GetFailed

_PROGRAM_FOLDERS = ("usr/sbin", "usr/bin", "usr/libexec")
_LIBRARY_FOLDERS = ("usr/lib", "lib")
_SHARE_FOLDERS = {"mariadb": ("mariadb", "mysql"), "mysql": ("mysql", "mysql-9.7", "mysql-8.4")}
_MESSAGES = "english/errmsg.sys"

PLUGIN_OPTIONS = {
    "rocksdb": ("--plugin-load-add=ha_rocksdb",),
    # Its authors never called it more than beta.
    "handlersocket": ("--plugin-maturity=beta", "--plugin-load-add=handlersocket"),
}
"""What has a server load the plugin of an extra."""


@dataclass(frozen=True, slots=True)
class ServerTree:
    """Where a tree keeps what a server needs."""

    loader: Path
    library_dirs: tuple[Path, ...]
    program: Path
    basedir: Path
    share_dir: Path
    plugin_dir: Path | None

    def argv(self, kind: str, extras: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What to run: loader, program, `--no-defaults` and the options that say where."""
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
        if kind == "mysql":
            # The folder it was built to import from does not exist outside a system install.
            command.append("--secure-file-priv=NULL")
        for extra in extras:
            command += PLUGIN_OPTIONS[extra]
        return tuple(command)

    def to_manifest(self, folder: Path) -> dict[str, object]:
        def relative(path: Path) -> str:
            return str(path.relative_to(folder))

        return {
            "loader": relative(self.loader),
            "library_dirs": [relative(path) for path in self.library_dirs],
            "program": relative(self.program),
            "basedir": relative(self.basedir),
            "share_dir": relative(self.share_dir),
            "plugin_dir": None if self.plugin_dir is None else relative(self.plugin_dir),
        }

    @classmethod
    def from_manifest(cls, folder: Path, saved: Mapping[str, object]) -> ServerTree:
        def path(name: str) -> Path:
            return folder / str(saved[name])

        dirs = saved["library_dirs"]
        if not isinstance(dirs, list):
            raise TypeError("library_dirs is a list")
        return cls(
            loader=path("loader"),
            library_dirs=tuple(folder / str(each) for each in dirs),
            program=path("program"),
            basedir=path("basedir"),
            share_dir=path("share_dir"),
            plugin_dir=None if saved["plugin_dir"] is None else path("plugin_dir"),
        )


def find_layout(root: Path, kind: str) -> ServerTree:
    """Look through an unpacked tree. Raises GetFailed if a part is missing."""
    program = _first(root / folder / name for name in PROGRAMS[kind] for folder in _PROGRAM_FOLDERS)
    if program is None:
        raise GetFailed(f"the packages hold no {kind} server program.")
    check_runs_here(program)
    elf = read_elf(program)
    interpreter = None if elf is None else elf.interpreter
    if interpreter is None:
        raise GetFailed(f"{program.name} of the packages is not a dynamically linked program.")
    folders = _library_dirs(root)
    loader = _first(folder / Path(interpreter).name for folder in folders)
    if loader is None:
        raise GetFailed(f"the packages hold no dynamic loader {Path(interpreter).name}.")
    share = _first(
        (
            root / "usr/share" / name
            for name in _SHARE_FOLDERS[kind]
            if (root / "usr/share" / name / _MESSAGES).exists()
        ),
    )
    if share is None:
        raise GetFailed("the packages hold no error messages of the server.")
    return ServerTree(loader, folders, program, root / "usr", share, _plugin_dir(root, kind))


def prune(root: Path, program: Path) -> None:
    """Remove what a server does not run with: other programs, manuals, scripting languages."""
    for folder in ("usr/bin", "usr/share/man", "usr/share/locale", "usr/share/perl", "usr/games"):
        for path in (root / folder).glob("*"):
            if path == program:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _library_dirs(root: Path) -> tuple[Path, ...]:
    """The folders of shared libraries: the architecture's, and the server's private."""
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
    names = ("usr/lib/mysql/plugin", "usr/lib/mariadb/plugin", "usr/lib/*/mariadb*/plugin")
    wanted = (*names[::-1],) if kind == "mariadb" else names
    return _first(folder for name in wanted for folder in sorted(root.glob(name)))


def _first(paths: Iterable[Path]) -> Path | None:
    return next((p for p in paths if p.exists() and not _leaves_tree(p)), None)


def _leaves_tree(path: Path) -> bool:
    return path.is_symlink() and path.readlink().is_absolute()
