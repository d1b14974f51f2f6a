"""Room on the disk: asked for before a load, and watched while it runs.

A server whose disk is full does not fail: MyISAM waits for room for as long as it takes. So the
load is given up before the last bytes are gone.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from contend.datasets.errors import DiskFull
from contend.units import format_size

LEFT_BYTES_MIN = 8 * 1024 * 1024
"""With less than this free the load is given up: what follows could not even be logged."""

HINT = "Make room there, or point XDG_CACHE_HOME at a larger disk."


def require_room(folder: Path, needed: int, what: str) -> None:
    """Refuse a load that cannot fit."""
    free = shutil.disk_usage(_existing(folder)).free
    if free < needed:
        raise DiskFull(
            f"{what} need about {format_size(needed)} under {folder}, and "
            f"{format_size(free)} are free",
            hint=HINT,
        )


class SpaceWatch:
    """Called now and then while a load runs; raises DiskFull before the disk is."""

    def __init__(self, folder: Path, what: str) -> None:
        self._folder = folder
        self._what = what

    def __call__(self) -> None:
        if shutil.disk_usage(self._folder).free < LEFT_BYTES_MIN:
            raise DiskFull(
                f"the disk of {self._folder} ran full while {self._what} were loaded; what was "
                "loaded is removed",
                hint=HINT,
            )


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
