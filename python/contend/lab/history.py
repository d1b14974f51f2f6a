"""What the runs of this host said, one line each in a file of the user's.

Lines are only appended, each in one piece and under a lock, and are on the disk before the next
command begins. A line that is damaged, because the machine went down in the middle of it, is left
out, and so is one of a later contend.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contend.folders import default_state
from contend.lab.events import Listener, Notice
from contend.locks import locked
from contend.probed import EarlierSession

FORMAT = 1

Key = Mapping[str, Any]
"""What sessions must have in common to be held against one another; JSON values."""


def default_history() -> Path:
    """`$XDG_STATE_HOME/contend/sessions.jsonl`, or below `~/.local/state`."""
    return default_state() / "sessions.jsonl"


def note(path: Path, key: Key, said: EarlierSession) -> None:
    """Append what a session said; raises OSError, and then no part of it counts."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps({"format": FORMAT, "key": key, "said": said}, allow_nan=False) + "\n"
    with locked(path, on_wait=lambda: None) as file:
        size = os.lseek(file, 0, os.SEEK_END)
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        # What a broken-off line left must not take this one with it.
        data = (("\n" if torn else "") + line).encode()
        if os.write(file, data) != len(data):
            raise OSError("the disk is full")
        os.fsync(file)


def earlier(path: Path, key: Key, listen: Listener) -> list[EarlierSession]:
    """What sessions with this key said, the oldest first. What cannot be read is told, and left
    out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        listen(Notice(f"what earlier sessions said is not known: {path}: {error.strerror}"))
        return []
    found, left_out = [], 0
    for line in lines:
        try:
            one = json.loads(line)
            if one["format"] != FORMAT or not _is_whole(one["said"]):
                raise ValueError("it is not one of these")
            if one["key"] == key:
                found.append(one["said"])
        except (ValueError, KeyError, TypeError):
            left_out += 1
    if left_out:
        lines_are = "line is" if left_out == 1 else "lines are"
        listen(Notice(f"{left_out} {lines_are} left out of {path}: damaged, or of another contend"))
    return found


def _is_whole(said: Any) -> bool:
    numbers = ("log_ratio", "se", "df")
    return isinstance(said["ended_at"], str) and all(
        isinstance(one["metric"], str)
        and isinstance(one["level"], bool | int | float | str)
        and all(isinstance(one[name], int | float) for name in numbers)
        for one in said["wholes"]
    )
