"""Importing a dump: a private server loads it, contend keeps it and gives it a name.

    imports/<name>.json    under the user's cache: the dump named `import:NAME`, and how it is read

The dump itself is not moved. It is read again when a different server, or different options that
lay out files, need a dataset of it that is not kept yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contend.data.build import Made, make
from contend.data.cache import Dataset, dataset_key, find, locked
from contend.data.contents import Contents, dump_options, files_bytes, load_dump
from contend.data.dump.load import Rules
from contend.data.dump.split import dump_files
from contend.data.loading import Tell
from contend.errors import RequestError, did_you_mean
from contend.experiment import Level, layout_options
from contend.experiment.settings.schemas import IMPORT_PREFIX
from contend.files import replace_file
from contend.servers import PrivateServer, ServerBinary

IMPORT_VERSION = 3
"""Raised when the same dump comes to mean different files."""

AS_DUMPED = "as-dumped"
"""In place of an engine: each table keeps its engine from the dump."""


class UnknownImport(RequestError):
    """Nothing was imported under that name."""


class ImportTaken(RequestError):
    """The name belongs to a different dump, or to one read with different rules."""


@dataclass(frozen=True, slots=True)
class Import:
    """The import that a name refers to.

    Args:
        name: as in `import:NAME`.
        file: the absolute path of the dump.
        bytes: size on the disk of the file and of those that it names.
        modified_ns: when the file was changed last.
        digest: SHA-256 over the names and contents of all of them.
    """

    name: str
    file: Path
    bytes: int
    modified_ns: int
    digest: str
    rules: Rules
    rows: int

    def inputs(self, binary: ServerBinary, options: Mapping[str, Level]) -> dict[str, Any]:
        """Everything that decides the content of its datasets' files."""
        return {
            "import_version": IMPORT_VERSION,
            "server_kind": binary.kind,
            "server_version": binary.version,
            "schema": f"{IMPORT_PREFIX}{self.name}",
            "engine": self.rules.engine or AS_DUMPED,
            "rows": self.rows,
            "digest": self.digest,
            "database": self.rules.database,
            "skip_refused": self.rules.skip_refused,
            "layout": layout_options(options),
        }


def find_import(cache: Path, name: str) -> Import:
    """The import of that name.

    Raises:
        UnknownImport: nothing was imported under it.
    """
    try:
        stored = json.loads(_path(cache, name).read_text(encoding="utf-8"))
        rules = Rules(**stored.pop("rules"))
        return Import(**{**stored, "file": Path(stored["file"])}, rules=rules)
    except FileNotFoundError:
        known = sorted(path.stem for path in _folder(cache).glob("*.json"))
        raise UnknownImport(
            f'there is no import "{name}"',
            hint=did_you_mean(name, known) or "`contend data import FILE` imports a dump.",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UnknownImport(
            f"the import {name} cannot be read: {error}",
            hint=f"`contend data import FILE --name {name} --replace` imports it again.",
        ) from None


def keep_import(cache: Path, imported: Import) -> None:
    """Make the name refer to this import."""
    _folder(cache).mkdir(parents=True, exist_ok=True)
    document = {**asdict(imported), "file": str(imported.file)}
    replace_file(_path(cache, imported.name), json.dumps(document, indent=1) + "\n")


def _folder(cache: Path) -> Path:
    return cache / "imports"


def _path(cache: Path, name: str) -> Path:
    return _folder(cache) / f"{name}.json"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Args:
        contents: of the loaded dump; None if it was kept already.
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
    """Load a dump and keep it as `import:NAME`, for this server; other servers load it when needed.

    Args:
        replace: the name may belong to a different dump.

    Raises:
        ImportTaken: the name belongs to a different dump.
        DumpRefused, DumpFailed, LoadingFailed, DiskFull: see `load_dump`.
    """
    path = path.absolute()
    files = dump_files(path)
    size, modified_ns = files_bytes(files), path.stat().st_mtime_ns
    with locked(
        cache,
        f"import-{name}",
        on_wait=lambda: tell.notice(f"waiting for another contend process, which imports {name}"),
    ):
        before = None if replace else _before(cache, name)
        if before is not None:
            _require_same(before, path, rules)
            dataset = find(cache, dataset_key(before.inputs(binary, {})))
            if dataset is not None and (before.bytes, before.modified_ns) == (size, modified_ns):
                return Imported(before, dataset, None)
        loaded: list[tuple[Import, Contents]] = []

        def load(server: PrivateServer) -> Made:
            contents = load_dump(server, files, rules, name, tell)
            imported = Import(name, path, size, modified_ns, contents.digest, rules, contents.rows)
            if before is not None and before.digest != imported.digest:
                raise _taken(before, "the dump has changed since")
            loaded.append((imported, contents))
            inputs = imported.inputs(binary, {})
            return Made(inputs, contents.rows, contents.database, contents.tables)

        options = dump_options(binary, files, rules, cache)
        no_layout: Mapping[str, str] = {}
        dataset = make(binary, no_layout, options, load, cache=cache, tell=tell, confined=True)
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
        raise _taken(before, f"it was made from {before.file}")
    if before.rules != rules:
        raise _taken(before, "it was made with different options")


def _taken(before: Import, why: str) -> ImportTaken:
    return ImportTaken(
        f"the import {before.name} already exists: {why}",
        hint="Use a different --name, or replace it with --replace.",
    )
