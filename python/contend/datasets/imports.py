"""Imports by name: which dump `import:NAME` stands for, and how it is read.

    imports/<name>.json    under the user's cache

The dump itself stays where it is. It is read again when another server, or other options that lay
out files, need a dataset of it that is not kept yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contend.datasets.dump.load import Rules
from contend.errors import RequestError, did_you_mean
from contend.servers import ServerBinary
from contend.settings.schemas import IMPORT_PREFIX, imported_name
from contend.spec import Experiment, Level, cell_specs, layout_options

IMPORT_VERSION = 1
"""Raised when the same dump comes to mean other files."""

AS_DUMPED = "as-dumped"
"""In place of an engine: each table has the one that the dump gives it."""


class UnknownImport(RequestError):
    """Nothing was imported under that name."""


class ImportTaken(RequestError):
    """The name stands for another dump, or for one that was read otherwise."""


@dataclass(frozen=True, slots=True)
class Import:
    """What a name stands for.

    Args:
        name: as in `import:NAME`.
        file: the dump, by its absolute path.
        bytes: of the file and of those that it names, as they are on the disk.
        modified_ns: when the file was changed last.
        digest: SHA-256 over the names and contents of all of them.
        rules: how it is read.
        rows: of all tables.
    """

    name: str
    file: Path
    bytes: int
    modified_ns: int
    digest: str
    rules: Rules
    rows: int

    def inputs(self, binary: ServerBinary, options: Mapping[str, Level]) -> dict[str, Any]:
        """Everything that decides what the files of a dataset made of it hold."""
        return {
            "import_version": IMPORT_VERSION,
            "server_kind": binary.kind,
            "server_version": binary.version,
            "schema": f"{IMPORT_PREFIX}{self.name}",
            "engine": self.rules.engine or AS_DUMPED,
            "rows": self.rows,
            "digest": self.digest,
            "database": self.rules.database,
            "allow": sorted(self.rules.allow),
            "skip": sorted(self.rules.skip),
            "layout": layout_options(options),
        }


def find_import(cache: Path, name: str) -> Import:
    """What was imported under the name.

    Raises:
        UnknownImport: nothing was.
    """
    try:
        stored = json.loads(_path(cache, name).read_text(encoding="utf-8"))
        rules = stored.pop("rules")
        allow, skip = frozenset(rules.pop("allow")), frozenset(rules.pop("skip"))
        read = Rules(**rules, allow=allow, skip=skip)
        return Import(**{**stored, "file": Path(stored["file"])}, rules=read)
    except FileNotFoundError:
        known = sorted(path.stem for path in _folder(cache).glob("*.json"))
        raise UnknownImport(
            f'nothing was imported as "{name}"',
            hint=did_you_mean(name, known) or "`contend data import FILE` imports a dump.",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UnknownImport(
            f"what was imported as {name} cannot be read: {error}",
            hint=f"`contend data import FILE --name {name} --replace` imports it anew.",
        ) from None


def keep_import(cache: Path, imported: Import) -> None:
    """Have the name stand for this from now on."""
    _folder(cache).mkdir(parents=True, exist_ok=True)
    rules = {
        **asdict(imported.rules),
        "allow": sorted(imported.rules.allow),
        "skip": sorted(imported.rules.skip),
    }
    document = {**asdict(imported), "file": str(imported.file), "rules": rules}
    unfinished = _folder(cache) / f"{imported.name}.new"
    unfinished.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    unfinished.rename(_path(cache, imported.name))


def require_imports(cache: Path, experiment: Experiment) -> None:
    """Refuse an experiment whose imports are not there.

    Raises:
        UnknownImport: nothing was imported under a name.
    """
    for schema in dict.fromkeys(str(cell["data.schema"]) for cell in cell_specs(experiment)):
        name = imported_name(schema)
        if name is not None:
            find_import(cache, name)


def _folder(cache: Path) -> Path:
    return cache / "imports"


def _path(cache: Path, name: str) -> Path:
    return _folder(cache) / f"{name}.json"
