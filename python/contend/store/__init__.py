"""Results: one SQLite file a run folder, versioned, append-only.

    with RunFolder.create(path, experiment_dict, planned, facts) as folder:
        folder.append(RunRecord(...))       # on disk when the call returns
    RunFolder.open(path).records()

A run folder holds `experiment.toml` (the frozen source), `spec.json`, `results.sqlite`, `logs/`,
`report.html` and `charts/`. No password is ever written in it.
"""

from contend.spec import Planned
from contend.store.errors import (
    DamagedStore,
    FolderExists,
    FolderLocked,
    NewerStore,
    NotARunFolder,
    StoreFailed,
)
from contend.store.folder import RunFolder
from contend.store.locate import find_run
from contend.store.model import Meta, RunRecord, Session
from contend.store.rescue import Rescued, rescue
from contend.store.schema import STORE_VERSION

__all__ = [
    "STORE_VERSION",
    "DamagedStore",
    "FolderExists",
    "FolderLocked",
    "Meta",
    "NewerStore",
    "NotARunFolder",
    "Planned",
    "Rescued",
    "RunFolder",
    "RunRecord",
    "Session",
    "StoreFailed",
    "find_run",
    "rescue",
]
