"""Files of the host in the journal: on the disk before the change, put back whatever happened."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
from killed import in_a_process_of_its_own

from contend.cli.main import main
from contend.servers.undo import (
    Host,
    HostRefused,
    Journal,
    NotPutBack,
    change_file,
    default_folder,
    drop_what_is_back,
    files,
    journals_in,
    put_back,
    this_host,
)
from contend.servers.undo.variables import NotAgreed


@pytest.fixture
def vm(tmp_path: Path) -> Path:
    """A made-up /proc/sys/vm."""
    folder = tmp_path / "proc/sys/vm"
    folder.mkdir(parents=True)
    (folder / "swappiness").write_text("60\n")
    (folder / "dirty_ratio").write_text("20\n")
    (folder / "dirty_bytes").write_text("0\n")
    return folder


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "undo", this_host()) as journal:
        yield journal


@pytest.fixture
def undo_in_memory(tmp_path: Path) -> Iterator[Path]:
    """Where thousands of fsyncs cost nothing, if there is such a place."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def test_it_is_noted_before_and_put_back(vm: Path, journal: Journal) -> None:
    assert change_file(journal, vm / "swappiness", "1") == "1"
    (kept,) = json.loads(journal.path.read_text())["undo"]
    assert kept == {
        "kind": "file",
        "path": str(vm / "swappiness"),
        "before": "60",
        "ours": ["1"],
    }
    assert change_file(journal, vm / "swappiness", "5") == "5"
    assert len(journal.undo) == 1
    told: list[str] = []
    put_back(journal, Host(), tell=told.append)
    assert (vm / "swappiness").read_text() == "60"
    assert told == [f"{vm}/swappiness = 60"]
    assert not journal.path.exists()


def test_what_is_so_already_is_not_changed(vm: Path, journal: Journal) -> None:
    assert change_file(journal, vm / "swappiness", "60") == "60"
    assert journal.undo == []


def test_of_a_choice_the_chosen_one_is_put_back(tmp_path: Path, journal: Journal) -> None:
    file = tmp_path / "scheduler"
    file.write_text("[mq-deadline] kyber none\n")
    change_file(journal, file, "none")
    assert file.read_text() == "none"
    put_back(journal, Host())
    assert file.read_text() == "mq-deadline"


def test_a_twin_is_noted_with_it_and_put_back_first(vm: Path, journal: Journal) -> None:
    change_file(journal, vm / "dirty_bytes", "100000000")
    (vm / "dirty_ratio").write_text("0")  # As the kernel does.
    told: list[str] = []
    put_back(journal, Host(), tell=told.append)
    assert told == [f"{vm}/dirty_ratio = 20", f"{vm}/dirty_bytes = 0"]


def test_what_somebody_else_changed_since_is_asked_about(vm: Path, journal: Journal) -> None:
    change_file(journal, vm / "swappiness", "1")
    (vm / "swappiness").write_text("33\n")
    asked: list[str] = []
    with pytest.raises(NotAgreed):
        put_back(journal, Host(), lambda question: bool(asked.append(question)))
    assert all(value in asked[0] for value in ("'60'", "'1'", "'33'"))
    assert (vm / "swappiness").read_text() == "33\n"
    put_back(journal, Host(), lambda _question: True)
    assert (vm / "swappiness").read_text() == "60"


def test_after_a_new_start_of_the_host_nothing_is_left(vm: Path, journal: Journal) -> None:
    change_file(journal, vm / "swappiness", "1")
    (vm / "swappiness").write_text("60\n")
    drop_what_is_back(journal, Host())
    assert journal.undo == []


def test_what_is_gone_stays_noted_and_is_named_and_the_rest_goes_back(
    vm: Path, journal: Journal
) -> None:
    change_file(journal, vm / "swappiness", "1")
    change_file(journal, vm / "dirty_ratio", "5")
    (vm / "dirty_ratio").unlink()
    with pytest.raises(NotPutBack) as failed:
        put_back(journal, Host())
    assert "dirty_ratio (was 20)" in str(failed.value.detail)
    assert failed.value.hint is not None and "contend restore host" in failed.value.hint
    assert (vm / "swappiness").read_text() == "60"
    assert [Path(entry["path"]).name for entry in journal.undo] == ["dirty_ratio"]


def test_what_the_kernel_refuses_leaves_nothing_to_undo(
    vm: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path, _value: str) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(files, "_write", refuse)
    with pytest.raises(HostRefused, match="does not accept '1000': Invalid argument") as refused:
        change_file(journal, vm / "dirty_ratio", "1000")
    assert refused.value.hint == "It contains '20' now."
    assert journal.undo == []


def test_what_is_not_there_has_words(vm: Path, journal: Journal) -> None:
    with pytest.raises(HostRefused, match="cannot be read: No such file") as refused:
        change_file(journal, vm / "zone_reclaim_mode", "1")
    assert refused.value.hint is not None and "no such setting" in refused.value.hint


def test_without_root_it_says_so(
    vm: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostRefused, match="Permission denied") as refused:
        change_file(journal, vm / "swappiness", "1")
    assert refused.value.hint == "Run as root."


def test_a_read_only_sys_is_told(tmp_path: Path, vm: Path) -> None:
    """In a mount namespace of its own, so that nobody else sees the mount."""
    needs.root("it can mount")
    said = in_a_process_of_its_own(
        """
import ctypes, os, subprocess, sys
from pathlib import Path
from contend.servers.undo import HostRefused, Journal, change_file, this_host
os.unshare(os.CLONE_NEWNS) if hasattr(os, "unshare") else ctypes.CDLL(None).unshare(0x20000)
vm = sys.argv[1]
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
subprocess.run(["mount", "--bind", vm, vm], check=True)
subprocess.run(["mount", "-o", "remount,bind,ro", vm], check=True)
with Journal.open(Path(sys.argv[2]), this_host()) as journal:
    try:
        change_file(journal, Path(vm, "swappiness"), "1")
    except HostRefused as error:
        print(error.message, error.hint, journal.undo)
""",
        vm,
        tmp_path / "undo",
    )
    assert "'1': Read-only file system" in said
    assert "mounted read-only" in said
    assert said.endswith("[]\n")


KILLED = """
import os, sys
from pathlib import Path
from killed import killed_at_every_step
from contend.servers.undo import Host, Journal, change_file, files, put_back, this_host
vm, undo = Path(sys.argv[1]), Path(sys.argv[2])
names = ("swappiness", "dirty_bytes")

def write(path, value):  # As the kernel does: all of it, or nothing.
    new = path.with_suffix(".new")
    new.write_text(value)
    new.replace(path)

files._write = write

def work():
    with Journal.open(undo, this_host()) as journal:
        for name, value in zip(("swappiness", *names), ("2", "1", "100000000")):
            change_file(journal, vm / name, value)
        put_back(journal, Host())

def said():
    return {name: (vm / name).read_text().strip() for name in names}

before, changed = said(), 0
for line in killed_at_every_step(work, ("contend/servers/undo/",)):
    now = said()
    changed += now != before
    with Journal.open(undo, this_host()) as journal:
        assert now == before or journal.undo, line
        put_back(journal, Host(), lambda question: False)
    assert said() == before, line
    assert not list(undo.glob("*.json"))
print(line, changed)
"""


def test_killed_at_every_line_the_host_is_as_before(vm: Path, undo_in_memory: Path) -> None:
    """Nobody is asked: whatever is there then is contend's own."""
    lines, changed = map(int, in_a_process_of_its_own(KILLED, vm, undo_in_memory).split())
    assert lines > 100
    assert changed > 50


def test_once_for_real(tmp_path: Path) -> None:
    """The kernel itself moves a twin, and takes no 0."""
    vm = Path("/proc/sys/vm")
    twins = [vm / name for name in ("dirty_bytes", "dirty_ratio")]
    needs.writable(twins[0])
    before = [files.read(path) for path in twins]
    with Journal.open(tmp_path, this_host()) as journal:
        for path, value in zip(twins, ("200003584", "17"), strict=True):
            assert change_file(journal, path, value) == value
            assert "0" in [files.read(other) for other in twins]
        put_back(journal, Host(), lambda _question: False)
    assert [files.read(path) for path in twins] == before


def test_restore_host(
    vm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(["restore", "host"]) == 0
    assert capsys.readouterr().out == f"nothing to revert on {this_host()}.\n"
    with Journal.open(default_folder(), this_host()) as journal:
        change_file(journal, vm / "swappiness", "1")
    with Journal.open(default_folder(), "host another") as journal:
        change_file(journal, vm / "dirty_ratio", "1")
    assert main(["restore", "host", "--dry-run"]) == 0
    expected = f"would be reverted: {vm}/swappiness (was 60), on {this_host()}\n"
    assert capsys.readouterr().out == expected
    assert main(["restore"]) == 0
    said = capsys.readouterr()
    assert said.out == f"reverted on {this_host()}: {vm}/swappiness = 60\n"
    assert "host another" in said.err and "restore" in said.err
    assert (vm / "dirty_ratio").read_text() == "1"
    assert len(journals_in(default_folder())) == 1
