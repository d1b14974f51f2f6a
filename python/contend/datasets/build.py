"""Making a dataset: a private server loads it, stops cleanly, and leaves its data folder behind."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from contend.datasets.cache import (
    Dataset,
    datasets_root,
    find,
    locked,
    remove_tree,
    restore,
    workspace,
)
from contend.datasets.files import SnapshotDamaged
from contend.datasets.files import describe as describe_files
from contend.datasets.loading import (
    ROOM_HINT,
    DiskFull,
    FillProgress,
    LoadingFailed,
    Tell,
    describe,
    estimated_bytes,
    loading_options,
    require_engine,
    require_room,
)
from contend.datasets.manifest import Manifest, dataset_key, key_inputs
from contend.load import Address, FillProcess, LoadFailed
from contend.servers import PrivateServer, ServerBinary
from contend.spec import DataSpec, Level, layout_options

VOLATILE = ("ib_buffer_pool", "ibtmp1", "#innodb_temp", "aria_log_control.lock", "*.pid", "*.err")
"""What a server makes anew or would act on at its next start; a list of hot pages, say, would be
read in while we measure."""

DISK_FULL_CODES = frozenset({1021, 1114})
"""Error codes of servers and contend-load for a full disk."""


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """What a dataset is made of.

    Args:
        data: schema, engine, rows, seed.
        binary: the server program whose files they are.
        options: of the server under test; those that lay out files count.
    """

    data: DataSpec
    binary: ServerBinary
    options: Mapping[str, Level]

    @property
    def inputs(self) -> dict[str, object]:
        binary = self.binary
        return key_inputs(self.data, kind=binary.kind, version=binary.version, options=self.options)

    @property
    def key(self) -> str:
        return dataset_key(self.inputs)


def provide(
    source: DatasetSource, into: Path, *, cache: Path, program: Path, tell: Tell
) -> Dataset:
    """Make the folder `into` a copy of the dataset, which is loaded first if it is not kept.

    A kept dataset that turns out damaged is loaded again.
    """
    require_engine(source.binary, source.data.engine)
    key = source.key
    with locked(
        cache,
        key,
        on_wait=lambda: tell.notice(f"waiting for another contend, which uses dataset {key}"),
    ):
        dataset = find(cache, key)
        if dataset is not None:
            try:
                return _restored(dataset, into, tell)
            except SnapshotDamaged as damage:
                tell.notice(f"the kept dataset {key} is damaged, so it is loaded again: {damage}")
        remove_tree(datasets_root(cache) / key)
        return _restored(_build(source, cache=cache, program=program, tell=tell), into, tell)


def _restored(dataset: Dataset, into: Path, tell: Tell) -> Dataset:
    done = 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        tell.progress(f"restoring {dataset.key}", done, dataset.bytes, "bytes")

    restore(dataset, into, on_bytes)
    return dataset


def _build(source: DatasetSource, *, cache: Path, program: Path, tell: Tell) -> Dataset:
    """Load the dataset into a private server and keep its data folder."""
    require_room(cache, 2 * estimated_bytes(source.data), describe(source.data))
    with workspace(cache) as work:
        server = PrivateServer(source.binary, work / "server")
        try:
            tell.notice(f"making a data folder of {source.binary.name}")
            layout = layout_options(source.options)
            server.initialise(layout)
            server.start({**loading_options(source.binary.kind, source.data), **layout})
            started = time.monotonic()
            rows = _fill(source, server, program=program, tell=tell)
            server.stop()
            load_s = time.monotonic() - started
        except LoadFailed as error:
            raise _loading_failed(source, server, error) from error
        finally:
            server.kill()
        return _keep(source, server.data_folder, cache=cache, rows=rows, load_s=load_s)


def _fill(source: DatasetSource, server: PrivateServer, *, program: Path, tell: Tell) -> int:
    data = source.data
    filled = FillProcess(program).run(
        data,
        Address(socket=str(server.socket), user="root", database=data.database),
        pipe_folder=server.socket.parent,
        on_progress=FillProgress(tell, data),
    )
    for warning in filled.warnings:
        tell.notice(warning)
    return filled.rows


def _keep(
    source: DatasetSource, data_folder: Path, *, cache: Path, rows: int, load_s: float
) -> Dataset:
    """Move the data folder of the stopped server to its place, whole or not at all."""
    for pattern in VOLATILE:
        for path in data_folder.glob(pattern):
            remove_tree(path) if path.is_dir() else path.unlink()
    below = sorted(data_folder.rglob("*"))
    folders = tuple(str(p.relative_to(data_folder)) for p in below if p.is_dir())
    files = describe_files(
        data_folder, [str(p.relative_to(data_folder)) for p in below if p.is_file()]
    )
    root = datasets_root(cache)
    root.mkdir(parents=True, exist_ok=True)
    unfinished = data_folder.parent / "kept"
    unfinished.mkdir()
    data_folder.rename(unfinished / "data")
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(source.key, source.inputs, rows, created_at, load_s, folders, files)
    manifest.write(unfinished)
    unfinished.rename(root / source.key)
    return Dataset(root / source.key, manifest)


def _loading_failed(
    source: DatasetSource, server: PrivateServer, error: LoadFailed
) -> LoadingFailed | DiskFull:
    if error.code in DISK_FULL_CODES:
        return DiskFull(
            f"loading {describe(source.data)} needs more room: {error.message}", hint=ROOM_HINT
        )
    died = "" if server.running else ", because the server ended"
    return LoadingFailed(
        f"loading {describe(source.data)} failed{died}: {error.message}",
        hint=error.hint,
        detail="\n".join((error.detail or server.log()).splitlines()[-12:]) or None,
    )
