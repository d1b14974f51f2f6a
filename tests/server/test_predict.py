"""`contend predict` of measured runs: the model server, whose run needs no other server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_lab import Lab, cache_in

SMALL = (
    *("--quick", "--for", "8s", "--server", "model", "--yes"),
    *("--set", "data.rows=20000", "--set", "load.connections=[1, 8]"),
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, load_program: Path) -> Lab:
    """A run of the study whose recipe asks for the prediction of pitbull."""
    folder = tmp_path_factory.mktemp("predict")
    lab = Lab(folder, cache_in(folder), load_program, "model").draw()
    done = lab.contend("run", "segmented-key-cache", "--out", lab.out, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "for pitbull (24 CPUs) the model predicts" in " ".join(done.stdout.split())
    return lab


def test_the_recipe_has_its_prediction_in_report_json_and_page(measured: Lab) -> None:
    shown = json.loads(measured.contend("show", measured.out, "--json").stdout)
    (one,) = shown["prediction"]
    assert (one["name"], one["cpus"], one["draws"]) == ("pitbull", 24, 200)
    gains = {gain["connections"]: gain for gain in one["gains"]}
    assert gains.keys() == {1, 4, 8, 16, 32, 64, 128}
    assert all(gain["low"] < gain["percent"] < gain["high"] for gain in gains.values())
    # More CPUs gain more from a divided cache than one connection does.
    assert gains[1]["high"] < gains[32]["low"]
    page = (measured.out / "report.html").read_text()
    assert "What it would be on other machines" in page
    assert (measured.out / "charts").is_dir()


def test_a_machine_is_named_by_cpus_or_a_file_and_added_to_the_others(measured: Lab) -> None:
    file = measured.folder / "mine.toml"
    file.write_text('[machine]\nname = "mine"\ncpus = 8\n')
    words = ("--cpus", "4", "--host", file, "--connections", "8")
    done = measured.contend("predict", measured.out, *words, "--json")
    assert done.returncode == 0, done.stderr
    found = {one["name"]: one for one in json.loads(done.stdout)["predictions"]}
    assert found.keys() == {"pitbull", "mine", "4 CPUs"}
    assert [gain["connections"] for gain in found["mine"]["gains"]] == [8]
    assert found["4 CPUs"]["cpus"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no machine to predict"),
        (("--cpus", "257"), '--cpus "257"'),
        (("--cpus", "four"), '--cpus "four"'),
        (("--connections", "0", "--cpus", "4"), '--connections "0"'),
        (("--connections", "9999", "--cpus", "4"), "9999 connections"),
        (("--host", "pitbul"), "pitbul"),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    measured: Lab, words: tuple[str, ...], said: str
) -> None:
    done = measured.contend("predict", measured.out, *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_a_wrong_description_is_refused_before_anything_is_measured(
    measured: Lab, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[machine]\nname = "wrong"\ncpus = 8\n[assume]\nspeed = 2\n')
    words = ("--set", f'predict.machines=["{file}"]', "--out", tmp_path / "out")
    done = measured.contend("run", "segmented-key-cache", *words, *SMALL)
    assert done.returncode == 2 and f"{file}:5" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_without_a_model_or_one_connection_is_refused(measured: Lab, tmp_path: Path) -> None:
    lab = measured.beside(tmp_path)
    lab.edit("[1, 4]", "[4, 8]")
    done = lab.run("--yes")
    assert done.returncode == 0, done.stderr
    refused = lab.contend("predict", lab.out, "--cpus", "8")
    assert refused.returncode == 2 and "1 connection" in refused.stderr, refused.stderr
    lab.edit("random_points", "read_only")
    done = lab.contend("run", lab.file, "--out", tmp_path / "other", "--server", "mariadb", "--yes")
    assert done.returncode == 0, done.stderr
    refused = lab.contend("predict", tmp_path / "other", "--cpus", "8")
    assert refused.returncode == 2 and "no model describes" in refused.stderr, refused.stderr
