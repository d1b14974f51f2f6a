"""The modules of `bench/`, which no package holds."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

BENCH = Path(__file__).resolve().parents[2] / "bench"


def bench_module(name: str) -> ModuleType:
    """`bench/NAME.py`, which imports its neighbours by their bare names."""
    # Behind everything else, so that no module of the tests is hidden by one of the same name.
    if str(BENCH) not in sys.path:
        sys.path.append(str(BENCH))
    return importlib.import_module(name)
