"""What is said of a dump before a server is started for it."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

from contend.data.dump import DumpRefused
from contend.data.dump.split import CHUNK_BYTES, dump_files


@pytest.mark.parametrize(
    ("content", "words", "hint"),
    [
        ("CREATE TABLE t (a INT);\n".encode("utf-16"), "is text in UTF-16", "iconv -f UTF-16"),
        (
            gzip.compress("SELECT 1;".encode("utf-16"), mtime=0),
            "is text in UTF-16",
            "iconv -f UTF-16",
        ),
        (b"\x28\xb5\x2f\xfd...", "is packed with zstd", "zstd -d"),
        (b"-- MySQL dump 10.13\n--\nINSERT INTO t", "is cut off", "Copy it again"),
        (b"SELECT 1;\nsource gone.sql\n", "line 2: it reads gone.sql", "Put gone"),
        (b"source list\n", "list, line 1: it reads gone.sql", "Put gone"),
        (b"\\. ../a.sql\n", "line 1: it reads ../a.sql", "Put a.sql"),
    ],
)
def test_what_no_server_has_to_say(tmp_path: Path, content: bytes, words: str, hint: str) -> None:
    path = tmp_path / "shop.sql"
    path.write_bytes(content)
    (tmp_path / "list").write_text("source gone.sql ;\n")
    with pytest.raises(DumpRefused) as refused:
        dump_files(path)
    assert words in refused.value.message
    assert hint in str(refused.value.hint)


def test_all_files_are_found_each_once(tmp_path: Path) -> None:
    for name, text in {
        "a.sql": "SELECT 'x\nsource no.sql\n';\nsource b.sql\nDELIMITER ;;\nsource c.sql\n",
        "b.sql": "source a.sql\n",
        "c.sql": "INSERT INTO t VALUES ('\nsource no.sql",
    }.items():
        (tmp_path / name).write_text(text)
    assert [path.name for path in dump_files(tmp_path / "a.sql")] == ["a.sql", "b.sql", "c.sql"]


def test_a_file_of_rows_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "rows.sql"
    path.write_text(f"source gone.sql\n{'-- x' * (CHUNK_BYTES // 4)}\n")
    assert dump_files(path) == [path]


def test_a_pipe_is_named_as_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(DumpRefused, match="pipe is a pipe"):
        dump_files(path)


@pytest.mark.parametrize("below", ["/dev/fd", "/proc/self/fd"])
def test_a_file_by_a_name_that_no_other_process_has_is_refused(tmp_path: Path, below: str) -> None:
    (tmp_path / "shop.sql").write_text("SELECT 1;\n")
    with (tmp_path / "shop.sql").open() as file, pytest.raises(DumpRefused) as refused:
        dump_files(Path(below, str(file.fileno())))
    assert "is open in this process only" in refused.value.message


def test_a_folder_of_mydumper_is_told_how_to_become_one_file(tmp_path: Path) -> None:
    """The command of the hint gives all tables before all rows."""
    folder = tmp_path / "my backup"
    folder.mkdir()
    for name, text in {
        "metadata": "Started dump at: 2026-11-28 12:00:00",
        "shop-schema-create.sql": "CREATE DATABASE shop;",
        "shop.z-schema.sql": "CREATE TABLE `z` (a INT);",
        "shop.z-schema-triggers.sql": "CREATE TRIGGER tr BEFORE INSERT ON z FOR EACH ROW SET @a=1;",
        "shop.a.00000.sql": "INSERT INTO `a` VALUES (1);",
        "shop.a-schema.sql": "CREATE TABLE `a` (a INT);",
        "shop.z.sql": "INSERT INTO `z` VALUES (2);",
    }.items():
        (folder / name).write_text(f"{text}\n")
    with pytest.raises(DumpRefused, match="folder written by mydumper") as refused:
        dump_files(folder)
    command = re.findall("`(.*)`", str(refused.value.hint))[0]
    subprocess.run(["sh", "-c", command], check=True, cwd=tmp_path)
    assert (tmp_path / "shop.sql").read_text().splitlines() == [
        "CREATE TABLE `a` (a INT);",
        "CREATE TABLE `z` (a INT);",
        "INSERT INTO `a` VALUES (1);",
        "INSERT INTO `z` VALUES (2);",
    ]


def test_any_other_folder_is_not_a_dump(tmp_path: Path) -> None:
    with pytest.raises(DumpRefused, match="is a folder, not a dump") as refused:
        dump_files(tmp_path)
    assert "mysqldump" in str(refused.value.hint)
