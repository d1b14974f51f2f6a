"""Text from outside, fit to be printed: a server's messages, names of tables and files, whatever a
run folder of somebody else says.

What moves a cursor, hides or reorders text, or is no character at all, is shown as a replacement
character. Our own colours and bars do not pass here.
"""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f"  # controls but tab and newline, and the one that deletes
    r"\x80-\x9f"  # the same again, as one character each
    r"\u202a-\u202e\u2066-\u2069"  # what reorders the text after it
    r"\ud800-\udfff]"  # halves of characters, as of a path that is not UTF-8
)
_BREAK = re.compile(r"\s*[\n\u2028\u2029]\s*")


def clean(text: str) -> str:
    """The text without what a terminal would obey; its lines stay."""
    return _UNSAFE.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same on one line, so that no part of it looks like a line of ours."""
    return _BREAK.sub(" ", clean(text.rstrip("\n")))
