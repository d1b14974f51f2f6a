"""The servers' list of pages: what is written is read, what is malformed is refused by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.warm import page_list
from contend.warm.page_list import BadPageList

U32 = st.integers(min_value=0, max_value=2**32 - 1)
PAGES = st.lists(st.tuples(U32, U32), max_size=50).map(
    lambda pairs: np.array(pairs, dtype=np.uint32).reshape(-1, 2)
)


@given(PAGES)
def test_what_is_written_is_read(pages: page_list.Pages) -> None:
    assert np.array_equal(page_list.parse(page_list.text_of(pages), "list"), pages)


@given(PAGES, st.integers(min_value=0, max_value=100))
def test_runs_of_neighbours_are_the_same_pages(pages: page_list.Pages, more: int) -> None:
    neighbours = page_list.of_tablespace(3, np.arange(7, 7 + more, dtype=np.uint32))
    both = np.concatenate([pages, neighbours])
    runs = page_list.runs_of(both)
    assert np.array_equal(page_list.of_runs(runs), both)
    assert len(runs) <= len(pages) + (more > 0)


def test_the_text_is_that_of_the_servers() -> None:
    assert page_list.text_of(np.array([[5, 3], [0, 7]], np.uint32)) == b"5,3\n0,7\n"


@given(PAGES)
def test_carriage_returns_and_a_missing_last_end_of_line_are_no_error(
    pages: page_list.Pages,
) -> None:
    text = page_list.text_of(pages)
    for other in (text.replace(b"\n", b"\r\n"), text.removesuffix(b"\n"), text + b"\n"):
        assert np.array_equal(page_list.parse(other, "list"), pages)


@given(PAGES, st.integers(min_value=0, max_value=50), st.sampled_from(
    [b"nonsense", b"1", b"1,", b",2", b"1,2,3", b"-1,2", b"1;2", b"0x1,2", b" 1,2", b"1, 2",
     b"99999999999,1", b"\xff\x00"]
))  # fmt: skip
def test_a_malformed_line_is_named(pages: page_list.Pages, at: int, wrong: bytes) -> None:
    lines = page_list.text_of(pages).splitlines()
    at = min(at, len(lines))
    lines.insert(at, wrong)
    with pytest.raises(BadPageList, match=rf"list, line {at + 1}:"):
        page_list.parse(b"\n".join(lines) + b"\n", "list")


@pytest.mark.parametrize("line", [b"4294967296,1", b"1,4294967296"])
def test_a_number_of_more_than_32_bits_is_refused(line: bytes) -> None:
    with pytest.raises(BadPageList, match="line 2: 4294967296 is not a number of 32 bits"):
        page_list.parse(b"1,1\n" + line + b"\n", "list")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadPageList, match=r"none.* cannot be read: No such file"):
        page_list.read(tmp_path / "none")


def test_a_list_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "ib_buffer_pool"
    path.write_text("old")
    page_list.write(path, np.array([[1, 2]], np.uint32))
    assert path.read_text() == "1,2\n"
    assert list(tmp_path.iterdir()) == [path]
