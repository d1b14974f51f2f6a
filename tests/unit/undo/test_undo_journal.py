"""The journal of a server: written before a change, kept until all is put back."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import RequestError
from contend.undo import Journal, JournalBroken, default_folder, journals_in, server_in

SERVER = "mysql://root@db1:3306/"

VALUES = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(),
    st.none(),
)


def test_what_was_changed_is_there_for_the_next_process(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        entry = journal.note("variable", name="innodb_old_blocks_time", before=1000)
        journal.work = {"asked": {"mark": "m"}}
        journal.write()
    with Journal.open(tmp_path, SERVER) as journal:
        assert journal.undo == [entry]
        assert journal.work == {"asked": {"mark": "m"}}
        journal.drop(journal.undo[0])
        assert len(journals_in(tmp_path)) == 1
        journal.work = None
        journal.write()
    assert journals_in(tmp_path) == []


@given(value=VALUES)
def test_values_keep_their_types(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Journal.open(folder, SERVER) as journal:
        journal.note("variable", name="a", before=value)
    with Journal.open(folder, SERVER) as journal:
        (found,) = journal.undo
    assert type(found["before"]) is type(value)
    assert found["before"] == value
    assert repr(found["before"]) == repr(value)


def test_it_is_on_the_disk_before_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text first, then the name, then the folder that has the name."""
    order: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        order.append("folder" if Path(f"/proc/self/fd/{descriptor}").is_dir() else "file")
        fsync(descriptor)

    def noted_replace(self: Path, target: Path) -> Path:
        order.append("name")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note("variable", name="a", before=1)
    assert order == ["file", "name", "folder"]


def test_a_full_disk_leaves_what_was_there_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with Journal.open(tmp_path, SERVER) as journal:
        journal.note("variable", name="a", before=1)
        before = sorted(tmp_path.iterdir())
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(JournalBroken, match="cannot be written: No space left"):
            journal.note("variable", name="b", before=1)
    assert sorted(tmp_path.iterdir()) == before
    with Journal.open(tmp_path, SERVER) as journal:
        assert [entry["name"] for entry in journal.undo] == ["a"]


@pytest.mark.parametrize(
    "same",
    ["mysql://other@DB1/shop", "mariadb://db1:3306/?option_file=/x", "mysql://root@db1:3306/"],
)
def test_it_is_the_same_for_whoever_logs_in(tmp_path: Path, same: str) -> None:
    with (
        Journal.open(tmp_path, SERVER),
        pytest.raises(RequestError, match="another contend process is at"),
    ):
        Journal.open(tmp_path, same)
    Journal.open(tmp_path, same).close()


@pytest.mark.parametrize("other", ["mysql://root@db2:3306/", "mysql://root@db1:3307/", "socket:/s"])
def test_each_server_has_its_own(tmp_path: Path, other: str) -> None:
    with Journal.open(tmp_path, SERVER):
        Journal.open(tmp_path, other).close()


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"format": 7}', '{"format": 3, "undo": 5}'),
        '{"format": 3, "server": "s", "undo": [5], "work": null}',
        '{"format": 3, "server": "s", "undo": [], "work": 5}',
        '{"format": 3, "server": 5, "undo": [], "work": null}',
        '{"format": 2, "server": "s", "undo": [{"kind": "variable", "value": 1}], "work": null}',
    ],
)
def test_a_file_that_is_no_journal_has_words(tmp_path: Path, text: str) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note("variable", name="a", before=1)
    (file,) = journals_in(tmp_path)
    file.write_text(text)
    with pytest.raises(JournalBroken, match=f"journal {file} cannot be read"):
        Journal.open(tmp_path, SERVER)
    with pytest.raises(JournalBroken):
        server_in(file)
    assert file.read_text() == text
    file.unlink()
    Journal.open(tmp_path, SERVER).close()  # The lock is free again.


def test_every_cut_of_a_journal_has_words(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note("variable", name="a", before=90.0, ours=[80])
    (file,) = journals_in(tmp_path)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(JournalBroken, match="cannot be read"):
            Journal.open(tmp_path, SERVER)


def test_a_folder_that_cannot_be_made_has_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalBroken, match="cannot be made") as refused:
        Journal.open(tmp_path / "file" / "below", SERVER)
    assert "XDG_STATE_HOME" in (refused.value.hint or "")


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "new", SERVER) as journal:
        journal.note("variable", name="a", before=1)
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
        assert journal.path.stat().st_mode & 0o077 == 0
        assert server_in(journal.path) == SERVER


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/lib")
    assert default_folder() == Path("/var/lib/contend/undo")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/u")
    assert default_folder() == Path("/home/u/.local/state/contend/undo")


def old_journal(folder: Path, server: str = SERVER, **more: Any) -> Path:
    """As `contend warm` wrote them before there was one journal for every command."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.json"
    undo = [{"kind": "variable", "name": "innodb_old_blocks_time", "value": 1000}]
    said = {"format": 2, "server": server, "undo": undo, "work": None, **more}
    path.write_text(json.dumps(said))
    return path


@pytest.mark.parametrize("where", ["default", "named"])
def test_a_journal_of_before_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = default_folder() if where == "default" else tmp_path / "named"
    with Journal.open(folder, SERVER) as journal:
        journal.note("variable", name="later", before=1)
    old = old_journal(
        tmp_path / "contend" / "warm" if where == "default" else folder, work={"a": 1}
    )
    assert old in journals_in(folder)
    for _ in range(2):
        with Journal.open(folder, SERVER) as journal:
            assert [(one["name"], one["before"]) for one in journal.undo] == [
                ("innodb_old_blocks_time", 1000),
                ("later", 1),
            ]
            assert journal.work == {"a": 1}
        assert journals_in(folder) == [journal.path]
