"""The list of pages in a buffer pool as the servers write it: `ib_buffer_pool`.

One line a page, `space,page`, both as decimal numbers: the id of the tablespace and the number of
the page in it. The first lines are those that were used last. The same of MariaDB and of MySQL.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contend.errors import RequestError

Pages = NDArray[np.uint32]
"""Pages in the order of their list, shape (n, 2): the id of the tablespace, the page's number."""

_LARGEST = 2**32 - 1
_WHOLE = re.compile(rb"(?:[0-9]{1,10},[0-9]{1,10}\n)*")


class BadPageList(RequestError):
    """A file that is not a list of pages."""


def read(path: Path) -> Pages:
    """The pages of a file.

    Raises:
        BadPageList: it cannot be read, or a line of it is not `space,page`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadPageList(f"{path} cannot be read: {error.strerror}.") from error
    return parse(data, str(path))


def parse(data: bytes, name: str) -> Pages:
    """The pages of a list; `name` is what errors call it.

    Raises:
        BadPageList: a line is not `space,page`.
    """
    text = data.replace(b"\r\n", b"\n")
    if text and not text.endswith(b"\n"):
        text += b"\n"
    # The server skips a blank at the end of its list.
    text = text.rstrip(b"\n ") + b"\n" if text.strip() else b""
    matched = _WHOLE.match(text)
    end = matched.end() if matched else 0
    if end < len(text):
        raise _bad_line(text, end, name)
    numbers = np.array(text.replace(b"\n", b",").split(b",")[:-1], dtype=np.uint64)
    over = np.flatnonzero(numbers > _LARGEST)
    if len(over):
        line = int(over[0]) // 2 + 1
        raise BadPageList(f"{name}, line {line}: {numbers[over[0]]} is not a number of 32 bits.")
    return numbers.astype(np.uint32).reshape(-1, 2)


def _bad_line(text: bytes, at: int, name: str) -> BadPageList:
    number = text.count(b"\n", 0, at) + 1
    start = text.rfind(b"\n", 0, at) + 1
    line = text[start : text.find(b"\n", start)][:40].decode("utf-8", "backslashreplace")
    return BadPageList(
        f"{name}, line {number}: {line!r} is not `space,page`, such as 12,345.",
        hint="A list of pages is the file ib_buffer_pool of a server's data folder, or what "
        "`contend warm --save` wrote.",
    )


def text_of(pages: Pages) -> bytes:
    """A list as the servers write and read it."""
    return "".join(f"{space},{page}\n" for space, page in pages.tolist()).encode()


def write(path: Path, pages: Pages, *, like: Path | None = None) -> None:
    """Write a list. The file is whole or not there.

    Args:
        like: a file or folder whose owner and group the list gets if we may give it away, so that
            the server can read it.
    """
    temporary = path.with_name(f"{path.name}.writing")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text_of(pages))
            if like is not None and os.geteuid() == 0:
                owner = like.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def of_tablespace(space: int, numbers: NDArray[np.uint32]) -> Pages:
    """Pages of one tablespace."""
    spaces = np.full(len(numbers), space, dtype=np.uint32)
    return np.column_stack([spaces, numbers])


def runs_of(pages: Pages) -> list[list[int]]:
    """Pages as runs of neighbours, `[space, first, count]`, in their order."""
    if not len(pages):
        return []
    ordered = pages.astype(np.int64)
    breaks = np.flatnonzero((np.diff(ordered[:, 0]) != 0) | (np.diff(ordered[:, 1]) != 1)) + 1
    starts = np.concatenate([[0], breaks])
    counts = np.diff(np.concatenate([starts, [len(pages)]]))
    return np.column_stack([ordered[starts], counts]).tolist()  # type: ignore[no-any-return]


def of_runs(runs: list[list[int]]) -> Pages:
    """The pages of runs."""
    parts = [
        of_tablespace(space, np.arange(first, first + count).astype(np.uint32))
        for space, first, count in runs
    ]
    return np.concatenate([np.empty((0, 2), np.uint32), *parts])
