"""Datasets: schema, fill and snapshot, addressed by content. And dumps of other programs.

The room may import `experiment`, `host`, `servers` and `load`. Start in `build.py`. Then:

existing   loads a dataset into a server that is not contend's own
dump       reads dumps, statement by statement; imports: names one and keeps it
contents   puts the contents of a dump into a server
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
