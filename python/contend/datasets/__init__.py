"""Datasets: schema, fill and snapshot, addressed by content.

key        which dataset: everything that decides what its files hold
cache      the kept ones: find, list, drop, restore
files      copying and checking files
workspace  a folder for one private server's data, removed with its owner
"""

from contend.datasets.cache import Dataset, drop, list_datasets, restore
from contend.datasets.errors import (
    DatasetInUse,
    EngineMissing,
    LoadingFailed,
    SnapshotDamaged,
    TableNotOurs,
    UnknownDataset,
)
from contend.datasets.key import dataset_key, key_inputs
from contend.datasets.workspace import workspace

TABLE = "sbtest"
"""The table of the schema `sbtest`, in the database of the schema's name."""

__all__ = [
    "TABLE",
    "Dataset",
    "DatasetInUse",
    "EngineMissing",
    "LoadingFailed",
    "SnapshotDamaged",
    "TableNotOurs",
    "UnknownDataset",
    "dataset_key",
    "drop",
    "key_inputs",
    "list_datasets",
    "restore",
    "workspace",
]
