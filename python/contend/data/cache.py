"""The folders of datasets under the user's cache: the kept datasets, named by their content, and
the workspaces of private servers.

    datasets/<key>/manifest.json    description, with size and checksum of every file; written last
                                    and read first
    datasets/<key>/data/            the complete data folder of a cleanly stopped server
    datasets/<key>.lock             held while the dataset is made, restored or dropped
    work/<random>/                  the data of one private server, removed with its owner

The whole data folder is kept for every engine. An InnoDB table is useless without its system
tablespace and log, and a restored folder needs no initialising.
A folder gets its name only when it is complete.

Workspaces are on the same filesystem as the kept datasets, so that a restore can clone. The owner
of a workspace holds a lock on it, which the kernel drops when the owner ends. The process that
makes the next workspace removes those without a lock.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contend import files
from contend.errors import RequestError, WorkError, did_you_mean
from contend.experiment import DataSpec, Level, layout_options
from contend.units import format_count

CONTENT_VERSION = 2
"""Raised when the same inputs come to mean different files: different rows or table definitions."""


def key_inputs(
    data: DataSpec, *, kind: str, version: str, options: Mapping[str, Level]
) -> dict[str, Any]:
    """Everything that decides the content of a dataset's files."""
    return {
        "content_version": CONTENT_VERSION,
        "server_kind": kind,
        "server_version": version,
        "schema": data.schema,
        "engine": data.engine,
        "rows": data.rows_in_all if data.known.tables else data.rows,
        "seed": data.seed,
        "k": data.k,
        "table_options": data.table_options,
        "layout": layout_options(options),
        "tables": data.tables,
        **({} if data.prepare is None else {"prepare": dict(data.prepare)}),
        # Only fields of the schema with a value: datasets without them keep their names.
        **{name: value for name, value in data.own.items() if value is not None},
    }


def computed(data: DataSpec, folder: Path) -> Dataset:
    """A dataset without files: rows that a server makes up when a query reads them."""
    inputs = key_inputs(data, kind="model", version="", options={})
    return Dataset(
        folder,
        dataset_key(inputs),
        inputs,
        data.rows,
        created_at="",
        load_s=0.0,
        folders=(),
        files=(),
    )


def dataset_key(inputs: Mapping[str, Any]) -> str:
    """A readable name, and a digest of all inputs that makes it unique."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    schema = str(inputs["schema"]).replace(":", "-")
    if "prepare" in inputs:
        return f"{schema}-{digest}"
    return f"{schema}-{inputs['engine'].lower()}-{format_count(inputs['rows'])}-{digest}"


MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as reported by the server that loaded it.

    Args:
        historic: historical rows in a table with system versioning.
    """

    name: str
    engine: str
    rows: int
    historic: int = 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """One kept dataset.

    Args:
        key: the name it is kept under.
        inputs: everything that the key was made of.
        rows: rows of its tables, counted by the server.
        created_at: ISO 8601 in UTC.
        folders: every folder below the data folder, parents first.
        files: every file below the data folder.
        database: the database of the tables; None for contend's usual one.
        tables: those of a dump; none if they follow from the inputs.
    """

    folder: Path
    key: str
    inputs: Mapping[str, Any]
    rows: int
    created_at: str
    load_s: float
    folders: tuple[str, ...]
    files: tuple[FileEntry, ...]
    database: str | None = None
    tables: tuple[TableEntry, ...] = ()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(entry.size for entry in self.files)

    @property
    def engines(self) -> str:
        """The storage engines of a dump's tables, such as `InnoDB, MyISAM`."""
        return ", ".join(sorted({table.engine for table in self.tables}))

    def write(self) -> None:
        """Write its manifest."""
        document = {"version": MANIFEST_VERSION, **asdict(self)}
        del document["folder"]
        text = json.dumps(document, indent=1) + "\n"
        (self.folder / MANIFEST_NAME).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Dataset:
        """The dataset in a folder.

        Raises:
            SnapshotDamaged: its manifest is missing, has a different version, or is damaged.
        """
        path = folder / MANIFEST_NAME
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document.pop("version") != MANIFEST_VERSION:
                raise SnapshotDamaged(f"{path} was written by a different version of contend")
            files = tuple(FileEntry(**entry) for entry in document.pop("files"))
            folders = tuple(document.pop("folders"))
            tables = tuple(TableEntry(**entry) for entry in document.pop("tables", ()))
            _check_inside(path, (*folders, *(entry.path for entry in files)))
            return cls(folder, files=files, folders=folders, tables=tables, **document)
        except FileNotFoundError:
            raise SnapshotDamaged(f"{path} is missing") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SnapshotDamaged(f"{path} cannot be read: {error}") from error


def _check_inside(path: Path, names: tuple[str, ...]) -> None:
    """A manifest that was tampered with must not make a restore write elsewhere."""
    for name in names:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise SnapshotDamaged(f"{path} names {name}, which is outside its folder")


class UnknownDataset(RequestError):
    """No dataset of that key is kept."""


class DatasetInUse(RequestError):
    """Another contend is using the dataset."""


def datasets_root(cache: Path) -> Path:
    return cache / "datasets"


def find(cache: Path, key: str) -> Dataset | None:
    """The dataset of that key, or None if there is none or its manifest is damaged."""
    try:
        dataset = Dataset.read(datasets_root(cache) / key)
    except SnapshotDamaged:
        return None
    return dataset if dataset.key == key else None


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
    """Replace the folder `into` with a copy of the dataset's data folder, checked during the copy.

    Raises:
        SnapshotDamaged: the copy differs from the stored data; `into` is removed again.
    """
    remove_tree(into)
    into.mkdir(mode=0o700)
    try:
        for name in dataset.folders:
            (into / name).mkdir(mode=0o700)
        copy_checked(dataset.data, dataset.files, into, on_bytes)
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
            held.enter_context(files.locked(path, on_wait=on_wait))
        except files.Locked:
            raise DatasetInUse(
                f"dataset {key} is in use by another contend process",
                hint="Try again when that process has ended.",
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
    # Between making a workspace and locking it, another sweeper would consider it abandoned.
    with files.locked(root / "sweep.lock", on_wait=lambda: None):
        remove_abandoned(root)
        # A Unix socket below must stay within the 107 bytes that the kernel allows.
        folder = root / secrets.token_hex(3)
        folder.mkdir(mode=0o700)
        descriptor = files.lock(folder / LOCK_NAME)
    try:
        yield folder
    finally:
        remove_tree(folder)
        os.close(descriptor)


def remove_abandoned(root: Path) -> None:
    """Remove the workspaces whose owner is dead."""
    for folder in root.iterdir():
        if folder.is_dir() and not files.is_locked(folder / LOCK_NAME):
            # A server that is ending may still write there; the next sweep removes the rest.
            with contextlib.suppress(OSError):
                remove_tree(folder)


class SnapshotDamaged(WorkError):
    """A kept dataset differs from the data that were stored."""


OnBytes = Callable[[int], None]
"""Called with the number of bytes done since the last call."""

COPY_CHUNK_BYTES = 64 * 1024 * 1024
READ_CHUNK_BYTES = 1024 * 1024

_NO_RANGES = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOSYS}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a snapshot: its path in the folder, its size, and its CRC-32."""

    path: str
    size: int
    crc32: int


def describe(folder: Path, paths: Iterable[str]) -> tuple[FileEntry, ...]:
    """Size and checksum of the files at `paths` under `folder`."""
    return tuple(
        FileEntry(path, (folder / path).stat().st_size, checksum(folder / path)) for path in paths
    )


def checksum(path: Path) -> int:
    crc = 0
    buffer = bytearray(READ_CHUNK_BYTES)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            crc = zlib.crc32(view[:count], crc)
    return crc


def copy_checked(source: Path, entries: Iterable[FileEntry], into: Path, on_bytes: OnBytes) -> None:
    """Copy `entries` of `source` into the existing folders of `into`.

    The copies are on the disk when this returns, so that writing them back does not disturb the
    next measurement. A second thread checks each file over the same pages while the first one
    copies it, which avoids a second pass over the disk. CRC-32 finds disk errors and interrupted
    copies; it is not a defence against tampering.

    Raises:
        SnapshotDamaged: a file is missing, or its size or content differs from the entry.
    """
    with ThreadPoolExecutor(max_workers=1) as checker:
        for entry in entries:
            origin = source / entry.path
            try:
                size = origin.stat().st_size
            except FileNotFoundError:
                raise SnapshotDamaged(f"{origin} is missing") from None
            if size != entry.size:
                raise SnapshotDamaged(f"{origin} has {size} bytes instead of {entry.size}")
            content = checker.submit(checksum, origin)
            copy_file(origin, into / entry.path, on_bytes)
            if content.result() != entry.crc32:
                raise SnapshotDamaged(
                    f"{origin} has changed since it was stored (its checksum differs)"
                )


def copy_file(source: Path, target: Path, on_bytes: OnBytes) -> None:
    """Copy one file to the disk; the target must not exist. A filesystem that can share blocks
    shares them."""
    copied = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with (
        source.open("rb", buffering=0) as origin,
        os.fdopen(os.open(target, copied, 0o600), "wb") as to,
    ):
        left = os.fstat(origin.fileno()).st_size
        move = _copy_range
        while left > 0:
            try:
                count = move(origin.fileno(), to.fileno(), min(left, COPY_CHUNK_BYTES))
            except OSError as error:
                # Between two filesystems, or on one that lacks the call, the older way still works.
                if move is _copy_range and error.errno in _NO_RANGES:
                    move = _send
                    continue
                raise
            if count == 0:
                raise SnapshotDamaged("a file became shorter while it was copied")
            left -= count
            on_bytes(count)
        os.fdatasync(to.fileno())


def _copy_range(origin: int, copy: int, count: int) -> int:
    return os.copy_file_range(origin, copy, count)


def _send(origin: int, copy: int, count: int) -> int:
    return os.sendfile(copy, origin, None, count)
