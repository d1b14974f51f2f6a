"""The cache of servers that were got: whole or not there, one get at a time, names."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from unrun_server import UNRUN

from contend.files import default_cache
from contend.servers import ServerBinary
from contend.servers.debian import Wanted, parse_wanted
from contend.servers.errors import FolderInUse, UnknownServer
from contend.servers.find import find_server
from contend.servers.got import (
    MANIFEST,
    ServerTree,
    find_by_name,
    keep,
    list_got,
    new_folder,
    read,
    remove,
    servers_folder,
    write_manifest,
)


def put(cache: Path, binary: ServerBinary, packages: tuple[str, ...] = ("a_1",)) -> Path:
    """Put an empty server of that name into the cache."""
    with new_folder(cache, lambda: None) as folder:
        tree = folder / "server"
        root = tree / "root"
        (root / "usr/sbin").mkdir(parents=True)
        (root / "usr/sbin/mariadbd").write_bytes(b"x" * 10)
        layout = ServerTree(
            loader=root / "lib/ld.so",
            library_dirs=(root / "lib",),
            program=root / "usr/sbin/mariadbd",
            basedir=root / "usr",
            share_dir=root / "usr/share/mysql",
            plugin_dir=None,
        )
        write_manifest(tree, binary, layout, list(packages))
        return keep(cache, tree, binary.name).folder


def test_what_was_kept_is_listed(tmp_path: Path) -> None:
    folder = put(tmp_path, UNRUN)
    [got] = list_got(tmp_path)
    assert (got.folder, got.binary.name) == (folder, "mariadb-bookworm-10.11.19")
    assert got.packages == ("a_1",)
    assert got.bytes >= 10
    assert got.binary.argv[0] == str(folder / "root/lib/ld.so")
    assert got.binary.argv[3:5] == (str(folder / "root/usr/sbin/mariadbd"), "--no-defaults")
    assert [p.name for p in servers_folder(tmp_path).iterdir() if p.name != ".lock"] == [
        folder.name
    ]


def test_a_cache_may_be_moved(tmp_path: Path) -> None:
    put(tmp_path / "old", UNRUN)
    shutil.move(tmp_path / "old", tmp_path / "new")
    [got] = list_got(tmp_path / "new")
    assert got.binary.program.is_relative_to(tmp_path / "new")


def test_the_newest_version_is_last(tmp_path: Path) -> None:
    for version in ("10.11.9", "10.11.19", "10.2.1"):
        put(tmp_path, replace(UNRUN, version=version))
    assert [g.binary.version for g in list_got(tmp_path)] == ["10.2.1", "10.11.9", "10.11.19"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"format": 99}', '{"format": 1}'])
def test_a_torn_manifest_is_no_server(tmp_path: Path, damage: str) -> None:
    folder = put(tmp_path, UNRUN)
    (folder / MANIFEST).write_text(damage)
    assert read(folder) is None
    assert list_got(tmp_path) == []


def test_a_server_without_its_program_is_no_server(tmp_path: Path) -> None:
    folder = put(tmp_path, UNRUN)
    (folder / "root/usr/sbin/mariadbd").unlink()
    assert list_got(tmp_path) == []


def test_what_an_interrupted_get_left_is_removed(tmp_path: Path) -> None:
    left = servers_folder(tmp_path) / ".getting-killed"
    left.mkdir(parents=True)
    (left / MANIFEST).write_text("{}")
    assert list_got(tmp_path) == []
    with new_folder(tmp_path, lambda: None) as folder:
        assert not left.exists()
        assert folder.is_dir()
    assert not folder.exists()


def test_an_interrupted_get_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path, lambda: None) as folder:
        (folder / "half").touch()
        raise KeyboardInterrupt
    assert [p.name for p in servers_folder(tmp_path).iterdir()] == [".lock"]


def test_a_second_get_waits_for_the_first(tmp_path: Path) -> None:
    waits, done = threading.Event(), threading.Event()

    def second() -> None:
        with new_folder(tmp_path, waits.set):
            done.set()

    with new_folder(tmp_path, lambda: None):
        other = threading.Thread(target=second)
        other.start()
        assert waits.wait(30)
        assert not done.is_set()
    other.join(30)
    assert done.is_set()


def test_the_same_packages_again_change_nothing(tmp_path: Path) -> None:
    folder = put(tmp_path, UNRUN)
    (folder / "witness").touch()
    put(tmp_path, UNRUN)
    assert (folder / "witness").exists()
    put(tmp_path, UNRUN, packages=("a_2",))
    assert not (folder / "witness").exists()
    assert list_got(tmp_path)[0].packages == ("a_2",)


def test_of_several_the_machines_own_suite_is_taken_then_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contend.servers.find.on_path", lambda _kind: None)
    machine = tmp_path / "machine"
    (machine / "etc/apt").mkdir(parents=True)
    for suite, version in (("bullseye", "10.5.29"), ("trixie", "11.8.6"), ("sid", "11.8.7")):
        put(tmp_path, replace(UNRUN, suite=suite, version=version))

    def taken(wanted: str | None = None) -> str:
        return find_server("mariadb", wanted=wanted, cache=tmp_path, root=machine).name

    assert taken() == "mariadb-sid-11.8.7"
    (machine / "etc/os-release").write_text("VERSION_CODENAME=bullseye\n")
    (machine / "etc/apt/sources.list").write_text("deb http://mirror.example bullseye main\n")
    assert taken() == taken("mariadb") == "mariadb-bullseye-10.5.29"
    assert taken("mariadb@trixie") == "mariadb-trixie-11.8.6"
    put(tmp_path, replace(UNRUN, suite="bullseye", version="10.5.30", extras=("rocksdb",)))
    assert taken() == "mariadb-bullseye-10.5.29"


def test_removes_by_name(tmp_path: Path) -> None:
    put(tmp_path, UNRUN)
    with pytest.raises(UnknownServer) as refused:
        remove(tmp_path, "mariadb-bookworm-10.11.18")
    assert f'"{UNRUN.name}"' in str(refused.value.hint)
    remove(tmp_path, UNRUN.name)
    assert list_got(tmp_path) == []
    with pytest.raises(UnknownServer):
        find_by_name(tmp_path, UNRUN.name)


def test_a_server_that_runs_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put(tmp_path, UNRUN)
    monkeypatch.setattr(Path, "readlink", lambda _path: folder / "root/usr/sbin/mariadbd")
    with pytest.raises(FolderInUse, match=r"process \d+ runs the server"):
        remove(tmp_path, UNRUN.name)
    assert folder.exists()


def test_the_cache_is_where_the_user_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "contend"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache/contend"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mariadb", Wanted("mariadb", (), None)),
        ("mysql@sid", Wanted("mysql", (), "sid")),
        ("mariadb@11.8", Wanted("mariadb", (), "trixie")),
        ("mariadb+rocksdb@10.11", Wanted("mariadb", ("rocksdb",), "bookworm")),
        ("mariadb+spider", Wanted("mariadb", ("spider",), None)),
        ("mariadb+galera@trixie", Wanted("mariadb", ("galera",), "trixie")),
        ("mariadb+rocksdb+rocksdb@trixie", Wanted("mariadb", ("rocksdb",), "trixie")),
    ],
)
def test_reads_what_is_wanted(text: str, expected: Wanted) -> None:
    assert parse_wanted(text) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("mariadbd", 'Did you mean "mariadb"?'),
        ("", "Known: mariadb, mysql."),
        ("mariadb+rockdb", 'Did you mean "rocksdb"?'),
        ("mysql+rocksdb", "Remove it."),
        ("mariadb@", "such as bookworm"),
        ("mariadb@11.4", "10.11, 11.8"),
        ("mysql@8.4", "mysql@sid"),
        ("mariadb@../x", "such as bookworm"),
    ],
)
def test_a_wrong_name_gets_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(UnknownServer) as refused:
        parse_wanted(text)
    assert hint in (refused.value.hint or "")


def test_a_manifest_is_relative(tmp_path: Path) -> None:
    folder = put(tmp_path, UNRUN)
    assert str(tmp_path) not in json.dumps(json.loads((folder / MANIFEST).read_text()))
