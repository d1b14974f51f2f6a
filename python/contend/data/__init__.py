"""Datasets: schema, fill and snapshot, addressed by content.

build      make a dataset with a private server, or with a script's own prepare
existing   make one on a server that is not contend's own
dump       read dumps of other programs, statement by statement
contents   the contents of a dump in a server
imports    import a dump and give it a name
loading    requirements of loading: engine, options, disk space, time
cache      kept datasets: find, list, drop, restore, copy and check
conditions checks of a schema: conditions that its tables always meet
"""

from contend.data.build import DatasetSource, provide, provide_prepared, require_import
from contend.data.cache import (
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
from contend.data.dump import DumpFailed, DumpRefused
from contend.data.dump.load import Rules
from contend.data.existing import TablesSeen, drop_on, ensure_on, entrance, mark_changed
from contend.data.imports import Imported, find_import, import_dump
from contend.data.loading import (
    LoadingDeclined,
    LoadingFailed,
    NoRoomForDataset,
    engine_options,
    estimated_bytes,
    free_bytes,
)
