"""The journal of a warm-up: written before a change, kept until all is put back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pymysql
import pytest
from fake_connection import FakeConnection, Rows

from contend.errors import RequestError
from contend.warm.journal import Journal, JournalBroken, NotPutBack, Work, default_folder

SERVER = "mysql://root@db1/"


class Connection(FakeConnection):
    """Takes every statement, or refuses them all."""

    def __init__(self, refusal: str | None = None) -> None:
        super().__init__()
        self.refusal = refusal

    def answer(self, statement: str) -> Rows:
        if self.refusal is not None:
            raise pymysql.err.OperationalError(1227, self.refusal)
        return []


def connection(refusal: str | None = None) -> Any:
    return Connection(refusal)


def test_what_was_changed_is_there_for_the_next_process(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note_undo("variable", name="innodb_old_blocks_time", value=1000)
        journal.work = Work([{"name": "a", "statement": "SELECT 1"}], 1, {"mark": "m"})
        journal.write()
    with Journal.open(tmp_path, SERVER) as journal:
        assert journal.work is not None and journal.work.asked == {"mark": "m"}
        talk = connection()
        assert journal.put_back(talk) == ["innodb_old_blocks_time = 1000"]
        assert talk.statements == ["SET GLOBAL innodb_old_blocks_time = 1000"]
        assert journal.undo == []
        journal.work = None
        journal.write()
    assert not list(tmp_path.glob("*.json"))


def test_the_latest_change_is_put_back_first(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note_undo("variable", name="a", value=1)
        journal.note_undo("variable", name="b", value=2)
        assert journal.put_back(connection()) == ["b = 2", "a = 1"]


def test_what_the_server_refuses_stays_and_is_said(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note_undo("variable", name="a", value=1)
        with pytest.raises(NotPutBack) as refused:
            journal.put_back(connection("no such right"))
        assert "no such right" in (refused.value.detail or "")
        assert f"--restore {SERVER}" in (refused.value.hint or "")
    with Journal.open(tmp_path, SERVER) as journal:
        assert [change["name"] for change in journal.undo] == ["a"]


def test_one_process_at_a_time_and_each_server_by_itself(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER):
        with pytest.raises(RequestError, match="is being warmed by another process"):
            Journal.open(tmp_path, SERVER)
        Journal.open(tmp_path, "mysql://root@db2/").close()
    Journal.open(tmp_path, SERVER).close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 7}', '{"format": 2, "undo": 5}'])
def test_a_file_that_is_no_journal_has_words(tmp_path: Path, text: str) -> None:
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note_undo("variable", name="a", value=1)
    (file,) = tmp_path.glob("*.json")
    file.write_text(text)
    with pytest.raises(JournalBroken, match=f"journal {file} cannot be read"):
        Journal.open(tmp_path, SERVER)
    file.unlink()
    Journal.open(tmp_path, SERVER).close()  # The lock is free again.


def test_a_folder_that_cannot_be_made_has_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalBroken, match="cannot be made") as refused:
        Journal.open(tmp_path / "file" / "below", SERVER)
    assert "--journal" in (refused.value.hint or "")


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "new", SERVER) as journal:
        journal.note_undo("variable", name="a", value=1)
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
        assert journal.path.stat().st_mode & 0o077 == 0
        assert json.loads(journal.path.read_text())["server"] == SERVER


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/lib")
    assert default_folder() == Path("/var/lib/contend/warm")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/u")
    assert default_folder() == Path("/home/u/.local/state/contend/warm")
