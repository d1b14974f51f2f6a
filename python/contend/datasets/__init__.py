"""Datasets: schema, fill and snapshot, addressed by content.

key        which dataset: everything that decides what its files hold
cache      the kept ones: find, list, drop, restore
files      copying and checking files
workspace  a folder for one private server's data, removed with its owner
"""

from contend.datasets.build import DatasetSource, provide
from contend.datasets.cache import Dataset, drop, list_datasets, restore
from contend.datasets.errors import (
    DatasetInUse,
    DiskFull,
    EngineMissing,
    LoadingDeclined,
    LoadingFailed,
    SnapshotDamaged,
    UnknownDataset,
)
from contend.datasets.existing import drop_on, ensure_on, entrance, mark_changed
from contend.datasets.key import CONTENT_VERSION, dataset_key, key_inputs
from contend.datasets.loading import engine_options, estimated_bytes
from contend.datasets.workspace import workspace

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
    "estimated_bytes",
    "ensure_on",
    "entrance",
    "key_inputs",
    "list_datasets",
    "mark_changed",
    "provide",
    "restore",
    "workspace",
]
