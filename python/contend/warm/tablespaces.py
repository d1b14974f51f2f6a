"""The tablespaces, tables and indexes of an InnoDB server, and the index of each page.

The first comes from its information schema, which needs the privilege PROCESS and reads no page of
the buffer pool. The second is read from the tablespace's own file:

A tablespace is divided into extents (1 MiB of pages, for pages of 16 KiB or less). An index has two
segments: one for its leaf pages (and values too long for a row), one for the others. A segment owns
single pages first, up to half an extent, which its inode lists; then whole extents. An entry per
extent contains its owner and its free pages. One page at the start of each stretch of page-size
pages holds these entries. So a few pages show the index of every page; of the index itself, only
the root is read.

The layout is that of MariaDB 10.1 to 11 and MySQL 5.7 to 9. Compressed tables
(ROW_FORMAT=COMPRESSED), tables with page compression and encrypted ones are refused. Changes that
the server has not written to its file yet are not seen.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pymysql
from numpy.typing import NDArray
from pymysql.connections import Connection

from contend.errors import WorkError
from contend.servers.client import SYSTEM_DATABASES, fetch
from contend.servers.kinds import KINDS

Numbers = NDArray[np.uint32]

_ACCESS_DENIED = (1044, 1045, 1227)
CLUSTERED_WITHOUT_KEY = "GEN_CLUST_INDEX"
"""The index that holds the rows of a table without a primary key."""

_HEX = re.compile("@([0-9a-f]{4})")
_PARTITION = re.compile(r"#[pP]#")


class NoCatalogue(WorkError):
    """The server does not list its tablespaces."""


@dataclass(frozen=True, slots=True)
class TablespaceIndex:
    """An index of a table, or of one of its partitions.

    Args:
        id: the server's number for it, which is also in its pages.
        name: as in `SHOW CREATE TABLE`; `PRIMARY` or `CLUSTERED_WITHOUT_KEY` holds the rows.
        table: `database.table`, decoded.
        root: the number of its root page.
    """

    id: int
    name: str
    table: str
    space: int
    root: int


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tablespaces of a server, including those of its own tables.

    Args:
        indexes: by space id.
        files: space id → its file, absolute or relative to the server's data folder.
        without_indexes: space id → table, for tables whose indexes the server does not list: MySQL
            lists none of partitions.
    """

    indexes: Mapping[int, list[TablespaceIndex]]
    files: Mapping[int, str]
    without_indexes: Mapping[int, str] = field(default_factory=dict)


def is_system(table: str) -> bool:
    """Whether a `database.table` is the server's own."""
    return table.partition(".")[0] in SYSTEM_DATABASES


def read_catalogue(connection: Connection[Any], kind: str) -> Catalogue:
    """Query a server's tablespaces.

    Args:
        connection: its user needs the privilege PROCESS.
        kind: `mariadb` or `mysql`.

    Raises:
        NoCatalogue: the server does not list them.
    """
    prefix = KINDS[kind].innodb_tables
    rows = _query(
        connection,
        "SELECT t.NAME, i.INDEX_ID, i.NAME, t.SPACE, i.PAGE_NO"
        f" FROM information_schema.{prefix}TABLES t"
        f" LEFT JOIN information_schema.{prefix}INDEXES i ON t.TABLE_ID = i.TABLE_ID"
        " ORDER BY t.NAME, i.INDEX_ID",
    )
    plain = plain_names(connection, {str(row[0]) for row in rows})
    indexes: dict[int, list[TablespaceIndex]] = {}
    without: dict[int, str] = {}
    for name, number, index, space, root in rows:
        table = plain.get(str(name))
        if table is None:
            continue
        if number is None:
            without[int(space)] = table
        elif _has_tree(root):
            found = TablespaceIndex(int(number), str(index), table, int(space), int(root))
            indexes.setdefault(found.space, []).append(found)
    files = _query(connection, KINDS[kind].tablespace_files)
    named = {int(row[3]): f"./{row[0]}.ibd" for row in rows if int(row[3]) != 0}
    paths = {int(space): _text(path) for space, path in files if path}
    return Catalogue(indexes, named | paths, without)


def _has_tree(root: int | None) -> bool:
    """A full-text index does not have its own tree; the server keeps tables for it. MariaDB reports
    its root page as NULL, other servers as 0 or the maximum number."""
    return root is not None and 0 < int(root) < 2**32 - 1


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def plain_names(connection: Connection[Any], names: Iterable[str]) -> dict[str, str]:
    """InnoDB's names of tables (`db/t@002dx#P#p0`) → `db.t-x`, without the partition.

    Names without a database (the server's own dictionary) are left out.
    """
    found = {}
    for name in names:
        database, slash, table = name.partition("/")
        if slash:
            parts = (database, _PARTITION.split(table, maxsplit=1)[0])
            found[name] = ".".join(_decoded(connection, part) for part in parts)
    return found


def _decoded(connection: Connection[Any], text: str) -> str:
    """Convert a file name to a table name: `@` and four hexadecimal digits encode a letter. Some
    accented letters have different codes, which only MariaDB can decode; on MySQL such a name stays
    encoded."""
    plain = _HEX.sub(lambda match: chr(int(match[1], 16)), text)
    if "@" not in _HEX.sub("", text):
        return plain
    try:
        with connection.cursor() as cursor:
            # The name comes from the server and contains no quote: quotes are encoded too.
            cursor.execute("SELECT CONVERT(_filename'" + text.replace("'", "") + "' USING utf8mb4)")
            row = cursor.fetchone()
    except pymysql.err.MySQLError:
        return text
    return str(row[0]) if row else text


def _query(connection: Connection[Any], statement: str) -> list[tuple[Any, ...]]:
    try:
        return fetch(connection, statement)
    except pymysql.err.MySQLError as error:
        if error.args[0] in _ACCESS_DENIED:
            raise NoCatalogue(
                "this user may not see InnoDB's tablespaces: it lacks the privilege PROCESS",
                hint="Use GRANT PROCESS ON *.* for this user, or log in as one that has it.",
            ) from error
        raise NoCatalogue(f"the server does not list its tablespaces: {error.args[-1]}") from error


_HEADER = 38  # bytes, in every page
_SPACE_ID = _HEADER
_SIZE, _FLAGS = _HEADER + 8, _HEADER + 16
_ENTRIES = 150  # offset of the extent entries, in a page that has them
_ENTRY_STATE, _ENTRY_BITS = 20, 24
_OWNED = (4, 5)  # states: owned by a segment; by a segment that shares its single pages (MySQL)
_INDEX_ID, _LEAF, _UPPER = 66, 74, 84  # offsets in an index page, the last two in its root
_INODE_MAGIC = 97937874
_NO_PAGE = 0xFFFFFFFF
_CRYPT_MAGIC = b"s\x0e\x0cREt"

_TYPE = 24
_CHANGED_TYPES = {14: "page compression", 15: "encryption", 16: "page compression and encryption"}

_NAMED_SIZES = {0: 16384, 3: 4096, 4: 8192, 6: 32768, 7: 65536}


class NotReadable(WorkError):
    """A tablespace whose file cannot be read as InnoDB's plain format."""


def format_of(flags: int) -> tuple[int, str | None]:
    """From a tablespace's flags: bytes of a page in memory and in the file; and the
    reason if the owners of its pages cannot be read."""
    if flags & 1 << 4:  # MariaDB's full_crc32
        return 512 << (flags & 15), "page compression" if flags >> 5 & 7 else None
    size = _NAMED_SIZES.get(flags >> 6 & 15, 512 << (flags >> 6 & 15))
    if flags >> 1 & 15:
        return size, "ROW_FORMAT=COMPRESSED"
    if flags & 1 << 13:
        return size, "encryption"
    return size, "page compression" if flags & 1 << 16 else None


class Tablespace:
    """The file of a tablespace, read while the server may run. Use it in `with`.

    Raises:
        NotReadable: the file does not exist, may not be read, or its format is not plain.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise NotReadable(f"{path} cannot be read: {error.strerror}") from error
        try:
            # Reads here must not bring neighbouring pages into the page cache.
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_RANDOM)
            first = self._bytes(0, 1024)
            self.space, self.pages = _u32(first, _SPACE_ID), _u32(first, _SIZE)
            self.page_bytes, why_not = format_of(_u32(first, _FLAGS))
            self.extent_pages = max(64, (1 << 20) // self.page_bytes)
            self._refuse(why_not)
        except BaseException:
            os.close(self._file)
            raise

    def _refuse(self, why_not: str | None) -> None:
        if not any(self._bytes(0, self.page_bytes)):
            why_not = "no content yet: the server writes it later"
        elif not self.pages or self.page_bytes not in _NAMED_SIZES.values():
            why_not = "a header that is not InnoDB's"
        why_not = why_not or self._encryption()
        if why_not is not None:
            raise NotReadable(f"{self.path} has {why_not}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def of_indexes(self, roots: Mapping[int, int]) -> dict[int, Numbers]:
        """The pages of each index, in the order of the file.

        Args:
            roots: index id → number of its root page.

        Raises:
            NotReadable: a root page belongs to a different index, or a segment is invalid: the file
                is encrypted, or not written yet.
        """
        owners, free = self._extents()
        found = {}
        for index, root in roots.items():
            page = self._page(root)
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
        slots = self.extent_pages // 2
        if offset + 64 + 4 * slots > len(page) or _u32(page, offset + 60) != _INODE_MAGIC:
            raise NotReadable(f"page {number} of {self.path} has no segment at {offset}")
        (segment,) = struct.unpack_from(">Q", page, offset)
        single = np.frombuffer(page, ">u4", slots, offset + 64)
        single = single[single != _NO_PAGE].astype(np.uint32)
        extents = np.flatnonzero(owners == segment)
        numbers = extents[:, None] * self.extent_pages + np.arange(self.extent_pages)
        whole = numbers[~free[extents]].astype(np.uint32)
        return np.concatenate([single, whole])

    def _extents(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The segment of each extent (0: none), and for each of its pages whether it is free."""
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
            # An entry that was never written describes an extent without used pages.
            free[first : first + here] = (bits[:, ::2] == 1) | (state == 0)[:, None]
        return owners, free[:, : self.extent_pages]

    def _encryption(self) -> str | None:
        """MariaDB stores it after the extent entries of the first page, not in the flags."""
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
        # MySQL marks compression on each page, but not in the file's flags.
        why_not = _CHANGED_TYPES.get(struct.unpack_from(">H", page, _TYPE)[0])
        if why_not is not None:
            raise NotReadable(f"{self.path} has {why_not}")
        return page

    def _bytes(self, at: int, length: int) -> bytes:
        try:
            return os.pread(self._file, length, at)
        except OSError as error:
            raise NotReadable(f"{self.path} cannot be read: {error.strerror}") from error


def _u32(data: bytes, at: int) -> int:
    return int(struct.unpack_from(">I", data, at)[0]) if len(data) >= at + 4 else 0
