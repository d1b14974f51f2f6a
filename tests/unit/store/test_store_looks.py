"""Looks at causes in a run folder: a table of their own, which is made with the first of them."""

from __future__ import annotations

from pathlib import Path

from contend.store import LookRecord, RunFolder, rescue

LOOK = LookRecord(
    "of-later",
    1,
    {"load.connections": 8},
    "2026-03-01T10:00:00.000+00:00",
    "2026-03-01T10:00:07.000+00:00",
    {"rounds": [{"qps": 1000.5}]},
)
FAILED = LookRecord("of-later", 2, {"load.connections": 9}, "", "", error="no server")


def test_looks_come_back_in_order(folder: RunFolder) -> None:
    assert folder.looks() == []
    folder.add_looks(LOOK)
    folder.add_looks(FAILED, LOOK)
    with RunFolder.open(folder.path) as again:
        assert again.looks() == [LOOK, FAILED, LOOK]
        assert again.records() == []
    folder.close()


def test_a_rescued_folder_has_its_looks(folder: RunFolder, tmp_path: Path) -> None:
    folder.add_looks(LOOK, FAILED)
    folder.close()
    rescued = rescue(folder.path, tmp_path / "rescued")
    with RunFolder.open(rescued.folder) as again:
        assert again.looks() == [LOOK, FAILED]
