"""The output of `contend calibrate`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from calibration_fakes import HOST, PROGRAM, ceiling, disturbed_by, scripted_program
from transcripts import check

from contend.cli.main import main
from contend.load.calibration import path_of, write
from contend.load.ceilings import Calibration

SPECIAL = {"kind": "random_points", "points": 10, "distribution": {"kind": "special", "pct": 5}}


@pytest.fixture(autouse=True)
def one_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host and a program that are the same wherever the tests run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTEND_LOAD", str(scripted_program(tmp_path)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("contend.load.calibration.watched", disturbed_by)
    monkeypatch.setattr("contend.load.calibration.this_host", lambda: HOST)
    monkeypatch.setattr("contend.load.calibration.this_program", lambda _path: PROGRAM)


def output_of(capsys: pytest.CaptureFixture[str], cache: Path, *arguments: str) -> str:
    code = main(["calibrate", *arguments])
    captured = capsys.readouterr()
    text = (captured.err + captured.out).replace(str(cache), "CACHE")
    lines = [line for line in text.splitlines() if "CACHE" not in line]
    assert all(len(line) <= 88 for line in lines), "too wide"
    return f"{text}exit {code}\n"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "contend"


def kept(cache: Path) -> Path:
    path = path_of(cache, HOST, PROGRAM)
    speeds = {1: 101_000.0, 8: 236_000.0, 64: 301_000.0, 512: 252_000.0}
    ceilings = [ceiling(at, qps) for at, qps in speeds.items()]
    ceilings += [ceiling(at, qps / 2, workload=SPECIAL) for at, qps in speeds.items()]
    ceilings += [ceiling(64, 150_000.0, protocol="text", transport="tcp")]
    write(path, Calibration(HOST, PROGRAM).with_more(ceilings))
    return path


def test_what_is_kept(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    kept(cache)
    check("calibrate-show", output_of(capsys, cache, "--show"))


def test_measuring(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    arguments = ("--connections", "1,64", "--seconds", "0.01")
    text = output_of(capsys, cache, *arguments)
    check("calibrate", re.sub(r"\d{4}-\d\d-\d\d", "DATE", text))


def test_what_cannot_be_shown(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    nothing = output_of(capsys, cache, "--show")
    path = kept(cache)
    document = json.loads(path.read_text())
    path.rename(path.with_name("another-host.json"))
    others = output_of(capsys, cache, "--show")
    path.write_text(json.dumps({**document, "host": {**document["host"], "id": "f" * 12}}))
    foreign = output_of(capsys, cache, "--show")
    path.write_text(json.dumps(document)[:-40])
    damaged = output_of(capsys, cache, "--show")
    path.write_text(json.dumps({**document, "format": 3}))
    newer = output_of(capsys, cache, "--show")
    check("calibrate-trouble", nothing + others + foreign + damaged + newer)
