"""What can go wrong with a run folder.

RequestError ├─ NotARunFolder   nothing there that contend wrote
             ├─ FolderExists    asked to create what is there already
             ├─ FolderLocked    another lab works in it
             └─ NewerStore      written by a newer contend
WorkError    ├─ DamagedStore    results.sqlite cannot be read whole
             └─ StoreFailed     a write did not reach the disk; what was stored stays
"""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class NotARunFolder(RequestError):
    """The path is no run folder."""


class FolderExists(RequestError):
    """The folder to create has something in it already."""


class FolderLocked(RequestError):
    """Another process writes to the run folder."""


class NewerStore(RequestError):
    """The run folder has a newer format than this contend knows."""


class DamagedStore(WorkError):
    """results.sqlite is damaged: some or all of it cannot be read."""


class StoreFailed(WorkError):
    """A run could not be stored. Everything stored before it is safe."""
