"""The experiment that the first page shows can be run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contend.cli.main import main
from contend.experiment import load_experiment, planned_runs

DOCS = Path(__file__).parents[3] / "docs"


def test_the_experiment_of_the_first_page_is_one(tmp_path: Path) -> None:
    page = (DOCS / "start" / "first-run.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert len(planned_runs(load_experiment(str(file)))) == 32


def test_the_experiment_of_the_guide_to_distance_is_one(tmp_path: Path) -> None:
    page = (DOCS / "guides" / "distance.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    file = tmp_path / "far.toml"
    file.write_text(text)
    assert len(planned_runs(load_experiment(str(file)))) == 12


@pytest.mark.parametrize(
    ("guide", "planned"),
    [("what-can-vary", [12, 24, 16, 8, 8, 9, 6, 12, 6]), ("placement", [8, 8])],
)
def test_the_experiments_of_the_guides_to_settings_are_some(
    tmp_path: Path, guide: str, planned: list[int]
) -> None:
    page = (DOCS / "guides" / f"{guide}.md").read_text(encoding="utf-8")
    texts = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    runs = []
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        runs.append(len(planned_runs(load_experiment(str(file)))))
    assert runs == planned


def test_the_experiment_of_the_guide_to_closed_work_is_one(tmp_path: Path) -> None:
    page = (DOCS / "guides" / "closed-work.md").read_text(encoding="utf-8")
    whole, before_run = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    file = tmp_path / "mine.toml"
    for text, runs in ((whole, 24), (before_run, 8)):
        file.write_text(text)
        assert len(planned_runs(load_experiment(str(file)))) == runs


def test_the_experiment_of_the_guide_to_own_data_is_one(tmp_path: Path) -> None:
    page = (DOCS / "guides" / "your-own-data.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    file = tmp_path / "own.toml"
    file.write_text(text)
    assert len(planned_runs(load_experiment(str(file)))) == 8


def test_the_experiments_of_the_guide_to_datasets_are_some(tmp_path: Path) -> None:
    page = (DOCS / "guides" / "datasets.md").read_text(encoding="utf-8")
    runs = []
    for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        runs.append(len(planned_runs(load_experiment(str(file), variant="quick"))))
    assert runs == [24, 16]


def test_the_example_of_the_guide_to_comparing_prints_what_the_guide_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "guides" / "compare.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M)
    monkeypatch.chdir(DOCS / "examples" / "two-hosts")
    assert main(["compare", "this-host", "one-cpu-half", "other-cpu"]) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown.splitlines() if line.strip() not in ("…", *printed)] == []
