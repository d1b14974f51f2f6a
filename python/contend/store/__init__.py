"""Run folders: one SQLite file each, versioned, append-only.

    with RunFolder.create(path, experiment_dict, planned, facts) as folder:
        folder.append(RunRecord(...))       # on disk when the call returns
    RunFolder.open(path).records()

A run folder holds `experiment.toml` (the frozen source), `spec.json`, `results.sqlite`, `logs/`,
`report.html` and `charts/`. No password is ever written in it. The room may import `experiment`.
Start in `folder.py`.
"""

from contend.experiment import Planned
from contend.store.folder import RunFolder, find_run, rescue, runs_in
from contend.store.model import (
    DamagedStore,
    Ended,
    FolderExists,
    FolderLocked,
    LabSession,
    LookRecord,
    Meta,
    NotARunFolder,
    OtherFormat,
    RunRecord,
    StoreFailed,
)
from contend.store.schema import STORE_VERSION
