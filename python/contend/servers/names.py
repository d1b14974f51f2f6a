"""The nearest known name, for errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """`Did you mean …?`, or all known names where none is near."""
    names = list(known)
    nearest = difflib.get_close_matches(name, names, n=1)
    if nearest:
        return f"Did you mean {nearest[0]}?"
    return f"Known: {', '.join(names)}." if names else "There are none."
