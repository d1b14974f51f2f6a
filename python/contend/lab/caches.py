"""The caches of a server and of its host: filled, emptied, and what a record says of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from contend.errors import WorkError
from contend.host import page_cache
from contend.lab.control import Control
from contend.probes import Expected
from contend.settings.model import EVERY_CACHE
from contend.spec import DataSpec
from contend.units import format_size
from contend.warm import Table, Warmed, disturbs, read_files, read_rows, warmer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

DROPS_MAX = 5
"""Times that the page cache is asked to let go of a file; a page that is being written stays."""


class NotCold(WorkError):
    """Files could not be brought out of the page cache."""


class HasFiles(Protocol):
    """A server whose files can be reached."""

    @property
    def data_folder(self) -> Path: ...


class Caches:
    """What is known to be in the caches of a server since it was started."""

    def __init__(self) -> None:
        self._how: str | None = None
        self._warmed: Warmed | None = None
        self._files: bool | None = None

    def disturbed(self, engine: str, options: frozenset[str]) -> None:
        """These options were changed in place; `EVERY_CACHE` stands for all."""
        warmer = warmer_of(engine)
        if EVERY_CACHE in options or (warmer is not None and disturbs(warmer, options)):
            self._how = None

    def fill(
        self,
        how: str,
        control: Control,
        data: DataSpec,
        database: str,
        files: HasFiles | None,
    ) -> None:
        """Fill them unless they are: `index`, as the engine is warmed; `full`, with all of it."""
        if self._how == how:
            return
        warmer = warmer_of(data.engine)
        folder = files.data_folder if files is not None else None
        tables = [Table(database, name, folder) for name in data.table_names]
        if warmer is not None and tables:
            # Files that the memory could not hold are not read again and again.
            if folder is not None and self._files is not False:
                left_out = [table for table in tables if not warmer.warm_files(table)]
                self._files = not left_out
            self._warmed = warmer.warm(control.connection(), tables)
        if how == "full":
            read_rows(control.connection(), database)
            if folder is not None:
                self._files = read_files(folder / database)
        self._how = how

    def expected(self, engine: str) -> Expected:
        """What the run to come may count on."""
        warmer = warmer_of(engine)
        warm = self._how is not None and self._warmed is not None and self._warmed.cache
        counter = warmer.counter if warmer is not None and warm else None
        return Expected(counter, files_cached=bool(self._how and self._files))

    def record(self) -> dict[str, Any] | None:
        if self._how is None or self._warmed is None:
            return None
        return asdict(self._warmed) | {"files": self._files}


def drop_files(folder: Path) -> None:
    """Bring every file of a server that does not run out of the page cache, and see that it is.

    Raises:
        NotCold: some of it stays.
    """
    left = sum(_dropped(path) for path in _files(folder))
    if left:
        raise NotCold(
            f"{format_size(left)} of {folder} stay in the page cache, so the server would not "
            "start cold",
            hint="A file system in memory (tmpfs) cannot be cold: put the cache of contend on a "
            "disk with XDG_CACHE_HOME.",
        )


def _dropped(path: Path) -> int:
    """Bytes of the file that are in the page cache after it was asked to let go of them."""
    left = 0
    for _ in range(DROPS_MAX):
        left = page_cache.drop(path)
        if left == 0:
            break
    return left


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
