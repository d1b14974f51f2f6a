"""The journal of a server: written before a change, kept until all is put back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_variables import FakeVariables
from hypothesis import given
from hypothesis import strategies as st

from contend.servers.dsn import Dsn
from contend.servers.hold import ServerInUse
from contend.servers.undo import Journal, JournalBroken, default_folder, journals_in, server_in
from contend.servers.undo.journal import remedies_left

SERVER = "mysql://root@db1:3306/"


class Named:
    """A server by one of its DSNs."""

    def __init__(self, server: FakeVariables, dsn: str) -> None:
        self.dsn = Dsn.parse(dsn)
        self.connect = server.connect


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


@pytest.mark.parametrize("same", ["mysql://other@DB1/shop", "socket:/run/s", "mysql://u@::1/"])
def test_it_is_the_same_by_whatever_dsn(tmp_path: Path, same: str) -> None:
    """A server that tells its name is known by it, and one that tells none by its place."""
    first, name = (SERVER, "") if "DB1" in same else (SERVER, "server_uuid=7")
    with (
        Journal.open(tmp_path, first, name),
        pytest.raises(ServerInUse, match="another contend process is using"),
    ):
        Journal.open(tmp_path, same, name)
    Journal.open(tmp_path, same, name).close()


def test_of_two_servers_that_were_at_one_place_each_has_its_own(tmp_path: Path) -> None:
    with Journal.open(tmp_path, SERVER, "server_uuid=7") as first:
        first.note("variable", name="a", before=1)
        with Journal.open(tmp_path, SERVER, "server_uuid=8") as second:
            assert second.undo == []
            # Whoever begins there is told of the other.
            assert second.others_here() == [
                f"contend restore {SERVER} --journal {tmp_path} --dry-run"
            ]


def test_the_lock_on_the_server_goes_with_the_journal(tmp_path: Path) -> None:
    server = FakeVariables({"a": 1})
    tcp, socket = (Named(server, dsn) for dsn in (SERVER, "socket:/run/s"))
    # Another home, another host: only the server knows of both.
    with Journal.of_server(tmp_path / "one", tcp) as journal:
        with pytest.raises(ServerInUse) as refused:
            Journal.of_server(tmp_path / "two", socket)
        assert f"connection {server.holder}, of user bench from db7:51234" in str(
            refused.value.message
        )
        assert refused.value.exit_code == 2
        assert f"`KILL {server.holder}`" in (refused.value.hint or "")
        assert journal.is_of_held()
    with Journal.of_server(tmp_path / "one", socket) as again:
        assert again.path == journal.path
    assert server.holder is None


def test_what_a_command_left_is_told_once(tmp_path: Path) -> None:
    remedies_left()
    with Journal.open(tmp_path, SERVER) as journal:
        journal.note("variable", name="a", before=1)
    with Journal.open(tmp_path, "mysql://root@db2:3306/") as other:
        other.drop(other.note("variable", name="a", before=1))
    assert remedies_left() == [journal.remedy]
    assert remedies_left() == []


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
        '{"format": 2, "server": "s", "undo": [], "work": null}',
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
    with pytest.raises(JournalBroken, match="cannot be created") as refused:
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
