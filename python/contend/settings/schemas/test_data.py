"""The table of the study of warming."""

from __future__ import annotations

from contend.settings.schemas.model import Schema, of_data
from contend.settings.values import Key, WholeNumber

SCHEMA = Schema(
    "test_data",
    database="test_data",
    tables=("test_data",),
    more=("rows",),
    own=(
        of_data(
            Key(
                "string_length",
                WholeNumber(10, 74),
                36,
                "of test_data: characters of each string; the study does not say",
            )
        ),
    ),
    supplied=("rows", "string_length"),
    row_bytes=190,
    kind="string_lookup",
)
