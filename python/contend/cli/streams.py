"""Standard output and standard error: all text written to them passes through `errors.clean`.

with clean_streams():
    sys.stdout.write(text)          # cleaned
    control(sys.stderr, "\\r\\x1b[K")  # contend's own, unchanged
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

from contend.errors import clean


class CleanStream:
    """A text stream before another one, `raw`."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        return self.raw.write(clean(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextlib.contextmanager
def clean_streams() -> Iterator[None]:
    """Clean both streams for a block; characters that they cannot encode become question marks."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.stdout, sys.stderr = (cast(TextIO, CleanStream(raw_of(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def raw_of(stream: TextIO) -> TextIO:
    """The stream for contend's own control text."""
    return stream.raw if isinstance(stream, CleanStream) else stream


def control(stream: TextIO, text: str) -> None:
    """Write text that controls the terminal."""
    raw_of(stream).write(text)
