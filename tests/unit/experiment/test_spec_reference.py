"""The reference page says what the reader does."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from contend.cli.main import main
from contend.experiment import key_tables, load_experiment
from contend.metrics import FIXED

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PAGE = REFERENCE / "experiment-file.md"


def test_the_page_has_the_tables_of_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """CONTEND_UPDATE_GOLDEN=1 writes them again."""
    tables = key_tables()
    assert (main(["schema", "--markdown"]), capsys.readouterr().out) == (0, tables)
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("CONTEND_UPDATE_GOLDEN"):
        begin, end = (text.index(f"### `[{name}]`") for name in ("experiment", "server.options"))
        PAGE.write_text(text := f"{text[:begin]}{tables}\n{text[end:]}", encoding="utf-8")
    assert tables in text


def test_the_page_of_metrics_has_every_name() -> None:
    text = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    for name in FIXED:
        known = re.sub(r"_us_(mean|p\d+|max)$", "_us_E", name)
        assert f"`{known}`" in text, name


@pytest.mark.parametrize("page", ["experiment-file.md", "metrics.md"])
def test_every_example_of_the_page_loads(tmp_path: Path, page: str) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert examples
    for number, example in enumerate(examples):
        path = tmp_path / f"example{number}.toml"
        path.write_text(example, encoding="utf-8")
        assert load_experiment(str(path), variant="quick").factors
