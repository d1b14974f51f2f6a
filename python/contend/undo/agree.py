"""What is asked before something is put back that somebody else changed since."""

from __future__ import annotations

from collections.abc import Callable

from contend.errors import RequestError

Agree = Callable[[str], bool]
"""Whether to do what the question says."""


def always(_question: str) -> bool:
    """Nobody is asked: what contend changed it puts back."""
    return True


class NotAgreed(RequestError):
    """Somebody else changed it since, and nobody agreed to put it back."""
