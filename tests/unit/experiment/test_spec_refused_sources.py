"""Overrides, file names and recipe names that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contend.experiment import Experiment, SpecError, load_experiment

Load = Callable[..., Experiment]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        pytest.param("data.rows", '--set "data.rows" has no "="', id="no value"),
        pytest.param("data.rows=", "--set data.rows=: not a value: nothing", id="empty"),
        pytest.param("data.rowz=5", '--set data.rowz: "data.rowz" is not a path', id="path"),
        pytest.param("data.rows=x", "--set data.rows: data.rows must be a whole", id="type"),
        pytest.param("load.connections=[1,", "--set load.connections=[1,: not a value", id="list"),
        pytest.param(
            "load.connections=[]", '--set load.connections: factor "load.conn', id="no levels"
        ),
        pytest.param("data.rows=5\nx=6", "--set ", id="line break"),
        pytest.param(
            "server.options.key_cache_segments=0",
            "it.toml:25: compare.baseline names",
            id="the compared factor fixed",
        ),
        pytest.param("compare.baseline=5", "--set compare.baseline: [compare.b", id="baseline"),
        pytest.param("workload=5", "--set workload: [workload] must be a table, not 5", id="table"),
        pytest.param("factors.load.connections=5", "--set factors.load", id="factors"),
    ],
)
def test_a_fault_in_an_override_names_it(load: Load, setting: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(sets=[setting])
    assert caught.value.message.startswith(message)


def test_deep_nesting_is_a_fault_and_no_crash(load: Load) -> None:
    with pytest.raises(SpecError, match="nested too deeply"):
        load("x = " + "[" * 100_000)
    with pytest.raises(SpecError, match="nested too deeply"):
        load(sets=["data.rows=" + "[" * 100_000])


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        (
            "segmented-keycache",
            'there is no recipe "segmented-keycache"',
            'Did you mean "segmented-key-cache"?',
        ),
        ("missing.toml", "there is no file missing.toml", None),
        ("./missing", "there is no file ./missing", None),
        (
            "segmented-key-cache.toml",
            "there is no file segmented-key-cache.toml",
            'Did you mean "segmented-key-cache"?',
        ),
    ],
)
def test_what_is_not_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    message: str,
    hint: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError) as caught:
        load_experiment(source)
    assert caught.value.message == message
    if hint is not None:
        assert caught.value.hint == hint


def test_what_is_no_text_file(tmp_path: Path) -> None:
    path = tmp_path / "bin.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not a text file in UTF-8"):
        load_experiment(str(path))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        load_experiment(str(tmp_path))


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(SpecError, match="too large for an experiment file"):
        load_experiment(str(path))


def test_an_unknown_variant(load: Load) -> None:
    with pytest.raises(SpecError, match='"slow" is not a variant'):
        load(variant="slow")
