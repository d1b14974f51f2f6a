"""The guess at which name was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that `name` most likely meant; None if nothing is close.

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
    """The hint for an unknown name: the nearest one, or all of them if they are few."""
    known = list(names)
    close = nearest(name, known)
    if close is not None:
        return f'Did you mean "{close}"?'
    if 0 < len(known) <= 12:
        return f"Known are {', '.join(known)}."
    return None
