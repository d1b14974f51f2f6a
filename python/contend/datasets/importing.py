"""Importing a dump: loaded by a private server, kept, and known by a name from then on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contend.datasets.build import Made, make
from contend.datasets.cache import Dataset, find, locked
from contend.datasets.contents import Contents, dump_options, files_bytes, load_dump
from contend.datasets.dump.load import Rules, refuse_cut_off
from contend.datasets.imports import (
    Import,
    ImportTaken,
    UnknownImport,
    find_import,
    keep_import,
)
from contend.datasets.loading import Tell
from contend.datasets.manifest import dataset_key
from contend.servers import PrivateServer, ServerBinary


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to.

    Args:
        what: the name, and what it stands for.
        dataset: as it is kept.
        contents: what was loaded; None if it was kept already.
    """

    what: Import
    dataset: Dataset
    contents: Contents | None


def import_dump(
    path: Path,
    rules: Rules,
    name: str,
    binary: ServerBinary,
    *,
    cache: Path,
    tell: Tell,
    replace: bool = False,
) -> Imported:
    """Load a dump and keep it as `import:NAME`, for this server; others load it when they need it.

    Args:
        path: the dump.
        rules: how it is read.
        name: what it is known by.
        binary: the server that loads it.
        cache: the user's.
        tell: is told of notices and of progress.
        replace: the name may stand for something else by now.

    Raises:
        ImportTaken: the name stands for something else.
        DumpRefused, DumpFailed, LoadingFailed, DiskFull: see `load_dump`.
    """
    path = path.absolute()
    size, modified_ns = files_bytes(path), path.stat().st_mtime_ns
    refuse_cut_off(path)
    with locked(
        cache,
        f"import-{name}",
        on_wait=lambda: tell.notice(f"waiting for another contend, which imports {name}"),
    ):
        before = None if replace else _before(cache, name)
        if before is not None:
            _require_same(before, path, rules)
            dataset = find(cache, dataset_key(before.inputs(binary, {})))
            if dataset is not None and (before.bytes, before.modified_ns) == (size, modified_ns):
                return Imported(before, dataset, None)
        loaded: list[tuple[Import, Contents]] = []

        def load(server: PrivateServer) -> Made:
            contents = load_dump(server, path, rules, name, tell)
            imported = Import(name, path, size, modified_ns, contents.digest, rules, contents.rows)
            if before is not None and before.digest != imported.digest:
                raise _taken(before, "its content has changed since")
            loaded.append((imported, contents))
            inputs = imported.inputs(binary, {})
            return Made(inputs, contents.rows, contents.database, contents.tables)

        options = dump_options(binary, path, rules, cache)
        no_layout: Mapping[str, str] = {}
        dataset = make(binary, no_layout, options, load, cache=cache, tell=tell)
        imported, contents = loaded[0]
        keep_import(cache, imported)
        return Imported(imported, dataset, contents)


def _before(cache: Path, name: str) -> Import | None:
    try:
        return find_import(cache, name)
    except UnknownImport:
        return None


def _require_same(before: Import, path: Path, rules: Rules) -> None:
    if before.file != path:
        raise _taken(before, f"which was made of {before.file}")
    if before.rules != rules:
        raise _taken(before, "which was read with other options")


def _taken(before: Import, why: str) -> ImportTaken:
    return ImportTaken(
        f"there is an import {before.name} already, {why}",
        hint="Give this one another --name, or put it in its place with --replace.",
    )
