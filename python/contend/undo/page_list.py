"""The server's own list of pages, which is moved aside while another is in its place: under a name
that says whose it is."""

from __future__ import annotations

from pathlib import Path

from contend.undo.journal import Entry

FILE_NAME = "ib_buffer_pool"

ASIDE = f"{FILE_NAME}.before-contend"
"""The server's own list while ours is in its place."""

NONE_BEFORE = f"{FILE_NAME}.none-before-contend"
"""Stands for a list that was not there."""

PAGE_LIST = "page_list"
"""Its entry has `path`, the server's data folder; the names there say what is to be undone."""


def move_back(data_folder: Path) -> bool:
    """Put the server's own list back if it was moved aside; whether it was. Raises OSError."""
    own, kept = data_folder / FILE_NAME, data_folder / ASIDE
    nothing = data_folder / NONE_BEFORE
    if kept.exists():
        kept.replace(own)
        return True
    if nothing.exists():
        own.unlink(missing_ok=True)
        nothing.unlink()
        return True
    return False


def put_back(entry: Entry) -> str:
    move_back(Path(entry["path"]))
    return in_words(entry)


def in_words(entry: Entry) -> str:
    return f"{FILE_NAME} in {entry['path']}"
