"""Predictions in a run folder: kept, replaced by machine, and refused if damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from contend.errors import WorkError
from contend.predict.stored import FILE, StoredGain, StoredPrediction, keep, read

ONE = StoredPrediction(
    name="pitbull",
    about="two sockets",
    cpus=24,
    draws=200,
    band=0.9,
    off=0.03,
    fitted=3,
    gains=(StoredGain(100, 32, 64, 200.0, 150.0, 250.0),),
    parts=(("hand-over", 0.6), ("the model's own error", 0.3)),
    assumed=(("hand-over", 45.0, 28.0, 75.0, "a source"),),
)


def test_what_is_kept_is_read_and_a_later_one_takes_its_place(tmp_path: Path) -> None:
    assert read(tmp_path) == ()
    keep(tmp_path, [ONE])
    assert read(tmp_path) == (ONE,)
    later, other = replace(ONE, off=0.05), replace(ONE, name="mine", cpus=8)
    keep(tmp_path, [other])
    keep(tmp_path, [later])
    assert read(tmp_path) == (other, later)


@pytest.mark.parametrize("text", ["", "{}", '{"predictions": [{}]}', "[]", '{"predictions": 3}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(WorkError, match=FILE):
        read(tmp_path)
