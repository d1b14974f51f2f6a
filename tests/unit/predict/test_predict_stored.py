"""Predictions in a run folder: kept, replaced by machine, and refused if damaged."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend.errors import WorkError
from contend.predict.stored import (
    FILE,
    StoredGain,
    StoredPrediction,
    as_json,
    keep,
    read,
)

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


@pytest.mark.parametrize(
    "text", ["", "{}", '{"predictions": [{}]}', "[]", '{"predictions": 3}', "\xff"]
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(WorkError, match=FILE):
        read(tmp_path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_changed_anywhere_is_read_or_named(tmp_path: Path, data: st.DataObject) -> None:
    document = {"predictions": [as_json(ONE)]}
    places = list(_places(document))
    place = data.draw(st.sampled_from(places))
    node: Any = document
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = data.draw(
        st.sampled_from([None, "", "x", [], {}, True, -1, 1e300, float("nan"), {"name": 3}])
    )
    (tmp_path / FILE).write_text(json.dumps(document))
    with contextlib.suppress(WorkError):
        for one in read(tmp_path):
            assert isinstance(one.name, str)
            assert all(abs(gain.percent) < 1e12 for gain in one.gains)


def _places(node: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = node.items() if isinstance(node, dict) else enumerate(node)
    for key, part in parts:
        yield (*before, key)
        if isinstance(part, dict | list):
            yield from _places(part, (*before, key))
