"""The waits for a server that writes or loads its list of pages, with a server made up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contend.servers.undo import Journal
from contend.warm import server_list
from contend.warm.server_list import FILE_NAME, NoList, ServerHost, load, of_tablespace, take, write

NEVER = "Loading of buffer pool not started"
BEGUN = "Loading buffer pool(s) from /data/ib_buffer_pool"
ABORTED = "Buffer pool(s) load aborted on request"
PAGES = of_tablespace(5, np.arange(100, dtype=np.uint32))


def completed(second: int) -> str:
    return f"Buffer pool(s) load completed at 261122  9:34:{second:02}"


class Server:
    """Returns one status per poll, the last for ever; records the changed variables."""

    def __init__(self, *statuses: str) -> None:
        last = itertools.repeat(statuses[-1])
        self.statuses: Iterator[str] = itertools.chain(statuses[:-1], last)
        self.set: list[tuple[str, str]] = []

    def status(self, _connection: Any, _name: str) -> str:
        return next(self.statuses)

    def trigger(self, _connection: Any, name: str, value: str = "ON") -> None:
        self.set.append((name.removeprefix("innodb_buffer_pool_"), value))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder, with a list of the server's own."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / FILE_NAME).write_text("1,1\n")
    return folder


def stands_for(patch: pytest.MonkeyPatch, server: Server) -> None:
    patch.setattr(server_list, "_status", server.status)
    patch.setattr(server_list, "_set", server.trigger)
    patch.setattr(server_list, "set_variable", lambda *_: None)
    patch.setattr(server_list.time, "sleep", lambda _seconds: None)


def loaded(
    patch: pytest.MonkeyPatch, data: Path, statuses: Iterable[str]
) -> tuple[Server, list[int]]:
    """Has it load a list; the server, and the reported progress in pages."""
    server, reported = Server(*statuses), list[int]()
    stands_for(patch, server)
    connection: Any = None
    with Journal.open(data.parent, "s") as journal:
        load(connection, ServerHost(data), journal, PAGES, lambda done, _all: reported.append(done))
    return server, reported


@pytest.mark.parametrize("before", ["", NEVER, ABORTED, completed(1)])
def test_a_load_is_waited_for_after_any_earlier_status(
    monkeypatch: pytest.MonkeyPatch, data: Path, before: str
) -> None:
    monkeypatch.setattr(server_list.time, "time", lambda: 2.0)
    statuses = [before, before, before, BEGUN, "Loaded 50/100 pages", completed(9)]
    server, reported = loaded(monkeypatch, data, statuses)
    assert reported == [50, 100]
    assert server.set == [("load_now", "ON")]
    assert (data / FILE_NAME).read_text() == "1,1\n"


def test_a_load_in_progress_is_awaited_first(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setattr(server_list.time, "time", lambda: 2.0)
    statuses = [BEGUN, "Loaded 7/9 pages", completed(1), completed(1), completed(2)]
    assert loaded(monkeypatch, data, statuses)[1] == [100]


def test_a_load_is_not_started_in_the_second_of_an_earlier_end(
    monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    times = iter([61.9, 61.95, 62.0])
    monkeypatch.setattr(server_list.time, "time", lambda: next(times))
    loaded(monkeypatch, data, [completed(1), completed(2)])
    assert next(times, None) is None


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ([NEVER], "did not load .*not started"),
        ([""], "did not load .*empty"),
        ([BEGUN], "did not start: .*/data/ib_buffer_pool"),
        ([NEVER, BEGUN, "Loaded 7/9 pages"], "did not load .*Loaded 7/9 pages"),
        ([NEVER, BEGUN, ABORTED], "does not load .*aborted on request"),
        ([ABORTED], "did not load .*aborted on request"),
    ],
)
def test_a_load_without_an_end_is_given_up_and_stopped(
    monkeypatch: pytest.MonkeyPatch, data: Path, statuses: list[str], message: str
) -> None:
    server = Server(*statuses)
    stands_for(monkeypatch, server)
    connection: Any = None
    with Journal.open(data.parent, "s") as journal, pytest.raises(NoList, match=message):
        load(connection, ServerHost(data), journal, PAGES)
    assert server.set in ([], [("load_now", "ON"), ("load_abort", "ON")])
    assert (data / FILE_NAME).read_text() == "1,1\n"


def test_a_list_that_does_not_grow_is_given_up_and_one_that_grows_is_not(
    monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    stands_for(monkeypatch, Server("Dumping of buffer pool not started"))
    connection: Any = None
    grown = itertools.chain(range(1, 2 * server_list._POLLS), itertools.repeat(0))
    looks = itertools.count(1)
    monkeypatch.setattr(server_list, "_size", lambda _file: next(looks) and next(grown))
    with (
        Journal.open(data.parent, "s") as journal,
        pytest.raises(NoList, match="did not write its list"),
    ):
        take(connection, ServerHost(data), journal)
    assert next(looks) > 3 * server_list._POLLS
    assert (data / FILE_NAME).read_text() == "1,1\n"


def test_a_list_that_is_being_written_when_it_is_interrupted_does_not_stay(
    monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    stands_for(monkeypatch, Server(""))
    looks = itertools.count()

    def sleep(_seconds: float) -> None:
        look = next(looks)
        if look == 3:
            raise KeyboardInterrupt
        if look == 6:
            (data / FILE_NAME).write_text("5,5\n")

    monkeypatch.setattr(server_list.time, "sleep", sleep)
    connection: Any = None
    with Journal.open(data.parent, "s") as journal, pytest.raises(KeyboardInterrupt):
        take(connection, ServerHost(data), journal)
    assert next(looks) > 6
    assert (data / FILE_NAME).read_text() == "1,1\n"


def test_a_list_is_written_whole_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text("old")
    pages = np.array([[5, 3], [0, 2**32 - 1]], np.uint32)
    write(path, pages)
    assert path.read_text() == "5,3\n0,4294967295\n"
    assert list(tmp_path.iterdir()) == [path]
    # MariaDB ends its list with a blank line.
    for text in (path.read_bytes(), path.read_bytes() + b" \n"):
        assert np.array_equal(server_list._parsed(text), pages)
    assert server_list._parsed(b"").shape == (0, 2)
    for wrong in (b"nonsense\n", b"1,2,3\n", b"1,-2\n", b"4294967296,1\n"):
        with pytest.raises(NoList, match="is not `space,page`"):
            server_list._parsed(wrong)
