"""Arguments of `contend calibrate`, with a program that imitates contend-load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calibration_fakes import disturbed_by, scripted_program

from contend.cli.main import main


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONTEND_LOAD", str(scripted_program(tmp_path)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("contend.load.calibration.watched", disturbed_by)
    monkeypatch.chdir(tmp_path)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["calibrate", "--json", "--seconds", "0.01", "--rounds", "2", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--connections", "1,x"], "not a list of numbers from 1 to 65535"),
        (["--connections", "0"], "not a list of numbers"),
        (["--connections", ""], "not a list of numbers"),
        (["--connections", "70000"], "not a list of numbers"),
        (["--connections", "²"], "not a list of numbers"),
        (["--seconds", "soon"], "--seconds:"),
        (["--seconds", "nan"], "--seconds:"),
        (["--seconds", "0"], "10 ms to 600 s"),
        (["--seconds", "2h"], "10 ms to 600 s"),
        (["--rounds", "1"], "2 to 1000"),
        (["--rounds", "x"], "is not a number"),
        (["--show", "--rounds", "3"], "--rounds cannot be combined with --show"),
        (["--show", "--tcp"], "--tcp cannot be combined with --show"),
        (["--show", "segmented-key-cache"], "an experiment cannot be combined with --show"),
        (["segmented-key-cache", "--connections", "1"], "--connections cannot be combined with an"),
        (["--connections", "1" * 5000], "not a list of numbers"),
        (["--rounds", "1" * 5000], "is not a number"),
        (["no-such-recipe"], "no-such-recipe"),
    ],
)
def test_invalid_options_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["calibrate", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_standard_set(capsys: pytest.CaptureFixture[str]) -> None:
    ceilings = document(capsys)["ceilings"]
    assert [one["connections"] for one in ceilings[:9]] == [1, 2, 4, 8, 16, 32, 64, 128, 512]
    assert {one["workload"]["kind"] for one in ceilings} == {"point_select", "random_points"}
    assert {(one["protocol"], one["transport"], one["n"]) for one in ceilings} == {
        ("prepared", "socket", 2)
    }


def test_every_option_has_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    ceilings = document(capsys, "--connections", "8,1,8", "--tcp", "--seconds", "20ms")["ceilings"]
    assert [one["connections"] for one in ceilings] == [1, 8, 1, 8]
    assert {(one["transport"], one["seconds"]) for one in ceilings} == {("tcp", 0.02)}


def test_cells_of_an_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    ceilings = document(capsys, "segmented-key-cache")["ceilings"]
    assert len(ceilings) == 21
    assert {one["workload"]["points"] for one in ceilings} == {10, 50, 100}
    assert {one["workload"]["distribution"]["kind"] for one in ceilings} == {"special"}
    ceilings = document(capsys, "segmented-key-cache", "--tcp")["ceilings"]
    assert {one["transport"] for one in ceilings} == {"tcp"}


def test_an_experiment_that_cannot_be_calibrated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[workload]\nkind = "sql"\ntext = "SELECT 1"\n')
    assert main(["calibrate", str(path)]) == 2
    assert "no workload that can be calibrated" in capsys.readouterr().err


def test_earlier_measurements_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    document(capsys, "--connections", "1")
    assert len(document(capsys, "--connections", "8")["ceilings"]) == 2
    assert main(["calibrate", "--show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {one["connections"] for one in shown["ceilings"]} == {1, 8}


def test_a_null_server_that_does_not_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NULL_SERVER_REFUSES", "1")
    assert main(["calibrate", "--connections", "1"]) == 1
    message = capsys.readouterr().err
    assert "the null server did not start" in message
    assert "no room for a socket" in message


def test_a_disturbed_host_is_reported_and_its_results_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = "other processes of this machine used 40.0% of its CPU time"
    monkeypatch.setattr("contend.load.calibration.watched", lambda: disturbed_by(noise))
    assert main(["calibrate", "--connections", "1", "--seconds", "0.01"]) == 0
    assert f"{noise}: calibrate again when the host is quiet" in capsys.readouterr().err
    assert main(["calibrate", "--show", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["ceilings"]) == 2
