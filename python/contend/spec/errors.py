"""What is wrong with an experiment, and the guess at what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from contend.errors import RequestError


class SpecError(RequestError):
    """An experiment file, a recipe name or an override that cannot be used.

    What the file holds is quoted in the message, so characters that would break the line or
    steer a terminal are shown as escapes.
    """

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        shown = None if hint is None else _printable(hint)
        super().__init__(_printable(message), hint=shown, detail=detail)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that `name` most likely meant; None where nothing is close.

    A path such as `workload.point` is close to `workload.points`, and so is the bare `points`.
    """
    known = list(names)
    folded = {k.lower().replace("-", "_"): k for k in known}
    wanted = name.lower().replace("-", "_")
    close = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    if close:
        return folded[close[0]]
    tails = {k.rsplit(".", 1)[-1]: original for k, original in folded.items()}
    close = difflib.get_close_matches(wanted.rsplit(".", 1)[-1], tails, n=1, cutoff=0.75)
    return tails[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """The hint for an unknown name: the nearest one, or all of them when they are few."""
    known = list(names)
    close = nearest(name, known)
    if close is not None:
        return f'Did you mean "{close}"?'
    if 0 < len(known) <= 12:
        return f"Known are {', '.join(known)}."
    return None
