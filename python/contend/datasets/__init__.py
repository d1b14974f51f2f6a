"""Datasets: schema, fill and snapshot, addressed by content.

build      making one with a private server, or by a script's own prepare
existing   making one on a server that is not contend's own
dump       dumps of other programs, read statement by statement
contents   a dump in a server
imports    a dump imported, and known by a name
loading    what loading takes: engine, options, room, time
cache      which dataset, and the kept ones: find, list, drop, restore, copied and checked
conditions checks of a schema: what its tables hold whatever was done to them
"""

from contend.datasets.build import DatasetSource, provide, provide_prepared, require_import
from contend.datasets.cache import (
    CONTENT_VERSION,
    Dataset,
    computed,
    dataset_key,
    drop,
    key_inputs,
    list_datasets,
    restore,
    workspace,
)
from contend.datasets.dump import DumpFailed, DumpRefused
from contend.datasets.dump.load import Rules
from contend.datasets.existing import TablesSeen, drop_on, ensure_on, entrance, mark_changed
from contend.datasets.imports import Imported, find_import, import_dump
from contend.datasets.loading import (
    LoadingDeclined,
    LoadingFailed,
    NoRoomForDataset,
    engine_options,
    estimated_bytes,
    free_bytes,
)
