"""Transcripts: the output of a command, compared with a committed text.

CONTEND_UPDATE_GOLDEN=1 writes them again.
"""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent


def check(name: str, text: str) -> None:
    """Hold the text to `name.txt`."""
    path = HERE / f"{name}.txt"
    if os.environ.get("CONTEND_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def name_of(test: str) -> str:
    """The transcript of a test that has one: `test_try_print` has `try-print.txt`."""
    return test.removeprefix("test_").replace("_", "-")
