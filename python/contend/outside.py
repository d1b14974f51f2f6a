"""External text, made safe to print: a server's messages, names of tables and files, the content of
a stranger's run folder.

Characters that move a cursor or hide or reorder text, and invalid ones, are replaced. contend's own
colours and bars do not pass through here.
"""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f"  # controls but tab and newline; delete
    r"\x80-\x9f"  # 8-bit forms of control sequences
    r"\u202a-\u202e\u2066-\u2069"  # reorder the text after them
    r"\ud800-\udfff]"  # halves of characters, such as in a path that is not UTF-8
)
_BREAK = re.compile(r"\s*[\n\u2028\u2029]\s*")


def clean(text: str) -> str:
    """The text without terminal control characters; its lines stay."""
    return _UNSAFE.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same on one line, so that no part of it looks like a line of contend's."""
    return _BREAK.sub(" ", clean(text.rstrip("\n")))
