"""Which dataset: everything that decides what its files hold, the name made of it, and what a kept
one says of itself in `manifest.json`, which is written last and read first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contend.datasets.files import FileEntry, SnapshotDamaged
from contend.spec import DataSpec, Level, layout_options
from contend.units import format_count

CONTENT_VERSION = 2
"""Raised when the same inputs come to mean other files: other rows, another table definition.

2: the schema `sbtest` has no column that may be NULL, and MAX_ROWS for MyISAM.
"""


def key_inputs(
    data: DataSpec, *, kind: str, version: str, options: Mapping[str, Level]
) -> dict[str, Any]:
    """Everything that decides what the files of a dataset hold."""
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
        # Only those of the schema: the others' datasets keep the names they have.
        **data.own,
    }


def dataset_key(inputs: Mapping[str, Any]) -> str:
    """A name that people can read, and a digest of all inputs that makes it theirs alone."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    schema = str(inputs["schema"]).replace(":", "-")
    return f"{schema}-{inputs['engine'].lower()}-{format_count(inputs['rows'])}-{digest}"


MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as the server that loaded it saw it."""

    name: str
    engine: str
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One kept dataset.

    Args:
        key: the name it is kept under.
        inputs: everything that the key was made of.
        rows: rows of its tables, counted by the server.
        created_at: ISO 8601 in UTC.
        load_s: how long loading took.
        folders: every folder below the data folder, parents first.
        files: every file below the data folder.
        database: where the tables are; None for where contend makes its own.
        tables: those that were imported; none if they follow from the inputs.
    """

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
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(entry.size for entry in self.files)

    def write(self, folder: Path) -> None:
        document = {"version": MANIFEST_VERSION, **asdict(self)}
        text = json.dumps(document, indent=1) + "\n"
        (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a kept dataset.

        Raises:
            SnapshotDamaged: it is missing, of another version or not what `write` wrote.
        """
        path = folder / MANIFEST_NAME
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document.pop("version") != MANIFEST_VERSION:
                raise SnapshotDamaged(f"{path} is of another version of contend")
            files = tuple(FileEntry(**entry) for entry in document.pop("files"))
            folders = tuple(document.pop("folders"))
            tables = tuple(TableEntry(**entry) for entry in document.pop("tables", ()))
            _check_inside(path, (*folders, *(entry.path for entry in files)))
            return cls(files=files, folders=folders, tables=tables, **document)
        except FileNotFoundError:
            raise SnapshotDamaged(f"{path} is missing") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SnapshotDamaged(f"{path} cannot be read: {error}") from error


def _check_inside(path: Path, names: tuple[str, ...]) -> None:
    """A manifest that was tampered with must not make a restore write elsewhere."""
    for name in names:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise SnapshotDamaged(f"{path} names {name}, which is outside of its folder")
