"""What is put back, as what it was; what could not be stays and is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_variables import FakeVariables
from hypothesis import given
from hypothesis import strategies as st

from contend.servers.errors import ConnectionLost, OptionRejected
from contend.servers.undo import (
    Journal,
    JournalBroken,
    NotAgreed,
    NotPutBack,
    drop_what_is_back,
    in_words,
    put_back,
    statement_entry,
)
from contend.servers.undo import variables as undo_variables
from contend.servers.undo.back import ASIDE, FILE_NAME, NONE_BEFORE, PAGE_LIST
from contend.servers.undo.variables import change, shown
from contend.servers.variables import Read

SERVER = "mysql://root@db1:3306/"
THERE: dict[str, Read] = {
    "fraction": 90.0,
    "whole": 1000,
    "switch": 1,
    "words": "ROW",
    "digits": "007",
    "nothing": None,
}
OTHERS: dict[str, str | int | float | bool] = {
    "fraction": 80,
    "whole": "2M",
    "switch": False,
    "words": "MIXED",
    "digits": "'a' \\ b",
    "nothing": "something",
}


@pytest.fixture
def server() -> FakeVariables:
    return FakeVariables(THERE)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path, SERVER) as journal:
        yield journal


def said(journal: Journal, server: FakeVariables, **more: object) -> list[str]:
    told: list[str] = []
    put_back(journal, server, tell=told.append, **more)  # type: ignore[arg-type]
    return told


def test_each_goes_back_as_what_it_was_the_latest_first(
    journal: Journal, server: FakeVariables
) -> None:
    with server.connect() as connection:
        for name, value in OTHERS.items():
            change(connection, journal, name, value)
    assert all(server.there[name] != THERE[name] for name in THERE)
    assert said(journal, server) == [
        *("nothing = NULL", "digits = 007", "words = ROW", "switch = 1", "whole = 1000"),
        "fraction = 90",
    ]
    assert server.there == THERE
    assert {type(v) for v in server.there.values()} == {type(v) for v in THERE.values()}
    assert journal.undo == []
    assert not journal.path.exists()


@given(
    before=st.one_of(
        st.integers(0, 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    other=st.one_of(st.integers(0, 2**64 - 1), st.floats(0, 1e6), st.text()),
)
def test_any_value_goes_back_with_its_type(
    tmp_path_factory: pytest.TempPathFactory, before: Read, other: Read
) -> None:
    server = FakeVariables({"a": before})
    folder = tmp_path_factory.mktemp("journal")
    with Journal.open(folder, SERVER) as journal:
        journal.note("variable", name="a", before=before, ours=[other])
    server.there["a"] = other if type(other) is type(before) else before
    with Journal.open(folder, SERVER) as journal:
        put_back(journal, server)
        assert journal.undo == []
    assert repr(server.there["a"]) == repr(before) or server.there["a"] == before
    assert type(server.there["a"]) is type(before)


def test_a_crash_between_note_and_change_leaves_nothing_to_do(
    journal: Journal, server: FakeVariables
) -> None:
    journal.note("variable", name="fraction", before=90.0, ours=[80])
    drop_what_is_back(journal, server)
    assert journal.undo == []
    journal.note("variable", name="fraction", before=90.0, ours=[80])
    assert said(journal, server) == ["fraction = 90"]
    assert server.changes == []


def test_the_note_is_on_the_disk_when_the_server_is_asked(
    tmp_path: Path, journal: Journal, server: FakeVariables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a crash at the statement would leave it."""
    found: list[str] = []

    def crash(_connection: object, _name: object, _value: object) -> None:
        found.append(journal.path.read_text())
        raise ConnectionLost("it broke off", "SET")

    monkeypatch.setattr(undo_variables, "set_one", crash)
    with pytest.raises(ConnectionLost), server.connect() as connection:
        change(connection, journal, "fraction", 80)
    assert '"before": 90.0, "ours": [80]' in found[0]
    # It may have been done: nobody knows.
    assert [in_words(entry) for entry in journal.undo] == ["fraction (was 90)"]


def test_what_the_server_refuses_to_change_is_not_noted(
    journal: Journal, server: FakeVariables
) -> None:
    server.there["thread_stack"] = 299008
    with server.connect() as connection:
        for name in ("thread_stack", "no_such"):
            with pytest.raises(OptionRejected):
                change(connection, journal, name, 1)
    assert journal.undo == []


def test_a_second_change_of_the_same_is_undone_by_one_putting_back(
    journal: Journal, server: FakeVariables
) -> None:
    server.cuts["whole=100"] = 64
    with server.connect() as connection:
        entry, _ = change(connection, journal, "whole", "2M")
        entry, cut = change(connection, journal, "whole", 100, entry)
    assert cut is not None and (cut.requested, cut.effective) == ("100", "64")
    assert entry["ours"] == ["2M", 100, 64]
    assert said(journal, server) == ["whole = 1000"]


def test_what_the_server_changes_with_it_goes_back_after_it(
    journal: Journal, server: FakeVariables
) -> None:
    server.there |= {"bound": 2000, "gtid_slave_pos": "0-1-1"}
    server.drags["whole=3000"] = {"bound": 6000, "gtid_slave_pos": "0-1-2"}
    server.drags["whole=4000"] = {"bound": 8000}
    with server.connect() as connection:
        change(connection, journal, "words", "MIXED")
        entry, _ = change(connection, journal, "whole", 3000)
        change(connection, journal, "whole", 4000, entry)
    assert [in_words(one) for one in journal.undo] == [
        *("words (was ROW)", "bound (was 2000)", "whole (was 1000)")
    ]
    assert journal.undo[1]["ours"] == ["6000", "8000"]
    assert said(journal, server) == ["whole = 1000", "bound = 2000", "words = ROW"]
    assert server.there["bound"] == 2000


def test_what_the_server_alone_can_change_back_is_let_go(
    journal: Journal, server: FakeVariables
) -> None:
    server.there["thread_stack"] = 1
    server.drags["whole=3000"] = {"thread_stack": 2}
    with server.connect() as connection:
        change(connection, journal, "whole", 3000)
    assert said(journal, server)[0] == "whole = 1000"
    assert journal.undo == []


def test_one_that_goes_back_only_after_another_is_tried_again(
    journal: Journal, server: FakeVariables
) -> None:
    with server.connect() as connection:
        change(connection, journal, "whole", 5)
        change(connection, journal, "fraction", 80)
    # As of an upper bound that must not be below the lower one.
    server.while_there["fraction=90.0"] = ("whole", 5)
    assert said(journal, server) == ["whole = 1000", "fraction = 90"]
    assert server.there == THERE


def test_everything_is_tried_and_what_is_refused_stays_and_is_named(
    journal: Journal, server: FakeVariables
) -> None:
    with server.connect() as connection:
        for name in ("fraction", "whole", "words"):
            change(connection, journal, name, OTHERS[name])
    server.refuses = {"SET GLOBAL whole"}
    with pytest.raises(NotPutBack) as refused:
        said(journal, server)
    assert refused.value.exit_code == 1
    detail = str(refused.value.detail)
    assert detail.startswith("whole (was 1000): ") and "(error 1227). no such right" in detail
    assert f"contend restore {SERVER} --journal {journal.path.parent}" in (refused.value.hint or "")
    assert (server.there["fraction"], server.there["words"]) == (90.0, "ROW")
    server.refuses = set()
    assert said(journal, server) == ["whole = 1000"]


def test_a_full_disk_stops_no_putting_back(
    journal: Journal, server: FakeVariables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with server.connect() as connection:
        change(connection, journal, "whole", 5)
        change(connection, journal, "words", "MIXED")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(JournalBroken):
            change(connection, journal, "fraction", 80)
    assert server.there["fraction"] == 90.0
    assert said(journal, server) == ["words = ROW", "whole = 1000"]
    assert not journal.path.exists()


def test_a_server_that_makes_something_else_of_it_has_not_taken_it(
    journal: Journal, server: FakeVariables
) -> None:
    with server.connect() as connection:
        change(connection, journal, "whole", 5)
    server.cuts["whole=1000"] = 64
    with pytest.raises(NotPutBack) as refused:
        said(journal, server)
    assert "changed it to 64" in (refused.value.detail or "")


def test_a_server_that_is_gone_is_asked_once(
    journal: Journal, server: FakeVariables, tmp_path: Path
) -> None:
    (tmp_path / ASIDE).write_text("8,8\n")
    journal.note(PAGE_LIST, path=str(tmp_path))
    with server.connect() as connection:
        change(connection, journal, "whole", 5)
        change(connection, journal, "words", "MIXED")
    server.gone = True
    with pytest.raises(NotPutBack) as refused:
        said(journal, server)
    assert (refused.value.detail or "").count("does not answer") == 2
    assert [entry["name"] for entry in journal.undo] == ["whole", "words"]
    # What needs no server is put back.
    assert (tmp_path / FILE_NAME).read_text() == "8,8\n"


@pytest.mark.parametrize("agreed", [True, False])
def test_what_somebody_else_changed_since_is_asked_about(
    journal: Journal, server: FakeVariables, agreed: bool
) -> None:
    with server.connect() as connection:
        change(connection, journal, "fraction", 80)
        change(connection, journal, "words", "MIXED")
    server.there["fraction"] = 75.0
    asked: list[str] = []

    def agree(question: str) -> bool:
        asked.append(question)
        return agreed

    if agreed:
        put_back(journal, server, agree)
        assert server.there == THERE
    else:
        with pytest.raises(NotAgreed) as refused:
            put_back(journal, server, agree)
        assert refused.value.exit_code == 2
        assert "--yes" in (refused.value.hint or "")
        assert server.there["fraction"] == 75.0
        assert [entry["name"] for entry in journal.undo] == ["fraction"]
    (question,) = asked
    assert question.startswith("fraction was 90") and question.endswith("to 75. Set it to 90?")
    assert server.there["words"] == "ROW"


@pytest.mark.parametrize(
    ("name", "text"),
    [("fraction", "90.000000"), ("whole", "1000"), ("switch", "ON"), ("digits", "007")],
)
def test_a_text_gets_the_type_of_the_server(
    journal: Journal, server: FakeVariables, name: str, text: str
) -> None:
    journal.note("variable", name=name, text=text)
    server.there[name] = {"fraction": 5.0, "whole": 5, "switch": 0, "digits": "5"}[name]
    said(journal, server)
    assert server.there[name] == THERE[name]


def test_an_earlier_change_is_left_alone(journal: Journal, server: FakeVariables) -> None:
    with server.connect() as connection:
        change(connection, journal, "whole", 5)
        change(connection, journal, "words", "MIXED")
    assert said(journal, server, since=1) == ["words = ROW"]
    assert [entry["name"] for entry in journal.undo] == ["whole"]


def test_statements_are_run_the_latest_first(journal: Journal, server: FakeVariables) -> None:
    for statement in ("DROP a", "DROP b"):
        journal.undo.append(statement_entry(statement, "shop"))
    server.refuses = {"DROP b"}
    with pytest.raises(NotPutBack) as refused:
        said(journal, server)
    assert "the setup, by 'DROP b': " in (refused.value.detail or "")
    # Once more, since something else went back meanwhile.
    assert server.changes == ["DROP b", "DROP a", "DROP b"]
    assert [entry["statement"] for entry in journal.undo] == ["DROP b"]


def test_a_list_that_was_not_there_before_is_removed(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("ours")
    (tmp_path / NONE_BEFORE).touch()
    journal.note(PAGE_LIST, path=str(tmp_path))
    put_back(journal, FakeVariables({}))
    assert not (tmp_path / FILE_NAME).exists()
    assert not (tmp_path / NONE_BEFORE).exists()


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "variable"},
        {"kind": "variable", "name": "whole"},
        {"kind": "variable", "name": "whole; DROP", "before": 1},
        {"kind": "variable", "name": 5, "before": 1},
        {"kind": "statement"},
        {"kind": "page_list"},
        {"kind": "of another contend"},
    ],
)
def test_an_entry_that_is_not_as_contend_writes_it_stays(
    journal: Journal, server: FakeVariables, entry: dict[str, object]
) -> None:
    journal.undo.append(entry)
    with server.connect() as connection:
        change(connection, journal, "words", "MIXED")
    drop_what_is_back(journal, server)
    with pytest.raises(NotPutBack) as refused:
        said(journal, server)
    assert refused.value.detail
    assert journal.undo == [entry]
    assert server.there == THERE


@pytest.mark.parametrize(
    ("value", "words"),
    [(90.0, "90"), (0.5, "0.5"), (None, "NULL"), (True, "1"), ("a", "a"), ("", "''")],
)
def test_values_are_shown_as_one_writes_them(value: Read, words: str) -> None:
    assert shown(value) == words
