"""Filling the caches before a measurement, one engine a file.

An engine is one file and one line in `WARMERS`.
"""

from contend.warm.model import Table, Warmed, Warmer
from contend.warm.registry import WARMERS, disturbs, warmer_of

__all__ = [
    "WARMERS",
    "Table",
    "Warmed",
    "Warmer",
    "disturbs",
    "read_files",
    "read_rows",
    "warmer_of",
]
