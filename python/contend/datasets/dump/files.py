"""One file of a dump: unpacked while it is read, and what was read of it counted and hashed."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

from contend.datasets.dump import DumpRefused

OnBytes = Callable[[int], None]
"""Called with the number of bytes of the file read since the last call."""


class Readable(Protocol):
    """What a dump is read from."""

    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


_UNPACK: tuple[tuple[bytes, Callable[[Any], Readable]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
_ZSTD = b"\x28\xb5\x2f\xfd"
_NOT_TEXT = {
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"PGDMP": "a dump of PostgreSQL",
    b"SQLite format 3": "a database of SQLite",
    b"PK\x03\x04": "a zip archive",
    _ZSTD: "packed with zstd",
}
_HINTS = {
    "text in UTF-16": "Convert it: `iconv -f UTF-16 -t UTF-8`.",
    "a zip archive": "Unpack it first.",
    "packed with zstd": "Unpack it first: `zstd -d FILE`.",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Counted(io.RawIOBase):
    """The file as it is on the disk; what is read of it is hashed and counted."""

    def __init__(self, path: Path, on_bytes: OnBytes) -> None:
        self._file = path.open("rb", buffering=0)
        self._on_bytes = on_bytes
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self.digest.update(memoryview(buffer)[:count])
        self._on_bytes(count)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class DumpFile:
    """A file of a dump, read once from its beginning to its end. A context manager.

    Args:
        path: plain, or packed with gzip, bzip2 or xz, whatever its name ends in.
        on_bytes: is told of each read.

    Raises:
        DumpRefused: it cannot be read, or is no dump.
    """

    def __init__(self, path: Path, on_bytes: OnBytes = lambda _count: None) -> None:
        self.path = path
        try:
            self._raw = _Counted(path, on_bytes)
            buffered = io.BufferedReader(self._raw, 1 << 20)
            head = buffered.peek(32)
        except OSError as error:
            raise _unreadable(path, error) from None
        for magic, what in _NOT_TEXT.items():
            if head.startswith(magic):
                self._raw.close()
                raise DumpRefused(f"{path} is {what}, not a dump in SQL", hint=_HINTS.get(what))
        unpack = next((unpack for magic, unpack in _UNPACK if head.startswith(magic)), None)
        self.packed = unpack is not None
        self._file: Readable = buffered if unpack is None else unpack(buffered)
        self._begun = False

    def read(self, size: int) -> bytes:
        """Up to `size` bytes of the dump; none at its end.

        Raises:
            DumpRefused: the file cannot be read, or its archive is damaged or cut off.
        """
        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise DumpRefused(
                f"{self.path} is cut off or damaged: {error}",
                hint="Copy it again from where it was made, or make it again.",
            ) from None
        except OSError as error:
            raise _unreadable(self.path, error) from None
        if not self._begun:
            self._begun = True
            data = data.removeprefix(_BYTE_ORDER_MARK)
        return data

    @property
    def sha256(self) -> str:
        """Of the file as it is on the disk, as far as it was read."""
        return self._raw.digest.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()


def _unreadable(path: Path, error: OSError) -> DumpRefused:
    if isinstance(error, FileNotFoundError):
        return DumpRefused(f"there is no file {path}")
    if isinstance(error, IsADirectoryError):
        return DumpRefused(f"{path} is a folder, not a dump")
    return DumpRefused(f"{path} cannot be read: {error.strerror or error}")
