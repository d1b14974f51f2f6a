"""The help of `contend-load cpus`, to the letter, is what docs/reference/cpus.md shows.

A help that changed on purpose is written anew with CONTEND_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cpus.md"
BLOCK = re.compile(r"(?<=^```text\n).*?(?=^```$)", re.S | re.M)


def test_the_page_shows_the_help(load_program: Path) -> None:
    asked = [load_program, "cpus", "--help"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if os.environ.get("CONTEND_UPDATE_GOLDEN"):
        PAGE.write_text(BLOCK.sub(lambda _: said, PAGE.read_text("utf-8"), count=1), "utf-8")
    assert BLOCK.findall(PAGE.read_text("utf-8")) == [said]
