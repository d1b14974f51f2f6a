"""The folders of datasets under the user's cache: the kept ones, named by what they hold, and the
workspaces of private servers.

    datasets/<key>/manifest.json    what it is, with size and checksum of every file
    datasets/<key>/data/            the data folder of a cleanly stopped server, whole
    datasets/<key>.lock             held while it is made, restored or dropped
    work/<random>/                  the data of one private server, removed with its owner

The whole data folder is kept for every engine, not the table's files alone: an InnoDB table is
nothing without its system tablespace and log, and a restored folder needs no initialising.
A folder gets its name only when it is complete.

A workspace lies beside the kept datasets, so that both share a filesystem and a restore can clone.
Its owner holds a lock on it; the kernel drops the lock with the owner, and whoever makes the next
workspace removes those that nobody holds.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contend import locks
from contend.datasets.files import OnBytes, SnapshotDamaged, copy_checked
from contend.datasets.manifest import Manifest, TableEntry
from contend.errors import RequestError, did_you_mean


class UnknownDataset(RequestError):
    """No dataset of that key is kept."""


class DatasetInUse(RequestError):
    """Another contend works with the dataset."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A kept dataset."""

    folder: Path
    manifest: Manifest

    @property
    def key(self) -> str:
        return self.manifest.key

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def bytes(self) -> int:
        return self.manifest.size

    @property
    def rows(self) -> int:
        return self.manifest.rows

    @property
    def database(self) -> str | None:
        """Where its tables are; None for where contend makes its own."""
        return self.manifest.database

    @property
    def tables(self) -> tuple[TableEntry, ...]:
        """Those of a dump; none if they follow from the inputs."""
        return self.manifest.tables

    @property
    def engines(self) -> str:
        """The storage engines of a dump's tables, such as `InnoDB, MyISAM`."""
        return ", ".join(sorted({table.engine for table in self.manifest.tables}))


def datasets_root(cache: Path) -> Path:
    return cache / "datasets"


def find(cache: Path, key: str) -> Dataset | None:
    """The dataset of that key, or None if there is none or its manifest is damaged."""
    folder = datasets_root(cache) / key
    try:
        manifest = Manifest.read(folder)
    except SnapshotDamaged:
        return None
    return Dataset(folder, manifest) if manifest.key == key else None


def list_datasets(cache: Path) -> list[Dataset]:
    """Every dataset that is kept, by key."""
    root = datasets_root(cache)
    if not root.is_dir():
        return []
    datasets = (find(cache, path.name) for path in sorted(root.iterdir()) if path.is_dir())
    return [dataset for dataset in datasets if dataset is not None]


def drop(cache: Path, key: str) -> int:
    """Remove a dataset and return how many bytes it had.

    Raises:
        UnknownDataset: there is none of that key.
        DatasetInUse: another contend loads or restores it now.
    """
    folder = datasets_root(cache) / key
    keys = [dataset.key for dataset in list_datasets(cache)]
    if key not in keys:
        hint = did_you_mean(key, keys) or "`contend data list` shows all."
        raise UnknownDataset(f"there is no dataset {key}", hint=hint)
    with locked(cache, key, on_wait=None):
        dataset = find(cache, key)
        remove_tree(folder)
        _lock_path(cache, key).unlink(missing_ok=True)
    return dataset.bytes if dataset else 0


def restore(dataset: Dataset, into: Path, on_bytes: OnBytes = lambda _count: None) -> None:
    """Make the folder `into` anew as a copy of the dataset's data folder, checked on the way.

    Raises:
        SnapshotDamaged: it is not what was stored; `into` is removed again.
    """
    remove_tree(into)
    into.mkdir(mode=0o700)
    try:
        for name in dataset.manifest.folders:
            (into / name).mkdir(mode=0o700)
        copy_checked(dataset.data, dataset.manifest.files, into, on_bytes)
    except BaseException:
        remove_tree(into)
        raise


@contextlib.contextmanager
def locked(cache: Path, key: str, *, on_wait: Callable[[], None] | None) -> Iterator[None]:
    """Hold the lock of a key. If another contend has it, call `on_wait` and wait for it,
    or raise DatasetInUse if there is no `on_wait`."""
    path = _lock_path(cache, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locks.locked(path, on_wait=on_wait))
        except locks.Locked:
            raise DatasetInUse(
                f"dataset {key} is in use by another contend process",
                hint="Try again when that one has ended.",
            ) from None
        yield


def remove_tree(folder: Path) -> None:
    """Remove a folder that contend made, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _lock_path(cache: Path, key: str) -> Path:
    return datasets_root(cache) / f"{key}.lock"


LOCK_NAME = "lock"


@contextlib.contextmanager
def workspace(cache: Path) -> Iterator[Path]:
    """A new empty folder of mode 0700, gone when the block ends."""
    root = cache / "work"
    root.mkdir(parents=True, exist_ok=True)
    # Between making a workspace and locking it, another sweeper would take it for abandoned.
    with locks.locked(root / "sweep.lock", on_wait=lambda: None):
        remove_abandoned(root)
        # A Unix socket below must stay within the 107 bytes that the kernel allows.
        folder = root / secrets.token_hex(3)
        folder.mkdir(mode=0o700)
        descriptor = locks.lock(folder / LOCK_NAME)
    try:
        yield folder
    finally:
        remove_tree(folder)
        os.close(descriptor)


def remove_abandoned(root: Path) -> None:
    """Remove the workspaces whose owner is dead."""
    for folder in root.iterdir():
        if folder.is_dir() and not locks.is_locked(folder / LOCK_NAME):
            # A server that is just dying may still write there; the next sweep gets the rest.
            with contextlib.suppress(OSError):
                remove_tree(folder)
