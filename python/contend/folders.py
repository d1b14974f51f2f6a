"""The user's folders: for data that can be made again, and for data that must be kept."""

from __future__ import annotations

import os
from pathlib import Path


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/contend`, or `~/.cache/contend`. A relative variable does not count."""
    return _folder("XDG_CACHE_HOME", ".cache")


def default_state() -> Path:
    """`$XDG_STATE_HOME/contend`, or `~/.local/state/contend`, likewise."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, usual: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / usual) / "contend"
