"""The index of each page of a tablespace: tablespaces written here, page by page."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend.warm.tablespaces import NotReadable, Tablespace, format_of

PAGE, EXTENT = 16384, 64
NOBODY = 0xFFFFFFFF
FULL_CRC32 = 1 << 4 | 5  # MariaDB's, 16 KiB
INODES, ROOT = 2, 3
FIRST_INODE, INODE = 50, 192


class Space:
    """A tablespace of some extents, in which the first pages are the server's own records."""

    def __init__(self, extents: int = 3, flags: int = FULL_CRC32, space: int = 9) -> None:
        self.pages = extents * EXTENT
        self.data = bytearray(self.pages * PAGE)
        self.put(0, 38, ">I", space)
        self.put(0, 46, ">I", self.pages)
        self.put(0, 54, ">I", flags)
        self.inodes = 0
        self.owner = [0] * extents
        self.free = [False] * 4 + [True] * (self.pages - 4)

    def put(self, page: int, at: int, form: str, *values: int) -> None:
        struct.pack_into(form, self.data, page * PAGE + at, *values)

    def segment(self, number: int, single: list[int], extents: dict[int, list[int]]) -> int:
        """Write a segment's inode; return its offset in the page."""
        at = FIRST_INODE + self.inodes * INODE
        self.inodes += 1
        self.put(INODES, at, ">Q", number)
        self.put(INODES, at + 60, ">I", 97937874)
        self.put(INODES, at + 64, ">32I", *single, *[NOBODY] * (32 - len(single)))
        for page in single:
            self.free[page] = False
        for extent, pages in extents.items():
            self.owner[extent] = number
            for page in pages:
                self.free[extent * EXTENT + page] = False
        return at

    def index(self, number: int, root: int, leaf: int, upper: int) -> None:
        self.put(root, 66, ">Q", number)
        self.put(root, 74, ">IIH", 9, INODES, leaf)
        self.put(root, 84, ">IIH", 9, INODES, upper)

    def write(self, path: Path) -> Path:
        for extent, owner in enumerate(self.owner):
            at = 150 + extent * 40
            self.put(0, at, ">Q", owner)
            self.put(0, at + 20, ">I", 4 if owner else 2)
            bits = sum(1 << 2 * page for page in range(EXTENT) if self.free[extent * EXTENT + page])
            self.data[at + 24 : at + 40] = bits.to_bytes(16, "little")
        path.write_bytes(self.data)
        return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    leaf=st.sets(st.integers(4, 63), max_size=31),
    upper=st.sets(st.integers(4, 63), max_size=31),
    second=st.sets(st.integers(0, 63)),
    third=st.sets(st.integers(0, 63)),
)
def test_every_page_goes_to_the_segment_that_owns_it(
    tmp_path: Path, leaf: set[int], upper: set[int], second: set[int], third: set[int]
) -> None:
    upper -= leaf
    space = Space()
    one = space.segment(1, sorted(leaf), {1: sorted(second)})
    two = space.segment(2, [ROOT, *sorted(upper)], {2: sorted(third)})
    space.index(77, ROOT, one, two)
    with Tablespace(space.write(tmp_path / "t.ibd")) as file:
        assert (file.space, file.page_bytes, file.pages) == (9, PAGE, 192)
        found = file.of_indexes({77: ROOT})[77].tolist()
    expected = {ROOT, *leaf, *upper, *(64 + page for page in second), *(128 + p for p in third)}
    assert found == sorted(expected)


def test_a_root_page_of_a_different_index_is_refused(tmp_path: Path) -> None:
    space = Space()
    at = space.segment(1, [ROOT], {})
    space.index(77, ROOT, at, at)
    path = space.write(tmp_path / "t.ibd")
    with Tablespace(path) as file, pytest.raises(NotReadable, match="not the root of index 78"):
        file.of_indexes({78: ROOT})


def test_an_invalid_segment_is_refused(tmp_path: Path) -> None:
    space = Space()
    space.index(77, ROOT, FIRST_INODE, FIRST_INODE)
    path = space.write(tmp_path / "t.ibd")
    with Tablespace(path) as file, pytest.raises(NotReadable, match="has no segment at 50"):
        file.of_indexes({77: ROOT})


@pytest.mark.parametrize(
    ("flags", "page_bytes", "why_not"),
    [
        (0, 16384, None),
        (0x21, 16384, None),
        (3 << 6 | 0x21, 4096, None),
        (7 << 6, 65536, None),
        (FULL_CRC32, 16384, None),
        (1 << 4 | 3, 4096, None),
        (1 << 4 | 5 | 1 << 5, 16384, "page compression"),
        (4 << 1 | 0x21, 16384, "ROW_FORMAT=COMPRESSED"),
        (1 << 13 | 0x21, 16384, "encryption"),
        (1 << 16 | 0x21, 16384, "page compression"),
    ],
)
def test_flags_give_the_format(flags: int, page_bytes: int, why_not: str | None) -> None:
    assert format_of(flags) == (page_bytes, why_not)


def test_an_encrypted_file_of_mariadb_is_refused(tmp_path: Path) -> None:
    space = Space()
    path = space.write(tmp_path / "t.ibd")
    data = bytearray(path.read_bytes())
    # As MariaDB 10.11 wrote it.
    facts = bytes.fromhex("730e0c5245740110a8b267015b759829c7feb50f7f13c04d000000010000000101")
    data[10428 : 10428 + len(facts)] = facts
    path.write_bytes(data)
    with pytest.raises(NotReadable, match="has encryption"):
        Tablespace(path)


def test_a_page_that_mysql_compressed_is_not_taken_for_a_root(tmp_path: Path) -> None:
    space = Space()
    path = space.write(tmp_path / "t.ibd")
    data = bytearray(path.read_bytes())
    data[3 * 16384 + 24 : 3 * 16384 + 26] = b"\0\x0e"
    path.write_bytes(data)
    with Tablespace(path) as file, pytest.raises(NotReadable, match="has page compression"):
        file.of_indexes({7: 3})


def test_a_file_that_is_not_a_tablespace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.ibd"
    for data in (b"", b"nonsense", bytes(100_000), np.arange(100_000, dtype=np.uint8).tobytes()):
        path.write_bytes(data)
        with pytest.raises(NotReadable):
            Tablespace(path)
    with pytest.raises(NotReadable, match="No such file"):
        Tablespace(tmp_path / "none.ibd")
