"""Which dataset: everything that decides what the files hold, and the name made of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from contend.spec import DataSpec, Level, layout_options
from contend.units import format_count

CONTENT_VERSION = 2
"""Raised when the same inputs come to mean other files: other rows, another table definition.

2: the schema `sbtest` has no column that may be NULL, and MAX_ROWS for MyISAM.
"""


def key_inputs(
    data: DataSpec, *, kind: str, version: str, options: Mapping[str, Level]
) -> dict[str, Any]:
    """Everything that decides what the files of a dataset hold."""
    return {
        "content_version": CONTENT_VERSION,
        "server_kind": kind,
        "server_version": version,
        "schema": data.schema,
        "engine": data.engine,
        "rows": data.rows,
        "seed": data.seed,
        "k": data.k,
        "table_options": data.table_options,
        "layout": layout_options(options),
        "tables": data.tables,
    }


def dataset_key(inputs: Mapping[str, Any]) -> str:
    """A name that people can read, and a digest of all inputs that makes it theirs alone."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{inputs['schema']}-{inputs['engine'].lower()}-{format_count(inputs['rows'])}-{digest}"
