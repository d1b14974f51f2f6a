"""The experiment that the first page shows can be run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from contend.spec import load_experiment, planned_runs

DOCS = Path(__file__).parents[3] / "docs"


def test_the_experiment_of_the_first_page_is_one(tmp_path: Path) -> None:
    page = (DOCS / "start" / "first-run.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert len(planned_runs(load_experiment(str(file)))) == 32


def test_the_experiments_of_the_guide_to_settings_are_some(tmp_path: Path) -> None:
    page = (DOCS / "guides" / "what-can-vary.md").read_text(encoding="utf-8")
    texts = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    runs = []
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        runs.append(len(planned_runs(load_experiment(str(file)))))
    assert runs == [12, 8, 8, 9, 12]
