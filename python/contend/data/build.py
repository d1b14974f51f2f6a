"""Makes a dataset. A private server loads it, or a script's own `prepare` does; the server stops
cleanly, and its data folder is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.data.cache import (
    Dataset,
    SnapshotDamaged,
    TableEntry,
    dataset_key,
    datasets_root,
    find,
    key_inputs,
    locked,
    remove_tree,
    restore,
    workspace,
)
from contend.data.cache import describe as describe_files
from contend.data.contents import dump_options, load_dump
from contend.data.dump import DumpRefused
from contend.data.dump.split import dump_files
from contend.data.loading import (
    DISK_FULL_CODES,
    ROOM_HINT,
    FillProgress,
    LoadingFailed,
    NoRoomForDataset,
    Tell,
    describe,
    estimated_bytes,
    loading_options,
    require_engine,
    require_room,
)
from contend.experiment import DataSpec, Level, layout_options
from contend.load import Address, FillProcess, LoadFailed
from contend.servers import PrivateServer, ServerBinary

if TYPE_CHECKING:
    from contend.data.imports import Import
from contend.data.contents import counted_tables
from contend.data.loading import (
    STOPS_CLEANLY,
    engine_options,
)
from contend.servers.client import LONG_S

VOLATILE = ("ib_buffer_pool", "ibtmp1", "#innodb_temp", "aria_log_control.lock", "*.pid", "*.err")
"""Files that a server rebuilds, or would act on at its next start. For example, a server reads the
pages of a buffer pool list during the measurement."""


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """The sources of a dataset.

    Args:
        options: options of the server under test; those that lay out files count.
        imported: the dump that the schema names; None if contend makes the rows.
    """

    data: DataSpec
    binary: ServerBinary
    options: Mapping[str, Level]
    imported: Import | None = None

    @property
    def inputs(self) -> dict[str, object]:
        binary = self.binary
        if self.imported is not None:
            return self.imported.inputs(binary, self.options)
        return key_inputs(self.data, kind=binary.kind, version=binary.version, options=self.options)

    @property
    def key(self) -> str:
        return dataset_key(self.inputs)


def provide(
    source: DatasetSource, into: Path, *, cache: Path, program: Path, tell: Tell
) -> Dataset:
    """Make the folder `into` a copy of the dataset, which is loaded first if it is not kept.

    A kept dataset that turns out to be damaged is loaded again.
    """
    if source.imported is None:
        require_engine(source.binary, source.data.engine)
    key = source.key
    with locked(
        cache,
        key,
        on_wait=lambda: tell.notice(
            f"waiting for another contend process, which uses dataset {key}"
        ),
    ):
        dataset = find(cache, key)
        if dataset is not None:
            try:
                return restored(dataset, into, tell)
            except SnapshotDamaged as damage:
                tell.notice(f"the kept dataset {key} is damaged, so it is loaded again: {damage}")
        remove_tree(datasets_root(cache) / key)
        return restored(_build(source, cache=cache, program=program, tell=tell), into, tell)


def restored(dataset: Dataset, into: Path, tell: Tell) -> Dataset:
    """Make the folder `into` a copy of the dataset, and return the dataset."""
    done = 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        tell.progress(f"restoring {dataset.key}", done, dataset.bytes, "bytes")

    restore(dataset, into, on_bytes)
    return dataset


def _build(source: DatasetSource, *, cache: Path, program: Path, tell: Tell) -> Dataset:
    """Load the dataset into a private server and keep its data folder."""
    binary = source.binary
    if source.imported is not None:
        return _build_again(source, source.imported, cache=cache, tell=tell)
    require_room(cache, 2 * estimated_bytes(source.data), describe(source.data))

    def load(server: PrivateServer) -> Made:
        try:
            return Made(source.inputs, _fill(source, server, program=program, tell=tell))
        except LoadFailed as error:
            raise _loading_failed(source, server, error) from error

    options = loading_options(binary.kind, source.data)
    return make(binary, source.options, options, load, cache=cache, tell=tell)


def _build_again(source: DatasetSource, imported: Import, *, cache: Path, tell: Tell) -> Dataset:
    """Load a dump that was imported before, for a different server or different options."""

    files = _require_dump(imported)

    def load(server: PrivateServer) -> Made:
        contents = load_dump(server, files, imported.rules, imported.name, tell)
        if contents.digest != imported.digest:
            raise LoadingFailed(
                f"{imported.file} has changed since it was imported as {imported.name}",
                hint=f"`contend data import {imported.file} --name {imported.name} --replace` "
                "imports the current content.",
            )
        return Made(source.inputs, contents.rows, contents.database, contents.tables)

    options = dump_options(source.binary, files, imported.rules, cache)
    return make(source.binary, source.options, options, load, cache=cache, tell=tell, confined=True)


def require_import(source: DatasetSource, cache: Path) -> None:
    """Check that a dump's dataset is kept, or that the dump can be loaded again.

    Raises:
        LoadingFailed: files of the dump are missing, or are not a dump's.
    """
    if source.imported is not None and find(cache, source.key) is None:
        _require_dump(source.imported)


def _require_dump(imported: Import) -> list[Path]:
    """The files of the dump."""
    try:
        return dump_files(imported.file)
    except DumpRefused as refused:
        raise LoadingFailed(
            f"import:{imported.name} must be loaded again for this server or these options: "
            f"{refused.message}",
            hint="Restore the file, or import it from its new place: "
            f"`contend data import FILE --name {imported.name} --replace`.",
        ) from refused


@dataclass(frozen=True, slots=True)
class Made:
    """The tables loaded into a server.

    Args:
        rows, database, tables: see `Dataset`.
    """

    inputs: Mapping[str, Any]
    rows: int
    database: str | None = None
    tables: tuple[TableEntry, ...] = ()


def make(
    binary: ServerBinary,
    under_test: Mapping[str, Level],
    options: Mapping[str, Level],
    load: Callable[[PrivateServer], Made],
    *,
    cache: Path,
    tell: Tell,
    confined: bool = False,
) -> Dataset:
    """Load data with a private server, and keep its data folder.

    Args:
        under_test: options of the server under test; those that lay out files count.
        confined: the data come from a stranger.
    """
    with workspace(cache) as work:
        server = PrivateServer(binary, work / "server")
        server.confined = confined
        try:
            tell.notice(f"making a data folder for {binary.name}")
            layout = layout_options(under_test)
            server.initialise(layout)
            server.start({**options, **layout})
            started = time.monotonic()
            made = load(server)
            server.stop()
            load_s = time.monotonic() - started
        finally:
            server.kill()
        return _keep(made, server.data_folder, cache=cache, load_s=load_s)


def _keep(made: Made, data_folder: Path, *, cache: Path, load_s: float) -> Dataset:
    """Move the data folder of the stopped server to its place, completely or not at all."""
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
    key = dataset_key(made.inputs)
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    loaded = (key, made.inputs, made.rows, created_at, load_s, folders, files)
    dataset = Dataset(unfinished, *loaded, made.database, made.tables)
    dataset.write()
    remove_tree(root / key)
    unfinished.rename(root / key)
    return replace(dataset, folder=root / key)


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


def _loading_failed(
    source: DatasetSource, server: PrivateServer, error: LoadFailed
) -> LoadingFailed | NoRoomForDataset:
    if error.code in DISK_FULL_CODES:
        return NoRoomForDataset(
            f"loading {describe(source.data)} needs more disk space: {error.message}",
            hint=ROOM_HINT,
        )
    died = "" if server.running else ", because the server ended"
    return LoadingFailed(
        f"loading {describe(source.data)} failed{died}: {error.message}",
        hint=error.hint,
        detail="\n".join((error.detail or server.log()).splitlines()[-12:]) or None,
    )


def provide_prepared(
    source: DatasetSource,
    prepare: Callable[[Address], None],
    into: Path,
    *,
    work: Path,
    tell: Tell,
) -> Dataset:
    """Make the folder `into` a copy of the data that `prepare` makes on a server with the options
    of the source. The copy is reused while the folder `work` exists.

    Raises:
        LoadingFailed: `prepare` failed, or made a table that ends with its server.
        NoRoomForDataset: there is no disk space for a copy.
    """
    data = source.data
    dataset = find(work, source.key)
    if dataset is not None:
        return restored(dataset, into, tell)

    def load(server: PrivateServer) -> Made:
        prepare(Address(socket=str(server.socket), user="root", database=data.database))
        with server.connect(read_timeout=LONG_S, write_timeout=LONG_S) as connection:
            tables = tuple(counted_tables(connection, data.database))
        for table in tables:
            if table.engine.upper() == "MEMORY":
                raise LoadingFailed(
                    f"the script's prepare made {table.name} with the engine MEMORY; its rows are "
                    "lost when the server starts for a run",
                    hint="Make it in the script's init(), which each run calls, or use a different "
                    "engine.",
                )
        rows = sum(table.rows for table in tables)
        return Made(source.inputs, rows, data.database, tables)

    tell.notice("the script makes its tables (prepare)")
    options = {**STOPS_CLEANLY, **engine_options(data.engine), **source.options}
    dataset = make(source.binary, source.options, options, load, cache=work, tell=tell)
    require_room(work, dataset.bytes, "the tables that the script made")
    return restored(dataset, into, tell)
