"""Which pages of an InnoDB tablespace belong to which index, read off the tablespace's own books.

A tablespace is divided into extents (1 MiB of pages, for pages of 16 KiB or less), and an index has
two segments: one for its leaf pages (and what is too long for a row), one for the others. A
segment owns up to half an extent's number of single pages, listed in its inode, and then whole
extents. Each extent has an entry with its owner and which of its pages are free, in a page at the
beginning of each stretch of page-size pages. So a few pages say of all pages which index they
belong to; none of the pages of the index but its root is read.

The layout is that of MariaDB 10.1 to 11 and MySQL 5.7 to 9. Sources: InnoDB's documents of its
file format, and files of the servers. Compressed tables (ROW_FORMAT=COMPRESSED), those with page
compression and encrypted ones are refused. What the server has not written to its file
yet is not in it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from contend.errors import WorkError

Numbers = NDArray[np.uint32]

_HEADER = 38  # of every page
_SPACE_ID = _HEADER
_SIZE, _FLAGS = _HEADER + 8, _HEADER + 16
_ENTRIES = 150  # extent entries, in a page that has them
_ENTRY_STATE, _ENTRY_BITS = 20, 24
_OWNED = (4, 5)  # states: by a segment; by a segment that shares its single pages (MySQL)
_INDEX_ID, _LEAF, _UPPER = 66, 74, 84  # of an index page, the last two of its root
_INODE_MAGIC = 97937874
_NOBODY = 0xFFFFFFFF
_CRYPT_MAGIC = b"s\x0e\x0cREt"

_TYPE = 24
_CHANGED_TYPES = {14: "page compression", 15: "encryption", 16: "page compression and encryption"}

_NAMED_SIZES = {0: 16384, 3: 4096, 4: 8192, 6: 32768, 7: 65536}


class NotReadable(WorkError):
    """A tablespace whose file cannot be read as InnoDB's plain format."""


@dataclass(frozen=True, slots=True)
class Format:
    """What the flags of a tablespace say.

    Args:
        page_bytes: of a page, in memory and in the file.
        why_not: why its pages cannot be told apart; None if they can.
    """

    page_bytes: int
    why_not: str | None


def format_of(flags: int) -> Format:
    """The format of a tablespace by its flags."""
    if flags & 1 << 4:  # MariaDB's full_crc32
        size = 512 << (flags & 15)
        return Format(size, "page compression" if flags >> 5 & 7 else None)
    size = _NAMED_SIZES.get(flags >> 6 & 15, 512 << (flags >> 6 & 15))
    if flags >> 1 & 15:
        return Format(size, "ROW_FORMAT=COMPRESSED")
    if flags & 1 << 13:
        return Format(size, "encryption")
    return Format(size, "page compression" if flags & 1 << 16 else None)


class Tablespace:
    """The file of a tablespace, read while the server may run. Close it, or use it in `with`.

    Raises:
        NotReadable: there is no such file, we may not read it, or its format is not plain.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise NotReadable(f"{path} cannot be read: {error.strerror}") from error
        try:
            # What is read here is not to bring its neighbours into the page cache.
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_RANDOM)
            first = self._bytes(0, 1024)
            self.space, self.pages = _u32(first, _SPACE_ID), _u32(first, _SIZE)
            form = format_of(_u32(first, _FLAGS))
            self.page_bytes = form.page_bytes
            self.extent_pages = max(64, (1 << 20) // self.page_bytes)
            self._refuse(form.why_not)
        except BaseException:
            self.close()
            raise

    def _refuse(self, why_not: str | None) -> None:
        if not any(self._bytes(0, self.page_bytes)):
            why_not = "nothing in it yet: the server writes it later"
        elif not self.pages or self.page_bytes not in _NAMED_SIZES.values():
            why_not = "a header that is not InnoDB's"
        why_not = why_not or self._encryption()
        if why_not is not None:
            raise NotReadable(f"{self.path} has {why_not}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._file)

    def used(self) -> Numbers:
        """All pages that are in use, in the order of the file."""
        _, free = self._extents()
        return np.flatnonzero(~free.reshape(-1)[: self.pages]).astype(np.uint32)

    def of_indexes(self, roots: Mapping[int, int]) -> dict[int, Numbers]:
        """The pages of each index, in the order of the file.

        Args:
            roots: index id → number of its root page.

        Raises:
            NotReadable: a root page is not of that index, or a segment is not a segment: the file
                is encrypted, or not written yet.
        """
        owners, free = self._extents()
        found = {}
        for index, root in roots.items():
            page = self._page(root)
            self._refuse_page(page)
            if struct.unpack_from(">Q", page, _INDEX_ID)[0] != index:
                raise NotReadable(f"page {root} of {self.path} is not the root of index {index}")
            parts = [self._segment(page, at, owners, free) for at in (_LEAF, _UPPER)]
            found[index] = np.unique(np.concatenate(parts))
        return found

    def _segment(
        self, root: bytes, at: int, owners: NDArray[np.uint64], free: NDArray[np.bool_]
    ) -> Numbers:
        """The pages of one of the two segments that a root page names."""
        _space, number, offset = struct.unpack_from(">IIH", root, at)
        page = self._page(number)
        self._refuse_page(page)
        slots = self.extent_pages // 2
        if offset + 64 + 4 * slots > len(page) or _u32(page, offset + 60) != _INODE_MAGIC:
            raise NotReadable(f"page {number} of {self.path} has no segment at {offset}")
        (segment,) = struct.unpack_from(">Q", page, offset)
        single = np.frombuffer(page, ">u4", slots, offset + 64)
        single = single[single != _NOBODY].astype(np.uint32)
        extents = np.flatnonzero(owners == segment)
        numbers = extents[:, None] * self.extent_pages + np.arange(self.extent_pages)
        whole = numbers[~free[extents]].astype(np.uint32)
        return np.concatenate([single, whole])

    def _refuse_page(self, page: bytes) -> None:
        """MySQL says of each page that it is compressed, and of the file nothing."""
        why_not = _CHANGED_TYPES.get(struct.unpack_from(">H", page, _TYPE)[0])
        if why_not is not None:
            raise NotReadable(f"{self.path} has {why_not}")

    def _extents(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Of each extent its segment (0: none), and of each page of it whether it is free."""
        count = -(-self.pages // self.extent_pages)
        entry = _ENTRY_BITS + -(-2 * self.extent_pages // 8)
        in_a_page = self.page_bytes // self.extent_pages
        owners = np.zeros(count, np.uint64)
        free = np.ones((count, self.extent_pages), np.bool_)
        for first in range(0, count, in_a_page):
            here = min(in_a_page, count - first)
            page = self._page(first * self.extent_pages)
            entries = np.frombuffer(page, np.uint8, here * entry, _ENTRIES).reshape(here, entry)
            segment = np.ascontiguousarray(entries[:, :8]).view(">u8").reshape(-1)
            words = np.ascontiguousarray(entries[:, _ENTRY_STATE:_ENTRY_BITS])
            state = words.view(">u4").reshape(-1)
            owners[first : first + here] = np.where(np.isin(state, _OWNED), segment, 0)
            bits = np.unpackbits(entries[:, _ENTRY_BITS:], axis=1, bitorder="little")
            # An entry that was never written describes an extent of which no page is used.
            free[first : first + here] = (bits[:, ::2] == 1) | (state == 0)[:, None]
        return owners, free[:, : self.extent_pages]

    def _encryption(self) -> str | None:
        """MariaDB says it behind the extent entries of the first page, not in the flags."""
        entry = _ENTRY_BITS + -(-2 * self.extent_pages // 8)
        at = _HEADER + _ENTRIES + self.page_bytes // self.extent_pages * entry
        found = self._bytes(at, 32)
        if not found.startswith(_CRYPT_MAGIC):
            return None
        length = found[7] if len(found) > 7 else 0
        versions = found[8 + length : 12 + length]
        return "encryption" if any(versions) else None

    def _page(self, number: int) -> bytes:
        page = self._bytes(number * self.page_bytes, self.page_bytes)
        if len(page) < self.page_bytes:
            raise NotReadable(f"{self.path} ends before its page {number}")
        return page

    def _bytes(self, at: int, length: int) -> bytes:
        try:
            return os.pread(self._file, length, at)
        except OSError as error:
            raise NotReadable(f"{self.path} cannot be read: {error.strerror}") from error


def _u32(data: bytes, at: int) -> int:
    return int(struct.unpack_from(">I", data, at)[0]) if len(data) >= at + 4 else 0
