"""Room on the disk, asked for before a load: for the server that loads, the kept dataset and the
copy that is measured."""

from __future__ import annotations

import shutil
from pathlib import Path

from contend.datasets.errors import DiskFull
from contend.units import format_size

ROOM_HINT = "Make room there, or point XDG_CACHE_HOME at a larger disk."


def require_room(folder: Path, needed: int, what: str) -> None:
    """Refuse a load that cannot fit."""
    free = shutil.disk_usage(_existing(folder)).free
    if free < needed:
        raise DiskFull(
            f"{what} need about {format_size(needed)} under {folder}, and "
            f"{format_size(free)} are free",
            hint=ROOM_HINT,
        )


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
