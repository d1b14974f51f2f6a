"""The file of a calibration: whole, damaged, of another format or host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calibration_fakes import HOST, PROGRAM, ceiling, shape
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend.load.calibration import DamagedCalibration, path_of, read, write
from contend.load.ceilings import Calibration, ClientHost


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = path_of(tmp_path / "cache", HOST, PROGRAM)
    kept = Calibration(HOST, PROGRAM).with_more([ceiling(1), ceiling(64, threads=2)])
    write(path, kept)
    return path


def changed(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_what_was_written_is_read(path: Path) -> None:
    found = read(path, HOST, PROGRAM)
    assert found.of(shape(1)) == ceiling(1)
    assert found.of(shape(64, threads=2)) == ceiling(64, threads=2)
    assert found.of(shape(64)) is None
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_people_can_read_it(path: Path) -> None:
    text = path.read_text()
    assert '\n    "qps": [ 99000.0, 100000.0, ' in text
    assert max(map(len, text.splitlines())) < 100


def test_no_file_is_no_ceiling(tmp_path: Path) -> None:
    assert read(tmp_path / "none.json", HOST, PROGRAM) == Calibration(HOST, PROGRAM)


def test_ceilings_of_engines_are_kept_apart(path: Path) -> None:
    both = [ceiling(8), ceiling(8, qps=5_000.0, engine="epoll")]
    write(path, Calibration(HOST, PROGRAM).with_more(both))
    found = read(path, HOST, PROGRAM)
    assert found.of(shape(8)) == both[0]
    assert found.of(shape(8, engine="epoll")) == both[1]


def test_a_file_of_another_host_is_told_apart(path: Path) -> None:
    changed(path, host={"id": "ffffffffffff", "cpu": "x", "cpus": 1, "kernel": "y"})
    with pytest.raises(DamagedCalibration, match="different host") as caught:
        read(path, HOST, PROGRAM)
    assert "`contend calibrate`" in (caught.value.hint or "")


def test_another_host_or_program_has_another_file(tmp_path: Path) -> None:
    other = ClientHost("ffffffffffff", "x", 1, "y")
    assert path_of(tmp_path, other, PROGRAM) != path_of(tmp_path, HOST, PROGRAM)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format": "2"}',
        '{"format": 1}',
        '{"format": 3}',
        '{"format": 2, "host": 5, "program": {}, "ceilings": []}',
        "\ufeff{}",
        "[" * 100_000,
    ],
)
def test_damage_is_told_with_what_to_do(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(DamagedCalibration, match="is damaged") as caught:
        read(path, HOST, PROGRAM)
    assert "`contend calibrate`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("rounds", value) for value in ({}, None)),
        *(("seconds", value) for value in (-1, "x", True, float("inf"), float("nan"))),
        *(("workload", value) for value in ({}, [])),
        ("connections", "many"),
        ("transport", "pigeon"),
        ("threads", "x"),
        ("engine", "steam"),
    ],
)
def test_a_ceiling_that_makes_no_sense_is_damage(path: Path, key: str, value: object) -> None:
    document = json.loads(path.read_text())
    document["ceilings"][0][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(DamagedCalibration):
        read(path, HOST, PROGRAM)


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-1", "true", '"x"', "null"])
def test_figures_are_figures(path: Path, figure: str) -> None:
    path.write_text(path.read_text().replace("100000.0", figure))
    with pytest.raises(DamagedCalibration):
        read(path, HOST, PROGRAM)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=150,
)
@given(at=st.floats(0, 1), byte=st.binary(min_size=0, max_size=3))
def test_any_damage_is_an_answer(path: Path, at: float, byte: bytes) -> None:
    whole = path.read_bytes()
    place = int(at * (len(whole) - 1))
    path.write_bytes(whole[:place] + byte + whole[place + 1 :])
    try:
        read(path, HOST, PROGRAM)
    except DamagedCalibration:
        pass
    finally:
        path.write_bytes(whole)
