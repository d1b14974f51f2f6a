"""A Python that a test starts finds what the test itself imports."""

from __future__ import annotations

import os
import sys


def import_path() -> dict[str, str]:
    """What its environment needs for that."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
