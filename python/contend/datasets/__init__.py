"""Datasets: schema, fill and snapshot, addressed by content.

manifest   which dataset: everything that decides what its files hold
build      making one with a private server
existing   making one on a server that is not contend's own
loading    what loading takes: engine, options, room, time
cache      the kept ones: find, list, drop, restore; folders for private servers' data
files      copying and checking files
"""

from contend.datasets.build import DatasetSource, provide
from contend.datasets.cache import (
    Dataset,
    DatasetInUse,
    UnknownDataset,
    drop,
    list_datasets,
    restore,
    workspace,
)
from contend.datasets.existing import drop_on, ensure_on, entrance, mark_changed
from contend.datasets.files import SnapshotDamaged
from contend.datasets.loading import (
    DiskFull,
    EngineMissing,
    LoadingDeclined,
    LoadingFailed,
    engine_options,
    estimated_bytes,
)
from contend.datasets.manifest import CONTENT_VERSION, dataset_key, key_inputs

__all__ = [
    "CONTENT_VERSION",
    "Dataset",
    "DatasetInUse",
    "DatasetSource",
    "DiskFull",
    "EngineMissing",
    "LoadingDeclined",
    "LoadingFailed",
    "SnapshotDamaged",
    "UnknownDataset",
    "dataset_key",
    "drop",
    "drop_on",
    "engine_options",
    "ensure_on",
    "entrance",
    "estimated_bytes",
    "key_inputs",
    "list_datasets",
    "mark_changed",
    "provide",
    "restore",
    "workspace",
]
