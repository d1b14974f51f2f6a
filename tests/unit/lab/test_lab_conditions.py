"""What a run folder keeps of the looks at its tables."""

from __future__ import annotations

from pathlib import Path

from contend.lab.conditions import FILE_NAME, looks_in


def test_a_look_that_was_cut_off_hides_no_other(tmp_path: Path) -> None:
    assert list(looks_in(tmp_path)) == []
    (tmp_path / FILE_NAME).write_text('{"when": "loaded"}\n{"when": "ru')
    assert [look["when"] for look in looks_in(tmp_path)] == ["loaded"]
