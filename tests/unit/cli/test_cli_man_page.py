"""The manual page has the text of `--help`, and mandoc accepts it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from needs import missing, program

from contend.cli.parser import COMMANDS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("argparse_manpage") is None:
        missing("argparse-manpage is missing: `make setup` installs it")
    page = tmp_path_factory.mktemp("man") / "contend.1"
    subprocess.run([sys.executable, ROOT / "tools" / "man_page.py", page], check=True)
    return page


def test_it_has_every_command_and_a_name_that_apropos_finds(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "\ncontend \\- would this change" in text
    assert [name for name in COMMANDS if f"\\fI\\,{name}\\/\\fR" not in text] == []
    assert "\\-\\-fail\\-if\\-slower" in text


def test_mandoc_accepts_it(page: Path) -> None:
    command = [program("mandoc"), "-T", "lint", "-W", "warning", page]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
