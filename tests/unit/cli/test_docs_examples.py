"""The examples that the pages show can be run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contend.cli.main import main
from contend.experiment import load_experiment, planned_runs

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    ("page", "variant", "planned"),
    [
        ("start/first-run", "default", [32]),
        ("guides/distance", "default", [12]),
        ("guides/what-can-vary", "default", [12, 24, 16, 8, 8, 9, 6, 12, 6]),
        ("guides/placement", "default", [8, 8]),
        ("guides/closed-work", "default", [24, 8]),
        ("guides/your-own-data", "default", [8]),
        ("guides/datasets", "quick", [24, 16]),
        ("guides/goal", "default", [2]),
    ],
)
def test_the_experiments_of_a_page_can_be_run(
    tmp_path: Path, page: str, variant: str, planned: list[int]
) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    file = tmp_path / "mine.toml"
    runs = []
    for example in re.findall(r"^```toml\n(.*?)^```$", text, re.S | re.M):
        file.write_text(example)
        runs.append(len(planned_runs(load_experiment(str(file), variant=variant))))
    assert runs == planned


def test_the_example_of_the_guide_to_comparing_prints_what_the_guide_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "guides" / "compare.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M)
    monkeypatch.chdir(DOCS / "examples" / "two-hosts")
    assert main(["compare", "this-host", "one-cpu-half", "other-cpu"]) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown.splitlines() if line.strip() not in ("…", *printed)] == []
